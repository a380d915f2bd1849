/*
 * perfstat.h - interface of perfstat: performance counters of a whole run, like perf stat.
 *
 * --counters opens perf events on the program's process before its exec; they are inherited by its
 * threads and children.  --interval writes rows for each thread and child, read from perf ring
 * buffers.  The runtime takes no part: these counts are those of the program, checked or not.
 * src/counters has the counters that a program counts of itself (rtcheck/cpc.h); both use the
 * event names of format/counters.def.
 *
 * samples.c samples the program's addresses, with --access=full.
 *
 * A counter that cannot be opened is not an error: its row has the reason.
 *
 * This room depends on messages only.  counters_open precedes tracker_start, and the counters
 * outlive the tracker, which has a thread of its own.
 */
#ifndef PERFSTAT_H
#define PERFSTAT_H

#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "messages.h"
#include "report.h"

/* ---- counters.c: --counters ------------------------------------------------------------------ */

#define COUNTERS_MAX LAUNCHER_COUNTERS_MAX

struct counters; /* freed by counters_free, which takes NULL */

/* Parse a comma-separated list of event names.  -EINVAL: err names an unknown one. */
int counters_make(struct counters **out, const char *list, char err[TOOLS_ERROR_BYTES]);
/*
 * Open the events on a process that has not yet exec'd the program.  They count from its exec on,
 * including its threads and children.
 */
void counters_open(struct counters *all, pid_t pid);
/* Call it instead of counters_open if the kernel revokes the events at the program's exec. */
void counters_deny(struct counters *all);
/*
 * Return the number of rows; their strings belong to `all`.  Clocks come from `usage`, after the
 * end.
 */
unsigned counters_read(const struct counters *all, const struct rusage *usage, uint64_t wall_ns,
                       struct counter_row rows[COUNTERS_MAX]);
void counters_free(struct counters *all);
/* Print every known event name and whether it can be counted on this machine to stdout. */
void counters_list(void);

/* ---- track.c: --interval --------------------------------------------------------------------- */

struct tracker;

/*
 * Write rows of the counters to `log`: when a thread or child begins, execs and ends, and every
 * interval_ms (0: never).  `counters` must outlive the tracker.  Call it after counters_open.
 * NULL: there will be no rows; a warning has the reason.
 */
struct tracker *tracker_start(const struct counters *counters, pid_t pid, unsigned interval_ms,
                              int log, struct warnings *warnings);
void tracker_end(struct tracker *tracker, struct warnings *warnings);

/* ---- samples.c: where the program spends its time -------------------------------------------- */

struct sampler;

/*
 * Sample the addresses of the program's code, 125 times in a second of CPU time, from its exec on, including its
 * threads and children.  -errno: err has the reason.
 */
int sampler_start(struct sampler **out, pid_t pid, char err[TOOLS_ERROR_BYTES]);

/* Samples at an offset in a mapped file; path "": in no known mapping. */
struct sample_row {
    const char *path; /* as the kernel names it: "//anon", "[vdso]" or a path */
    uint64_t offset;
    uint64_t samples;
};
/* Return the number of rows, which are sorted by path, and valid until sampler_free. */
size_t sampler_end(struct sampler *s, const struct sample_row **rows);
void sampler_free(struct sampler *s); /* NULL: nothing */

#endif
