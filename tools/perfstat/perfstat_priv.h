/*
 * perfstat_priv.h - declarations shared by the files of --counters.
 *
 *   counters.c            the list of counters, from the program's start to its end
 *   counter_names.c       from an event's name to its perf_event_attr fields
 *   counter_pmu.c         the same for events listed in /sys and tracefs
 *   counter_pfm.c         the same for processor events, by libpfm4
 *   counter_refusals.c    why the kernel refused an event
 *   track*.c              --interval: rows of threads and children, from rings.c (interval_priv.h)
 *   samples.c, sample_maps.c   where the program spends its time (samples_priv.h)
 *   perf.c                the system calls
 */
#ifndef PERFSTAT_PRIV_H
#define PERFSTAT_PRIV_H

#include "format/countable.h"
#include "perfstat.h"

struct perf_event_attr; /* the kernel's; libpfm4 has its own copy, so no header is included */

#define COUNTER_NAME LAUNCHER_NAME_BYTES
#define COUNTER_WHY LAUNCHER_TEXT_BYTES

struct counter {
    char name[COUNTER_NAME]; /* as given by the user */
    struct event event;
    bool user, kernel;     /* modes that are counted */
    bool user_alone;       /* kernel mode cannot be counted */
    char why[COUNTER_WHY]; /* why it cannot be counted; "" = no reason known */
    int fd;                /* -1: none */
    int refused;           /* the -errno with which opening fd failed */
};

struct counters {
    struct counter at[COUNTERS_MAX];
    unsigned count;
};

/* ---- counter_names.c ------------------------------------------------------------------------- */

/* `c` has its name.  0: its event is set, or c->why is; -EINVAL: no event has this name. */
int counter_resolve(struct counter *c, char err[TOOLS_ERROR_BYTES]);
/* Call visit with each name of the tables. */
void counter_each_name(void (*visit)(const char *name, void *about), void *about);

/* ---- counter_pmu.c --------------------------------------------------------------------------- */

/* "PMU/TERM,../" and "SYSTEM:NAME"; they return as counter_resolve. */
int counter_pmu(struct counter *c, const char *name, char err[TOOLS_ERROR_BYTES]);
int counter_tracepoint(struct counter *c, const char *name, char err[TOOLS_ERROR_BYTES]);
void counter_each_pmu_name(void (*visit)(const char *name, void *about), void *about);

/* ---- counter_pfm.c --------------------------------------------------------------------------- */

enum pfm_answer { PFM_KNOWN, PFM_UNKNOWN, PFM_ABSENT };

enum pfm_answer counter_pfm(struct counter *c, const char *name);
void counter_each_pfm_name(void (*visit)(const char *name, void *about), void *about);

/* ---- counter_refusals.c ---------------------------------------------------------------------- */

/* Format the reason for c->refused into c->why. */
void counter_explain(struct counter *c);

/* ---- perf.c ---------------------------------------------------------------------------------- */

struct counts {
    uint64_t value, enabled, running;
};

/* Return a descriptor, or -errno. */
int perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu);
/* false: the event cannot be read. */
bool perf_read(int fd, struct counts *counts);
void perf_close(int fd);

enum counting {
    COUNT_ALL_FROM_EXEC, /* with inherited threads and children */
    COUNT_FROM_EXEC,     /* only this thread */
    COUNT_AT_ONCE,       /* only this thread, without waiting for exec */
};

/* The perf_event_attr of this counter. */
struct perf_event_attr counter_attr(const struct counter *c, enum counting how);
/* Open it, in user mode alone if kernel mode is not permitted; set c->why if both fail. */
void counter_open(struct counter *c, pid_t pid, enum counting how);
/* Is its value taken from a clock (rusage, CLOCK_MONOTONIC) instead of an open perf event? */
bool counter_is_by_clock(const struct counter *c);
/* The counted value, scaled by time enabled / time running. */
struct counter_reading reading_of(const struct counts *counts);

#endif
