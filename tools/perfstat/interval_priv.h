/*
 * interval_priv.h - declarations shared by the files of --interval.
 *
 *   track.c         the list of threads and processes, and their counts
 *   track_rows.c    the text of the rows
 *   rings.c         perf ring buffers: forks, execs and exits of the program's threads and children
 */
#ifndef INTERVAL_PRIV_H
#define INTERVAL_PRIV_H

#include "perfstat_priv.h"

/* ---- track_rows.c ---------------------------------------------------------------------------- */

struct value {
    bool known, scaled; /* scaled: an estimate */
    uint64_t value;
};

struct row {
    uint64_t time_ns;  /* since the start of the run */
    uint32_t pid, tid; /* tid 0: the process as a whole */
    const char *event;
    const struct value *values; /* of each counter */
};

void heading_put(const struct counters *counters, FILE *out);
void row_put(const struct counters *counters, const struct row *row, FILE *out);
void value_add(struct value *sum, const struct value *part);
/* Warn about clocks: they have a total for the run, but no numbers in rows. */
void note_clocks(const struct counters *counters, struct warnings *warnings);

/* ---- rings.c --------------------------------------------------------------------------------- */

enum life { LIFE_FORK, LIFE_EXEC, LIFE_EXIT, LIFE_COUNTED, LIFE_LOST };

struct life_event {
    enum life what;
    uint32_t pid, tid;
    uint32_t parent; /* FORK: the creating process; equal to pid for a new thread */
    unsigned
        counter; /* COUNTED: index of the counter; `counts` is of thread tid, on one processor */
    struct counts counts;
    uint64_t lost;    /* LOST: number of records that did not fit */
    uint64_t time_ns; /* CLOCK_MONOTONIC */
};

struct ring;
struct counted;
struct rings {
    struct ring *at; /* one for each processor */
    unsigned count;
    struct counted *counted; /* events with end counts, for each processor; see rings_count */
    unsigned counted_count;
    bool has_end_counts
        [COUNTERS_MAX]; /* each thread but the first has a PERF_RECORD_READ of it at its end */
    struct life_event *events;
    size_t event_count, event_room;
};

/*
 * Open ring buffers for `pid` and its future threads and children.  -errno: the kernel reports no
 * events; -ENOBUFS: the limit on locked memory is reached.
 */
int rings_open(struct rings *rings, pid_t pid);
/*
 * Also request the final counts of future threads and children at their end.  The program's first
 * thread must have an event that is not inherited.  Otherwise the kernel may treat the event
 * contexts of two threads as equal and swap them.
 */
void rings_count(struct rings *rings, const struct counters *counters, pid_t pid);
void rings_close(struct rings *rings);
/* Move the records that arrived since the last call into .events, sorted by time. */
void rings_drain(struct rings *rings);
/* Number of fork, exec and exit records lost so far; 0 if the kernel does not report it. */
uint64_t rings_lost(const struct rings *rings);
/* Wait until a record arrives or `fd` is readable, for at most `ms` (-1: without limit). */
void rings_wait(const struct rings *rings, int fd, int ms);

#endif
