/*
 * event_names.h - the table of event names in counters.def.
 *
 * The name of a cache event is the cache's name followed by the operation's: LLC-load-misses.  All
 * functions are thread-safe and async-signal-safe.
 */
#ifndef RTCHECK_EVENT_NAMES_H
#define RTCHECK_EVENT_NAMES_H

#include <linux/perf_event.h>
#include <string.h>

#include "format/bits.h"
#include "format/countable.h"

static const struct named_event {
    const char *name;
    struct event event;
} named_events[] = {
#define SOFTWARE(word, number, ...)                                                  \
    {word,                                                                           \
     {SOURCE_SOFTWARE, .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_##number, \
      __VA_ARGS__}},
#define HARDWARE(word, number) \
    {word, {SOURCE_HARDWARE, .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_##number}},
#define CLOCK(word, number) {word, {SOURCE_##number, .in_both = true}},
#include "format/counters.def"
};

static const struct {
    const char *name;
    uint32_t id;
} event_caches[] = {
#define CACHE(name, id) {name, PERF_COUNT_HW_CACHE_##id},
#include "format/counters.def"
};

static const struct {
    const char *name;
    uint32_t id, result;
} event_operations[] = {
#define OPERATION(name, operation, result) \
    {name, PERF_COUNT_HW_CACHE_OP_##operation, PERF_COUNT_HW_CACHE_RESULT_##result},
#include "format/counters.def"
};

/* The n-th name and its event, or NULL at the end.  The name is static, or in `room`. */
static inline const char *event_name(uint32_t n, char room[EVENT_NAME_ROOM], struct event *e)
{
    if (n < countof(named_events)) {
        *e = named_events[n].event;
        return named_events[n].name;
    }
    n -= (uint32_t)countof(named_events);
    if (n >= countof(event_caches) * countof(event_operations))
        return NULL;
    uint32_t cache = n / (uint32_t)countof(event_operations),
             operation = n % (uint32_t)countof(event_operations);
    size_t length = strlen(event_caches[cache].name);
    memcpy(room, event_caches[cache].name, length);
    memcpy(room + length, event_operations[operation].name,
           strlen(event_operations[operation].name) + 1);
    *e = (struct event){SOURCE_HARDWARE, .type = PERF_TYPE_HW_CACHE,
                        .config = event_caches[cache].id | event_operations[operation].id << 8 |
                                  event_operations[operation].result << 16};
    return room;
}

/* Find an event by name.  Return false if there is none. */
static inline bool event_named(const char *name, struct event *e)
{
    char room[EVENT_NAME_ROOM];
    const char *each;
    size_t bytes = strlen(name) + 1;
    for (uint32_t n = 0; (each = event_name(n, room, e)); n++)
        if (strlen(each) + 1 == bytes && memcmp(each, name, bytes) == 0)
            return true;
    return false;
}

#endif
