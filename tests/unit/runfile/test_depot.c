/*
 * test_depot.c - stack depot: an id identifies the stored frames, equal stacks have one id, also
 * with several threads, in forked children, and without room for more.
 *
 * The end of the node budget is not tested: 16 million nodes would have to be created.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>

#include "../run_here.h"
#include "../step.h"
#include "../chance.h"

#include <cmocka.h>

#ifdef RTC_SANITIZED
#define STACKS 1500u /* fewer: a sanitizer is slow */
#else
#define STACKS 6000u
#endif
#define SEED 20261121u

struct stack {
    uint32_t count, end;
    uint64_t pc[RTC_STACK_FRAMES]; /* innermost first */
};

static struct stack stacks[STACKS];
static uint32_t id_of[STACKS];

/* Most stacks share some outer frames with an earlier one. */
static void make_stacks(uint64_t random)
{
    for (uint32_t i = 0; i < STACKS; i++) {
        struct stack *s = &stacks[i], *other = &stacks[i ? chance_of(&random, i) : 0];
        uint32_t equal = i && chance_of(&random, 4) ? chance_of(&random, other->count + 1) : 0;
        s->end = equal ? other->end : chance_of(&random, STACK_END_COUNT);
        s->count = equal + 1 + chance_of(&random, RTC_STACK_FRAMES - equal);
        if (s->count > RTC_STACK_FRAMES)
            s->count = RTC_STACK_FRAMES;
        for (uint32_t k = 0; k < s->count; k++)
            s->pc[s->count - 1 - k] = k < equal ? other->pc[other->count - 1 - k]
                                                : (uint64_t)chance_of(&random, 50) * 16 +
                                                      ((uint64_t)chance_of(&random, 3) << 48) + 1;
    }
}

static bool is_same(const struct stack *a, const struct stack *b)
{
    return a->count == b->count && a->end == b->end &&
           memcmp(a->pc, b->pc, a->count * sizeof a->pc[0]) == 0;
}

static bool means(uint32_t id, const struct stack *s)
{
    uint64_t pc[RTC_STACK_FRAMES + 1];
    return depot_get(id, pc, RTC_STACK_FRAMES + 1) == s->count &&
           memcmp(pc, s->pc, s->count * sizeof pc[0]) == 0;
}

static uint32_t put(const struct stack *s)
{
    return depot_put(s->pc, s->count, s->end, true);
}

/* The cached stack that stack_cache_update would build. */
static void make_cached(struct cached_stack *t, const struct stack *s)
{
    memset(t, 0, sizeof *t);
    t->count = s->count;
    t->end = s->end;
    t->more[0].hash = depot_root(s->end);
    for (uint32_t i = 1; i <= s->count; i++) {
        t->more[i].word = s->pc[s->count - i];
        t->more[i].hash = depot_hash(t->more[i - 1].hash, t->more[i].word);
    }
}

/* ---- one thread ------------------------------------------------------------------------------ */

static void stacks_by_number(void)
{
    run_here();
    make_stacks(SEED);
    for (uint32_t i = 0; i < STACKS; i++) {
        id_of[i] = put(&stacks[i]);
        MUST(id_of[i] && means(id_of[i], &stacks[i]));
    }
    uint64_t nodes = image()->depot_nodes;
    for (uint32_t i = 0; i < STACKS; i++) {
        MUST(put(&stacks[i]) == id_of[i] && means(id_of[i], &stacks[i]));
        uint32_t k = (uint32_t)(i * 7919ull % STACKS); /* compare pairs */
        MUST((id_of[i] == id_of[k]) == is_same(&stacks[i], &stacks[k]));
    }
    MUST(image()->depot_nodes == nodes && nodes > 4 * 4096); /* the index has doubled */
    uint32_t last = id_of[STACKS - 1];
    uint64_t pc[3];
    MUST(depot_get(last, pc, 3) == (stacks[STACKS - 1].count < 3 ? stacks[STACKS - 1].count : 3));
    MUST(depot_get(0, pc, 3) == 0);
}

static void by_cached(void)
{
    static struct cached_stack t;
    run_here();
    make_stacks(SEED + 1);
    for (uint32_t i = 0; i < STACKS; i++) {
        make_cached(&t, &stacks[i]);
        if (i % 2)
            id_of[i] = put(&stacks[i]);
        uint32_t id = depot_put_cached(&t, true);
        MUST(means(id, &stacks[i]) && t.more[t.count].id == id && put(&stacks[i]) == id);
        MUST(i % 2 == 0 || id == id_of[i]);
        for (uint32_t k = 1; k <= t.count; k++) /* an outer part has the id of its own stack */
            MUST(!t.more[k].id ||
                 depot_put(stacks[i].pc + t.count - k, k, t.end, false) == t.more[k].id);
        t.count = 1 + t.count / 2; /* as after returns */
        struct stack outer = {.count = t.count, .end = t.end};
        memcpy(outer.pc, stacks[i].pc + stacks[i].count - t.count, t.count * sizeof outer.pc[0]);
        MUST(means(depot_put_cached(&t, true), &outer));
    }
}

/* In a handler nothing may be allocated; stacks that fit are stored all the same. */
static void no_growth(void)
{
    run_here();
    MUST(depot_put((uint64_t[]){1}, 1, STACK_WHOLE, false) == 0);
    uint64_t pc = 1, first;
    for (; pc < DEPOT_CHUNK_NODES - 10; pc++)
        MUST(depot_put(&pc, 1, STACK_WHOLE, true) != 0);
    first = pc;
    uint32_t id;
    while ((id = depot_put(&pc, 1, STACK_WHOLE, false)) != 0) {
        uint64_t back;
        MUST(depot_get(id, &back, 1) == 1 && back == pc);
        pc++;
    }
    MUST(pc - first >= 100 && pc - first <= 2 * DEPOT_CHUNK_NODES);
    MUST(depot_put((uint64_t[]){3, 4}, 2, STACK_WHOLE, false) == 0);
    MUST(depot_put((uint64_t[]){2}, 1, STACK_WHOLE, false) != 0); /* it exists already */
    MUST(depot_put(&pc, 1, STACK_WHOLE, true) != 0);
}

/* The frame word that depot_hash turns into `hash`, under `outer`. */
static uint64_t frame_of(uint64_t outer, uint64_t hash)
{
    uint64_t inverse = 1;
    for (unsigned i = 0; i < 6; i++) /* the inverse of the odd factor, by Newton's method */
        inverse *= 2 - 0x9e3779b97f4a7c15ull * inverse;
    return ((hash ^ hash >> 32) * inverse) ^ outer;
}

/* Stacks of one innermost frame whose hashes are equal in the stored half. */
static void equal_tags(void)
{
    uint64_t root = depot_root(STACK_WHOLE), pc[2] = {0x1234, 0}, kept = depot_hash(root, pc[0]);
    uint32_t id[100];
    run_here();
    id[0] = depot_put(pc, 1, STACK_WHOLE, true);
    for (uint32_t i = 1; i < 100; i++) {
        pc[1] = frame_of(root, frame_of(pc[0], (kept & ~0xffffffffull) + i));
        MUST(depot_tag(depot_hash(depot_hash(root, pc[1]), pc[0])) == depot_tag(kept));
        id[i] = depot_put(pc, 2, STACK_WHOLE, true);
        struct stack s = {.count = 2, .pc = {pc[0], pc[1]}};
        MUST(id[i] && means(id[i], &s));
    }
    MUST(depot_put(pc, 1, STACK_WHOLE, true) == id[0]);
}

/* ---- threads --------------------------------------------------------------------------------- */

#define THREADS 8u

static uint32_t ids[THREADS][STACKS];
static _Atomic uint32_t ready;

static void *put_all(void *number)
{
    uint32_t *id = ids[(uintptr_t)number];
    for (ready++; ready < THREADS;)
        ;
    for (uint32_t i = 0; i < STACKS; i++) {
        id[i] = depot_put(stacks[i].pc, stacks[i].count, stacks[i].end, true);
        if (!means(id[i], &stacks[i]))
            return number;
    }
    return NULL;
}

static void threads_together(void)
{
    pthread_t thread[THREADS];
    uint32_t others = 0;
    run_here();
    make_stacks(SEED + 2);
    for (uintptr_t i = 0; i < THREADS; i++)
        MUST(pthread_create(&thread[i], NULL, put_all, (void *)i) == 0);
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (uint32_t i = 0; i < STACKS; i++)
        for (uint32_t k = 0; k < THREADS; k++) {
            MUST(means(ids[k][i], &stacks[i]));
            others += ids[k][i] != ids[0][i];
        }
    MUST(others < STACKS * THREADS / 20); /* duplicates made while the index doubled */
}

#ifndef __SANITIZE_THREAD__      /* it delays signals */
static unsigned sleep_at, steps; /* in instructions */
static _Atomic bool asked, done;

static void *put_when_asked(void *unused)
{
    while (!asked)
        sched_yield();
    for (uint64_t pc = 1u << 20; pc < (1u << 20) + 700; pc++)
        MUST(depot_put(&pc, 1, STACK_WHOLE, true) != 0);
    done = true;
    return unused;
}

/* Sleep until the other thread is done, or until a timeout: the other may need a lock of ours. */
static void sleep_a_while(int signal)
{
    uint64_t begin = os_clock_ns();
    (void)signal;
    if (++steps != sleep_at)
        return;
    for (asked = true; !done && os_clock_ns() - begin < 20000000;)
        sched_yield();
}

/* The index is nearly full, and the other thread doubles it while this one sleeps. */
static void sleeper(void)
{
    pthread_t other;
    run_here();
    for (uint64_t pc = 1; pc <= 3500; pc++)
        MUST(depot_put(&pc, 1, STACK_WHOLE, true) != 0);
    signal(SIGTRAP, sleep_a_while);
    MUST(pthread_create(&other, NULL, put_when_asked, NULL) == 0);
    uint64_t own = 4000;
    steps_begin();
    uint32_t id = depot_put(&own, 1, STACK_WHOLE, true);
    steps_end();
    MUST(id != 0);
    _exit(steps >= sleep_at ? 0 : 77);
}

static void test_sleeper(void **state)
{
    (void)state;
    int status = 0;
    for (sleep_at = 1; status == 0; sleep_at += 3) /* all relevant moments last longer */
        status = in_child(sleeper);
    assert_int_equal(status, 77 << 8);
    assert_true(sleep_at > 50);
}
#endif

/* ---- forks ----------------------------------------------------------------------------------- */

static void after_fork(void)
{
    pid_t pid;
    run_here();
    make_stacks(SEED + 3);
    for (uint32_t i = 0; i < STACKS / 2; i++)
        id_of[i] = put(&stacks[i]);
    uint64_t bytes = image()->depot_bytes;
    for (uint64_t pc = 1u << 20; image()->depot_bytes == bytes; pc++) /* until a chunk is spare */
        MUST(depot_put(&pc, 1, STACK_WHOLE, true));
    bool child = fork_here(&pid);
    uint32_t first = image()->first_depot_chunk;
    MUST(child == (first > 0));
    for (uint32_t n = 0; n < STACKS; n++) { /* in both at once, in opposite orders */
        uint32_t i = child ? n : STACKS - 1 - n, id = put(&stacks[i]);
        MUST(means(id, &stacks[i]));
        MUST(i >= STACKS / 2 || id == id_of[i]);
        id_of[i] = id;
    }
    if (child)
        for (uint32_t i = STACKS / 2; i < STACKS; i++)
            MUST(depot_chunk_of(id_of[i]) >= first || id_of[i] == put(&stacks[i]));
    for (uint32_t i = 0; i < STACKS; i++)
        MUST(means(id_of[i], &stacks[i]));
    if (!child)
        child_succeeds(pid);
}

/* The reader of that child's image has no way to its parent's nodes. */
static void after_unseen_fork(void)
{
    pid_t pid;
    run_here();
    make_stacks(SEED + 4);
    for (uint32_t i = 0; i < STACKS / 2; i++)
        id_of[i] = put(&stacks[i]);
    bool child = fork_unseen(&pid);
    for (uint32_t i = 0; i < STACKS; i++) {
        uint32_t id = put(&stacks[i]);
        MUST(means(id, &stacks[i]));
        MUST(!child || depot_chunk_of(id) >= image()->first_depot_chunk);
        MUST(child || i >= STACKS / 2 || id == id_of[i]);
    }
    if (!child)
        child_succeeds(pid);
    else
        MUST(image()->first_depot_chunk > 0 && image()->lease == 0);
}

/* ---- without room for more ------------------------------------------------------------------- */

#ifndef __SANITIZE_THREAD__ /* it needs address space */
/* The file has room for nodes, but the index cannot double. */
static void index_full(void)
{
    run_here();
    make_stacks(SEED + 5);
    alarm(60); /* against an endless search */
    MUST(put(&stacks[0]));
    no_more_room();
    uint32_t kept = 0;
    for (uint32_t i = 0; i < STACKS; i++) {
        id_of[i] = put(&stacks[i]);
        MUST(!id_of[i] || means(id_of[i], &stacks[i]));
        kept += id_of[i] != 0;
    }
    MUST(kept > 0 && kept < STACKS);
    for (uint32_t i = 0; i < STACKS; i++)
        MUST(put(&stacks[i]) == id_of[i]);
}
#endif

IN_CHILD(stacks_by_number)
IN_CHILD(by_cached)
IN_CHILD(no_growth)
IN_CHILD(equal_tags)
IN_CHILD(threads_together)
IN_CHILD(after_fork)
IN_CHILD(after_unseen_fork)
#ifndef __SANITIZE_THREAD__
IN_CHILD(index_full)
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stacks_by_number),  cmocka_unit_test(test_by_cached),
        cmocka_unit_test(test_no_growth),         cmocka_unit_test(test_equal_tags),
        cmocka_unit_test(test_threads_together),  cmocka_unit_test(test_after_fork),
        cmocka_unit_test(test_after_unseen_fork),
#ifndef __SANITIZE_THREAD__
        cmocka_unit_test(test_sleeper),           cmocka_unit_test(test_index_full),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
