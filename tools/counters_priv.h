/*
 * counters_priv.h - what the files of --counters share.
 *
 *   counters.c       the list, from the program's start to its end
 *   counter_names.c  from a name to what the kernel wants to hear
 *   counter_pmu.c    the same of what it tells of in /sys
 *   counter_pfm.c    and of what libpfm4 knows of processors
 *   counter_refusals.c    why it refuses
 *   track*.c         --interval: rows of threads and children, which rings.c hears of (track_priv.h)
 *   perf.c           the system calls
 */
#ifndef COUNTERS_PRIV_H
#define COUNTERS_PRIV_H

#include "rtcheck/countable.h"
#include "tools.h"

struct
    perf_event_attr; /* the kernel's; libpfm4 brings a copy of its own, so nothing is included here */

#define COUNTER_NAME LAUNCHER_NAME_BYTES
#define COUNTER_WHY LAUNCHER_TEXT_BYTES

struct counter {
    char name[COUNTER_NAME]; /* as it was given */
    struct event event;
    bool user, kernel;     /* whose work counts */
    bool user_alone;       /* the kernel's may not be counted */
    char why[COUNTER_WHY]; /* it cannot be counted; "" = it can, or could */
    int fd;                /* -1: none */
    int refused;           /* the -errno of that */
};

struct counters {
    struct counter at[COUNTERS_MAX];
    unsigned count;
};

/* ---- counter_names.c ------------------------------------------------------------------------- */

/* `c` has its name.  0: its event is known, or why there is none here; -EINVAL: nobody knows such a name. */
int counter_resolve(struct counter *c, char err[TOOLS_ERROR_BYTES]);
/* Calls visit with each name of the tables. */
void counter_each_name(void (*visit)(const char *name, void *about), void *about);

/* ---- counter_pmu.c --------------------------------------------------------------------------- */

/* "PMU/TERM,../", "SYSTEM:NAME"; as counter_resolve. */
int counter_pmu(struct counter *c, const char *name, char err[TOOLS_ERROR_BYTES]);
int counter_tracepoint(struct counter *c, const char *name, char err[TOOLS_ERROR_BYTES]);
void counter_each_pmu_name(void (*visit)(const char *name, void *about), void *about);

/* ---- counter_pfm.c --------------------------------------------------------------------------- */

enum pfm_answer { PFM_KNOWN, PFM_UNKNOWN, PFM_ABSENT };

enum pfm_answer counter_pfm(struct counter *c, const char *name);
void counter_each_pfm_name(void (*visit)(const char *name, void *about), void *about);

/* ---- counter_refusals.c --------------------------------------------------------------------------- */

/* Puts the reason of c->refused into c->why. */
void counter_explain(struct counter *c);

/* ---- perf.c ---------------------------------------------------------------------------------- */

struct counts {
    uint64_t value, enabled, running;
};

/* A descriptor, or -errno. */
int perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu);
/* false: it cannot be read. */
bool perf_read(int fd, struct counts *counts);
void perf_close(int fd);

enum counting {
    COUNT_ALL_FROM_EXEC, /* and what it makes */
    COUNT_FROM_EXEC,     /* this thread alone */
    COUNT_AT_ONCE,       /* the same, as it is */
};

/* What is asked of the kernel for this counter. */
struct perf_event_attr counter_attr(const struct counter *c, enum counting how);
/* Opens it, in user mode alone where that is what may be counted; c->why where that cannot be. */
void counter_open(struct counter *c, pid_t pid, enum counting how);
/* A clock tells of the program and what it waited for; no event is open, of nobody. */
bool counter_is_by_clock(const struct counter *c);
/* What it has counted, scaled to the time when it was to count. */
struct counter_reading reading_of(const struct counts *counts);

#endif
