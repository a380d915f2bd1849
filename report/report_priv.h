/*
 * report_priv.h - shared declarations of report, and a map of its files.
 *
 * Reading:
 *   view.c      the run file: verified, area by area, in private copies
 *   images.c    the process images, and which of them living processes still need
 *   read.c      one image's areas: errors and texts, blocks in use (read_blocks.c; counts.c by
 *               stack), leaks (read_leaks.c), mappings (read_maps.c); read_priv.h
 *   map.c       the meaning of an image's numbers: stacks, modules
 *   absorb.c    take ended images out of a file that is still being written
 *   collect.c   read the remaining images, at the end
 *   now.c       current values of a running program
 *   save.c      save a run as a file; dump.c: print a file in full, for developers of rtcheck
 *   launcher_record.c  write and read the results that only the launcher has
 *
 * Findings:
 *   errors.c    errors of an image
 *   leaks.c     leaked blocks, and referrers of blocks; leak_rows.c: leaks that are printed as one
 *   sites.c     interned code locations: modules, frames (module + offset), stacks
 *   group.c     records: blocks in use by site, sorted
 *   own_cost.c  the runtime's own share of the costs
 *   ids.c       stable ids of findings
 *   suppress_*  rules.c: suppressions, from files of three grammars and from programs; patterns.c,
 *               source_names.c
 *   baseline.c  known findings, from a file that json_scan.c parses
 *   live.c      errors of a running program
 *   checks.c    leak checks in mid-run
 *
 * Files of programs:
 *   helper.c    the helper process that parses them; helper_answers.c
 *   names.c     address in a module -> symbol; demangle.c
 *   symbolize.c module + offset -> function, file, line (lines.c), inlined functions (inlines.c)
 *   calls.c     the allocation function that a call leads to
 *   locations.c the variable at an address of a program or in a frame: symbolize_variable.c,
 *               locals.c, and the files that use libdwarf, variables.c and dwarf_*.c, which do not
 *               see these headers
 *   search.c    binary search by start address
 *
 * Output:
 *   wording.c   names and amounts; error_sentences.c and leak_sentences.c have the sentences
 *   print_*.c   layout of the text report, the JSON report (json.c) and formats of other tools;
 *               findings.c has one list of all findings, source_paths.c the paths of sources
 *   text_error.c  messages about mistakes in an input file
 *   write.c     whole files; write_file.c: the reports in files beside the text
 *   region_files.c  files that ranges are mapped from
 *   progress.c  a progress line on a terminal
 *
 * known_priv.h has the data of a report: image_priv.h, site_priv.h, finding_priv.h. The reading
 * files do not see the output headers: wording_priv.h, page_priv.h and formats_priv.h.
 */
#ifndef REPORT_PRIV_H
#define REPORT_PRIV_H

#include "collect_priv.h"
#include "lookup_priv.h"

#endif
