/*
 * selftest.h - interface of selftest: what works on this machine, found out by trying it.
 *
 *   findings.c   runs the program of plants.c with the launcher and by hand, reads the JSON reports
 *                (by jansson) and prints which classes of findings.def are found
 *   plants.c     that program: an error for each class; a class without one does not compile
 *   calls.c      which calls that change the address space are reported as memory events
 *   ring.c       one of these calls: madvise through io_uring
 *
 * A kernel, a container or a limit can take something away from the runtime without an error.  The
 * tests of the project show what it does on their machine; this room shows it on the user's.
 *
 * calls.c and plants.c run in a process that has the runtime; the others in the command.  The
 * command starts itself as that process (cmd_selftest.c).  Functions print to stdout and return the
 * exit status.
 */
#ifndef SELFTEST_H
#define SELFTEST_H

#include <stdbool.h>

#include "messages.h"
#include "options.h"

/* ---- findings.c ------------------------------------------------------------------------------ */

int selftest_findings(bool verbose); /* verbose: print the logs of the runs, too */

/* ---- plants.c -------------------------------------------------------------------------------- */

#define PLANTED_SETS 2u

/* A class of findings, and what findings.c has to find of it. */
struct planted {
    const char *code, *title;
    unsigned set;    /* of errors that fit in one process */
    unsigned places; /* errors: so many different places; 0: it is a leak */
    unsigned bytes;  /* leaks: size of the block */
    bool is_note;    /* counted in the report, but not listed */
    void (*plant)(void);
};

extern const struct planted planted[];
extern const unsigned planted_count;
extern const char *const planted_sets[PLANTED_SETS]; /* names, for --plant */

/* Be the program with the errors of this set. */
int selftest_plant(const char *set);

/* ---- calls.c, ring.c ------------------------------------------------------------------------- */

/* Test the calls in this process; the runtime is needed. */
int selftest_calls(bool verbose);
/* Discard a page through io_uring; *seen is 0 just before.  false: io_uring is not available. */
bool selftest_ring(unsigned *seen);

#endif
