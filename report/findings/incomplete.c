/*
 * incomplete.c - which findings a report may lack, and why.
 *
 * "No problems" is correct only if all detected errors, and the results of all requested leak
 * checks, are in the data that was read. Block records are not findings: a process detects errors
 * and leaks by its own copy of them. If some are missing, the report lacks only blocks in use (a
 * note).
 *
 * A killed process could not check for leaks. The report's last line contains that, too
 * (leaks_verdict). But it is how the program ended, not a fault of the run: the exit status
 * does not change.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "findings.h"

struct gaps {
    uint64_t cut;       /* processes with leaks that did not fit */
    uint64_t unchecked; /* processes with a failed leak check */
    uint64_t unwritten; /* errors that did not fit */
    uint64_t limited;   /* errors beyond the limit */
};

static struct gaps gaps_of(const struct report *r)
{
    struct gaps g = {0};

    for (const struct image *image = r->images; image; image = image->hh.next) {
        g.unwritten += image->errors_unwritten;
        g.limited += image->errors_unrecorded;
        g.cut += image->leak_check == LEAKS_CUT;
        g.unchecked +=
            image->leak_check != LEAKS_NOT_REQUESTED && !leak_check_was_made(image->leak_check);
    }
    return g;
}

bool report_is_incomplete(const struct report *r, bool leaks)
{
    struct gaps g = gaps_of(r);
    uint64_t errors = g.unwritten + g.limited + r->strange_errors;

    return errors + r->view.run->unrecorded_images + r->bad_count > 0 ||
           (leaks && g.cut + g.unchecked + r->leaks_unread > 0);
}

static void put(FILE *out, const char **before, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void put(FILE *out, const char **before, const char *format, ...)
{
    va_list args;

    fputs(*before, out);
    *before = ", ";
    va_start(args, format);
    vfprintf(out, format, args);
    va_end(args);
}

static void put_count(FILE *out, const char **before, uint64_t n, const char *one, const char *many,
                      const char *why)
{
    if (n > 0)
        put(out, before, "%s %s", count_text(n, one, many).text, why);
}

static void gaps_put(const struct report *r, bool leaks, FILE *out)
{
    struct gaps g = gaps_of(r);
    const char *before = "";

    put_count(out, &before, g.unwritten, "error", "errors", "not recorded (run file full)");
    put_count(out, &before, g.limited, "error", "errors", "not recorded (error limit)");
    put_count(out, &before, r->strange_errors, "error", "errors", "of an unknown kind");
    put_count(out, &before, r->view.run->unrecorded_images, "process", "processes",
              "not recorded (run file full)");
    put_count(out, &before, r->bad_count, "area", "areas", "of the run file damaged");
    if (!leaks)
        return;
    put_count(out, &before, g.cut, "process", "processes", "with more leaks (run file full)");
    put_count(out, &before, r->leaks_unread, "group", "groups", "of leaks not read");
    put_count(out, &before, g.unchecked, "process", "processes", "not checked for leaks");
}

char *report_incomplete(const struct report *r, bool leaks)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = xalloc(open_memstream(&text, &bytes));

    gaps_put(r, leaks, out);
    fclose(out);
    xalloc(text);
    if (bytes > 0)
        return text;
    free(text);
    return NULL;
}
