/* rows_ranges.c - handlers of ranges alone: the interceptors notify them without an event of the call. */
#include "contract.h"

#include <stdlib.h>

/* A handler's changes to its event do not reach the others, or the call. */
static void spoil(unsigned type, union rtc_event *e, void *arg)
{
    (void)type, (void)arg;
    e->vm_mapped.address = NULL;
    e->vm_mapped.size = 1;
    errno = EXDEV;
}

static void on_range(void)
{
    handle(VM_EVENTS, -1, "first");
    must(rtc_event_set_handler(VM_EVENTS, 0, spoil, NULL) == 0);
    handle(RTC_EVENT_VM_UNMAPPED, 1, "last");
}

void row_ranges_alone(void)
{
    on_range();
    errno = 77;
    char *at = mmap(NULL, PAGE + 1, READ_WRITE, PLAIN, -1, 0);
    must(errno == 77 && logged_count == 1 && is_range(RTC_EVENT_VM_MAPPED, 0, at, 2 * PAGE));
    must(munmap(at, PAGE + 1) == 0 && errno == 77 && logged_count == 3);
    for (unsigned i = 0; i < 2; i++)
        must(is_range(RTC_EVENT_VM_UNMAPPED, i, at, 2 * PAGE));
    must(strcmp(logged[1].arg, "first") == 0 && strcmp(logged[2].arg, "last") == 0);
}

void row_ranges_of_what_fails(void)
{
    char *at = pages(2);
    rtc_orig_munmap(at + PAGE, PAGE);
    on_range();
    must(mmap(NULL, PAGE, READ_WRITE, MAP_PRIVATE, -1, 0) == MAP_FAILED && errno == EBADF);
    must(munmap(at, 0) == -1 && errno == EINVAL);
    must(logged_count == 0);
    must(munmap(at, 1ul << 62) == -1 &&
         errno == EINVAL); /* not recognisable as invalid by its numbers */
    must(is_range(RTC_EVENT_VM_UNMAPPED, 0, at, 1ul << 62) && is_mapped(at, PAGE));
    must(is_range(RTC_EVENT_VM_CANCELLED, 0, at, PAGE));
}

/* Calls in a callback notify the other handler, but not the callback itself. */
static void map_inside(unsigned type, union rtc_event *e, void *arg)
{
    record(type, e, arg);
    munmap(mmap(NULL, 3 * PAGE, READ_WRITE, PLAIN, -1, 0), 3 * PAGE);
}

void row_ranges_in_callbacks(void)
{
    must(rtc_event_set_handler(RTC_EVENT_VM_MAPPED, 0, map_inside, (void *)(uintptr_t) "maps") ==
         0);
    handle(VM_EVENTS, 1, "other");
    char *at = mmap(NULL, PAGE, READ_WRITE, PLAIN, -1, 0);
    must(logged_count == 4 && is_range(RTC_EVENT_VM_MAPPED, 0, at, PAGE));
    must(strcmp(logged[0].arg, "maps") == 0 && logged[1].e.vm_mapped.size == 3 * PAGE);
    must(strcmp(logged[1].arg, "other") == 0 && logged[2].type == RTC_EVENT_VM_UNMAPPED);
    must(strcmp(logged[3].arg, "other") == 0 && is_range(RTC_EVENT_VM_MAPPED, 2, at, PAGE));
}

/* A handler of the call itself is notified, too. */
void row_ranges_beside_calls(void)
{
    on_range();
    handle(RTC_EVENT_MMAP, 0, "calls");
    char *at = mmap(NULL, PAGE, READ_WRITE, PLAIN, -1, 0);
    must(logged_count == 2 && nth(RTC_EVENT_MMAP, 0).mmap.size == PAGE);
    must(rtc_event_unset_handler(RTC_EVENT_MMAP, record, (void *)(uintptr_t) "calls") == 0);
    handle(RTC_EVENT_MUNMAP, 0, "calls");
    forget();
    must(munmap(at, PAGE) == 0);
    must(count_of(RTC_EVENT_VM_UNMAPPED) == 2 && count_of(RTC_EVENT_MUNMAP) == 1 &&
         logged_count == 3);
}

static void look_at_result(unsigned type, union rtc_event *e, void *seen)
{
    (void)type;
    *(volatile int *)seen = e->munmap.result;
}

/* The range stays, and is reported so; a handler before the call sees it as not made. */
void row_munmap_over_the_heap(void)
{
    static volatile int before = 7, after = 7;
    char *block = malloc(1 << 20), *at = (char *)(((uintptr_t)block + PAGE - 1) & -PAGE);
    for (int i = 0; i < 2; i++) { /* handlers of ranges, then of calls, too */
        forget();
        handle(VM_EVENTS, 0, "ranges");
        must(munmap(at, 4 * PAGE) == 0 && logged_count == 2u);
        must(is_range(RTC_EVENT_VM_UNMAPPED, 0, at, 4 * PAGE) &&
             is_range(RTC_EVENT_VM_CANCELLED, 0, at, 4 * PAGE));
        must(rtc_event_unset_handler(VM_EVENTS, record, (void *)(uintptr_t) "ranges") == 0);
        must(rtc_event_set_handler(RTC_EVENT_MUNMAP, -1, look_at_result,
                                   (void *)(uintptr_t)&before) == 0);
        must(rtc_event_set_handler(RTC_EVENT_MUNMAP, 1, look_at_result,
                                   (void *)(uintptr_t)&after) == 0);
    }
    must(before == -1 && after == 0);
    must(rtc_orig_munmap(at, 4 * PAGE) == 0 &&
         (at[0] = 1)); /* without an event, and with the same effect */
}

/* These calls fail in any case: no events. */
void row_refused_by_numbers(void)
{
    int id = shmget(IPC_PRIVATE, PAGE, 0600);
    char *at = pages(4);
    on_range();
    must(id >= 0 && shmat(id, NULL, SHM_REMAP) == MAP_FAILED && errno == EINVAL);
    must(shmat(id, (void *)(PAGE - 1), SHM_REMAP | SHM_RND) == MAP_FAILED &&
         shmctl(id, IPC_RMID, NULL) == 0);
    at += (uintptr_t)at % (2u << 20) ? 0 : PAGE;
    must(mmap(at, PAGE, READ_WRITE, PLAIN | MAP_FIXED | MAP_HUGETLB, -1, 0) == MAP_FAILED);
    must(logged_count == 0);
}
