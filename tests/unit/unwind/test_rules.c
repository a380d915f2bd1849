/*
 * test_rules.c - unwind rules: the kind of a row, rules that are created once, dropped and revived,
 * and concurrent lookup and insertion, also without memory for more.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "frames.h"
#include "../in_child.h"

#include <cmocka.h>

/* ---- an object with one function, and code outside of it ------------------------------------- */

static struct frames frames;
static struct object object;
static uint32_t number = 7;
static _Atomic uint32_t finds;

static bool find(uintptr_t pc, struct object *out)
{
    finds++;
    *out = object;
    return pc - frames_code(&frames) < FRAMES_CODE_BYTES;
}

static uint32_t number_of(const struct object *o, bool may_grow)
{
    (void)may_grow;
    return o->handle == &frames ? number : 0;
}

static const struct unwind_setup setup = {
    .find = find, .number = number_of, .frames = RTC_STACK_FRAMES};

static void one_function(const struct cie_shape *cie, const uint8_t *program, size_t n)
{
    frames_begin(&frames);
    put_fde(&frames, cie, put_cie(&frames, cie), frames_code(&frames), FRAMES_CODE_BYTES / 2,
            program, n);
    object = frames_end(&frames, true);
}

#define STEP_BYTES 4096u /* after each step the stack is 8 bytes deeper */

static void many_rules(void)
{
    static uint8_t program[FRAMES_CODE_BYTES / STEP_BYTES * 6];
    struct cie_shape cie = CIE_USUAL;
    size_t n = 0;
    for (unsigned i = 0; i < FRAMES_CODE_BYTES / 2 / STEP_BYTES; i++) {
        memcpy(program + n, "\x0e\0\0\x03\0\x10", 6);
        program[n + 1] = (uint8_t)((8 * i + 8) % 128 | 0x80);
        program[n + 2] = (uint8_t)((8 * i + 8) / 128);
        n += 6;
    }
    one_function(&cie, program, n);
}

static bool is_right(const struct rule *r, uint64_t at)
{
    return r->kind == RULE_SP && r->offset == (int32_t)(8 * (at / STEP_BYTES) + 8) &&
           r->module == number && !r->saved_bp;
}

/* ---- kinds ----------------------------------------------------------------------------------- */

static struct rule rule_with(const struct cie_shape *cie, const uint8_t *program, size_t n,
                             uint64_t key)
{
    struct rule spare;
    one_function(cie, program, n);
    unwind_forget(number);
    return *rule_of(key, &spare, true);
}

static struct rule rule_here(const uint8_t *program, size_t n)
{
    const struct cie_shape usual = CIE_USUAL;
    return rule_with(&usual, program, n, frames_code(&frames) + 100);
}

static void is_rule(struct rule r, enum rule_kind kind, int32_t offset, uint16_t saved_bp)
{
    MUST(r.kind == kind);
    MUST(r.offset == offset && r.saved_bp == saved_bp);
}

static void simple_kinds(void)
{
    unwind_start(&setup);
    is_rule(rule_here(PROGRAM("")), RULE_SP, 8, 0);
    is_rule(rule_here(PROGRAM("\x0e\x80\x08")), RULE_SP, 1024, 0);
    is_rule(rule_here(PROGRAM("\x0e\x10\x86\x02")), RULE_SP, 16, 16);
    is_rule(rule_here(PROGRAM("\x0c\x06\x10\x86\x02")), RULE_BP, 16, 16);
    is_rule(rule_here(PROGRAM("\x0c\x06\x20")), RULE_BP, 32, 0);
    is_rule(rule_here(PROGRAM("\x83\x03\x07\x03\x8c\x04")), RULE_SP, 8, 0); /* other registers */
    is_rule(rule_here(PROGRAM("\x86\xff\x3f")), RULE_SP, 8, 65528);
    MUST(rule_here(PROGRAM("\x13\x02")).kind == RULE_COMPLEX); /* below the stack pointer */
    is_rule(rule_here(PROGRAM("\x07\x10")), RULE_END, 0, 0);
    is_rule(rule_here(PROGRAM("\x0e\x07\x07\x10")), RULE_END, 0, 0);
}

static void realigned(void)
{
    unwind_start(&setup);
    is_rule(rule_here(PROGRAM("\x0f\x03\x76\x78\x06\x10\x06\x02\x76\0")), RULE_DRAP, -8, 0);
    is_rule(rule_here(PROGRAM("\x0f\x03\x76\x40\x06\x10\x06\x02\x76\0")), RULE_DRAP, -64, 0);
    is_rule(rule_here(PROGRAM("\x0f\x03\x76\x10\x06\x10\x06\x02\x76\0")), RULE_DRAP, 16, 0);
    static const char *const others[] = {
        "\x0f\x03\x76\x7c\x06\x10\x06\x02\x76\0",     /* not a word's location */
        "\x0f\x03\x77\x78\x06\x10\x06\x02\x76\0",     /* relative to rsp */
        "\x0f\x03\x76\x78\x96\x10\x06\x02\x76\0",     /* not dereferenced */
        "\x0f\x04\x76\xf8\x7e\x06\x10\x06\x02\x76\0", /* offset exceeds a byte */
        "\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x08",   /* rbp is saved elsewhere */
        "\x0f\x03\x76\x78\x06\x10\x06\x02\x77\0",     "\x0f\x03\x76\x78\x06\x16\x06\x02\x76\0",
        "\x0f\x03\x76\x78\x06\x86\x02\0\0\0",         "\x0f\x03\x76\x78\x06\0\0\0\0\0",
    };
    for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++)
        MUST(rule_here((const uint8_t *)others[i], i == 3 ? 11 : 10).kind == RULE_COMPLEX);
}

static void complex_kinds(void)
{
    unwind_start(&setup);
    static const struct {
        const char *program;
        size_t bytes;
    } each[] = {
        /* clang-format off */
        {"\x0d\x03", 2},                                   /* the CFA is relative to rbx */
        {"\x0d\x10", 2}, {"\x0d\x87\x02", 3},              /* to an unknown register */
        {"\x0e\x0c", 2},                                   /* not a multiple of 8 */
        {"\x0e\x80\x80\x80\x80\x10", 6},                   /* too far */
        {"\x90\x02", 2}, {"\x08\x10", 2}, {"\x09\x10\x03", 3}, /* the return address is elsewhere */
        {"\x09\x06\x03", 3}, {"\x07\x06", 2}, {"\x10\x06\x01\x30", 4}, /* rbp is elsewhere */
        {"\x2f\x06\x02", 3}, {"\x14\x06\x02", 3}, {"\x86\x80\x40", 3},
        {"\x3f", 1}, {"\x0b", 1}, {"\x0e", 1}, /* not understood */
        /* clang-format on */
    };
    for (unsigned i = 0; i < sizeof each / sizeof each[0]; i++)
        MUST(rule_here((const uint8_t *)each[i].program, each[i].bytes).kind == RULE_COMPLEX);
}

static const uint8_t restorer[] = {0x90, 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05, 0x90, 0x90};

static bool find_restorer(uintptr_t pc, struct object *out)
{
    *out = object;
    return pc - (uintptr_t)restorer < sizeof restorer;
}

static void signal_kind(void)
{
    struct unwind_setup other = setup;
    struct cie_shape cie = CIE_USUAL;
    struct row row;
    struct rule spare;
    bool is;
    other.find = find_restorer;
    unwind_start(&other);
    for (unsigned marked = 0; marked < 2; marked++) {
        cie.letters = marked ? "zRS" : "zR";
        frames_begin(&frames);
        put_fde(&frames, &cie, put_cie(&frames, &cie), (uintptr_t)restorer, sizeof restorer,
                PROGRAM(""));
        object = frames_end(&frames, true);
        unwind_forget(number);
        MUST(rule_of((uintptr_t)restorer + 1, &spare, true)->kind ==
             (marked ? RULE_SIGNAL : RULE_SP));
        MUST(rule_row((uintptr_t)restorer + 1, &row, &is) && is == marked);
        /* Another signal frame, or code that resembles one. */
        MUST(rule_of((uintptr_t)restorer + 2, &spare, true)->kind ==
             (marked ? RULE_COMPLEX : RULE_SP));
        MUST(rule_row((uintptr_t)restorer + 2, &row, &is) && !is);
    }
}

static void no_information(void)
{
    struct rule spare;
    uintptr_t code = frames_code(&frames);
    MUST(rule_of(code + 1, &spare, true) == &spare && spare.kind == RULE_NONE);
    unwind_start(&setup);
    many_rules();
    const struct rule *r = rule_of(code + FRAMES_CODE_BYTES / 2 + 1, &spare, true);
    MUST(r != &spare && r->kind == RULE_CHAIN && r->module == number);
    r = rule_of(code - 1, &spare, true);
    MUST(r != &spare && r->kind == RULE_CHAIN && r->module == 0);
    MUST(word_of(code - 1, r) == code - 1);
    object.index = NULL;
    r = rule_of(code + 1, &spare, true);
    MUST(r != &spare && r->kind == RULE_CHAIN && r->module == number);
    MUST(word_of(code + 1, r) == (code + 1) + ((uint64_t)number << 48));
}

/*
 * The byte before a return address belongs to the call; an interrupted instruction has its own
 * address.
 */
static void places(void)
{
    struct rule spare;
    struct row row;
    bool is;
    unwind_start(&setup);
    many_rules();
    uint64_t key = frames_code(&frames) + 2 * STEP_BYTES;
    MUST(is_right(rule_of(key, &spare, true), STEP_BYTES));
    MUST(is_right(rule_of(key + 1, &spare, true), 2 * STEP_BYTES));
    MUST(is_right(rule_of(key | KEY_EXACT, &spare, true), 2 * STEP_BYTES));
    MUST(rule_row(key, &row, &is) && row.cfa.offset == 16);
    MUST(rule_row(key | KEY_EXACT, &row, &is) && row.cfa.offset == 24);
    MUST(!rule_row(1, &row, &is));
}

/* ---- kept, dropped, revived ------------------------------------------------------------------ */

static void kept(void)
{
    struct rule spare;
    unwind_start(&setup);
    many_rules();
    uint64_t code = frames_code(&frames);
    const struct rule *r = rule_of(code + 5, &spare, true);
    uint32_t before = finds;
    for (unsigned i = 0; i < 100; i++)
        MUST(rule_of(code + 5, &spare, i % 2) == r && r != &spare && rule_is(r, code + 5));
    MUST(finds == before && unwind_totals().rules == 1);
    number = 0; /* no room for the object: correct, but not kept */
    MUST(rule_of(code + 6, &spare, true) == &spare && is_right(&spare, 0));
    MUST(unwind_totals().rules == 1);
}

static void dropped(void)
{
    struct rule spare;
    unwind_start(&setup);
    many_rules();
    uint64_t code = frames_code(&frames);
    const struct rule *r = rule_of(code + 5, &spare, true), *other;
    number = 8;
    other = rule_of(code + 6, &spare, true);
    uint32_t epoch = rules_epoch;
    unwind_forget(8);
    MUST(rules_epoch != epoch);
    MUST(rule_is(r, code + 5) && !rule_is(other, code + 6));
    MUST(rule_of(code + 5, &spare, true) == r);
    MUST(rule_of(code + 6, &spare, true) == other && rule_is(other, code + 6));
    unwind_forget(8);
    struct cie_shape cie = CIE_USUAL;
    one_function(&cie, PROGRAM("\x0e\x28")); /* another object at that address */
    const struct rule *new = rule_of(code + 6, &spare, true);
    /* clang-format off */
    MUST(new != other && new != &spare && new->offset == 40 && !rule_is(other, code + 6));
    /* clang-format on */
}

static void outside(void)
{
    struct rule spare;
    unwind_start(&setup);
    many_rules();
    uint64_t code = frames_code(&frames);
    const struct rule *r = rule_of(code + 5, &spare, true);
    uint32_t epoch = rules_epoch;
    unwind_forget(0);
    MUST(rules_epoch == epoch); /* the loader allocates often */
    const struct rule *other = rule_of(code - 5, &spare, true);
    MUST(rule_is(other, code - 5));
    unwind_forget(0);
    MUST(rules_epoch != epoch && !rule_is(other, code - 5) && rule_is(r, code + 5));
    unwind_after_fork(false);
    MUST(rule_is(r, code + 5));
    unwind_after_fork(true);
    MUST(!rule_is(r, code + 5));
}

/* Two objects alternate at one address: the rules of each are revived. */
static void turns(void)
{
    struct rule spare;
    unwind_start(&setup);
    uint64_t rules_before = 0;
    for (unsigned i = 0; i < 200; i++) {
        struct cie_shape cie = CIE_USUAL;
        number = 10 + i % 3;
        one_function(&cie, (const uint8_t[]){0x0e, (uint8_t)(16 + 8 * (i % 3))}, 2);
        for (unsigned at = 1; at < 100; at++)
            MUST(rule_of(frames_code(&frames) + at, &spare, true)->offset == 16 + 8 * (int)(i % 3));
        unwind_forget(number);
        if (i == 2)
            rules_before = unwind_totals().rules;
    }
    MUST(unwind_totals().rules == rules_before);
}

/* ---- growing --------------------------------------------------------------------------------- */

#define THREADS 4u
#define KEYS 40000u

static void *use_many(void *seed)
{
    uint64_t random = (uintptr_t)seed;
    struct rule spare;
    for (uint32_t i = 0; i < KEYS; i++) {
        random = random * 6364136223846793005ull + 1442695040888963407ull;
        uint64_t at = (random >> 33) % KEYS;
        if (!is_right(rule_of(frames_code(&frames) + at + 1, &spare, i % 16 != 0), at))
            return seed;
    }
    return NULL;
}

static void together(void)
{
    pthread_t thread[THREADS];
    struct rule spare;
    void *failed;
    unwind_start(&setup);
    many_rules();
    for (uintptr_t i = 0; i < THREADS; i++)
        MUST(pthread_create(&thread[i], NULL, use_many, (void *)(i + 1)) == 0);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(thread[i], &failed);
        MUST(!failed);
    }
    for (uint32_t at = 0; at < KEYS; at++) {
        const struct rule *r = rule_of(frames_code(&frames) + at + 1, &spare, true);
        MUST(r != &spare && is_right(r, at));
    }
    MUST(unwind_totals().rules < KEYS + KEYS / 10); /* few were created twice */
}

#ifndef __SANITIZE_THREAD__ /* it needs address space */
/* Limit the address space to its present size plus `bytes`. */
static void limit_room(uint64_t bytes)
{
    char text[32] = "";
    FILE *f = fopen("/proc/self/statm", "r");
    MUST(f && fgets(text, sizeof text, f) && fclose(f) == 0);
    bytes += strtoull(text, NULL, 10) * PAGE_BYTES;
    MUST(setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes}) == 0);
}

static uint32_t use_all(void)
{
    struct rule spare;
    uint32_t left_out = 0;
    for (uint32_t at = 0; at < KEYS; at++) {
        const struct rule *r = rule_of(frames_code(&frames) + at + 1, &spare, true);
        MUST(is_right(r, at));
        left_out += r == &spare;
    }
    return left_out;
}

/* The index cannot double any more. */
static void index_full(void)
{
    unwind_start(&setup);
    many_rules();
    alarm(60);
    limit_room(0);
    MUST(use_all() > KEYS / 2);
    MUST(use_all() > KEYS / 2);
    MUST(unwind_totals().rules > 3000);
}

/* Little address space: a small table. */
static void table_full(void)
{
    limit_room(4u << 20);
    unwind_start(&setup);
    many_rules();
    uint32_t left_out = use_all();
    MUST(left_out > 0 && left_out == use_all());
    MUST(unwind_totals().rules + left_out == KEYS);
}

IN_CHILD(index_full)
IN_CHILD(table_full)
#endif

IN_CHILD(simple_kinds)
IN_CHILD(realigned)
IN_CHILD(complex_kinds)
IN_CHILD(signal_kind)
IN_CHILD(no_information)
IN_CHILD(places)
IN_CHILD(kept)
IN_CHILD(dropped)
IN_CHILD(outside)
IN_CHILD(turns)
IN_CHILD(together)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_simple_kinds),   cmocka_unit_test(test_realigned),
        cmocka_unit_test(test_complex_kinds),  cmocka_unit_test(test_signal_kind),
        cmocka_unit_test(test_no_information), cmocka_unit_test(test_places),
        cmocka_unit_test(test_kept),           cmocka_unit_test(test_dropped),
        cmocka_unit_test(test_outside),        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_together),
#ifndef __SANITIZE_THREAD__
        cmocka_unit_test(test_index_full),     cmocka_unit_test(test_table_full),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
