/*
 * names.c - from an event's name to what the kernel wants to hear.
 */
#include "counters_priv.h"

#include <errno.h>
#include <linux/perf_event.h>

struct known {
    const char *name;
    struct event event;
};

static const struct known known[] = {
#define SOFTWARE(word, number, ...)                                                                 \
    {word, {SOURCE_SOFTWARE, .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_##number, __VA_ARGS__}},
#define HARDWARE(word, number) \
    {word, {SOURCE_HARDWARE, .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_##number}},
#define CLOCK(word, number) {word, {SOURCE_##number, .in_both = true}},
#include "rtcheck/counters.def"
};

static bool find(const char *name, struct event *e)
{
    for (size_t i = 0; i < countof(known); i++)
        if (text_equal(known[i].name, name)) {
            *e = known[i].event;
            return true;
        }
    return false;
}

/* ---- caches: CACHE-OPERATION ---------------------------------------------------------------------- */

static const struct {
    const char *name;
    uint32_t id;
} cache[] = {
#define CACHE(name, id) {name, PERF_COUNT_HW_CACHE_##id},
#include "rtcheck/counters.def"
};

static const struct {
    const char *name;
    uint32_t id, result;
} operation[] = {
#define OPERATION(name, operation, result) \
    {name, PERF_COUNT_HW_CACHE_OP_##operation, PERF_COUNT_HW_CACHE_RESULT_##result},
#include "rtcheck/counters.def"
};

static bool find_operation(uint32_t id, const char *name, struct event *e)
{
    for (size_t i = 0; i < countof(operation); i++)
        if (text_equal(operation[i].name, name)) {
            *e = (struct event){SOURCE_HARDWARE, .type = PERF_TYPE_HW_CACHE,
                                .config = id | operation[i].id << 8 | operation[i].result << 16};
            return true;
        }
    return false;
}

static bool find_cache(const char *name, struct event *e)
{
    for (size_t i = 0; i < countof(cache); i++)
        if (text_starts(name, cache[i].name) &&
            find_operation(cache[i].id, name + text_length(cache[i].name), e))
            return true;
    return false;
}

static bool find_raw(const char *name, struct event *e)
{
    const char *digits = name + 1;
    *e = (struct event){SOURCE_HARDWARE, .type = PERF_TYPE_RAW};
    return name[0] == 'r' && text_parse_hex(&digits, &e->config) && !*digits;
}

int event_is_unknown(struct call *c, const char *name, const char *why)
{
    text_put(call_because(c, RTC_CPC_INVALID_EVENT, ""), why);
    text_put(&c->words, name);
    return -EINVAL;
}

static bool has(const char *name, char sign)
{
    while (*name && *name != sign)
        name++;
    return *name;
}

int event_of(struct call *c, const char *name, struct event *e)
{
    if (find(name, e) || find_cache(name, e) || find_raw(name, e))
        return 0;
    if (has(name, '/'))
        return pmu_event(c, name, e);
    if (has(name, ':'))
        return tracepoint_event(c, name, e);
    return event_is_unknown(c, name, "there is no event of this name: ");
}

/* ---- all of them ---------------------------------------------------------------------------------- */

static const char *cache_name(uint32_t n, char *name, struct event *e)
{
    struct text t = text_begin(name, NAME_ROOM);
    if (n >= countof(cache) * countof(operation))
        return NULL;
    text_put(&t, cache[n / countof(operation)].name);
    text_put(&t, operation[n % countof(operation)].name);
    text_end(&t);
    find_cache(name, e);
    return name;
}

const char *name_next(uint32_t *at, char room[NAME_ROOM], struct event *e, bool *generic)
{
    uint32_t n = (*at)++;
    *generic = false;
    if (n >= countof(known))
        return cache_name(n - countof(known), room, e);
    *e = known[n].event;
    *generic = text_starts(known[n].name, "PAPI_");
    return known[n].name;
}

/* ---- attributes ----------------------------------------------------------------------------------- */

int attribute_is_unknown(struct call *c, const char *name)
{
    text_put(call_because(c, RTC_CPC_INVALID_ATTRIBUTE, ""), "the event has no attribute of this name: ");
    text_put(&c->words, name);
    return -EINVAL;
}

/* Whose counter is whose is the kernel's business. */
static int refuse_counter(struct call *c, uint64_t picnum)
{
    bool exists = picnum < rtc_cpc_npic(c->cpc);
    struct text *w = call_because(c, exists ? RTC_CPC_PIC_NOT_CAPABLE : RTC_CPC_INVALID_PICNUM, "");
    text_put(w, exists ? "the kernel chooses the counter: " : "there is no such counter: ");
    text_decimal(w, picnum);
    return -EINVAL;
}

int event_refine(struct call *c, struct request *r, const struct attribute *a)
{
    char pmu[PMU_NAME];
    size_t n = 0;
    if (text_equal(a->name, "picnum"))
        return refuse_counter(c, a->value);
    if (r->event.source == SOURCE_HARDWARE && r->event.type == PERF_TYPE_RAW)
        return pmu_attribute(c, "cpu", a->name, a->value, &r->event);
    if (r->event.source != SOURCE_PMU)
        return attribute_is_unknown(c, a->name);
    for (; r->name[n] != '/'; n++)
        pmu[n] = r->name[n];
    pmu[n] = '\0';
    return pmu_attribute(c, pmu, a->name, a->value, &r->event);
}
