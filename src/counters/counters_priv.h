/*
 * counters_priv.h - what the files of counters share.
 *
 *   call.c      every call from the program: the lock, and what is told of failures
 *   handle.c    open and close, memory, what the machine has, forks
 *   names.c     from an event's name to what the kernel wants to hear
 *   pmu.c       the same of those that the kernel tells of in /sys
 *   walk.c      what there is
 *   set.c       sets and their requests
 *   bind.c      from requests to descriptors, and what they count
 *   pctx.c      other processes, and processors
 *   sample.c    reading them
 *   reading.c   what a number that was read means
 *   buf.c       arithmetic on what was read
 *   refusals.c     why a counter is not to be had
 *
 * profile_priv.h is the same of rtcheck/profile.h.
 */
#ifndef COUNTERS_PRIV_H
#define COUNTERS_PRIV_H

#include "counters.h"

#define RTC_API EXPORT
#include "rtcheck/cpc.h"
#include "rtcheck/countable.h"

#include <errno.h>

/* ---- what is counted ------------------------------------------------------------------------- */

struct counts {
    uint64_t value, enabled, running;
};

/* What a counter counted from one moment to another. */
struct window {
    uint64_t start; /* of which start of a set, and of the counts; 0: no window */
    struct counts first, last;
};

struct reading {
    bool known;
    bool estimated;        /* .settled is */
    uint8_t source;        /* enum source */
    uint8_t why;           /* enum reading_why, unless known */
    struct counts settled; /* what is not of the window: presets, what the program says, sums */
    struct window window;
};

/* ---- objects --------------------------------------------------------------------------------- */

enum cell_kind { CELL_FREE, CELL_HANDLE, CELL_SET, CELL_BUF };

/* What every object begins with.  Objects are cells of chunks that belong to a handle. */
struct cell {
    enum cell_kind kind;
    rtc_cpc_t *cpc;
    struct cell *next; /* of its kind, in use or free */
};

struct attribute {
    char name[24];
    uint64_t value;
};

struct request {
    struct event event;
    uint64_t preset; /* at the next start */
    uint32_t flags, attributes;
    char name[128];
    struct attribute attribute[RTC_CPC_ATTRIBUTES_MAX];
    /* while the set is bound */
    enum source source;
    int fd;            /* -1: none */
    uint64_t id;       /* of that descriptor */
    uint32_t leader;   /* the request whose descriptor tells of this one, too */
    uint32_t position; /* among what that one tells */
    uint64_t from;     /* the preset that it started with, */
    struct counts at;  /* when it had counted so much */
    uint64_t held;     /* of a clock, while the set is stopped: what it had counted then, */
    uint8_t
        held_why; /* enum reading_why; not WHY_COUNT: it could not be read at a stop since the start */
};

/* Whom a set counts. */
struct target {
    uint64_t thread; /* the one that bound it to itself, as thread_number(); 0: somebody else */
    int pid, cpu;    /* as perf_event_open has them */
    bool on_exec;    /* from its next exec on */
    uint32_t flags;
};

struct rtc_cpc_set {
    struct cell cell;
    uint64_t number; /* of its kind, never again: for its buffers */
    uint32_t count;
    bool bound;
    bool begun;     /* its events have been let go once */
    bool counting;  /* else rtc_cpc_disable has stopped it */
    bool overflown; /* and an overflow before that */
    bool
        ended; /* the thread that bound it is no more: its clocks stand still, and its number is another's */
    bool is_ungrouped; /* its events are no group: each is read by itself */
    uint64_t order;    /* among all bindings */
    uint64_t start;    /* among all starts, from 1 on */
    struct target target;
    uint64_t cpu_at,
        cpu_held; /* the thread's CPU time: when the set started; when it was stopped */
    struct request request[RTC_CPC_REQUESTS_MAX];
};

struct rtc_cpc_buf {
    struct cell cell;
    uint64_t set; /* its number */
    uint32_t count;
    int64_t time_ns;
    uint64_t ticks;
    struct reading reading[RTC_CPC_REQUESTS_MAX];
};

struct chunk;

struct rtc_cpc {
    struct cell cell; /* next: of all handles */
    struct chunk *chunks;
    struct cell *sets;
    struct cell *free_sets, *free_bufs;
    rtc_cpc_errhndlr_t *handler; /* NULL: the default one */
    int signal;
    int lacks_hardware, lacks_software; /* the error of the last probe; 0: there are some */
    char name[64], reference[160];
};

/* ---- call.c ---------------------------------------------------------------------------------- */

/*
 * A call from the program.  Between begin and end signals are blocked and the room is locked; what is to be
 * told is told by the end, when it is not.
 */
struct call {
    const char *function;
    rtc_cpc_t *cpc;
    struct os_signals signals;
    int lacks; /* -EMFILE, -ENFILE: what a name means could not be looked up */
    int subcode;
    const char *subject; /* "" = none; not of the program's */
    char because[200];
    struct text message;
};

/* false: there is no such handle; errno. */
bool call_begin(struct call *c, const char *function, rtc_cpc_t *cpc);
/* result < 0: an -errno, which becomes errno and -1. */
int call_end(struct call *c, int result);
/* Why it fails, in words, to be put into what is returned: the handler will be told. */
struct text *call_because(struct call *c, int subcode, const char *subject);

/* The same without a handle: open alone, and forks. */
void room_lock(struct os_signals *s);
void room_unlock(const struct os_signals *s);

/* This thread's number, kept in a forked child; never that of another one. */
uint64_t thread_number(void);
/* What the calling thread binds to itself from now on hears of its end; not locked. */
void thread_add_exit_hook(void);

/* ---- handle.c -------------------------------------------------------------------------------- */

bool is_handle(const rtc_cpc_t *cpc);
/* The error of a probe, made again where the last one found no descriptor; 0: there is a PMU.  Locked. */
int handle_lacks_hardware(rtc_cpc_t *cpc);
unsigned handle_counters(rtc_cpc_t *cpc); /* rtc_cpc_npic, locked */
/* A cleared cell; NULL: no memory.  Locked. */
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
 * Called with the lock, in a child: what was bound there belongs to the parent.  `rebind`: what the
 * calling thread had bound to itself is bound anew.
 */
void counters_forked(bool rebind);
/* Locked: the calling thread ends. */
void counters_thread_ends(void);

/* ---- names.c --------------------------------------------------------------------------------- */

/* 0, or -errno with words. */
int event_of(struct call *c, const char *name, struct event *e);
int event_refine(struct call *c, struct request *r, const struct attribute *a);
int attribute_is_unknown(struct call *c, const char *name);
int event_is_unknown(struct call *c, const char *name, const char *why);
/* The next name of the tables, from *at = 0 on, perhaps made in `room`; NULL: there is none. */
const char *name_next(uint32_t *at, char room[EVENT_NAME_ROOM], struct event *e, bool *generic);

/* ---- pmu.c ----------------------------------------------------------------------------------- */

/* "PMU/TERM,.../" and "SYSTEM:NAME". */
int pmu_event(struct call *c, const char *name, struct event *e);
int tracepoint_event(struct call *c, const char *name, struct event *e);
/* Puts a value where the PMU wants this attribute. */
int pmu_attribute(struct call *c, const char *pmu, const char *name, uint64_t value,
                  struct event *e);

#define PMUS_MAX 64u
#define PMU_NAME 32u /* bytes, with the NUL */

struct pmus {
    uint32_t count;
    char name[PMUS_MAX][PMU_NAME];
};
/* What lists is cut short, or false, where *lacks is set: there was no descriptor left to look with. */
void pmus_list(struct pmus *all, int *lacks);
/* Calls visit with each name in a folder ("events", "format") of a PMU. */
void pmu_each(const char *pmu, const char *folder, void (*visit)(const char *name, void *about),
              void *about, int *lacks);
bool pmu_has(const char *pmu, const char *folder, const char *name, int *lacks);

/* ---- bind.c ---------------------------------------------------------------------------------- */

/* All of these with the lock. */
/* 0, or -EINVAL: no set, an empty one, or flags beyond the valid ones. */
int check_binding(struct call *c, const rtc_cpc_set_t *set, unsigned flags, unsigned valid);
/*
 * `goes`: it counts, else it is stopped until rtc_cpc_enable; 0, or -errno with
 * words.  A set that is bound is unbound first.
 */
int bind_set(struct call *c, rtc_cpc_set_t *set, const struct target *whom, bool starts);
int bind_to_caller(struct call *c, rtc_cpc_set_t *set, uint32_t flags, bool starts);
void bind_end(rtc_cpc_set_t *set);
/* Whether this number is still the counter's: the program may have closed it. */
bool is_open(const struct request *r);

ALWAYS_INLINE bool is_perf(const struct request *r)
{
    return r->source < SOURCE_CLOCKS;
}

/* Does its descriptor tell of others, too? */
ALWAYS_INLINE bool is_leader(const rtc_cpc_set_t *set, uint32_t i)
{
    return is_perf(&set->request[i]) && set->request[i].leader == i;
}

ALWAYS_INLINE bool is_bound_here(const rtc_cpc_set_t *set)
{
    return set->bound && set->target.thread == thread_number();
}

/* ---- sample.c -------------------------------------------------------------------------------- */

/* What each request has counted until now. */
struct snapshot {
    struct counts counts[RTC_CPC_REQUESTS_MAX];
    uint8_t why[RTC_CPC_REQUESTS_MAX]; /* WHY_COUNT: it is known */
};

/* 0, or -EAGAIN with words: nothing is known. */
int snapshot_take(struct call *c, const rtc_cpc_set_t *set, struct snapshot *now);
/* The set begins at its presets, with what has been counted until now; 0, or -errno with words. */
int set_start(struct call *c, rtc_cpc_set_t *set);
/* Clocks stop, go on with the set. */
void clocks_hold(rtc_cpc_set_t *set);
void clocks_resume(rtc_cpc_set_t *set);
/* The calling thread, whose set it is, ends. */
void clocks_end(rtc_cpc_set_t *set);
/* Has its event stopped by itself?  Of a set of the calling thread that has not been stopped. */
bool has_overflown(const struct request *r);

/* ---- reading.c ------------------------------------------------------------------------------- */

/* The reading with .known and .why of its window. */
struct reading reading_known(struct reading r);
/* The value, scaled, and for how long it was enabled and running; value 0 where it is not known. */
struct counts reading_whole(const struct reading *r);
bool reading_is_scaled(const struct reading *r);
/* Of both, or not known. */
struct reading reading_sum(const struct reading *l, const struct reading *r);
struct reading reading_difference(const struct reading *l, const struct reading *r);

/* ---- refusals.c --------------------------------------------------------------------------------- */

/* Tells why the kernel refused to open a counter; the -errno that the program gets. */
int refused(struct call *c, const struct request *r, int err);
/* The same of -EMFILE and -ENFILE, for what is no request. */
int no_descriptors(struct call *c, const char *subject, int err);

/* Puts such an error into *lacks. */
ALWAYS_INLINE void note_lack(int *lacks, long err)
{
    if (err == -EMFILE || err == -ENFILE)
        *lacks = (int)err;
}

#endif
