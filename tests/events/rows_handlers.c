/* rows_handlers.c - which handlers are called, in which order, and what a handler may do. */
#include "contract.h"

#include <stdlib.h>

void row_empty_event(void)
{
    struct rtc_event_options off = {sizeof off, 0}, on = {sizeof on, 1}, strange = {1, 1};
    must(rtc_event_init(&strange) == -EINVAL);
    must(rtc_event_init(&off) == 0 && rtc_event_init(&on) == 0); /* the second: no effect */
    must(rtc_event_set_handler(0, 0, record, NULL) == 0);
    must(rtc_event_set_handler(RTC_EVENT_FLAG_NO_INSTALL, 0, record, NULL) == 0);
    must(rtc_event_set_handler(RTC_EVENT_MMAP, 0, record, NULL) == -ENOTSUP);
    munmap(mmap(NULL, PAGE, PROT_READ, PLAIN, -1, 0), PAGE);
    must(logged_count == 0);
}

void row_unknown_bits(void)
{
    must(rtc_event_set_handler(1u << 12, 0, record, NULL) == -EINVAL);
    must(rtc_event_set_handler(1u << 26 | RTC_EVENT_MMAP, 0, record, NULL) == -EINVAL);
    must(rtc_event_set_handler(RTC_EVENT_MMAP, 0, NULL, NULL) == -EINVAL);
    must(rtc_event_set_external(1u << 30) == -EINVAL);
    must(rtc_event_unset_external(1u << 30) == -EINVAL);
    must(rtc_event_test(1u << 12, NULL) == -EINVAL);
    munmap(mmap(NULL, PAGE, PROT_READ, PLAIN, -1, 0), PAGE);
    must(logged_count == 0);
}

/* ---- order ------------------------------------------------------------------------------------ */

static bool order_is(const char *const *wanted, unsigned count)
{
    bool same = logged_count == count;
    for (unsigned i = 0; i < count && same; i++)
        same = strcmp(logged[i].arg, wanted[i]) == 0;
    return same;
}

void row_priority_order(void)
{
    static const char *const all[] = {"-9", "-1", "0", "0 again", "0 third", "7"};
    static const char *const rest[] = {"-9", "0", "0 third"};
    handle(RTC_EVENT_MMAP, 0, "0");
    handle(RTC_EVENT_MMAP, 7, "7");
    handle(RTC_EVENT_MMAP, -1, "-1");
    handle(RTC_EVENT_MMAP, 0, "0 again");
    handle(RTC_EVENT_MMAP, -9, "-9");
    handle(RTC_EVENT_MMAP, 0, "0 third");
    void *at = mmap(NULL, PAGE, READ_WRITE, PLAIN, -1, 0);
    must(order_is(all, 6));
    for (unsigned i = 0; i < 6; i++) /* those below 0 come before the call, the others after it */
        must(logged[i].e.mmap.result == (i < 2 ? MAP_FAILED : at));
    must(rtc_event_unset_handler(RTC_EVENT_MMAP, record, (void *)(uintptr_t)all[1]) == 0);
    must(rtc_event_unset_handler(~0u, record, (void *)(uintptr_t)all[3]) == 0);
    must(rtc_event_unset_handler(~0u, record, (void *)(uintptr_t)all[5]) == 0);
    must(rtc_event_unset_handler(RTC_EVENT_MUNMAP, record, (void *)(uintptr_t)all[0]) == 0);
    forget();
    mmap(NULL, PAGE, READ_WRITE, PLAIN, -1, 0);
    must(order_is(rest, 3));
}

/* ---- results and inputs ----------------------------------------------------------------------- */

static void perform(unsigned type, union rtc_event *e, void *arg)
{
    if (type == RTC_EVENT_MMAP && e->mmap.result == MAP_FAILED)
        e->mmap.result = arg;
    if (type == RTC_EVENT_MUNMAP && e->munmap.result == -1)
        e->munmap.result = 0; /* and keeps it */
}

void row_result_chain(void)
{
    char *given = pages(1);
    must(rtc_event_set_handler(RTC_EVENT_MMAP | RTC_EVENT_MUNMAP, -5, perform, given) == 0);
    handle(RTC_EVENT_MMAP | RTC_EVENT_MUNMAP, -4, "before");
    handle(RTC_EVENT_MMAP | RTC_EVENT_MUNMAP | VM_EVENTS, 4, "after");
    must(mmap(NULL, 1000 * PAGE, PROT_NONE, PLAIN, -1, 0) == given);
    must(count_of(RTC_EVENT_MMAP) == 2);
    must(nth(RTC_EVENT_MMAP, 0).mmap.result == given &&
         nth(RTC_EVENT_MMAP, 1).mmap.result == given);
    must(is_range(RTC_EVENT_VM_MAPPED, 0, given, 1000 * PAGE));
    must(logged_count == 3);
    given[0] = 1; /* without the call: it would be PROT_NONE */
    must(munmap(given, PAGE) == 0 && is_mapped(given, PAGE));
    must(nth(RTC_EVENT_MUNMAP, 0).munmap.result == 0);
}

/* A handler after a failed call may still perform it. */
static void rescue(unsigned type, union rtc_event *e, void *arg)
{
    if (type == RTC_EVENT_MMAP && e->mmap.result == MAP_FAILED)
        e->mmap.result = arg;
}

static void double_size(unsigned type, union rtc_event *e, void *arg)
{
    (void)arg;
    if (type == RTC_EVENT_MMAP)
        e->mmap.size *= 2;
}

void row_modified_inputs(void)
{
    must(rtc_event_set_handler(RTC_EVENT_MMAP, -5, double_size, NULL) == 0);
    handle(RTC_EVENT_MMAP, -4, "before");
    handle(RTC_EVENT_MMAP | RTC_EVENT_VM_MAPPED, 4, "after");
    char *at = mmap(NULL, 2 * PAGE, READ_WRITE, PLAIN, -1, 0);
    must(at != MAP_FAILED);
    at[4 * PAGE - 1] = 1; /* as large as the handler made it */
    must(nth(RTC_EVENT_MMAP, 0).mmap.size == 4 * PAGE &&
         nth(RTC_EVENT_MMAP, 1).mmap.size == 4 * PAGE);
    must(is_range(RTC_EVENT_VM_MAPPED, 0, at, 2 * PAGE)); /* the requested size */
    void *given = pages(1);
    must(rtc_event_set_handler(RTC_EVENT_MMAP, 9, rescue, given) == 0);
    must(mmap(NULL, PAGE, READ_WRITE, MAP_PRIVATE, -1, 0) == given);
}

/* A handler before the call sees the invalid result; its changes to VM_* events reach no other handler. */
static void spoil(unsigned type, union rtc_event *e, void *arg)
{
    (void)type, (void)arg;
    e->vm_mapped.address = NULL;
    e->vm_mapped.size = 1;
}

void row_sentinels(void)
{
    must(rtc_event_set_handler(VM_EVENTS, -9, spoil, NULL) == 0);
    handle(NATIVE_EVENTS, -1, "before");
    handle(VM_EVENTS, 0, "ranges");
    char *at = mmap(NULL, 4 * PAGE, READ_WRITE, PLAIN, -1, 0);
    must(nth(RTC_EVENT_MMAP, 0).mmap.result == MAP_FAILED);
    must(is_range(RTC_EVENT_VM_MAPPED, 0, at, 4 * PAGE));
    must(mremap(at, 4 * PAGE, 2 * PAGE, 0) == at);
    must(nth(RTC_EVENT_MREMAP, 0).mremap.result == MAP_FAILED);
    must(madvise(at, PAGE, MADV_NORMAL) == 0 && nth(RTC_EVENT_MADVISE, 0).madvise.result == -1);
    must(mprotect(at, PAGE, PROT_READ) == 0 && nth(RTC_EVENT_MPROTECT, 0).mprotect.result == -1);
    must(munlock(at, PAGE) == 0 && nth(RTC_EVENT_MLOCK, 0).mlock.result == -1);
    must(msync(at, PAGE, MS_ASYNC) == 0 && nth(RTC_EVENT_MSYNC, 0).msync.result == -1);
    must(munmap(at, 2 * PAGE) == 0 && nth(RTC_EVENT_MUNMAP, 0).munmap.result == -1);
    must(shmat(-1, NULL, 0) == MAP_FAILED && nth(RTC_EVENT_SHMAT, 0).shmat.result == MAP_FAILED);
    must(shmdt(at) == -1 && nth(RTC_EVENT_SHMDT, 0).shmdt.result == -1);
    must(sbrk(0) != MAP_FAILED && nth(RTC_EVENT_SBRK, 0).sbrk.result == MAP_FAILED);
    must(brk(NULL) == 0 && nth(RTC_EVENT_BRK, 0).brk.result == -1);
}

static void set_errno(unsigned type, union rtc_event *e, void *arg)
{
    (void)type, (void)e, (void)arg;
    errno = EXDEV;
}

void row_errno_is_the_calls(void)
{
    must(rtc_event_set_handler(ALL_EVENTS, -1, set_errno, NULL) == 0);
    must(rtc_event_set_handler(ALL_EVENTS, 1, set_errno, (void *)1) == 0);
    errno = 77;
    char *at = mmap(NULL, PAGE, READ_WRITE, PLAIN, -1, 0);
    must(errno == 77);
    must(mmap(at, PAGE, READ_WRITE, MAP_PRIVATE | MAP_FIXED, -1, 0) == MAP_FAILED &&
         errno == EBADF);
    must(munmap(at, 0) == -1 && errno == EINVAL);
    errno = 77;
    must(posix_madvise(at + 1, PAGE, POSIX_MADV_RANDOM) == EINVAL && errno == 77);
    must(munmap(at, PAGE) == 0 && errno == 77);
}

/* ---- installed hooks ---------------------------------------------------------------------------- */

void row_no_install(void)
{
    handle(RTC_EVENT_MMAP | RTC_EVENT_VM_MAPPED | RTC_EVENT_FLAG_NO_INSTALL, 0, "quiet");
    mmap(NULL, PAGE, READ_WRITE, PLAIN, -1, 0);
    must(logged_count == 0);
    rtc_mmap(NULL, PAGE, READ_WRITE, PLAIN, -1, 0);
    must(count_of(RTC_EVENT_MMAP) == 1 && count_of(RTC_EVENT_VM_MAPPED) == 1);
    forget();
    static const char loud[] = "loud";
    handle(RTC_EVENT_MMAP, 0, loud); /* now it is installed, for both */
    mmap(NULL, PAGE, READ_WRITE, PLAIN, -1, 0);
    must(count_of(RTC_EVENT_MMAP) == 2 && count_of(RTC_EVENT_VM_MAPPED) == 1);
    forget();
    must(rtc_event_unset_handler(RTC_EVENT_MMAP, record, (void *)(uintptr_t)loud) == 0);
    mmap(NULL, PAGE, READ_WRITE, PLAIN, -1, 0); /* and stays so */
    must(count_of(RTC_EVENT_MMAP) == 1 && count_of(RTC_EVENT_VM_MAPPED) == 1);
}

void row_external(void)
{
    must(rtc_event_set_external(RTC_EVENT_VM_UNMAPPED) == 0);
    handle(RTC_EVENT_VM_UNMAPPED, 0, "external");
    char *at = mmap(NULL, 3 * PAGE, READ_WRITE, PLAIN, -1, 0);
    munmap(at, PAGE);
    must(logged_count == 0);
    rtc_vm_munmap(at + 5, 77); /* as given */
    must(is_range(RTC_EVENT_VM_UNMAPPED, 0, at + 5, 77));
    rtc_vm_mmap(at, PAGE);
    must(logged_count == 1);
    must(rtc_munmap(at + PAGE, PAGE) == 0 && logged_count == 2);
    must(rtc_event_test_external(RTC_EVENT_VM_UNMAPPED, NULL) ==
         -ENOTSUP); /* no source is registered */
    must(rtc_event_unset_external(RTC_EVENT_VM_UNMAPPED) == 0);
    munmap(at + 2 * PAGE, PAGE); /* handlers registered before stay external */
    must(logged_count == 2);
    handle(RTC_EVENT_VM_UNMAPPED, 0, "later");
    at = mmap(NULL, PAGE, READ_WRITE, PLAIN, -1, 0);
    munmap(at, PAGE);
    must(logged_count == 4);
}

/* ---- existing mappings --------------------------------------------------------------------------- */

static bool was_notified(const void *at)
{
    for (unsigned i = 0; i < logged_count; i++)
        if ((uintptr_t)at - (uintptr_t)logged[i].e.vm_mapped.address < logged[i].e.vm_mapped.size)
            return true;
    return false;
}

void row_existing_mappings(void)
{
    static char data;
    char *at = pages(2), *block = malloc(1000), here;
    void *shared = rtc_orig_mmap(NULL, PAGE, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    handle(RTC_EVENT_VM_MAPPED | RTC_EVENT_FLAG_EXISTING_ALLOC, 0, "replay");
    must(was_notified(at) && was_notified(at + 2 * PAGE - 1) && was_notified(shared));
    must(was_notified(&data) && was_notified(&here) &&
         was_notified((void *)(uintptr_t)row_existing_mappings));
    must(was_notified(block) && was_notified(block + 999));
    must(!was_notified((void *)(uintptr_t)rtc_event_test)); /* our own */
    must(count_of(RTC_EVENT_VM_MAPPED) == logged_count && logged_count < LOGGED_MAX);
    free(block);
}

void row_existing_memory_types(void)
{
    for (uintptr_t i = 1; i <= 3000; i++)
        rtc_mem_type_alloc((void *)(i << 20), i, 2, 3, 4);
    for (uintptr_t i = 1; i <= 3000; i++)
        if (i % 1000)
            rtc_mem_type_free((void *)(i << 20));
    rtc_mem_type_alloc((void *)(5000ul << 20), 55, 6, 7, 8);
    handle(EVENTS_OF_MEMORY | RTC_EVENT_FLAG_EXISTING_ALLOC, 0, "replay");
    must(logged_count == 4 && count_of(RTC_EVENT_MEM_TYPE_ALLOC) == 4);
    size_t sum = 0;
    for (unsigned i = 0; i < 4; i++)
        sum += nth(RTC_EVENT_MEM_TYPE_ALLOC, i).mem_type.size;
    must(sum == 6055);
}

void row_memory_types(void)
{
    handle(EVENTS_OF_MEMORY, 0, "both");
    rtc_mem_type_alloc((void *)0x1000, 77, 1, 2, 3);
    rtc_mem_type_free((void *)0x1000);
    rtc_mem_type_free((void *)0x1000); /* again: the block is no longer registered */
    must(logged_count == 3);
    for (unsigned i = 0; i < 2; i++) {
        const volatile union rtc_event *e = &logged[i].e;
        must(e->mem_type.address == (void *)0x1000 && e->mem_type.size == 77);
        must(e->mem_type.mem_type == 1 && e->mem_type.sys_dev == 2 && e->mem_type.mem_flags == 3);
    }
    must(logged[2].e.mem_type.address == (void *)0x1000 && logged[2].e.mem_type.size == 0);
    forget();
    for (size_t bytes = 5; bytes < 7; bytes++) /* two in one place */
        rtc_mem_type_alloc((void *)0x1000, bytes, 1, 2, 3);
    handle(EVENTS_OF_MEMORY | RTC_EVENT_FLAG_EXISTING_ALLOC, 0, "later");
    must(logged_count == 4 && logged[2].e.mem_type.size + logged[3].e.mem_type.size == 11);
    forget();
    rtc_mem_type_free((void *)0x1000);
    rtc_mem_type_free((void *)0x1000);
    must(logged_count == 4 && logged[0].e.mem_type.size == 6 && logged[2].e.mem_type.size == 5);
}

void row_names(void)
{
    unsigned named = 0;
    for (unsigned bit = 0; bit < 32; bit++)
        named |= rtc_event_name(1u << bit) ? 1u << bit : 0;
    must(named == ALL_EVENTS);
    must(strcmp(rtc_event_name(RTC_EVENT_VM_CANCELLED), "VM_CANCELLED") == 0);
    must(!rtc_event_name(RTC_EVENT_NONE) && !rtc_event_name(3));
}

void row_test_event(void)
{
    unsigned missing = 77;
    must(rtc_event_test(ALL_EVENTS, &missing) == 0 && missing == 0); /* no hooks are installed */
    handle(ALL_EVENTS, 0, "all");
    must(rtc_event_test(ALL_EVENTS, &missing) == 0 && missing == 0);
    for (unsigned bit = 0; bit < 19; bit++)
        if (ALL_EVENTS & 1u << bit)
            must(count_of(1u << bit) > 0);
    must(rtc_event_unset_handler(~0u, record, NULL) == 0);
}

/* ---- inside callbacks ---------------------------------------------------------------------------- */

static volatile int answers[8];

static void change_inside(unsigned type, union rtc_event *e, void *arg)
{
    (void)type, (void)e, (void)arg;
    answers[0] = rtc_event_set_handler(RTC_EVENT_MMAP, 0, record, NULL);
    answers[1] = rtc_event_unset_handler(RTC_EVENT_MMAP, record, NULL);
    answers[2] = rtc_event_set_external(RTC_EVENT_MMAP);
    answers[3] = rtc_event_unset_external(RTC_EVENT_MMAP);
    answers[4] = rtc_event_test(RTC_EVENT_MMAP, NULL);
    answers[5] = rtc_event_test_external(RTC_EVENT_MMAP, NULL);
    answers[6] = rtc_event_init(NULL);
    rtc_mem_type_alloc((void *)0x1000, 1, 1, 1, 1); /* this may be called */
    rtc_mem_type_free((void *)0x1000);
    answers[7] = -EDEADLK;
}

void row_mutators_inside_callbacks(void)
{
    must(rtc_event_set_handler(RTC_EVENT_MMAP, 0, change_inside, NULL) == 0);
    mmap(NULL, PAGE, READ_WRITE, PLAIN, -1, 0);
    for (unsigned i = 0; i < 8; i++)
        must(answers[i] == -EDEADLK);
    must(rtc_event_unset_handler(~0u, change_inside, NULL) == 0);
    mmap(NULL, PAGE, READ_WRITE, PLAIN, -1, 0);
    must(logged_count == 0);
}

static _Atomic unsigned calls_inside;

static void map_inside(unsigned type, union rtc_event *e, void *arg)
{
    (void)type, (void)e, (void)arg;
    calls_inside++;
    munmap(mmap(NULL, 7 * PAGE, READ_WRITE, PLAIN, -1, 0), 7 * PAGE);
}

void row_nested_events(void)
{
    must(rtc_event_set_handler(RTC_EVENT_MMAP, -1, map_inside, NULL) == 0);
    handle(RTC_EVENT_MMAP | RTC_EVENT_VM_UNMAPPED, 0, "others");
    mmap(NULL, PAGE, READ_WRITE, PLAIN, -1, 0);
    must(calls_inside == 1);
    must(count_of(RTC_EVENT_MMAP) == 2 && nth(RTC_EVENT_MMAP, 0).mmap.size == 7 * PAGE);
    must(bytes_of(RTC_EVENT_VM_UNMAPPED) == 7 * PAGE);
}

void row_originals_are_silent(void)
{
    handle(ALL_EVENTS, 0, "all");
    char *at = rtc_orig_mmap(own_place(2), 2 * PAGE, READ_WRITE, PLAIN, -1, 0);
    must(rtc_orig_madvise(at, PAGE, MADV_DONTNEED) == 0);
    must(rtc_orig_mremap(at, 2 * PAGE, PAGE, 0) == at && !is_mapped(at + PAGE, PAGE));
    must(rtc_orig_munmap(at, PAGE) == 0 && !is_mapped(at, PAGE));
    must(rtc_orig_shmat(-1, NULL, 0) == MAP_FAILED && rtc_orig_shmdt(at) == -1);
    char *end = rtc_orig_sbrk((intptr_t)PAGE);
    must(end != MAP_FAILED && rtc_orig_sbrk(0) == end + PAGE && rtc_orig_brk(end) == 0);
    must(rtc_orig_sbrk(0) == end);
    must(logged_count == 0);
}

static void use_heap(size_t most)
{
    for (size_t n = 1; n < most; n *= 3) {
        char *block = malloc(n);
        must(block);
        memset(block, 1, n);
        block = realloc(block, 2 * n);
        must(block);
        free(block);
    }
}

/* Memory kept by the heap has no events; changes of its mappings are no calls of the program. */
void row_own_mappings_are_silent(void)
{
    char *first = malloc(100);
    handle(ALL_EVENTS, 0, "all");
    for (unsigned i = 0; i < 100000; i++)
        must((first = realloc(first, 50 + i % 200)));
    must(logged_count == 0);
    free(first);
    use_heap(64u << 20);
    for (unsigned i = 0; i < 200000; i++)
        must(calloc(1, i % 500)); /* the records grow, too */
    must(logged_count &&
         count_of(RTC_EVENT_VM_MAPPED) + count_of(RTC_EVENT_VM_UNMAPPED) == logged_count);
}
