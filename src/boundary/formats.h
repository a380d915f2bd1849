/*
 * formats.h - formats of printf and scanf: what each conversion reads or writes (formats.c).
 */
#ifndef FORMATS_H
#define FORMATS_H

#include <stdarg.h>

#include "accesses.h"

/* The program's call `at` of `entry` prints this format: check it, and the strings that it prints. */
void format_check_printed(const char *format, va_list list, uint32_t entry, const struct entry *at);

/*
 * The call has assigned `assigned` values of this format: check where it has written them. An old
 * scanf, before C99, where %as allocates: `has_a_for_allocation`.
 */
void format_check_assigned(const char *format, va_list list, int assigned,
                           bool has_a_for_allocation, uint32_t entry, const struct entry *at);

#endif
