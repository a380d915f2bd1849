/*
 * events.c - changes of a program's address space: each range that is mapped and unmapped, as a cache of
 * registered memory gets it.
 *
 *     cc -I PREFIX/include events.c -o events && rtcheck ./events
 *
 * C and C++. Without the runtime it prints so, and does its work.
 */
#include <stdio.h>
#include <sys/mman.h>

#include <rtcheck/event.h>

struct ranges {
    unsigned mapped, unmapped;
    size_t bytes_mapped, bytes_unmapped;
};

/* Runs within the call that causes the event: it prints nothing and allocates nothing. */
static void on_event(unsigned type, union rtc_event *event, void *arg)
{
    struct ranges *seen = (struct ranges *)arg;
    if (type == RTC_EVENT_VM_MAPPED) {
        seen->mapped++;
        seen->bytes_mapped += event->vm_mapped.size;
    } else {
        seen->unmapped++;
        seen->bytes_unmapped += event->vm_unmapped.size;
    }
}

/* Map four pages, unmap two of them, then all. */
static int work(void)
{
    enum { PAGE = 4096 };
    char *memory =
        (char *)mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 1;
    return munmap(memory + PAGE, 2 * PAGE) != 0 || munmap(memory, 4 * PAGE) != 0;
}

int main(void)
{
    unsigned events = RTC_EVENT_VM_MAPPED | RTC_EVENT_VM_UNMAPPED, missing = 0;
    struct ranges seen = {0, 0, 0, 0};
    if (!rtc_event_set_handler) {
        puts("no events here: start this program with rtcheck");
        return work();
    }
    if (rtc_event_test(events, &missing) != 0 || missing)
        return 1; /* calls of this program are not intercepted */
    if (rtc_event_set_handler(events, 0, on_event, &seen) != 0)
        return 1;
    int bad = work();
    rtc_event_unset_handler(events, on_event, &seen);
    printf("mapped %u ranges of %zu bytes, unmapped %u of %zu\n", seen.mapped, seen.bytes_mapped,
           seen.unmapped, seen.bytes_unmapped);
    return bad;
}
