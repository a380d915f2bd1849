/*
 * page.c - the settings and colours of a text report.
 */
#include "basics.h"

struct page page_of(FILE *out, const struct print_options *how, const char *program)
{
    return (struct page){.out = out,
                         .how = how,
                         .program = program,
                         .frames = how->frames ? how->frames : FRAMES_SHOWN,
                         .wraps = how->columns > 0,
                         .columns = how->columns ? how->columns : COLUMNS_DEFAULT};
}

void set_colour(const struct page *page, enum colour set_colour)
{
    static const char *const codes[] = {
        [COLOUR_NONE] = "\033[0m",     [COLOUR_HEADING] = "\033[1m", [COLOUR_ERROR] = "\033[1;31m",
        [COLOUR_WARNING] = "\033[33m", [COLOUR_GOOD] = "\033[32m",   [COLOUR_PLACE] = "\033[36m",
        [COLOUR_FAINT] = "\033[2m",
    };

    if (page->how->color)
        fputs(codes[set_colour], page->out);
}
