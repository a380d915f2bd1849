/*
 * test_trace.c - the kept stack against the walk, on stacks that are made by hand.
 *
 * Frames of every kind lie in an array on the real stack; a model knows what they are.  They are
 * called, return, and are called again from elsewhere, at random, so that the words of the last
 * stack often stand where others mean something else.  After each step trace_update must tell what
 * unwind_walk tells and what the model knows.  Some stacks are then smashed: the two must still
 * agree, and live.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "frames.h"
#include "../chance.h"
#include "../in_child.h"
#include "../step.h"

#include <cmocka.h>

#ifdef RTC_SANITIZED
#define STEPS 50000u /* it takes its time */
#else
#define STEPS 500000u /* of each of two kinds */
#endif
#define MEMORY_WORDS 8192u
#define DEEPEST 160u

/* ---- functions --------------------------------------------------------------------------------- */

enum kind { BY_SP, BY_BP, REALIGNED, UNKNOWN, OUTSIDE, FIRST, STRANGE };

static const struct function {
    enum kind kind;
    uint32_t bytes; /* BY_SP: from its stack pointer to its CFA */
    bool saves_bp;
} functions[] = {
    {BY_SP, 16, false}, {BY_SP, 16, false}, {BY_SP, 48, false}, {BY_SP, 24, true},
    {BY_SP, 64, true},  {BY_BP, 0, true},   {BY_BP, 0, true},   {REALIGNED, 0, true},
    {UNKNOWN, 0, true}, {OUTSIDE, 0, true}, {FIRST, 32, false}, {STRANGE, 32, false},
};
#define FUNCTIONS (sizeof functions / sizeof functions[0])
#define USUAL_FUNCTIONS 10u /* before FIRST */
#define FUNCTION_BYTES 256u

/* Code behind it, all of it calls: where a stack goes on behind code without information is asked. */
static struct {
    struct frames frames;
    uint8_t code[FRAMES_CODE_BYTES + FUNCTIONS * FUNCTION_BYTES];
} memory;
static struct object object;
static uint32_t module = 5;

static uintptr_t function_at(uint32_t f)
{
    return functions[f].kind == OUTSIDE ? frames_code(&memory.frames) + FRAMES_CODE_BYTES
                                        : frames_code(&memory.frames) + f * FUNCTION_BYTES;
}

static bool find(uintptr_t pc, struct object *out)
{
    *out = object;
    return pc - frames_code(&memory.frames) < FRAMES_CODE_BYTES;
}

static uint32_t number_of(const struct object *o, bool may_grow)
{
    (void)o;
    (void)may_grow;
    return module;
}

static void put_function(const struct cie_shape *cie, uint32_t at, uint32_t f)
{
    const struct function *fn = &functions[f];
    uint8_t by_sp[] = {0x0e, (uint8_t)fn->bytes, fn->saves_bp ? 0x86 : 0, fn->saves_bp ? 2 : 0};
    uintptr_t code = function_at(f);
    switch (fn->kind) {
    case BY_SP: put_fde(&memory.frames, cie, at, code, FUNCTION_BYTES, by_sp, sizeof by_sp); break;
    case BY_BP:
        put_fde(&memory.frames, cie, at, code, FUNCTION_BYTES, PROGRAM("\x0c\x06\x10\x86\x02"));
        break;
    case REALIGNED:
        put_fde(&memory.frames, cie, at, code, FUNCTION_BYTES,
                PROGRAM("\x0f\x03\x76\x78\x06\x10\x06\x02\x76\0"));
        break;
    case FIRST: put_fde(&memory.frames, cie, at, code, FUNCTION_BYTES, PROGRAM("\x07\x10")); break;
    case STRANGE: put_fde(&memory.frames, cie, at, code, FUNCTION_BYTES, PROGRAM("\x0d\x03")); break;
    default: break;
    }
}

static void start(void)
{
    static const struct unwind_setup setup = {
        .find = find, .number = number_of, .frames = RTC_STACK_FRAMES};
    const struct cie_shape cie = CIE_USUAL;
    memset(memory.code, 0xe8, sizeof memory.code);
    frames_begin(&memory.frames);
    uint32_t at = put_cie(&memory.frames, &cie);
    for (uint32_t f = 0; f < FUNCTIONS; f++)
        put_function(&cie, at, f);
    object = frames_end(&memory.frames, true);
    unwind_start(&setup);
}

/* ---- the model ------------------------------------------------------------------------------------ */

struct frame {
    uint32_t function, site;
    uintptr_t cfa, sp, bp;
};

static struct {
    uint64_t random;
    uintptr_t *memory; /* MEMORY_WORDS */
    uint32_t count;
    struct frame frame[DEEPEST + 1]; /* outermost first */
} model;

static struct traces all;
static struct trace *trace; /* of them, the last one */

static uint32_t chance(uint32_t n)
{
    return chance_of(&model.random, n);
}

static uintptr_t *word(uintptr_t at)
{
    return (uintptr_t *)at;
}

static uintptr_t pc_of(const struct frame *f)
{
    return function_at(f->function) + 16 + f->site;
}

static uint64_t word_of_frame(const struct frame *f)
{
    uint64_t number = functions[f->function].kind == OUTSIDE ? 0 : module;
    return pc_of(f) | number << DEPOT_MODULE_SHIFT;
}

static uintptr_t below(uintptr_t at)
{
    return at - 8 * (1 + chance(3));
}

/* What a function does when it begins: its frame below `cfa`, rbp as its caller has it. */
static void enter(struct frame *f, uintptr_t bp)
{
    const struct function *fn = &functions[f->function];
    f->bp = bp;
    if (fn->saves_bp && fn->kind != REALIGNED)
        *word(f->cfa - 16) = bp;
    f->sp = f->cfa - fn->bytes;
    if (fn->kind == BY_SP && fn->saves_bp) /* a register like others */
        f->bp = chance(2) ? chance(3) : (uintptr_t)(model.memory + chance(MEMORY_WORDS));
    if (fn->kind == BY_BP || fn->kind == UNKNOWN || fn->kind == OUTSIDE) {
        f->bp = f->cfa - 16;
        f->sp = chance(4) ? f->bp - 16 : below(f->bp);
    } else if (fn->kind == REALIGNED) {
        f->bp = below(f->cfa - 8);
        *word(f->bp) = bp;
        *word(f->bp - 8) = f->cfa;
        f->sp = below(f->bp - 8);
    }
}

static void call(uint32_t function)
{
    struct frame *caller = &model.frame[model.count - 1], *f = caller + 1;
    if (model.count == DEEPEST)
        return;
    caller->site = chance(3);
    *word(caller->sp - 8) = pc_of(caller);
    *f = (struct frame){.function = function, .cfa = caller->sp};
    enter(f, caller->bp);
    model.count++;
}

/* A thread's first function, or a coroutine's, which returns to 0. */
static void begin(void)
{
    struct frame *f = &model.frame[0];
    *f = (struct frame){.cfa = (uintptr_t)(model.memory + MEMORY_WORDS - 16)};
    f->function = chance(2) ? USUAL_FUNCTIONS : chance(3);
    *word(f->cfa - 8) = 0;
    enter(f, 0);
    model.count = 1;
}

static const struct entry *entry(void)
{
    struct frame *f = &model.frame[model.count - 1];
    struct entry *at = (struct entry *)f->sp - 1;
    f->site = chance(3);
    *at = (struct entry){.bp = f->bp, .pc = pc_of(f)};
    return at;
}

/* Returns, and calls; `depth` is where it tends to. */
static void go_on(uint32_t depth)
{
    uint32_t returns = chance(model.count < depth ? 3 : 6);
    if (chance(50) == 0)
        returns = chance(model.count);
    model.count -= returns < model.count ? returns : model.count - 1;
    for (uint32_t calls = chance(model.count < depth ? 6 : 3); calls; calls--)
        call(chance(chance(200) ? USUAL_FUNCTIONS : FUNCTIONS));
}

/* ---- comparing --------------------------------------------------------------------------------------- */

/* From outside in: hashes belong to their frames, and ids, given once, to their hashes. */
static void check_trace(void)
{
    uint64_t hash = depot_root(trace->end);
    for (uint32_t i = 1; i <= trace->count; i++) {
        struct trace_more *m = &trace->more[i];
        hash = depot_hash(hash, m->word);
        MUST(m->hash == hash);
        MUST(!m->id || m->id == (uint32_t)hash);
        m->id = (uint32_t)hash;
    }
}

static void agree(const struct walk *w)
{
    check_trace();
    MUST(trace->count <= TRACE_FRAMES && trace->count > 0);
    if (trace->count < RTC_STACK_FRAMES)
        MUST(w->count == trace->count && w->end == trace->end);
    else
        MUST(w->count == RTC_STACK_FRAMES);
    for (uint32_t i = 0; i < w->count; i++)
        MUST(trace->more[trace->count - i].word == w->word[i]);
}

/* Both ways; was it kept? */
static bool update(const struct entry *at, struct walk *w)
{
    trace = trace_update(&all, at, true);
    unwind_walk(at, w, true);
    if (trace)
        agree(w);
    return trace;
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
        return; /* what is outside of those is nobody's business */
    MUST(kept);
    for (uint32_t i = 0; i < w->count; i++)
        MUST(w->word[i] == word_of_frame(&model.frame[model.count - 1 - i]));
    MUST(w->count == (model.count < RTC_STACK_FRAMES ? model.count : RTC_STACK_FRAMES));
    MUST(w->end == (model.count > RTC_STACK_FRAMES ? STACK_CUT : STACK_WHOLE));
    for (uint32_t i = 0; i < trace->count; i++)
        MUST(trace->frame[trace->count - i].sp == model.frame[model.count - 1 - i].sp);
    MUST(trace->end == STACK_CUT || trace->count == model.count);
}

/* ---- random steps ------------------------------------------------------------------------------------- */

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

/* One word is another; then it is again as it was. */
static void smash(void)
{
    uintptr_t low = model.frame[model.count - 1].sp, high = model.frame[0].cfa, was;
    uintptr_t *at = word(low - 16) + chance((uint32_t)((high - low) / 8 + 2));
    struct walk w;
    was = *at;
    switch (chance(6)) {
    case 0: *at = 0; break;
    case 1: *at += 8 * chance(5); break;
    case 2: *at = (uintptr_t)(model.memory + chance(MEMORY_WORDS)); break;
    case 3: *at = 0xdeadbeefdeadbeef; break;
    case 4: *at = function_at(chance(FUNCTIONS)) + 16; break;
    default: *at = (uintptr_t)0 - 8 * chance(4); break;
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

/* ---- left in the middle ----------------------------------------------------------------------------- */

static sigjmp_buf out;
static volatile uint32_t instructions;

/* A handler that leaves us by siglongjmp, at one instruction or another. */
static void trap(int signal)
{
    (void)signal;
    if (--instructions == 0)
        siglongjmp(out, 1);
}

static __attribute__((noinline)) void update_and_leave(const struct entry *at)
{
    step();
    trace_update(&all, at, true);
    step_no_more();
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

/* After a stack that was left in the middle the one before it again, but for one saved rbp. */
static void left_in_the_middle(void)
{
    static uintptr_t copy[MEMORY_WORDS];
    uintptr_t memory[MEMORY_WORDS] = {0};
    struct walk w;
    model.random = 20261123;
    model.memory = memory;
    catch_traps();
    start();
    for (uint32_t i = 0; i < LEFT; i++) {
        all.strangers = 0; /* so all of them are in one trace */
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

/* ---- what cannot be kept -------------------------------------------------------------------------------- */

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

/* A child without its parent's depot: no id of the parent's is left. */
static void forgotten(void)
{
    uintptr_t memory[MEMORY_WORDS] = {0};
    struct walk w;
    model.memory = memory;
    model.random = 20261126;
    start();
    begin();
    MUST(update(entry(), &w));
    trace->more[1].id = 77;
    all.recent_mask = RECENT_MAX - 1;
    all.recent[5].way[1] = all.recent[RECENT_MAX - 1].way[0] = (struct trace_way){0x1234, 77};
    unwind_after_fork(false);
    MUST(trace_update(&all, entry(), true) == trace && trace->more[1].id == 77);
    MUST(all.recent[5].way[1].id == 77);
    unwind_after_fork(true);
    MUST(trace_update(&all, entry(), true) && trace->more[1].id == 0);
    for (uint32_t i = 0; i < RECENT_MAX; i++)
        for (uint32_t k = 0; k < RECENT_WAYS; k++)
            MUST(!all.recent[i].way[k].hash && !all.recent[i].way[k].id);
}

/* ---- which trace ----------------------------------------------------------------------------------------- */

#define KINDS 6u

/* Calls from so many depths, each from one place, in turns. */
static void take_turns(uint32_t rounds)
{
    static uintptr_t copy[MEMORY_WORDS];
    struct walk w;
    memcpy(copy, model.memory, sizeof copy);
    for (uint32_t i = 0; i < rounds * KINDS; i++) {
        model.count = 40 - 3 * (i % KINDS);
        model.random = 20261128 + i % KINDS; /* entry's place */
        MUST(update(entry(), &w));
        memcpy(model.memory, copy, sizeof copy);
    }
}

/* In the end each has a trace of its own, wherever its stack lies. */
static void kinds_in_turns(void)
{
    uintptr_t memory[MEMORY_WORDS] = {0};
    model.random = 20261127;
    model.memory = memory;
    start();
    for (uint32_t i = 0; i < 20; i++) {
        begin();
        while (model.count < 40)
            call(i % 3);
        take_turns(200);
        uint32_t strangers = all.strangers;
        take_turns(10);
        MUST(all.strangers == strangers);
    }
}

/* ---- where stacks end ------------------------------------------------------------------------------------ */

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
        ends_with(f, sp - 16, STACK_ASTRAY);
        ends_with(f, sp + 4, STACK_ASTRAY);
        ends_with(f, high, STACK_ASTRAY);
        ends_with(f, high + 8, STACK_ASTRAY);
        ends_with(f, UINTPTR_MAX - 7, STACK_ASTRAY);
        ends_with(f, 8, STACK_ASTRAY);
    }
}

IN_CHILD(random_steps)
IN_CHILD(smashed_stacks)
IN_CHILD(left_in_the_middle)
IN_CHILD(strange_frames)
IN_CHILD(forgotten)
IN_CHILD(kinds_in_turns)
IN_CHILD(ends)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_steps),
        cmocka_unit_test(test_smashed_stacks),
        cmocka_unit_test(test_left_in_the_middle),
        cmocka_unit_test(test_strange_frames),
        cmocka_unit_test(test_forgotten),
        cmocka_unit_test(test_kinds_in_turns),
        cmocka_unit_test(test_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
