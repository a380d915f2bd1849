/*
 * test_stack_cache.c - the stack cache against a full walk, on simulated stacks.
 *
 * Frames of every kind are in an array on the real stack; a model has their contents.  They are
 * called, return, and are called again from elsewhere, at random, so stale words of the last stack
 * often are where other frames use them.  After each step stack_cache_update must agree with
 * unwind_walk and with the model.  Some stacks are then corrupted: the two must still agree, and
 * not crash.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "made_stack.h"
#include "../in_child.h"
#include "../step.h"

#include <cmocka.h>

#ifdef RTC_SANITIZED
#define STEPS 50000u /* fewer: a sanitizer is slow */
#else
#define STEPS 500000u /* of each of two kinds */
#endif

static struct stack_cache all;
static struct cached_stack *cached; /* the cached stack used last */

/* ---- comparing ------------------------------------------------------------------------------- */

/* From the outermost on: hashes belong to their frames, and ids, given once, to their hashes. */
static void check_cached(void)
{
    uint64_t hash = depot_root(cached->end);
    for (uint32_t i = 1; i <= cached->count; i++) {
        struct cached_frame_more *m = &cached->more[i];
        hash = depot_hash(hash, m->word);
        MUST(m->hash == hash);
        MUST(!m->id || m->id == (uint32_t)hash);
        m->id = (uint32_t)hash;
    }
}

static void agree(const struct walk *w)
{
    check_cached();
    MUST(cached->count <= CACHED_FRAMES && cached->count > 0);
    if (cached->count < RTC_STACK_FRAMES)
        MUST(w->count == cached->count && w->end == cached->end);
    else
        MUST(w->count == RTC_STACK_FRAMES);
    for (uint32_t i = 0; i < w->count; i++)
        MUST(cached->more[cached->count - i].word == w->word[i]);
}

static void copy(const struct walk *from, void *to)
{
    memcpy(to, from, sizeof *from);
}

/* Both ways; was the stack cached? */
static bool update(const struct entry *at, struct walk *w)
{
    cached = stack_cache_update(&all, at, true);
    unwind_walk(at, true, copy, w);
    if (cached)
        agree(w);
    return cached;
}

static bool is_strange(void)
{
    for (uint32_t i = 0; i < model.count; i++)
        if (functions[model.frame[i].function].kind == STRANGE)
            return true;
    return false;
}

static bool has_inner_first(void)
{
    for (uint32_t i = 1; i < model.count; i++)
        if (functions[model.frame[i].function].kind == FIRST)
            return true;
    return false;
}

static void check_model(const struct walk *w, bool kept)
{
    if (is_strange() || has_inner_first())
        return; /* frames outside of those are not compared */
    MUST(kept);
    for (uint32_t i = 0; i < w->count; i++)
        MUST(w->word[i] == word_of_frame(&model.frame[model.count - 1 - i]));
    MUST(w->count == (model.count < RTC_STACK_FRAMES ? model.count : RTC_STACK_FRAMES));
    MUST(w->end == (model.count > RTC_STACK_FRAMES ? STACK_CUT : STACK_WHOLE));
    for (uint32_t i = 0; i < cached->count; i++)
        MUST(cached->frame[cached->count - i].sp == model.frame[model.count - 1 - i].sp);
    MUST(cached->end == STACK_CUT || cached->count == model.count);
}

/* ---- random steps ---------------------------------------------------------------------------- */

static const uint32_t depths[] = {4, 12, 30, 62, 66, 94, 100, 126, 130, 150};

static void load_anew(void)
{
    if (chance(2)) {
        unwind_forget(module);
        module = 5 + chance(3);
    } else {
        unwind_forget(0);
    }
}

static void walk_at_random(uint32_t steps, void (*more)(void))
{
    uintptr_t memory[MEMORY_WORDS] = {0};
    struct walk w;
    model.memory = memory;
    start();
    begin();
    for (uint32_t i = 0, depth = 4; i < steps; i++) {
        if (i % 500 == 0)
            depth = depths[i / 500 % (sizeof depths / sizeof depths[0]) / (i / 5000 % 2 + 1)];
        if (chance(2000) == 0)
            begin();
        if (chance(1000) == 0)
            load_anew();
        go_on(depth);
        bool kept = update(entry(), &w);
        check_model(&w, kept);
        if (more)
            more();
    }
}

static void random_steps(void)
{
    model.random = 20261121;
    walk_at_random(STEPS, NULL);
}

/* Change one word, compare, and restore it. */
static void smash(void)
{
    uintptr_t low = model.frame[model.count - 1].sp, high = model.frame[0].cfa, was;
    uintptr_t *at = word(low - 16) + chance((uint32_t)((high - low) / 8 + 2));
    struct walk w;
    was = *at;
    switch (chance(6)) {
    case 0:
        *at = 0;
        break;
    case 1:
        *at += 8 * chance(5);
        break;
    case 2:
        *at = (uintptr_t)(model.memory + chance(MEMORY_WORDS));
        break;
    case 3:
        *at = 0xdeadbeefdeadbeef;
        break;
    case 4:
        *at = function_at(chance(FUNCTIONS)) + 16;
        break;
    default:
        *at = (uintptr_t)0 - 8 * chance(4);
        break;
    }
    update((const struct entry *)low - 1, &w);
    *at = was;
    update((const struct entry *)low - 1, &w);
}

static void smashed_stacks(void)
{
    model.random = 20261122;
    walk_at_random(STEPS / 2, smash);
}

/* ---- left in the middle of an update --------------------------------------------------------- */

static sigjmp_buf out;
static volatile uint32_t instructions;

/* A handler that leaves the update by siglongjmp, at some instruction. */
static void trap(int signal)
{
    (void)signal;
    if (--instructions == 0)
        siglongjmp(out, 1);
}

static __attribute__((noinline)) void update_and_leave(const struct entry *at)
{
    steps_begin();
    stack_cache_update(&all, at, true);
    steps_end();
}

#ifdef __SANITIZE_THREAD__
#define LEFT 20u
#else
#define LEFT 200u
#endif

/* Functions that find their callers by rbp; some are called from elsewhere than before. */
static void call_by_bp(uint32_t calls)
{
    while (calls--)
        call(5 + chance(2));
}

static void catch_traps(void)
{
    static char handlers_stack[65536];
    struct sigaction action = {.sa_handler = trap, .sa_flags = SA_NODEFER | SA_ONSTACK};
    stack_t other = {.ss_sp = handlers_stack, .ss_size = sizeof handlers_stack};
    MUST(sigaltstack(&other, NULL) == 0 && sigaction(SIGTRAP, &action, NULL) == 0);
}

/* After an update that was left in the middle: the previous stack, except for one saved rbp. */
static void interrupted_in_the_middle(void)
{
    static uintptr_t copy[MEMORY_WORDS];
    uintptr_t memory[MEMORY_WORDS] = {0};
    struct walk w;
    model.random = 20261123;
    model.memory = memory;
    catch_traps();
    start();
    for (uint32_t i = 0; i < LEFT; i++) {
        all.misses = 0; /* so that all of them use one cached stack */
        begin();
        call_by_bp(10);
        const struct entry *at = entry();
        uint32_t count = model.count;
        update(at, &w);
        memcpy(copy, memory, sizeof copy);
        model.count -= 2 + chance(5);
        call_by_bp(1 + chance(2));
        instructions = 1 + chance(300);
        if (!sigsetjmp(out, 1))
            update_and_leave(entry());
        memcpy(memory, copy, sizeof copy);
        model.count = count;
        *word(model.frame[count - 1 - chance(6)].cfa - 16) = 0;
        update(at, &w);
        memcpy(memory, copy, sizeof copy);
        update(at, &w);
    }
}

/* ---- stacks that cannot be cached ------------------------------------------------------------ */

static void strange_frames(void)
{
    uintptr_t memory[MEMORY_WORDS] = {0};
    struct walk w;
    model.random = 20261124;
    model.memory = memory;
    start();
    begin();
    for (uint32_t i = 0; i < 10; i++)
        call(i % 5);
    MUST(update(entry(), &w));
    call(FUNCTIONS - 1);
    call(0);
    MUST(!update(entry(), &w));
    model.count -= 2;
    MUST(update(entry(), &w) && w.count == 11);
}

/* A child without its parent's depot: no id of the parent's remains. */
static void forgotten(void)
{
    uintptr_t memory[MEMORY_WORDS] = {0};
    struct walk w;
    model.memory = memory;
    model.random = 20261126;
    start();
    begin();
    MUST(update(entry(), &w));
    cached->more[1].id = 77;
    all.recent_mask = RECENT_MAX - 1;
    all.recent[5].way[1] = all.recent[RECENT_MAX - 1].way[0] = (struct recent_way){0x1234, 77};
    unwind_after_fork(false);
    MUST(stack_cache_update(&all, entry(), true) == cached && cached->more[1].id == 77);
    MUST(all.recent[5].way[1].id == 77);
    unwind_after_fork(true);
    MUST(stack_cache_update(&all, entry(), true) && cached->more[1].id == 0);
    for (uint32_t i = 0; i < RECENT_MAX; i++)
        for (uint32_t k = 0; k < RECENT_WAYS; k++)
            MUST(!all.recent[i].way[k].hash && !all.recent[i].way[k].id);
}

/* ---- selection of the cached stack ----------------------------------------------------------- */

#define KINDS 6u

/* Calls from KINDS depths, each from one address, alternating. */
static void alternate(uint32_t rounds)
{
    static uintptr_t copy[MEMORY_WORDS];
    struct walk w;
    memcpy(copy, model.memory, sizeof copy);
    for (uint32_t i = 0; i < rounds * KINDS; i++) {
        model.count = 40 - 3 * (i % KINDS);
        model.random = 20261128 + i % KINDS; /* the same address for each kind */
        MUST(update(entry(), &w));
        memcpy(model.memory, copy, sizeof copy);
    }
}

/* In the end each kind has a cached stack of its own, wherever it is. */
static void kinds_alternate(void)
{
    uintptr_t memory[MEMORY_WORDS] = {0};
    model.random = 20261127;
    model.memory = memory;
    start();
    for (uint32_t i = 0; i < 20; i++) {
        begin();
        while (model.count < 40)
            call(i % 3);
        alternate(200);
        uint32_t misses = all.misses;
        alternate(10);
        MUST(all.misses == misses);
    }
}

/* ---- ends of stacks -------------------------------------------------------------------------- */

static void ends_with(uint32_t function, uintptr_t bp, uint32_t end)
{
    struct walk w;
    model.count = 1;
    model.frame[0].function = function;
    model.frame[0].bp = bp;
    MUST(update(entry(), &w));
    MUST(w.count == 1 && w.end == end);
}

static void ends(void)
{
    enum { BP = 5, DRAP = 7, UNKNOWN_CODE = 8, OUTSIDE_CODE = 9 };
    uintptr_t memory[MEMORY_WORDS] = {0};
    model.random = 20261125;
    model.memory = memory;
    start();
    begin();
    uintptr_t sp = model.frame[0].sp, high = stacks.main_high;
    ends_with(UNKNOWN_CODE, 0, STACK_WHOLE);
    ends_with(OUTSIDE_CODE, 0, STACK_NO_INFO);
    for (uint32_t f = UNKNOWN_CODE; f <= OUTSIDE_CODE; f++) {
        ends_with(f, sp - 8, STACK_NO_INFO);
        ends_with(f, sp + 4, STACK_NO_INFO);
        ends_with(f, high - 8, STACK_NO_INFO);
        ends_with(f, high, STACK_NO_INFO);
        ends_with(f, UINTPTR_MAX - 7, STACK_NO_INFO);
    }
    for (uint32_t f = BP; f <= DRAP; f++) {
        ends_with(f, sp - 16, STACK_OFF_STACK);
        ends_with(f, sp + 4, STACK_OFF_STACK);
        ends_with(f, high, STACK_OFF_STACK);
        ends_with(f, high + 8, STACK_OFF_STACK);
        ends_with(f, UINTPTR_MAX - 7, STACK_OFF_STACK);
        ends_with(f, 8, STACK_OFF_STACK);
    }
}

IN_CHILD(random_steps)
IN_CHILD(smashed_stacks)
IN_CHILD(interrupted_in_the_middle)
IN_CHILD(strange_frames)
IN_CHILD(forgotten)
IN_CHILD(kinds_alternate)
IN_CHILD(ends)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_steps),
        cmocka_unit_test(test_smashed_stacks),
        cmocka_unit_test(test_interrupted_in_the_middle),
        cmocka_unit_test(test_strange_frames),
        cmocka_unit_test(test_forgotten),
        cmocka_unit_test(test_kinds_alternate),
        cmocka_unit_test(test_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
