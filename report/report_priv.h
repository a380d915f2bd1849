/*
 * report_priv.h - what the files of report share.
 *
 * Reading:
 *   view.c      the file: checked, area by area, in copies of our own
 *   images.c    which process images there are, and which of them are still needed by the living
 *   read.c      one image's areas -> what it had in use (read_blocks.c, by stack: counts.c), could not get at any
 *               more (read_leaks.c), had mapped (read_maps.c), its errors and texts; read_priv.h
 *   map.c       what its numbers mean: stacks, modules
 *   absorb.c    ended images out of a file that is still being written
 *   collect.c   the rest of them, at the end
 *   now.c       variables of a run that goes on
 *   save.c      a run as a file for later; dump.c: as it is, for those who work on rtcheck
 *   launcher_record.c      what the launcher alone knows, into the file and out of it
 *
 * What was found:
 *   errors.c    what was found wrong in an image
 *   leaks.c     which of its blocks it could not get at any more, and who points to the others; leak_rows.c: which
 *               are told as one
 *   sites.c     places in programs, each once: module + offset, and stacks of them
 *   group.c     records: blocks in use by site, sorted
 *   own_cost.c what of the costs is the runtime's own
 *   ids.c       names of findings that stay
 *   suppress_*  rules.c: suppressions, out of files of three grammars and of programs; patterns.c, source_names.c
 *   baseline.c  findings that are known, out of a file that json_scan.c reads
 *   live.c      errors of a run that goes on
 *   checks.c    leaks that it has looked for in mid-run
 *
 * Programs' files:
 *   helper.c    the process that reads them for us; helper_answers.c
 *   names.c     an address in a module -> its symbol; demangle.c
 *   symbolize.c module + offset -> function, file, line (lines.c), what was inlined there (inlines.c)
 *   calls.c     which function that allocates or frees a call leads to
 *   locations.c    what lies at an address of a program, or of a frame: symbolize_variable.c, locals.c, and what speaks
 *               to libdwarf, variables.c and dwarf_*.c, which see nothing of this
 *   search.c    in what is sorted by where it begins
 *
 * Saying it:
 *   wording.c     names of things, and amounts; error_sentences.c and leak_sentences.c have the sentences
 *   print_*.c   what stands where: of our own text, of the JSON report (json.c), and of others' formats, which
 *               findings.c gives one list of everything, and source_paths.c the paths of sources
 *   text_error.c  what is wrong with a text that somebody wrote
 *   write.c     files as a whole; write_file.c: the report in files beside the text
 *   region_files.c  from which files what is mapped comes
 *   progress.c  a line for somebody who waits
 *
 * What is known stands in known_priv.h: image_priv.h, site_priv.h, finding_priv.h.  What becomes of it
 * is not seen where it is read: wording_priv.h, page_priv.h and formats_priv.h are for those who say something.
 */
#ifndef REPORT_PRIV_H
#define REPORT_PRIV_H

#include "collect_priv.h"
#include "lookup_priv.h"

#endif
