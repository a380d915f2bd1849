/*
 * boundary.h - the interface of boundary: functions of libc that read or write memory on the program's
 * behalf, with their arguments checked (--access).
 *
 *   memory.c, strings.c   mem* and str*; functions.def lists them
 *   streams.c, formats.c  fread to puts, printf, scanf
 *   system_calls.c        read, write, stat, open and others; system_calls.def says what they access.
 *                         Those that open descriptors continue in src/intercept
 *   wide_memory.c, wide.c wmem* and wcs*
 *   arrays.c, numbers.c, tokens.c, environment.c
 *                         qsort, strtol, strtok, getenv and their like
 *   copies.h              mem* and wmem* by macros of an element's type
 *   string_length.h, string_reads.h
 *                         how far strings are read
 *   next_functions.c      the originals
 *   own_calls.c           what the runtime itself calls instead
 *   check.h               the check, inline
 *   fortified.h           declarations that libc's headers do not have, stdio_functions.h those of stdio
 *
 * Each exported function checks the ranges that it is about to access, or (if only the result tells
 * how many bytes are read) those that it has read, and jumps to the next definition: no function of
 * libc is replaced. printf and its like call the next vprintf. Without a pointer into the heap, a call
 * of mem* costs a comparison for each pointer; copies of strings are measured first, as overlaps are
 * found everywhere. Calls inside libc do not come here, except by pointers that the program passes
 * (qsort with strcmp).
 *
 * A refused access is looked up again and recorded by track/accesses.c; the call proceeds in any case.
 *
 * Data: the table of originals, constant after start-up. No locks.
 */
#ifndef BOUNDARY_H
#define BOUNDARY_H

#include "init.h"

/* Call it in the constructor, and before if libc can be used. */
void boundary_start(void);

#endif
