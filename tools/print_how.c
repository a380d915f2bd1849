/*
 * print_how.c - the options about the report's text, in report's own terms.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools.h"

/* no-color.org: set and not empty, whatever it says. */
static bool wants_color(const struct options *o, int fd)
{
    const char *color = option_text(o, "color"), *term = getenv("TERM"), *no = getenv("NO_COLOR");

    if (strcmp(color, "auto") != 0)
        return strcmp(color, "always") == 0;
    return isatty(fd) && !(no && *no) && !(term && strcmp(term, "dumb") == 0);
}

static enum print_use print_use(const struct options *o)
{
    const char *at_exit = option_text(o, "rtc-biu-at-exit");

    if (strcmp(at_exit, "off") == 0)
        return PRINT_USE_NOTHING;
    if (strcmp(at_exit, "verbose") == 0)
        return PRINT_USE_STACKS;
    return option_flag(o, "memuse") ? PRINT_USE_TABLE : PRINT_USE_TOP;
}

struct print_options print_how(const struct options *o, int fd, const char *pool)
{
    return (struct print_options){
        .use = print_use(o),
        .quiet = option_flag(o, "quiet"),
        .all = option_flag(o, "all"),
        .deterministic = option_flag(o, "deterministic"),
        .color = wants_color(o, fd),
        .frames = option_number(o, "num-callers", 0),
        .pool = pool,
    };
}

int status_of_findings(const struct options *o, const struct report *r, int otherwise)
{
    int status = (int)option_number(o, "error-exitcode", 0);

    return status != 0 && r && report_problems(r) > 0 ? status : otherwise;
}
