/*
 * set.c - create sets and add requests.
 */
#include "counters_priv.h"

#include <errno.h>
#include <string.h>

#define FLAGS (RTC_CPC_COUNT_USER | RTC_CPC_COUNT_SYSTEM | RTC_CPC_OVF_NOTIFY_EMT)

EXPORT rtc_cpc_set_t *rtc_cpc_set_create(rtc_cpc_t *cpc)
{
    static uint64_t numbers; /* under the lock */
    struct call c;
    if (!call_begin(&c, __func__, cpc))
        return NULL;
    rtc_cpc_set_t *set = cell_take(cpc, CELL_SET);
    if (set) {
        set->number = ++numbers;
        set->cell.next = cpc->sets;
        cpc->sets = &set->cell;
    }
    return call_end(&c, set ? 0 : -ENOMEM) ? NULL : set;
}

static void take_out(rtc_cpc_set_t *set)
{
    struct cell **at = &set->cell.cpc->sets;
    while (*at != &set->cell)
        at = &(*at)->next;
    *at = set->cell.next;
}

EXPORT int rtc_cpc_set_destroy(rtc_cpc_t *cpc, rtc_cpc_set_t *set)
{
    struct call c;
    if (!call_begin(&c, __func__, cpc))
        return -1;
    if (!is_set_of(set, cpc))
        return call_end(&c, -EINVAL);
    if (set->bound)
        bind_end(set);
    take_out(set);
    cell_give(&set->cell);
    return call_end(&c, 0);
}

/* ---- requests -------------------------------------------------------------------------------- */

static int bad_flags(struct call *c, const char *subject, const char *why)
{
    text_put(call_because(c, RTC_CPC_REQ_INVALID_FLAGS, subject), why);
    return -EINVAL;
}

static int check_flags(struct call *c, const struct request *r)
{
    bool user = r->flags & RTC_CPC_COUNT_USER, system = r->flags & RTC_CPC_COUNT_SYSTEM;
    bool clock = r->event.source >= SOURCE_CLOCKS;
    if (r->flags & ~(uint32_t)FLAGS)
        return bad_flags(c, r->name, "unknown flags");
    if (!user && !system)
        return bad_flags(c, r->name,
                         "neither in user mode nor in the kernel: it would count nothing");
    if (r->event.in_kernel_only && !system)
        return bad_flags(c, r->name,
                         "it happens in the kernel only: in user mode it would count nothing");
    if (!(r->flags & RTC_CPC_OVF_NOTIFY_EMT))
        return 0;
    if (clock) {
        text_put(call_because(c, RTC_CPC_PIC_NOT_CAPABLE, r->name), "a clock does not overflow");
        return -EINVAL;
    }
    if (system)
        return bad_flags(c, r->name, "overflows are reported only of events counted in user mode");
    return 0;
}

static int take_attribute(struct call *c, struct request *r, const rtc_cpc_attr_t *given)
{
    struct attribute *a = &r->attribute[r->attributes];
    if (!given->ca_name || text_length(given->ca_name) >= sizeof a->name)
        return attribute_is_unknown(c, given->ca_name ? given->ca_name : "NULL");
    memcpy(a->name, given->ca_name, text_length(given->ca_name) + 1);
    a->value = given->ca_val;
    int err = event_refine(c, r, a);
    r->attributes += !err;
    return err;
}

static int take_attributes(struct call *c, struct request *r, unsigned n,
                           const rtc_cpc_attr_t *given)
{
    if (n > RTC_CPC_ATTRIBUTES_MAX)
        return -ENOMEM;
    if (n && !given)
        return -EINVAL;
    for (unsigned i = 0; i < n; i++) {
        int err = take_attribute(c, r, &given[i]);
        if (err)
            return err;
    }
    return 0;
}

static int fill(struct call *c, struct request *r, const char *event, unsigned n,
                const rtc_cpc_attr_t *attributes)
{
    if (!event || text_length(event) >= sizeof r->name) {
        text_put(call_because(c, RTC_CPC_INVALID_EVENT, ""),
                 event ? "no event has so long a name" : "no name");
        return -EINVAL;
    }
    memcpy(r->name, event, text_length(event) + 1);
    int err = event_of(c, r->name, &r->event);
    if (!err)
        err = check_flags(c, r);
    return err ? err : take_attributes(c, r, n, attributes);
}

EXPORT int rtc_cpc_set_add_request(rtc_cpc_t *cpc, rtc_cpc_set_t *set, const char *event,
                                   uint64_t preset, unsigned flags, unsigned nattrs,
                                   const rtc_cpc_attr_t *attrs)
{
    struct call c;
    if (!call_begin(&c, __func__, cpc))
        return -1;
    if (!is_set_of(set, cpc) || set->bound)
        return call_end(&c, -EINVAL);
    if (set->count == RTC_CPC_REQUESTS_MAX)
        return call_end(&c, -ENOMEM);
    struct request *r = &set->request[set->count];
    memset(r, 0, sizeof *r);
    r->preset = preset;
    r->flags = flags;
    r->fd = -1;
    int err = fill(&c, r, event, nattrs, attrs);
    return call_end(&c, err ? err : (int)set->count++);
}

static int set_preset(rtc_cpc_set_t *set, int index, uint64_t preset)
{
    if (index < 0 || (uint32_t)index >= set->count)
        return -EINVAL;
    set->request[index].preset = preset;
    return 0;
}

EXPORT int rtc_cpc_set_request_preset(rtc_cpc_t *cpc, rtc_cpc_set_t *set, int index,
                                      uint64_t preset)
{
    struct call c;
    if (!call_begin(&c, __func__, cpc))
        return -1;
    return call_end(&c, is_set_of(set, cpc) ? set_preset(set, index, preset) : -EINVAL);
}

/* The last set that the calling thread has bound to itself, or NULL. */
static rtc_cpc_set_t *last_of_thread(const rtc_cpc_t *cpc)
{
    rtc_cpc_set_t *last = NULL;
    for (struct cell *o = cpc->sets; o; o = o->next) {
        rtc_cpc_set_t *set = (void *)o;
        if (is_bound_here(set) && (!last || set->order > last->order))
            last = set;
    }
    return last;
}

EXPORT int rtc_cpc_request_preset(rtc_cpc_t *cpc, int index, uint64_t preset)
{
    struct call c;
    if (!call_begin(&c, __func__, cpc))
        return -1;
    rtc_cpc_set_t *set = last_of_thread(cpc);
    return call_end(&c, set ? set_preset(set, index, preset) : -EINVAL);
}

/* Copy one request at a time: no lock is held while the action runs. */
static bool copy_request(rtc_cpc_t *cpc, const rtc_cpc_set_t *set, uint32_t i, struct request *out)
{
    struct call c;
    if (!call_begin(&c, "rtc_cpc_walk_requests", cpc))
        return false;
    bool there = is_set_of(set, cpc) && i < set->count;
    if (there)
        *out = set->request[i];
    call_end(&c, 0);
    return there;
}

EXPORT void rtc_cpc_walk_requests(rtc_cpc_t *cpc, rtc_cpc_set_t *set, void *arg,
                                  void (*action)(void *arg, int index, const char *event,
                                                 uint64_t preset, unsigned flags, int nattrs,
                                                 const rtc_cpc_attr_t *attrs))
{
    struct request r;
    rtc_cpc_attr_t attrs[RTC_CPC_ATTRIBUTES_MAX];
    for (uint32_t i = 0; copy_request(cpc, set, i, &r); i++) {
        for (uint32_t a = 0; a < r.attributes; a++)
            attrs[a] = (rtc_cpc_attr_t){r.attribute[a].name, r.attribute[a].value};
        action(arg, (int)i, r.name, r.preset, r.flags, (int)r.attributes, attrs);
    }
}
