/*
 * print_dispatch.c - events=all: the number of dispatched system calls and the cost of each, or why
 * dispatch is not available.
 *
 * The cost is the overhead of one call, measured when the process starts. It is an estimate for
 * other calls and later times, so the report names its source.
 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "text.h"

#define COLUMN 16 /* as in the other sections */

/* Each process has its own cost per call, so the sum adds products. */
struct dispatch_totals dispatch_totals(const struct report *r)
{
    struct dispatch_totals t = {0};

    for (const struct image *image = r->images; image; image = image->hh.next) {
        const struct dispatch_record *d = &image->dispatched;
        if (!image->has_dispatched)
            continue;
        t.processes++;
        if (d->error) {
            t.without++;
            t.error = d->error;
            continue;
        }
        t.calls += d->calls;
        t.reported += d->reported;
        t.uncovered += d->uncovered;
        t.ns += d->calls * d->call_ns;
        t.measured = d->measured;
        t.cut |= image->state != IMAGE_ENDING;
    }
    return t;
}

const char *dispatch_reason(int32_t error)
{
    switch (error) {
    case -EINVAL:
    case -ENOSYS:
        return "no syscall user dispatch in this kernel (Linux 5.11)";
    case -EPERM:
    case -EACCES:
        return "the system does not allow it";
    default:
        return strerror(-error);
    }
}

uint64_t dispatch_call_ns(const struct dispatch_totals *t)
{
    return t->calls ? t->ns / t->calls : 0;
}

static void calls_put(const struct dispatch_totals *t, const struct page *page)
{
    fprintf(page->out, "all: ");
    if (page->how->deterministic) {
        fputs("calls were dispatched\n", page->out);
        return;
    }
    fprintf(page->out,
            "%s%s dispatched, ~%llu ns each, %.1f ms together (measured at start, with %u calls)\n",
            t->cut ? "at least " : "", count_text(t->calls, "call", "calls").text,
            (unsigned long long)dispatch_call_ns(t), (double)t->ns / 1e6, t->measured);
    fprintf(page->out,
            "%*s%llu of them changed what is mapped and came by no watched function of libc's\n",
            COLUMN, "", (unsigned long long)t->reported);
}

void dispatch_print(const struct report *r, const struct page *page)
{
    struct dispatch_totals t = dispatch_totals(r);

    if (t.processes == 0)
        return;
    set_colour(page, COLOUR_HEADING);
    fprintf(page->out, "%-*s", COLUMN, "EVENTS");
    set_colour(page, COLOUR_NONE);
    if (t.processes > t.without)
        calls_put(&t, page);
    if (t.without > 0)
        fprintf(page->out, "%*sall: not available%s: %s\n", t.processes > t.without ? COLUMN : 0,
                "", t.processes > t.without ? " in some processes" : "", dispatch_reason(t.error));
    if (t.uncovered > 0)
        fprintf(page->out,
                "%*s%s not watched any more: a sandbox, no stack, or a call of another system\n",
                COLUMN, "", count_text(t.uncovered, "thread was", "threads were").text);
}
