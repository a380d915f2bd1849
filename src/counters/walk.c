/*
 * walk.c - list names of events and attributes, each once.
 *
 * An event of the tables is listed if it can be opened.  Events that the kernel lists in /sys are
 * not tested.  If no descriptor is available, the list may be incomplete, and the error handler
 * runs afterwards.
 */
#include "counters_priv.h"

#include <errno.h>
#include <linux/perf_event.h>

/* One of the two callbacks is set. */
struct event_walk {
    void *arg;
    void (*event)(void *arg, const char *event);
    void (*of_counter)(void *arg, unsigned picno, const char *event);
    unsigned picno;
    int lacks; /* as call.lacks */
};

static void visit_event(const struct event_walk *w, const char *name)
{
    if (w->event)
        w->event(w->arg, name);
    else
        w->of_counter(w->arg, w->picno, name);
}

static bool can_be_opened(const struct event *e, int *lacks)
{
    struct perf_event_attr attr = {.type = e->type,
                                   .size = sizeof attr,
                                   .config = e->config,
                                   .disabled = 1,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1};
    int fd = os_sandboxed() ? -ECANCELED : os_perf_open(&attr, 0, -1, -1);
    note_lack(lacks, fd);
    if (fd >= 0)
        os_perf_close(fd);
    return fd >= 0;
}

static void walk_end(rtc_cpc_t *cpc, const char *function, int lacks)
{
    struct call c;
    if (lacks && call_begin(&c, function, cpc))
        call_end(&c, no_descriptors(&c, "", lacks));
}

/* Walk the tables; `hardware`: only hardware events. */
static void walk_tables(struct event_walk *w, bool generic, bool hardware)
{
    struct event e;
    bool is_generic;
    char room[EVENT_NAME_ROOM];
    const char *name;
    for (uint32_t at = 0; (name = name_next(&at, room, &e, &is_generic));) {
        if (is_generic != generic || (hardware && e.source != SOURCE_HARDWARE))
            continue;
        if (e.source >= SOURCE_CLOCKS || can_be_opened(&e, &w->lacks))
            visit_event(w, name);
    }
}

struct pmu_walk {
    const struct event_walk *walk;
    const char *pmu;
};

/* Skip "NAME.unit" and similar files, which describe the event NAME. */
static void visit_pmu_event(const char *name, void *about)
{
    const struct pmu_walk *p = about;
    char text[128];
    struct text t = text_begin(text, sizeof text);
    for (const char *s = name; *s; s++)
        if (*s == '.')
            return;
    text_put(&t, p->pmu);
    text_put(&t, "/");
    text_put(&t, name);
    text_put(&t, "/");
    text_end(&t);
    visit_event(p->walk, text);
}

static void walk_pmu(struct event_walk *w, const char *pmu)
{
    struct pmu_walk p = {w, pmu};
    pmu_each(pmu, "events", visit_pmu_event, &p, &w->lacks);
}

EXPORT void rtc_cpc_walk_events_all(rtc_cpc_t *cpc, void *arg,
                                    void (*action)(void *arg, const char *event))
{
    struct event_walk w = {.arg = arg, .event = action};
    struct pmus all;
    if (!is_handle(cpc))
        return;
    walk_tables(&w, false, false);
    pmus_list(&all, &w.lacks);
    for (uint32_t i = 0; i < all.count; i++)
        walk_pmu(&w, all.name[i]);
    walk_end(cpc, __func__, w.lacks);
}

EXPORT void rtc_cpc_walk_generic_events_all(rtc_cpc_t *cpc, void *arg,
                                            void (*action)(void *arg, const char *event))
{
    struct event_walk w = {.arg = arg, .event = action};
    if (!is_handle(cpc))
        return;
    walk_tables(&w, true, false);
    walk_end(cpc, __func__, w.lacks);
}

/* Return true if there is no such counter, and run the error handler. */
static bool lacks_counter(rtc_cpc_t *cpc, const char *function, unsigned picno)
{
    struct call c;
    if (is_handle(cpc) && picno < rtc_cpc_npic(cpc))
        return false;
    if (call_begin(&c, function, cpc)) {
        text_put(call_because(&c, RTC_CPC_INVALID_PICNUM, ""), "there is no such counter: ");
        text_decimal(&c.message, picno);
        call_end(&c, -EINVAL);
    }
    return true;
}

EXPORT void rtc_cpc_walk_events_pic(rtc_cpc_t *cpc, unsigned picno, void *arg,
                                    void (*action)(void *arg, unsigned picno, const char *event))
{
    struct event_walk w = {.arg = arg, .of_counter = action, .picno = picno};
    if (lacks_counter(cpc, __func__, picno))
        return;
    walk_tables(&w, false, true);
    walk_pmu(&w, "cpu");
    walk_end(cpc, __func__, w.lacks);
}

EXPORT void rtc_cpc_walk_generic_events_pic(rtc_cpc_t *cpc, unsigned picno, void *arg,
                                            void (*action)(void *arg, unsigned picno,
                                                           const char *event))
{
    struct event_walk w = {.arg = arg, .of_counter = action, .picno = picno};
    if (lacks_counter(cpc, __func__, picno))
        return;
    walk_tables(&w, true, true);
    walk_end(cpc, __func__, w.lacks);
}

/* ---- attributes ------------------------------------------------------------------------------ */

struct attr_walk {
    void *arg;
    void (*action)(void *arg, const char *attr);
    const struct pmus *all;
    uint32_t pmu;
    int lacks;
};

/* Skip names that a previous PMU has, too. */
static void visit_attribute(const char *name, void *about)
{
    struct attr_walk *w = about;
    for (uint32_t i = 0; i < w->pmu; i++)
        if (pmu_has(w->all->name[i], "format", name, &w->lacks))
            return;
    w->action(w->arg, name);
}

EXPORT void rtc_cpc_walk_attrs(rtc_cpc_t *cpc, void *arg,
                               void (*action)(void *arg, const char *attr))
{
    struct pmus all;
    struct attr_walk w = {arg, action, &all, 0, 0};
    if (!is_handle(cpc))
        return;
    pmus_list(&all, &w.lacks);
    if (all.count) {
        action(arg, "config");
        action(arg, "config1");
        action(arg, "config2");
    }
    for (; w.pmu < all.count; w.pmu++)
        pmu_each(all.name[w.pmu], "format", visit_attribute, &w, &w.lacks);
    walk_end(cpc, __func__, w.lacks);
}
