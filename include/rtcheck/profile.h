/*
 * profile.h - the runtime's data about a program's heap while it runs: variables, by name and id,
 * and events.
 *
 * The interface is that of libfabric's fi_profile(3), with the prefix rtc_profile_ instead of
 * fi_profile_.  Differences are documented.
 *
 * A program links and runs without the runtime: every function is a weak symbol, NULL without the
 * runtime.  Test one, e.g. `if (rtc_profile_open)`.  Complete programs: examples/profile.c,
 * callbacks.c.
 *
 * A status of type int is 0 or a negative errno value, and errno is unchanged.  Any thread may call
 * any function, but only one thread at a time may use a profile (except callbacks: see there).
 * Signal handlers may call all functions; reads in a handler that has interrupted the allocator
 * fail with -EAGAIN (see rtc_profile_read_u64).  Nothing is counted only for profiles: an open profile has no cost until it is
 * read, and an event without a callback has none.  No file descriptors are used.
 *
 * Forks: a child has its parent's profiles and callbacks.  Process profiles refer to the child: its
 * counts of allocations and threads start at its parent's values, those of errors, scans and time
 * at 0.  Thread profiles end (-ESRCH).
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

/* The object of a profile. */
enum rtc_profile_domain {
    RTC_PROFILE_PROCESS = 1,
    RTC_PROFILE_THREAD = 2, /* of this process; its allocations and frees */
    RTC_PROFILE_SITE = 3    /* an allocation site: a call with its call stack */
};

/*
 * Open a profile of the process (`id` 0), of a thread, or of a site.  `id` of a thread: its gettid,
 * 0 for the calling thread; it may also be read after the thread's end.  `id` of a site: from
 * rtc_profile_site_of or "top_sites".  `context` is returned by rtc_profile_context. -ENOSYS:
 * objects of this kind have no profile. -EINVAL: an invalid id or flags (flags: 0). -ESRCH: there
 * is no such thread, or it never allocated. -ENOMEM. -EDEADLK: called from a callback.
 */
RTC_API int rtc_profile_open(enum rtc_profile_domain domain, uint64_t id, uint64_t flags,
                             rtc_profile_t **profile, void *context);

/*
 * Close a profile: remove its callbacks, and wait for them like rtc_profile_register_callback.
 * -EINVAL: invalid, or already closed (detected until the profile is reused). -EDEADLK: called from
 * a callback.
 */
RTC_API int rtc_profile_close(rtc_profile_t *profile);
RTC_API void *rtc_profile_context(rtc_profile_t *profile); /* NULL: invalid */

/*
 * Reset counters (RTC_PROFILE_COUNTER) to 0, for this profile only (libfabric's changes no counter,
 * and returns nothing). -EINVAL: invalid, or flags are not 0. -EBUSY: between start_reads and
 * end_reads. -EDEADLK: called from a callback. -EAGAIN, -ESRCH as for reads.
 */
RTC_API int rtc_profile_reset(rtc_profile_t *profile, uint64_t flags);

/*
 * The site of the live block that p points into; 0: no live block, or unknown.  The number of a
 * site is constant for the lifetime of the process, and valid in forked children.
 */
RTC_API uint64_t rtc_profile_site_of(const void *p);

/* ---- descriptions ---------------------------------------------------------------------------- */

enum rtc_profile_type {
    RTC_PROFILE_PRIMITIVE, /* datatype.primitive has the type */
    RTC_PROFILE_DEFINED    /* datatype.defined has the type: structs of this header */
};

enum rtc_profile_primitive { RTC_PROFILE_UINT64 };

enum rtc_profile_defined {
    RTC_PROFILE_NO_DATA,     /* for events: param is NULL */
    RTC_PROFILE_SITES,       /* an array of struct rtc_profile_site */
    RTC_PROFILE_ALLOC_ERROR, /* struct rtc_profile_alloc_error, and so on */
    RTC_PROFILE_BAD_FREE,
    RTC_PROFILE_SCAN,
    RTC_PROFILE_POOL,
    RTC_PROFILE_THREAD_EXIT
};

enum { RTC_PROFILE_COUNTER = 1 << 0 }; /* flag: monotonic, can be reset */

struct rtc_profile_desc {
    uint32_t id; /* equal names have equal ids in all profiles */
    enum rtc_profile_type datatype_sel;
    union {
        enum rtc_profile_primitive primitive;
        enum rtc_profile_defined defined;
    } datatype;
    uint64_t flags;
    size_t size;      /* of the data, in bytes; for an array: the maximum */
    const char *name; /* static */
    const char *desc;
};

/* ---- variables ------------------------------------------------------------------------------- */

/*
 * For the process and each thread: alloc_calls, free_calls, alloc_bytes, free_bytes are the
 * successful allocations and frees, and the requested bytes.  A resize counts as both, and in
 * realloc_calls.  For the process and each site: blocks_live, bytes_live.  For the process only:
 *
 *   bytes_peak        maximum of bytes_live, up to 32 KiB off for each thread
 *   heap_bytes        address space of the heap that is or was in use
 *   threads_live      threads that have allocated and have not ended; threads_seen: all that have
 *   quarantine_bytes  size of the slots of freed blocks in quarantine; limited by freelist-vol
 *   shadow_bytes      size of records of blocks, stacks and return addresses
 *   meta_overhead_pct 100 * shadow_bytes / bytes_live
 *   pool_size, pool_used  the part of the run file owned by this process, and the used bytes of it
 *   err_baf, err_duf, err_maf, err_oom   bad, duplicate and misaligned frees; out of memory
 *   dropped           errors without room in the report
 *   suppressed        leaks hidden by rules, in the last scan on demand that was reported
 *   blocks_leaked     lost blocks, in the last leak scan; scan_count: scans on demand
 *   maps_live         ranges mapped by calls (mmap and so on), and still mapped
 *   perf_task_clock_ns, perf_faults, perf_ctx   CPU time, page faults and context switches
 *   top_sites         RTC_PROFILE_SITES: the sites with the most live bytes, the largest first
 *
 * Fill in at most *count descriptors, and set *count to the number of variables.  Return the number
 * of descriptors filled in. list NULL: only set *count, and return 0. -EINVAL: invalid. -EDEADLK:
 * called from a callback.
 */
RTC_API ssize_t rtc_profile_query_vars(rtc_profile_t *profile, struct rtc_profile_desc *list,
                                       size_t *count);

#define RTC_PROFILE_TOP_SITES 16

struct rtc_profile_site {
    uint64_t site; /* 0: blocks with an unknown site */
    uint64_t blocks, bytes;
};

/*
 * Read a variable.  *value is unchanged on errors. -EINVAL: the profile has no such variable, or it
 * is not a UINT64. -ESRCH: a thread of the parent. -ENODATA: no value (no scan was made, no live
 * block), or not in the snapshot. -EACCES: not available after the program has entered a sandbox.
 *
 * -EAGAIN is returned in three cases only: in a handler that has interrupted the allocator; in the
 * child of a vfork; and while another thread's fork lasts longer than a second.
 *
 * No thread waits for a read.  The reader may wait for another thread that is just counting, for a
 * second at most.
 * Reading a site or top_sites is different: it scans all block records, while the program's threads
 * wait.  They wait for a bounded time, so with very many blocks a scan fails: -EAGAIN after a second.
 */
RTC_API int rtc_profile_read_u64(rtc_profile_t *profile, uint32_t id, uint64_t *value);

/*
 * Read any variable: at most *size bytes; *size receives the size of the data. -ERANGE: it is
 * larger (libfabric's: -FI_ETOOSMALL); nothing was written.
 */
RTC_API int rtc_profile_read_data(rtc_profile_t *profile, uint32_t id, void *data, size_t *size);

/*
 * Reads between these calls use one snapshot: concurrent allocations and frees of other threads
 * count completely or not at all.  Calls nest; the outermost takes the snapshot.  Outside, each
 * read has its own snapshot. flags: 0, or RTC_PROFILE_WITH_SITES: the snapshot includes top_sites
 * (else -ENODATA), which costs more than all other variables.  An inner call cannot add to the
 * snapshot (-ENODATA). -EINVAL, -EAGAIN, -ESRCH as above. end_reads: flags are 0; -EINVAL without
 * start_reads.  (libfabric's return nothing.)
 */
enum { RTC_PROFILE_WITH_SITES = 1 << 0 };
RTC_API int rtc_profile_start_reads(rtc_profile_t *profile, uint64_t flags);
RTC_API int rtc_profile_end_reads(rtc_profile_t *profile, uint64_t flags);

/* ---- events ---------------------------------------------------------------------------------- */

/*
 * Like rtc_profile_query_vars.  For the process and each thread: alloc_error (an allocation failed
 * for lack of memory), bad_free (of no block, or by a mismatched function), thread_exit (a thread
 * that has allocated is about to end, not the main thread).  For the process only:
 *
 *   leak_scan_done  a leak scan was made, on demand or at the end
 *   report          findings were reported (a scan on demand), or are about to be (at the end)
 *   pool_grow       this process has claimed more of the run file
 *   pool_full       the run file was full, and a record is in private memory
 *   fork_child      runs in the child of a fork with atfork handlers; the data is its parent's pid
 *
 * Sites have no events.
 */
RTC_API ssize_t rtc_profile_query_events(rtc_profile_t *profile, struct rtc_profile_desc *list,
                                         size_t *count);

struct rtc_profile_alloc_error {
    uint64_t bytes; /* requested bytes */
    uint64_t site;  /* of the call; 0: unknown */
};

enum rtc_profile_free { RTC_PROFILE_BAF = 1, RTC_PROFILE_DUF, RTC_PROFILE_MAF, RTC_PROFILE_MIS };

struct rtc_profile_bad_free {
    uint64_t address;
    uint64_t site; /* of the call */
    uint32_t kind; /* enum rtc_profile_free: bad, duplicate, misaligned, mismatched */
    uint32_t reserved;
};

struct rtc_profile_scan {
    uint64_t lost_blocks, lost_bytes;
    uint64_t possible_blocks, possible_bytes; /* only interior pointers, or a thread did not stop */
    uint64_t at_end;                          /* 0: the program requested the scan */
};

struct rtc_profile_pool {
    uint64_t size, used; /* pool_size, pool_used */
};

struct rtc_profile_thread_exit {
    uint64_t tid;
    uint64_t alloc_calls, free_calls, alloc_bytes, free_bytes;
};

/*
 * The result is ignored.  `param`: the event's data of `size` bytes (as in the description), or
 * NULL; `param` and `event` are valid during the call. errno is restored after the call.
 *
 * A callback runs in the thread that caused the event, after the call's work, with no lock held,
 * and in several threads concurrently.  It may free.  It may read variables of `profile`, each with
 * its own snapshot or between its own start_reads and end_reads, independently of the profile's
 * owner.  All other functions of this header fail with -EDEADLK.  It must not allocate: allocations
 * fail (NULL with ENOMEM; operator new calls its handler, and throws), which is neither an error of
 * the program nor an event.  The same applies to signal handlers that interrupt it.  It is not
 * notified of events that it causes.  It must return (no longjmp, no exception), and soon.
 */
typedef int (*rtc_profile_callback)(rtc_profile_t *profile, struct rtc_profile_desc *event,
                                    void *param, size_t size, void *context);

/*
 * Set the callback for this event of this profile, replacing the previous one; NULL: none.  On
 * return no thread runs the previous callback, so its data may be freed. -EINVAL: the profile has
 * no such event. -ENOMEM: nothing was changed. -EDEADLK: called from a callback (of this header, or
 * of rtcheck/event.h), which would wait for itself.
 */
RTC_API int rtc_profile_register_callback(rtc_profile_t *profile, uint32_t event_id,
                                          rtc_profile_callback callback, void *context);

#ifdef __cplusplus
}
#endif

#endif
