/*
 * profile.h - what the runtime knows of a program's heap while it runs: variables, by name and number.
 *
 * The contract is that of libfabric's fi_profile(3), with rtc_profile_ in place of fi_profile_; where this
 * one differs it says so.
 *
 * A program links and runs without the runtime: every function is a weak symbol, NULL where the
 * runtime is not there.  Ask once, e.g. `if (rtc_profile_open)`.
 *
 * ints that are status return 0 or a negative errno value and leave errno alone.  Any thread may call any
 * function, and one profile is used by one thread at a time.  They may be called by signal handlers;
 * one that interrupted the allocator gets -EAGAIN for what it would read.  Nothing is counted for a
 * profile: open ones cost the program nothing until they are read.
 *
 * Forks: a child has its parent's profiles; those of the process tell of the child (which begins with the
 * counts of its parent), those of threads end (-ESRCH).
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

/* ---- profiles --------------------------------------------------------------------------------- */

/* What a profile is of. */
enum rtc_profile_domain {
    RTC_PROFILE_PROCESS = 1,
    RTC_PROFILE_THREAD = 2 /* of this process; what it allocates and frees */
};

/*
 * A profile of the process (`id` 0), or of the thread with this number (gettid; 0: the calling one), which
 * may be read after the thread's end, too.  `context` comes back from rtc_profile_context.
 * -ENOSYS: objects of this kind have no profile.  -EINVAL: an id or flags that mean nothing (flags: 0).
 * -ESRCH: there is no such thread, or it never allocated.  -ENOMEM.
 */
RTC_API int rtc_profile_open(enum rtc_profile_domain domain, uint64_t id, uint64_t flags,
                             rtc_profile_t **profile, void *context);

/* -EINVAL: it is none. */
RTC_API int rtc_profile_close(rtc_profile_t *profile);
RTC_API void *rtc_profile_context(rtc_profile_t *profile); /* NULL: it is none */

/*
 * Counters (RTC_PROFILE_COUNTER) begin at 0 again, for this profile alone (libfabric's: no counter changes).
 * -EINVAL: it is none, or flags are not 0.  -EBUSY: reads are under way.  -EAGAIN, -ESRCH as for reads.
 */
RTC_API int rtc_profile_reset(rtc_profile_t *profile, uint64_t flags);

/* ---- variables -------------------------------------------------------------------------------- */

enum rtc_profile_type {
    RTC_PROFILE_PRIMITIVE, /* datatype.primitive says which */
    RTC_PROFILE_DEFINED    /* a struct of this header; no variable is one yet */
};

enum rtc_profile_primitive { RTC_PROFILE_UINT64 };

enum { RTC_PROFILE_COUNTER = 1 << 0 }; /* flags: it only grows, and can be reset */

struct rtc_profile_desc {
    uint32_t id; /* variables with the same name have the same id, everywhere */
    enum rtc_profile_type datatype_sel;
    union {
        enum rtc_profile_primitive primitive;
        uint32_t defined;
    } datatype;
    uint64_t flags;
    size_t size;      /* of the data, in bytes */
    const char *name; /* the library's, for ever */
    const char *desc;
};

/*
 * Of each: alloc_calls, free_calls, alloc_bytes, free_bytes: calls that gave a block and that took one, and
 * the bytes asked for.  A resize is both.  Of the process: blocks_live, bytes_live (in use),
 * bytes_peak (the most that was, up to 32 KiB for each thread), heap_bytes (address space of the heap that
 * is in use or was), threads_live.
 *
 * Fills in descriptors, at most *count of them, and sets *count to how many there are; returns how many it
 * filled in.  NULL: only the count is set, and 0 returned.
 */
RTC_API ssize_t rtc_profile_query_vars(rtc_profile_t *profile, struct rtc_profile_desc *list, size_t *count);

/*
 * The value of a variable.  -EINVAL: the profile has none of this id.  -EAGAIN: nothing is known now, as the
 * allocator cannot be brought to rest.  -ESRCH: the thread was the parent's.
 */
RTC_API int rtc_profile_read_u64(rtc_profile_t *profile, uint32_t id, uint64_t *value);

/*
 * What is read between the two is of one moment: allocations and frees that were under way in other
 * threads count wholly or not at all.  They nest; the outermost takes the snapshot.  Outside of them each
 * read is of its own moment.  -EINVAL, -EAGAIN, -ESRCH as above; end: -EINVAL, nothing was started.
 */
RTC_API int rtc_profile_start_reads(rtc_profile_t *profile, uint64_t flags);
RTC_API int rtc_profile_end_reads(rtc_profile_t *profile, uint64_t flags);

#ifdef __cplusplus
}
#endif

#endif
