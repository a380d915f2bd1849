/*
 * countable.h - counters.def as C tables: sources of counts, reasons for missing counts, and
 * events.
 *
 * Used by the runtime (rtcheck/cpc.h) and the launcher (--counters), so both use the same event
 * names and messages.  All texts are constant, and all functions are thread-safe and
 * async-signal-safe.
 */
#ifndef RTCHECK_COUNTABLE_H
#define RTCHECK_COUNTABLE_H

#include <stdbool.h>
#include <stdint.h>

/* The source of a count.  Sources before SOURCE_CLOCKS are perf events. */
enum source {
#define SOURCE(id, text) SOURCE_##id,
#include "format/counters.def"
    SOURCE_COUNT
};
#define SOURCE_CLOCKS SOURCE_THREAD_CLOCK

/* Why a counter is not available. */
enum refusal {
#define REFUSAL(id, text) REFUSAL_##id,
#include "format/counters.def"
    REFUSAL_COUNT
};

/* Why a counter has no value. */
enum reading_why {
#define WHY(id, text) WHY_##id,
#include "format/counters.def"
    WHY_COUNT
};

#define EVENT_NAME_ROOM 48 /* upper limit of the length of names in counters.def, in bytes */

struct event {
    enum source source;
    enum source instead; /* an equivalent clock; SOURCE_NONE: there is none */
    bool in_kernel_only; /* happens in kernel mode only */
    bool in_both;        /* not distinguished by user and kernel mode */
    uint32_t type;       /* this and the following fields: as in perf_event_attr */
    uint64_t config, config1, config2;
};

static inline const char *source_name(enum source source)
{
    static const char *const names[] = {
#define SOURCE(id, text) text,
#include "format/counters.def"
    };
    return names[source];
}

/* Some texts end where a name or a number is to be appended. */
static inline const char *refusal_text(enum refusal refusal)
{
    static const char *const words[] = {
#define REFUSAL(id, text) text,
#include "format/counters.def"
    };
    return words[refusal];
}

static inline const char *why_text(enum reading_why why)
{
    static const char *const words[] = {
#define WHY(id, text) text,
#include "format/counters.def"
    };
    return words[why];
}

#endif
