/*
 * holders.h - one block, and one place in which the only pointer to it lies when the program ends:
 * the part that holders.c and holders_mapped.c share.
 *
 * usage: PROGRAM PLACE held|lost WAY      PROGRAM --list
 *
 * WAY: return, exit_now, terminate, abort.  `lost` does the same and then clears the pointer.  --list
 * prints the expected result of each place if it is held: the class of the block, its bytes, and the
 * holder.  "behind": the block of 64 bytes that holds it is the possible leak.
 */
#ifndef HOLDERS_H
#define HOLDERS_H

#include "scrub.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES 4711u

static const char *way;
static int is_lost;

/* Return the block, zeroed; the caller must have no copy of the pointer when the program ends. */
static NOINLINE void *take(void)
{
    void *p = calloc(1, BYTES);
    if (!p)
        abort();
    return p;
}

static NOINLINE void put(void *volatile *place)
{
    *place = take();
    if (is_lost)
        *place = NULL;
}

static NOINLINE _Noreturn void end(void)
{
    if (!strcmp(way, "exit_now"))
        _exit(0);
    if (!strcmp(way, "terminate"))
        kill(getpid(), SIGTERM);
    if (!strcmp(way, "abort"))
        abort();
    exit(0);
}

/* ---- the table ------------------------------------------------------------------------------------ */

struct place {
    const char *name;
    void (*body)(void);
    const char *held;     /* class of the block */
    const char *witness;  /* a regular expression for the text in the report */
    const char *at_abort; /* the same when abort keeps the pointer on its stack: then it is biu */
};

static int run_place(int argc, char **argv, const struct place *rows, size_t n)
{
    if (argc == 2 && !strcmp(argv[1], "--list")) {
        for (size_t i = 0; i < n; i++)
            printf("%s\t%s\t%u\t%s\t%s\n", rows[i].name, rows[i].held, BYTES, rows[i].witness,
                   rows[i].at_abort ? rows[i].at_abort : "");
        return 0;
    }
    if (argc != 4)
        return 125;
    way = argv[3];
    is_lost = !strcmp(argv[2], "lost");
    for (size_t i = 0; i < n; i++)
        if (!strcmp(rows[i].name, argv[1])) {
            rows[i].body();
            scrub();
            if (!strcmp(way, "return"))
                return 0;
            end();
        }
    return 125;
}

#endif
