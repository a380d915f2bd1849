/*
 * names.c - from an event's name to the type and config of perf_event_attr.
 */
#include "counters_priv.h"

#include "format/event_names.h"

#include <errno.h>
#include <linux/perf_event.h>

static bool find_raw(const char *name, struct event *e)
{
    const char *digits = name + 1;
    *e = (struct event){SOURCE_HARDWARE, .type = PERF_TYPE_RAW};
    return name[0] == 'r' && text_parse_hex(&digits, &e->config) && !*digits;
}

int event_is_unknown(struct call *c, const char *name, const char *why)
{
    if (c->lacks)
        return no_descriptors(c, "", c->lacks);
    text_put(call_because(c, RTC_CPC_INVALID_EVENT, ""), why);
    text_put(&c->message, name);
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
    if (event_named(name, e) || find_raw(name, e))
        return 0;
    if (has(name, '/'))
        return pmu_event(c, name, e);
    if (has(name, ':'))
        return tracepoint_event(c, name, e);
    return event_is_unknown(c, name, "there is no event of this name: ");
}

/* ---- all names ------------------------------------------------------------------------------- */

const char *name_next(uint32_t *at, char room[EVENT_NAME_ROOM], struct event *e, bool *generic)
{
    const char *name = event_name((*at)++, room, e);
    *generic = name && text_starts(name, "PAPI_");
    return name;
}

/* ---- attributes ------------------------------------------------------------------------------ */

int attribute_is_unknown(struct call *c, const char *name)
{
    if (c->lacks)
        return no_descriptors(c, "", c->lacks);
    text_put(call_because(c, RTC_CPC_INVALID_ATTRIBUTE, ""),
             "the event has no attribute of this name: ");
    text_put(&c->message, name);
    return -EINVAL;
}

/* The kernel assigns events to counters, so a request cannot choose one. */
static int refuse_counter(struct call *c, uint64_t picnum)
{
    bool exists = picnum < handle_counters(c->cpc);
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
