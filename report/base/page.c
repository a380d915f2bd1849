/*
 * page.c - colours of a text report.
 */
#include "basics.h"

void set_colour(const struct page *page, enum colour set_colour)
{
    static const char *const codes[] = {
        [COLOUR_NONE] = "\033[0m",     [COLOUR_HEADING] = "\033[1m", [COLOUR_ERROR] = "\033[1;31m",
        [COLOUR_WARNING] = "\033[33m", [COLOUR_GOOD] = "\033[32m",
    };

    if (page->how->color)
        fputs(codes[set_colour], page->out);
}
