/*
 * counters_priv.h - declarations shared by the files of counters.
 *
 *   call.c      entry and exit of every call: the lock, and the error handler
 *   handle.c    open and close, memory, what the machine has, forks
 *   names.c     from an event's name to perf_event_attr
 *   pmu.c       the same for events listed in /sys
 *   walk.c      list events and attributes
 *   set.c       sets and their requests
 *   bind.c      from requests to perf event descriptors
 *   pctx.c      other processes, and processors
 *   sample.c    read the counters
 *   reading.c   scaling of readings
 *   buf.c       arithmetic on buffers
 *   refusals.c  why a counter is not available
 *
 * profile_priv.h has the declarations for rtcheck/profile.h.
 */
#ifndef COUNTERS_PRIV_H
#define COUNTERS_PRIV_H

#include "counters.h"

#define RTC_API EXPORT
#include "rtcheck/cpc.h"
#include "format/countable.h"

#include <errno.h>

/* ---- readings -------------------------------------------------------------------------------- */

struct counts {
    uint64_t value, enabled, running;
};

/* Counts of one counter at two moments. */
struct window {
    uint64_t start; /* number of the set's start that the counts belong to; 0: no window */
    struct counts first, last;
};

struct reading {
    bool known;
    bool estimated;        /* .settled is an estimate */
    uint8_t source;        /* enum source */
    uint8_t why;           /* enum reading_why, unless known */
    struct counts settled; /* counts outside of the window: presets, rtc_cpc_buf_set, sums */
    struct window window;
};

/* ---- objects --------------------------------------------------------------------------------- */

enum cell_kind { CELL_FREE, CELL_HANDLE, CELL_SET, CELL_BUF };

/* Header of every object.  Objects are cells in chunks that belong to a handle. */
struct cell {
    enum cell_kind kind;
    rtc_cpc_t *cpc;
    struct cell *next; /* list of its kind: in use, or free */
};

struct attribute {
    char name[24];
    uint64_t value;
};

struct request {
    struct event event;
    uint64_t preset; /* initial value at the next start */
    uint32_t flags, attributes;
    char name[128];
    struct attribute attribute[RTC_CPC_ATTRIBUTES_MAX];
    /* valid while the set is bound */
    enum source source;
    int fd;            /* -1: none */
    uint64_t id;       /* perf event ID of the descriptor */
    uint32_t leader;   /* the request whose descriptor reads this one, too */
    uint32_t position; /* position in the leader's group */
    uint64_t from;     /* the preset at the last start, */
    struct counts at;  /* and the counts at that time */
    uint64_t held;     /* for a clock of a stopped set: its value at the stop */
    uint8_t held_why;  /* enum reading_why; WHY_COUNT: read at each stop */
};

/* The thread, process or processor that a set counts. */
struct target {
    uint64_t thread; /* thread_number() of the thread that bound it to itself; 0: another target */
    int pid, cpu;    /* arguments of perf_event_open */
    bool on_exec;    /* count from its next exec on */
    uint32_t flags;
};

struct rtc_cpc_set {
    struct cell cell;
    uint64_t number; /* unique among all sets, never reused: buffers refer to it */
    uint32_t count;
    bool bound;
    bool begun;     /* its events have been enabled once */
    bool counting;  /* false: stopped by rtc_cpc_disable */
    bool overflown; /* an overflow came before that stop */
    bool ended; /* the binding thread has ended: its clocks are frozen, and its tid may be reused */
    bool is_ungrouped; /* its events are not a perf group: each is read separately */
    uint64_t order;    /* sequence number of the binding */
    uint64_t start;    /* sequence number of the start, from 1 */
    struct target target;
    uint64_t cpu_at, cpu_held; /* CPU time of the thread at the start of the set, and at its stop */
    struct request request[RTC_CPC_REQUESTS_MAX];
};

struct rtc_cpc_buf {
    struct cell cell;
    uint64_t set; /* number of the set */
    uint32_t count;
    int64_t time_ns;
    uint64_t ticks;
    struct reading reading[RTC_CPC_REQUESTS_MAX];
};

struct chunk;

struct rtc_cpc {
    struct cell cell; /* next: list of all handles */
    struct chunk *chunks;
    struct cell *sets;
    struct cell *free_sets, *free_bufs;
    rtc_cpc_errhndlr_t *handler; /* NULL: the default one */
    int signal;
    int lacks_hardware, lacks_software; /* errno of the last probe; 0: available */
    char name[64], reference[160];
};

/* ---- call.c ---------------------------------------------------------------------------------- */

/*
 * A call from the program.  Between call_begin and call_end signals are blocked and the room's lock
 * is held. call_end runs the error handler after releasing the lock.
 */
struct call {
    const char *function;
    rtc_cpc_t *cpc;
    struct os_signals signals;
    int lacks; /* -EMFILE or -ENFILE: no descriptor to look up a name */
    int subcode;
    const char *subject; /* "": none; not a string of the program's */
    char because[200];
    struct text message;
};

/* Return false and set errno if the handle is invalid. */
bool call_begin(struct call *c, const char *function, rtc_cpc_t *cpc);
/* result < 0: a negated errno; call_end sets errno and returns -1. */
int call_end(struct call *c, int result);
/*
 * Begin the error message.  The caller appends to the returned text; call_end passes it to the
 * handler.
 */
struct text *call_because(struct call *c, int subcode, const char *subject);

/* The same lock without a handle: for open and for forks. */
void room_lock(struct os_signals *s);
void room_unlock(const struct os_signals *s);

/* The calling thread's number: unique in the process, never reused, kept in a forked child. */
uint64_t thread_number(void);
/* Sets that the calling thread binds from now on are notified of its end.  Not locked. */
void thread_add_exit_hook(void);

/* ---- handle.c -------------------------------------------------------------------------------- */

bool is_handle(const rtc_cpc_t *cpc);
/*
 * errno of the hardware probe, repeated if the last one found no descriptor; 0: there is a PMU.
 * Locked.
 */
int handle_lacks_hardware(rtc_cpc_t *cpc);
unsigned handle_counters(rtc_cpc_t *cpc); /* rtc_cpc_npic, locked */
/* Return a cleared cell, or NULL without memory.  Locked. */
void *cell_take(rtc_cpc_t *cpc, enum cell_kind kind);
void cell_give(struct cell *o);

ALWAYS_INLINE bool is_set_of(const rtc_cpc_set_t *set, const rtc_cpc_t *cpc)
{
    return set && set->cell.kind == CELL_SET && set->cell.cpc == cpc;
}

ALWAYS_INLINE bool is_buf_of(const rtc_cpc_buf_t *buf, const rtc_cpc_t *cpc)
{
    return buf && buf->cell.kind == CELL_BUF && buf->cell.cpc == cpc;
}

/*
 * Called with the lock held, in a forked child: the bindings belong to the parent.  `rebind`: bind
 * the sets of the calling thread again.
 */
void counters_forked(bool rebind);
/* Called with the lock held: the calling thread ends. */
void counters_thread_ends(void);

/* ---- names.c --------------------------------------------------------------------------------- */

/* Return 0, or -errno with a message. */
int event_of(struct call *c, const char *name, struct event *e);
int event_refine(struct call *c, struct request *r, const struct attribute *a);
int attribute_is_unknown(struct call *c, const char *name);
int event_is_unknown(struct call *c, const char *name, const char *why);
/*
 * The next name of the tables, from *at = 0 on; `room` may hold the text.  Return NULL at the end.
 */
const char *name_next(uint32_t *at, char room[EVENT_NAME_ROOM], struct event *e, bool *generic);

/* ---- pmu.c ----------------------------------------------------------------------------------- */

/* "PMU/TERM,.../" and "SYSTEM:NAME". */
int pmu_event(struct call *c, const char *name, struct event *e);
int tracepoint_event(struct call *c, const char *name, struct event *e);
/* Place a value in the bits that the PMU's format defines for this attribute. */
int pmu_attribute(struct call *c, const char *pmu, const char *name, uint64_t value,
                  struct event *e);

#define PMUS_MAX 64u
#define PMU_NAME 32u /* bytes, with the NUL */

struct pmus {
    uint32_t count;
    char name[PMUS_MAX][PMU_NAME];
};
/*
 * If *lacks is set, no descriptor was available: the list may be incomplete, and false may be
 * wrong.
 */
void pmus_list(struct pmus *all, int *lacks);
/* Call visit with each name in a directory ("events", "format") of a PMU. */
void pmu_each(const char *pmu, const char *folder, void (*visit)(const char *name, void *about),
              void *about, int *lacks);
bool pmu_has(const char *pmu, const char *folder, const char *name, int *lacks);

/* ---- bind.c ---------------------------------------------------------------------------------- */

/* All functions below need the lock. */
/* Return -EINVAL if there is no set, the set is empty, or flags contains an invalid bit. */
int check_binding(struct call *c, const rtc_cpc_set_t *set, unsigned flags, unsigned valid);
/*
 * `starts`: begin to count now; else the set stays stopped until rtc_cpc_enable.  A bound set is
 * unbound first.  Return 0, or -errno with a message.
 */
int bind_set(struct call *c, rtc_cpc_set_t *set, const struct target *whom, bool starts);
int bind_to_caller(struct call *c, rtc_cpc_set_t *set, uint32_t flags, bool starts);
void bind_end(rtc_cpc_set_t *set);
/* Does the descriptor number still refer to this counter?  The program may have closed it. */
bool is_open(const struct request *r);

ALWAYS_INLINE bool is_perf(const struct request *r)
{
    return r->source < SOURCE_CLOCKS;
}

/* Does its descriptor also read other requests? */
ALWAYS_INLINE bool is_leader(const rtc_cpc_set_t *set, uint32_t i)
{
    return is_perf(&set->request[i]) && set->request[i].leader == i;
}

ALWAYS_INLINE bool is_bound_here(const rtc_cpc_set_t *set)
{
    return set->bound && set->target.thread == thread_number();
}

/* ---- sample.c -------------------------------------------------------------------------------- */

/* Counts of each request at one moment. */
struct snapshot {
    struct counts counts[RTC_CPC_REQUESTS_MAX];
    uint8_t why[RTC_CPC_REQUESTS_MAX]; /* WHY_COUNT: valid */
};

/* Return 0, or -EAGAIN with a message: no count is known. */
int snapshot_take(struct call *c, const rtc_cpc_set_t *set, struct snapshot *now);
/*
 * Restart the set at its presets: save the current counts as the base.  Return 0, or -errno with a
 * message.
 */
int set_start(struct call *c, rtc_cpc_set_t *set);
/* Freeze the clocks of a set when it stops; continue them. */
void clocks_hold(rtc_cpc_set_t *set);
void clocks_resume(rtc_cpc_set_t *set);
/* The thread that bound the set ends. */
void clocks_end(rtc_cpc_set_t *set);
/*
 * Has the kernel stopped the event at an overflow?  The set is the calling thread's, and is not
 * disabled.
 */
bool has_overflown(const struct request *r);

/* ---- reading.c ------------------------------------------------------------------------------- */

/* The reading with .known and .why set from its window. */
struct reading reading_known(struct reading r);
/* The scaled value, and the times enabled and running.  The value is 0 if it is not known. */
struct counts reading_whole(const struct reading *r);
bool reading_is_scaled(const struct reading *r);
/* Sum or difference; not known if an operand is not known. */
struct reading reading_sum(const struct reading *l, const struct reading *r);
struct reading reading_difference(const struct reading *l, const struct reading *r);

/* ---- refusals.c ------------------------------------------------------------------------------ */

/* Write the message for an error of perf_event_open.  Return the program's -errno. */
int refused(struct call *c, const struct request *r, int err);
/* The same for -EMFILE and -ENFILE without a request. */
int no_descriptors(struct call *c, const char *subject, int err);

/* Store such an error in *lacks. */
ALWAYS_INLINE void note_lack(int *lacks, long err)
{
    if (err == -EMFILE || err == -ENFILE)
        *lacks = (int)err;
}

#endif
