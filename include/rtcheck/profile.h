/*
 * profile.h - what the runtime knows of a program's heap while it runs: variables, by name and number, and
 * events that it tells of.
 *
 * The contract is that of libfabric's fi_profile(3), with rtc_profile_ in place of fi_profile_; where this
 * one differs it says so.
 *
 * A program links and runs without the runtime: every function is a weak symbol, NULL where the
 * runtime is not there.  Ask once, e.g. `if (rtc_profile_open)`.  Whole programs:
 * tests/examples/profile.c, told.c.
 *
 * ints that are status return 0 or a negative errno value and leave errno alone.  Any thread may call any
 * function, and one profile is used by one thread at a time (callbacks are another matter: see there).
 * They may be called by signal handlers; one that interrupted the allocator gets -EAGAIN for what it would
 * read.  Nothing is counted for a profile: open ones cost the program nothing until they are read,
 * nor does an event that nobody has a callback for.  No descriptors are used.
 *
 * Forks: a child has its parent's profiles and callbacks; those of the process tell of the child
 * (whose counts of allocations and threads begin with its parent's, those of errors, searches and
 * time with 0), those of threads end (-ESRCH).
 */
#ifndef RTCHECK_PROFILE_H
#define RTCHECK_PROFILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "api.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rtc_profile rtc_profile_t;

/* ---- profiles -------------------------------------------------------------------------------- */

/* What a profile is of. */
enum rtc_profile_domain {
    RTC_PROFILE_PROCESS = 1,
    RTC_PROFILE_THREAD = 2, /* of this process; what it allocates and frees */
    RTC_PROFILE_SITE = 3    /* where blocks are allocated: a call, and the calls that led to it */
};

/*
 * A profile of the process (`id` 0), of the thread with this number (gettid; 0: the calling one), which
 * may be read after the thread's end, too, or of a site, as rtc_profile_site_of or "top_sites" name it.
 * `context` comes back from rtc_profile_context.
 * -ENOSYS: objects of this kind have no profile.  -EINVAL: an id or flags that mean nothing (flags: 0).
 * -ESRCH: there is no such thread, or it never allocated.  -ENOMEM.  -EDEADLK: called from a callback.
 */
RTC_API int rtc_profile_open(enum rtc_profile_domain domain, uint64_t id, uint64_t flags,
                             rtc_profile_t **profile, void *context);

/*
 * Unregisters its callbacks, and waits for them as rtc_profile_register_callback does.  -EINVAL: it
 * is none, or was closed (until another one is opened, which may have its place).  -EDEADLK: called
 * from a callback.
 */
RTC_API int rtc_profile_close(rtc_profile_t *profile);
RTC_API void *rtc_profile_context(rtc_profile_t *profile); /* NULL: it is none */

/*
 * Counters (RTC_PROFILE_COUNTER) begin at 0 again, for this profile alone (libfabric's: no counter
 * changes, and nothing is returned).
 * -EINVAL: it is none, or flags are not 0.  -EBUSY: reads are under way.  -EDEADLK: called from a callback.
 * -EAGAIN, -ESRCH as for reads.
 */
RTC_API int rtc_profile_reset(rtc_profile_t *profile, uint64_t flags);

/*
 * The site of the live block that p points into; 0: there is none, or it is not known.  A site has its number
 * for as long as the process runs; a forked child knows its parent's.
 */
RTC_API uint64_t rtc_profile_site_of(const void *p);

/* ---- descriptions ---------------------------------------------------------------------------- */

enum rtc_profile_type {
    RTC_PROFILE_PRIMITIVE, /* datatype.primitive says which */
    RTC_PROFILE_DEFINED    /* datatype.defined does: structs of this header */
};

enum rtc_profile_primitive { RTC_PROFILE_UINT64 };

enum rtc_profile_defined {
    RTC_PROFILE_NO_DATA,     /* of events: param is NULL */
    RTC_PROFILE_SITES,       /* an array of struct rtc_profile_site */
    RTC_PROFILE_ALLOC_ERROR, /* struct rtc_profile_alloc_error, and so on */
    RTC_PROFILE_BAD_FREE,
    RTC_PROFILE_SCAN,
    RTC_PROFILE_POOL,
    RTC_PROFILE_THREAD_EXIT
};

enum { RTC_PROFILE_COUNTER = 1 << 0 }; /* flags: it only grows, and can be reset */

struct rtc_profile_desc {
    uint32_t id; /* what has the same name has the same id, everywhere */
    enum rtc_profile_type datatype_sel;
    union {
        enum rtc_profile_primitive primitive;
        enum rtc_profile_defined defined;
    } datatype;
    uint64_t flags;
    size_t size;      /* of the data, in bytes; of an array: the most that it can have */
    const char *name; /* the library's, for ever */
    const char *desc;
};

/* ---- variables ------------------------------------------------------------------------------- */

/*
 * Of the process and of each thread: alloc_calls, free_calls, alloc_bytes, free_bytes: calls that
 * gave a block and that took one, and the bytes asked for.  A resize is both, and realloc_calls
 * counts it.  Of the process and of each site: blocks_live, bytes_live: in use.  Of the process
 * alone:
 *
 *   bytes_peak        the most that was in use, up to 32 KiB for each thread
 *   heap_bytes        address space of the heap that is in use or was
 *   threads_live      threads that have allocated and are not over; threads_seen: all that have
 *   quarantine_bytes  of the places of freed blocks that are not used again yet: what freelist-vol bounds
 *   shadow_bytes      of what is noted of blocks, stacks, return addresses
 *   meta_overhead_pct 100 * shadow_bytes / bytes_live
 *   pool_size, pool_used  of the run file, what is this process', and what of that is in use
 *   err_baf, err_duf, err_maf, err_oom   wrong frees of no block, of a free one, inside one; no memory
 *   dropped           errors that no room was found for in the report
 *   suppressed        leaks that rules have hidden, in the last search that was told in mid-run
 *   blocks_leaked     lost blocks, in the last search for leaks; scan_count: searches in mid-run
 *   maps_live         ranges that calls have mapped (mmap and so on), and that are mapped still
 *   perf_task_clock_ns, perf_faults, perf_ctx   CPU time, page faults and context switches
 *   top_sites         RTC_PROFILE_SITES: those with the most bytes in use, the largest first
 *
 * Fills in descriptors, at most *count of them, and sets *count to how many there are; returns how many it
 * filled in.  NULL: only the count is set, and 0 returned.  -EINVAL: it is none.  -EDEADLK: called
 * from a callback.
 */
RTC_API ssize_t rtc_profile_query_vars(rtc_profile_t *profile, struct rtc_profile_desc *list,
                                       size_t *count);

#define RTC_PROFILE_TOP_SITES 16

struct rtc_profile_site {
    uint64_t site; /* 0: of blocks whose site is not known */
    uint64_t blocks, bytes;
};

/*
 * The value of a variable.  -EINVAL: the profile has none of this id, or it is no UINT64.  -EAGAIN:
 * nothing is known now, as the allocator cannot be brought to rest (or so many blocks were to be
 * looked at, while it was, that it went on).  -ESRCH: the thread was the parent's.  -ENODATA: there
 * is no such number (no search was made, no block is in use), or the snapshot has it not.  -EACCES:
 * the program has entered a sandbox, where it cannot be asked for.  *value stays as it is where it
 * is not known.
 *
 * Of a site, and of top_sites, all records of blocks are looked at, while the program's threads
 * wait for that.
 */
RTC_API int rtc_profile_read_u64(rtc_profile_t *profile, uint32_t id, uint64_t *value);

/*
 * The same of any variable: at most *size bytes, and *size is set to how many there are.  -ERANGE:
 * that is more (libfabric's: -FI_ETOOSMALL); nothing was written.
 */
RTC_API int rtc_profile_read_data(rtc_profile_t *profile, uint32_t id, void *data, size_t *size);

/*
 * What is read between the two is of one moment: allocations and frees that were under way in other
 * threads count wholly or not at all.  They nest; the outermost takes the snapshot.  Outside of them each
 * read is of its own moment.  flags: 0, or
 *   RTC_PROFILE_WITH_SITES   top_sites is in the snapshot, too: else -ENODATA, as it costs more than all the others
 * An inner one asks for no more than the outermost has (-ENODATA).  -EINVAL, -EAGAIN, -ESRCH as
 * above; end: flags are 0; -EINVAL, nothing was started.  (libfabric's return nothing.)
 */
enum { RTC_PROFILE_WITH_SITES = 1 << 0 };
RTC_API int rtc_profile_start_reads(rtc_profile_t *profile, uint64_t flags);
RTC_API int rtc_profile_end_reads(rtc_profile_t *profile, uint64_t flags);

/* ---- events ---------------------------------------------------------------------------------- */

/*
 * As rtc_profile_query_vars.  Of the process and of each thread: alloc_error, an allocation failed
 * for want of memory; bad_free, of no block, or by a function for others; thread_exit, a thread
 * that has allocated is about to end (not main).  Of the process alone:
 *
 *   leak_scan_done  a search for leaks was made, in mid-run or at the end
 *   report          what was found has been told (a search in mid-run), or is next (at the end)
 *   pool_grow       more of the run file has become this process'
 *   pool_full       the run file had no room, and something is noted in private memory
 *   fork_child      this is the child of a fork that runs handlers; the data is its parent's pid
 *
 * Sites have none.
 */
RTC_API ssize_t rtc_profile_query_events(rtc_profile_t *profile, struct rtc_profile_desc *list,
                                         size_t *count);

struct rtc_profile_alloc_error {
    uint64_t bytes; /* asked for */
    uint64_t site;  /* of the call; 0: not known */
};

enum rtc_profile_free { RTC_PROFILE_BAF = 1, RTC_PROFILE_DUF, RTC_PROFILE_MAF, RTC_PROFILE_MIS };

struct rtc_profile_bad_free {
    uint64_t address;
    uint64_t site; /* of the call */
    uint32_t
        kind; /* enum rtc_profile_free: of no block, of a free one, inside one, by a function for others */
    uint32_t reserved;
};

struct rtc_profile_scan {
    uint64_t lost_blocks, lost_bytes;
    uint64_t possible_blocks,
        possible_bytes; /* there are pointers into them alone, or a thread did not stop */
    uint64_t at_end;    /* else the program has asked for it */
};

struct rtc_profile_pool {
    uint64_t size, used; /* pool_size, pool_used */
};

struct rtc_profile_thread_exit {
    uint64_t tid;
    uint64_t alloc_calls, free_calls, alloc_bytes, free_bytes;
};

/*
 * What comes of it is forgotten.  `param` is the event's data, of `size` bytes (as the description says), or
 * NULL; it and `event` are valid for the time of the call.  errno is the caller's.
 *
 * It runs in the thread that it happened to, behind the call's work, with no lock held; in several
 * threads at once.  It may read variables of `profile`, each of its own moment or between
 * start_reads and end_reads of its own, whatever the profile's owner does; it may free.  What else
 * is in this header is refused: -EDEADLK.  It must not allocate: it gets nothing (NULL with ENOMEM;
 * an operator new asks its handler, and throws), which is no error of the program's, nor told.  The
 * same holds for handlers of signals that interrupt it.  What it causes itself is not told to it.
 * It returns (no longjmp, no exception), and is quick.
 */
typedef int (*rtc_profile_callback)(rtc_profile_t *profile, struct rtc_profile_desc *event,
                                    void *param, size_t size, void *context);

/*
 * From now on `callback` is told of this event; there is one for each event and profile, and
 * another one takes its place; NULL: nobody any more.  When it returns no thread runs the one that
 * was there before, so what that used may be freed.  -EINVAL: the profile has no event of this id.
 * -ENOMEM: nothing was changed.  -EDEADLK: called from a callback (of this header, or of
 * rtcheck/event.h), which would wait for itself.
 */
RTC_API int rtc_profile_register_callback(rtc_profile_t *profile, uint32_t event_id,
                                          rtc_profile_callback callback, void *context);

#ifdef __cplusplus
}
#endif

#endif
