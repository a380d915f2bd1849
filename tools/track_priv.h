/*
 * track_priv.h - what the files of --interval share.
 *
 *   track.c         who there is, and what each has counted
 *   track_rows.c    the text of that
 *   rings.c         what the kernel tells of a program's threads and children
 */
#ifndef TRACK_PRIV_H
#define TRACK_PRIV_H

#include "counters_priv.h"

/* ---- track_rows.c ---------------------------------------------------------------------------- */

struct value {
    bool known, scaled; /* scaled: an estimate */
    uint64_t value;
};

struct row {
    uint64_t time_ns;  /* since the start */
    uint32_t pid, tid; /* tid 0: the process as a whole */
    const char *event;
    const struct value *values; /* of each counter */
};

void heading_put(const struct counters *counters, FILE *out);
void row_put(const struct counters *counters, const struct row *row, FILE *out);
void value_add(struct value *sum, const struct value *part);
/* What rows have no numbers of, though the run has. */
void note_clocks(const struct counters *counters, struct warnings *warnings);

/* ---- rings.c --------------------------------------------------------------------------------- */

enum life { LIFE_FORK, LIFE_EXEC, LIFE_EXIT, LIFE_COUNTED, LIFE_LOST };

struct life_event {
    enum life what;
    uint32_t pid, tid;
    uint32_t parent; /* FORK: the process that made it; its own: a thread */
    unsigned
        counter; /* COUNTED: what thread tid had counted of this in its life, on one processor */
    struct counts counts;
    uint64_t lost;    /* LOST: how many records had no room */
    uint64_t time_ns; /* CLOCK_MONOTONIC */
};

struct ring;
struct counted;
struct rings {
    struct ring *at; /* of each processor */
    unsigned count;
    struct counted *counted; /* on each processor; see rings_count */
    unsigned counted_count;
    bool has_end_counts
        [COUNTERS_MAX]; /* each end of a thread but the first comes with what it counted of this */
    struct life_event *events;
    size_t event_count, event_room;
};

/*
 * Of `pid`, its threads and children to come.  -errno: the kernel tells nothing; -ENOBUFS: no
 * memory may be locked.
 */
int rings_open(struct rings *rings, pid_t pid);
/*
 * Also what its threads and children to come have counted when they end.  The program's first
 * thread must have an event that is not inherited: else the kernel may take those of two threads
 * for the same, and exchange them.
 */
void rings_count(struct rings *rings, const struct counters *counters, pid_t pid);
void rings_close(struct rings *rings);
/* Puts what has come since into .events, in order of time. */
void rings_drain(struct rings *rings);
/* How many forks, execs and ends had no room until now; 0 also where the kernel does not tell. */
uint64_t rings_lost(const struct rings *rings);
/* Waits until something has come, or `fd` can be read, for at most `ms` (-1: any time). */
void rings_wait(const struct rings *rings, int fd, int ms);

#endif
