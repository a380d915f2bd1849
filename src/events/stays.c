/*
 * stays.c - calls that keep mappings, and change their pages, their protection or nothing.
 */
#include "change.h"

#include <errno.h>
#include <pthread.h>

/* Update the map: the same mapping with other file pages. */
static void other_pages(struct change *c, const union rtc_event *e, struct range r)
{
    struct map_region now;
    if (!mapped_find(r.start, &now))
        return;
    now.start = r.start;
    now.end = r.end;
    now.offset = e->remap_file_pages.pgoff * PAGE_BYTES;
    mapped_new(&c->map, &now);
}

int change_file_pages(struct origin o, union rtc_event *e)
{
    struct change c;
    /* The kernel rounds both down. */
    struct range r =
        range_of((void *)align_down((uintptr_t)e->remap_file_pages.address, PAGE_BYTES),
                 align_down(e->remap_file_pages.size, PAGE_BYTES));
    change_begin(&c, o);
    change_unmapped(&c, r);
    mapped_begin(&c.map);
    change_call(&c, RTC_EVENT_REMAP_FILE_PAGES, e);
    if (e->remap_file_pages.result == -1)
        change_unchanged(&c, r);
    else {
        other_pages(&c, e, r);
        change_mapped(&c, r);
    }
    change_end(&c);
    return e->remap_file_pages.result;
}

/* The kernel changes the protection up to the first hole, also if the call then fails. */
int change_rights(struct origin o, union rtc_event *e)
{
    struct change c;
    change_begin(&c, o);
    mapped_begin(&c.map);
    change_call(&c, RTC_EVENT_MPROTECT, e);
    struct range r = range_of(e->mprotect.address, e->mprotect.size);
    if (!e->mprotect.result || errno == ENOMEM)
        mapped_protected(&c.map, r.start, r.end, e->mprotect.prot);
    change_end(&c);
    return e->mprotect.result;
}

int change_nothing(struct origin o, uint32_t type, union rtc_event *e)
{
    struct visit v;
    visit_begin(&v);
    visit_before(&v, type, e);
    if (o.raw)
        original_raw(type, e);
    else
        original_noted(type, e);
    visit_after(&v, type, e);
    visit_end(&v);
    return e->munmap.result;
}

struct cancellable {
    struct visit visit;
    struct making outer;
};

/* Also runs if the thread is cancelled in the call. */
static void end_cancelled(void *call)
{
    struct cancellable *c = call;
    making = c->outer;
    visit_end(&c->visit);
}

int change_nothing_or_be_cancelled(uint32_t type, union rtc_event *e)
{
    struct cancellable c;
    visit_begin(&c.visit);
    c.outer = making;
    pthread_cleanup_push(end_cancelled, &c);
    visit_before(&c.visit, type, e);
    original_noted(type, e);
    visit_after(&c.visit, type, e);
    pthread_cleanup_pop(1);
    return e->munmap.result;
}
