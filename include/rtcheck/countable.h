/*
 * countable.h - counters.def in C: where numbers come from, why there are none, and what an event is.
 *
 * For the runtime (rtcheck/cpc.h) and the launcher (--counters), so that both count the same by a
 * name and say the same of what cannot be counted.  All texts are constant, and all functions
 * thread- and signal-safe.
 */
#ifndef RTCHECK_COUNTABLE_H
#define RTCHECK_COUNTABLE_H

#include <stdbool.h>
#include <stdint.h>

/* Where a number comes from.  Those before SOURCE_CLOCKS are perf events. */
enum source {
#define SOURCE(id, text) SOURCE_##id,
#include "rtcheck/counters.def"
    SOURCE_COUNT
};
#define SOURCE_CLOCKS SOURCE_THREAD_CLOCK

/* Why there is no counter. */
enum refusal {
#define REFUSAL(id, text) REFUSAL_##id,
#include "rtcheck/counters.def"
    REFUSAL_COUNT
};

/* Why a counter has no number. */
enum reading_why {
#define WHY(id, text) WHY_##id,
#include "rtcheck/counters.def"
    WHY_COUNT
};

#define EVENT_NAME_ROOM 48 /* bytes that the longest name in counters.def takes, at most */

struct event {
    enum source source;
    enum source instead; /* a clock that tells the same; SOURCE_NONE: there is none */
    bool in_kernel_only; /* happens there alone */
    bool in_both;        /* user and kernel mode make no difference */
    uint32_t type;       /* of perf_event_attr, as the next ones */
    uint64_t config, config1, config2;
};

static inline const char *source_name(enum source source)
{
    static const char *const names[] = {
#define SOURCE(id, text) text,
#include "rtcheck/counters.def"
    };
    return names[source];
}

/* Some end where a name or a number is to follow. */
static inline const char *refusal_text(enum refusal refusal)
{
    static const char *const words[] = {
#define REFUSAL(id, text) text,
#include "rtcheck/counters.def"
    };
    return words[refusal];
}

static inline const char *why_text(enum reading_why why)
{
    static const char *const words[] = {
#define WHY(id, text) text,
#include "rtcheck/counters.def"
    };
    return words[why];
}

#endif
