/*
 * report_priv.h - what the files of report share.
 *
 *   view.c      the file: checked, area by area, in copies of our own
 *   images.c    which process images there are, and which of them are still needed by the living
 *   read.c      one image's areas -> what it had in use (read_blocks.c, by stack: counts.c), could not get at any
 *               more (read_leaks.c), had mapped (read_maps.c), its errors and texts; read_priv.h
 *   map.c       what its numbers mean: stacks, modules
 *   errors.c    what was found wrong in it
 *   leaks.c     which of its blocks it could not get at any more, and who points to the others
 *   sites.c     places in programs, each once: module + offset, and stacks of them
 *   absorb.c    ended images out of a file that is still being written
 *   collect.c   the rest of them, at the end
 *   ids.c       names of findings that stay
 *   suppress_*  rules.h: suppressions, out of files of three grammars and of programs; patterns.h
 *   baseline.c  findings that are known, out of a file that json_scan.c reads
 *   group.c     records: blocks in use by site, sorted
 *   helper.c    the process that reads programs' files for us
 *   names.c     an address in a module -> its symbol
 *   symbolize.c module + offset -> function, file, line, what was inlined there
 *   symbolize_variable.c, variables.c  module + offset, or a place on a stack -> variable, element, member
 *   search.c    in what is sorted by where it begins
 *   live.c      errors of a run that goes on
 *   checks.c    leaks that it has looked for in mid-run
 *   progress.c  a line for somebody who waits
 *   print_maps.c  --mappings
 *   print_dispatch.c  events=all
 *   own_share.c  what of the costs is the runtime's own
 *   print_events.c  what processes have mapped (region_files.c: from which files)
 *   now.c, print_now.c  variables of a run that goes on
 *   words.c     names of things, and amounts
 *   print_*.c   sentences
 *   findings.c, formats_priv.h  the same for others' formats, each in a print_*.c of its own
 *
 * What is known stands in known_priv.h: image_priv.h, place_priv.h, finding_priv.h.  What becomes of it
 * is not seen where it is read: words_priv.h and page_priv.h are for those who say something.
 */
#ifndef REPORT_PRIV_H
#define REPORT_PRIV_H

#include "collect_priv.h"
#include "lookup_priv.h"

#endif
