/*
 * progress.c - progress line on a terminal: what is done, and how much of it.
 *
 * The line appears on standard error if that is a terminal and one second has passed. It is
 * overwritten as work proceeds and erased at the end.
 */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "basics.h"

#define APPEARS_MS 1000
#define TEXT "\rrtcheck: %s %3u %%"
#define ERASE "\r                              \r" /* longer than each text */

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void progress_begin(struct progress *p, const char *what, uint32_t total)
{
    *p = (struct progress){
        .what = what, .start_ms = isatty(STDERR_FILENO) ? now_ms() : 0, .total = total};
}

void progress_show(struct progress *p)
{
    unsigned percent = p->total > 0 ? (unsigned)(100ull * p->done / p->total) : 0;

    if (p->start_ms == 0 || now_ms() - p->start_ms < APPEARS_MS || p->shown == percent + 1)
        return;
    p->shown = percent + 1;
    dprintf(STDERR_FILENO, TEXT, p->what, percent);
}

void progress_step(struct progress *p)
{
    p->done += p->done < p->total;
    progress_show(p);
}

void progress_end(struct progress *p)
{
    if (p->shown > 0)
        dprintf(STDERR_FILENO, ERASE);
    *p = (struct progress){0};
}
