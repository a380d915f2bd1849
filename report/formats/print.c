/*
 * print.c - the text report in one of its formats.
 */
#include "formats_priv.h"

void report_print_text(struct report *r, FILE *out, const struct print_options *how)
{
    static void (*const formats[])(struct report *, FILE *, const struct print_options *) = {
        [PRINT_TEXT] = text_print, [PRINT_VALGRIND] = valgrind_print, [PRINT_LSAN] = lsan_print,
        [PRINT_GCC] = gcc_print,   [PRINT_GITHUB] = github_print,
    };

    formats[how->format](r, out, how);
}
