/*
 * made_stack.h - simulated stacks: functions with every kind of rule, and a model that calls them
 * and returns, at random, on an array of words.
 */
#ifndef MADE_STACK_H
#define MADE_STACK_H

#include "frames.h"
#include "../chance.h"

#define MEMORY_WORDS 8192u
#define DEEPEST 160u

/* ---- functions ------------------------------------------------------------------------------- */

enum kind { BY_SP, BY_BP, REALIGNED, UNKNOWN, OUTSIDE, FIRST, STRANGE };

static const struct function {
    enum kind kind;
    uint32_t bytes; /* BY_SP: distance from its stack pointer to its CFA */
    bool saves_bp;
} functions[] = {
    {BY_SP, 16, false}, {BY_SP, 16, false}, {BY_SP, 48, false}, {BY_SP, 24, true},
    {BY_SP, 64, true},  {BY_BP, 0, true},   {BY_BP, 0, true},   {REALIGNED, 0, true},
    {UNKNOWN, 0, true}, {OUTSIDE, 0, true}, {FIRST, 32, false}, {STRANGE, 32, false},
};
#define FUNCTIONS (sizeof functions / sizeof functions[0])
#define USUAL_FUNCTIONS 10u /* before FIRST */
#define FUNCTION_BYTES 256u

/*
 * The code after the frames is call opcodes: an unwinder checks it where it continues without CFI.
 */
static struct {
    struct frames frames;
    uint8_t code[FRAMES_CODE_BYTES + FUNCTIONS * FUNCTION_BYTES];
} memory;
static struct object object;
static uint32_t module = 5;

static inline uintptr_t function_at(uint32_t f)
{
    return functions[f].kind == OUTSIDE ? frames_code(&memory.frames) + FRAMES_CODE_BYTES
                                        : frames_code(&memory.frames) + f * FUNCTION_BYTES;
}

static inline bool find(uintptr_t pc, struct object *out)
{
    *out = object;
    return pc - frames_code(&memory.frames) < FRAMES_CODE_BYTES;
}

static inline uint32_t number_of(const struct object *o, bool may_grow)
{
    (void)o;
    (void)may_grow;
    return module;
}

static inline void put_function(const struct cie_shape *cie, uint32_t at, uint32_t f)
{
    const struct function *fn = &functions[f];
    uint8_t by_sp[] = {0x0e, (uint8_t)fn->bytes, fn->saves_bp ? 0x86 : 0, fn->saves_bp ? 2 : 0};
    uintptr_t code = function_at(f);
    switch (fn->kind) {
    case BY_SP:
        put_fde(&memory.frames, cie, at, code, FUNCTION_BYTES, by_sp, sizeof by_sp);
        break;
    case BY_BP:
        put_fde(&memory.frames, cie, at, code, FUNCTION_BYTES, PROGRAM("\x0c\x06\x10\x86\x02"));
        break;
    case REALIGNED:
        put_fde(&memory.frames, cie, at, code, FUNCTION_BYTES,
                PROGRAM("\x0f\x03\x76\x78\x06\x10\x06\x02\x76\0"));
        break;
    case FIRST:
        put_fde(&memory.frames, cie, at, code, FUNCTION_BYTES, PROGRAM("\x07\x10"));
        break;
    case STRANGE:
        put_fde(&memory.frames, cie, at, code, FUNCTION_BYTES, PROGRAM("\x0d\x03"));
        break;
    default:
        break;
    }
}

static inline void start(void)
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

/* ---- the model ------------------------------------------------------------------------------- */

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

static inline uint32_t chance(uint32_t n)
{
    return chance_of(&model.random, n);
}

static inline uintptr_t *word(uintptr_t at)
{
    return (uintptr_t *)at;
}

static inline uintptr_t pc_of(const struct frame *f)
{
    return function_at(f->function) + 16 + f->site;
}

static inline uint64_t word_of_frame(const struct frame *f)
{
    uint64_t number = functions[f->function].kind == OUTSIDE ? 0 : module;
    return pc_of(f) | number << DEPOT_MODULE_SHIFT;
}

static inline uintptr_t below(uintptr_t at)
{
    return at - 8 * (1 + chance(3));
}

/* A function's prologue: its frame below `cfa`, rbp as in its caller. */
static inline void enter(struct frame *f, uintptr_t bp)
{
    const struct function *fn = &functions[f->function];
    f->bp = bp;
    if (fn->saves_bp && fn->kind != REALIGNED)
        *word(f->cfa - 16) = bp;
    f->sp = f->cfa - fn->bytes;
    if (fn->kind == BY_SP && fn->saves_bp) /* rbp is used as a general register */
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

static inline void call(uint32_t function)
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

/* A thread's first function, or a coroutine's, whose return address is 0. */
static inline void begin(void)
{
    struct frame *f = &model.frame[0];
    *f = (struct frame){.cfa = (uintptr_t)(model.memory + MEMORY_WORDS - 16)};
    f->function = chance(2) ? USUAL_FUNCTIONS : chance(3);
    *word(f->cfa - 8) = 0;
    enter(f, 0);
    model.count = 1;
}

static inline const struct entry *entry(void)
{
    struct frame *f = &model.frame[model.count - 1];
    struct entry *at = (struct entry *)f->sp - 1;
    f->site = chance(3);
    *at = (struct entry){.bp = f->bp, .pc = pc_of(f)};
    return at;
}

/* Return and call at random; `depth` is the depth to which it tends. */
static inline void go_on(uint32_t depth)
{
    uint32_t returns = chance(model.count < depth ? 3 : 6);
    if (chance(50) == 0)
        returns = chance(model.count);
    model.count -= returns < model.count ? returns : model.count - 1;
    for (uint32_t calls = chance(model.count < depth ? 6 : 3); calls; calls--)
        call(chance(chance(200) ? USUAL_FUNCTIONS : FUNCTIONS));
}

#endif
