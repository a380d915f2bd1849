/*
 * test_costs.c - timed operations are a sample of all: their extrapolated numbers and kinds are
 * right, and no time is counted twice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>

#include "init.h"
#include "../run_here.h"

#include <cmocka.h>

#define PERIOD 320u /* number of calls after which the pattern repeats; one in 20 is timed */

static const struct entry here;
static uint64_t begun;

static void start(const char *options)
{
    static char text[600], *envp[] = {text, NULL};
    char cwd[512];
    MUST(getcwd(cwd, sizeof cwd) != NULL);
    snprintf(text, sizeof text, "RTCHECK_OPTIONS=pool_dir=%s:%s", cwd, options);
    environ = envp;
    MUST(init_start());
    unlink(run_path());
    begun = os_ticks();
}

/* The cost record; NULL: there is none. */
static const struct cost_record *record(void)
{
    const char *area = (const char *)image() - RTC_AREA_HEAD_BYTES;
    uint64_t end = atomic_load(&((const struct area_head *)area)->used_bytes);
    for (uint64_t at = RTC_AREA_HEAD_BYTES + image()->header_bytes; at < end;) {
        const struct segment *s = (const struct segment *)(area + at);
        if (s->kind == SEGMENT_COSTS && s->count == 1)
            return (const struct cost_record *)(s + 1);
        at += s->bytes;
    }
    return NULL;
}

static uint64_t operations(enum cost_work work)
{
    const struct cost_record *r = record();
    return !r                            ? 0
           : work < COST_OPERATION_COUNT ? atomic_load(&r->whole[work].operations)
                                         : atomic_load(&r->work[work].operations);
}

static bool is_about(uint64_t n, uint64_t wanted)
{
    if (n * 100 > wanted * 85 && n * 100 < wanted * 115)
        return true;
    fprintf(stderr, "%llu, not %llu\n", (unsigned long long)n, (unsigned long long)wanted);
    return false;
}

static uint64_t all_ticks(void)
{
    const struct cost_record *r = record();
    return r->whole[COST_ALLOCATE].ticks + r->whole[COST_FREE].ticks + r->whole[COST_RESIZE].ticks;
}

static void *take(void)
{
    return track_alloc(40, 16, FAMILY_MALLOC, &here);
}

static void give(void *p)
{
    track_free(p, FAMILY_MALLOC, &here);
}

static void pairs(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        give(take());
}

static void scale_to_all(void)
{
    uint64_t sum = 0;
    start("cost_every=100");
    pairs(200000);
    MUST(is_about(operations(COST_ALLOCATE), 200000));
    MUST(is_about(operations(COST_FREE), 200000));
    MUST(is_about(operations(COST_QUARANTINE), 200000));
    MUST(is_about(operations(COST_UNWIND), 400000));
    /* Each operation took a stack, even if its time is within the clock's resolution. */
    MUST(record()->work[COST_UNWIND].timed ==
         record()->work[COST_ALLOCATE].timed + record()->work[COST_FREE].timed);
    for (uint32_t i = 0; i < COST_TIMES; i++)
        sum += record()->alloc_times[i];
    MUST(sum == operations(COST_ALLOCATE));
    MUST(record()->whole[COST_ALLOCATE].timed < 200000 / 50);
    MUST(record()->rate > 1 << 18 && record()->every == 100);
    MUST(all_ticks() < (os_ticks() - begun) * 3 / 2);
}

/* An operation that takes longer than the runtime's own work can, as if the processor was busy. */
static void allocate(bool slow)
{
    if (cost_is_sampled()) {
        enum cost_call call = cost_begin(COST_ALLOCATE, 0);
        allocate(slow);
        cost_end(call);
        return;
    }
    uint64_t some_us = (record()->rate >> 20) * 12000;
    for (uint64_t from = os_ticks(); slow && os_ticks() - from < some_us;)
        ;
}

/* Discarded samples count with the next one. */
static void busy_processor(void)
{
    start("cost_every=100");
    pairs(2000);
    uint64_t before = operations(COST_ALLOCATE);
    for (uint32_t i = 0; i < 200000; i++)
        allocate(i % 3 == 0);
    MUST(record()->disturbed > 100);
    MUST(is_about(operations(COST_ALLOCATE) - before, 200000));
}

static void none(void)
{
    start("cost_every=0");
    pairs(1000);
    MUST(!record());
}

/* A program whose period equals the sampling period: every position is sampled equally often. */
static void no_beat(void)
{
    void *p;
    start("cost_every=20");
    for (uint32_t i = 0; i < 1500; i++) {
        pairs((PERIOD - 80) / 2);
        p = take();
        for (uint32_t k = 0; k < 78; k++)
            p = track_realloc(p, 40 + k % 2, FAMILY_MALLOC, &here);
        give(p);
    }
    MUST(is_about(operations(COST_RESIZE), 1500 * 78));
}

/* A realloc that moves the block is one operation; its time includes the functions it calls. */
static void no_time_twice(void)
{
    void *p;
    start("cost_every=50");
    p = take();
    for (uint32_t i = 0; i < 50000; i++)
        p = track_realloc(p, i % 2 ? 40 : 2000, FAMILY_MALLOC, &here);
    MUST(is_about(operations(COST_RESIZE), 50000));
    MUST(operations(COST_ALLOCATE) < 1000);
    MUST(all_ticks() < (os_ticks() - begun) * 3 / 2);
}

/* A handler has left an operation by siglongjmp. */
static void one_is_left(void)
{
    start("cost_every=1");
    pairs(100);
    (void)cost_begin(COST_ALLOCATE, 0);
    uint64_t before = operations(COST_ALLOCATE);
    pairs(1000);
    MUST(operations(COST_ALLOCATE) > before + 400);
    (void)cost_begin(COST_ALLOCATE, 0);
    MUST(cost_begin(COST_FREE, 0) == COST_NESTED && cost_begin(COST_FREE, 0) == COST_IGNORED);
}

static void a_sandbox(void)
{
    start("cost_every=10");
    pairs(1000);
    costs_stop();
    uint64_t before = operations(COST_FREE);
    pairs(1000);
    MUST(before > 0 && operations(COST_FREE) == before && record()->stopped == 1);
}

static void a_child(void)
{
    pid_t pid;
    int status;
    start("cost_every=10");
    pairs(20000);
    const struct cost_record *parents = record();
    uint64_t before = parents->whole[COST_FREE].operations;
    if (fork_here(&pid)) {
        pairs(40000); /* with fewer operations the sample would be too small */
        MUST(record() && record() != parents && is_about(operations(COST_FREE), 40000));
        MUST(parents->whole[COST_FREE].operations == before && record()->rate > 1 << 18);
        _exit(0);
    }
    MUST(waitpid(pid, &status, 0) == pid && status == 0);
}

static void places_of_times(void)
{
    for (uint64_t n = 0, last = 0; n < 100000; n++) {
        uint32_t class = cost_time_class(n);
        MUST(class == last || class == last + 1);
        MUST(cost_time_least(class) <= n && n < cost_time_least(class + 1));
        last = class;
    }
    MUST(cost_time_class(UINT64_MAX) == COST_TIMES - 1);
}

IN_CHILD(scale_to_all)
IN_CHILD(busy_processor)
IN_CHILD(none)
IN_CHILD(no_beat)
IN_CHILD(no_time_twice)
IN_CHILD(one_is_left)
IN_CHILD(a_sandbox)
IN_CHILD(a_child)
IN_CHILD(places_of_times)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scale_to_all),
        cmocka_unit_test(test_busy_processor),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_no_beat),
        cmocka_unit_test(test_no_time_twice),
        cmocka_unit_test(test_one_is_left),
        cmocka_unit_test(test_a_sandbox),
        cmocka_unit_test(test_a_child),
        cmocka_unit_test(test_places_of_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
