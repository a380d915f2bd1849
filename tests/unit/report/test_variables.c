/*
 * test_variables.c - a variable (libdwarf) and an inlined function (libdw), read in one process.
 *
 * rtc-build: -g
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "helper_priv.h"
#include "variables.h"

struct pair {
    int first, second;
};

static struct pair pairs[5];

static void *here;

static inline __attribute__((always_inline)) void mark(void)
{
    __asm__ volatile("1: lea 1b(%%rip), %0" : "=r"(here));
}

static __attribute__((noinline)) void marks(void)
{
    mark();
    pairs[0].first++;
}

static uint32_t this_program(struct report *r, uint64_t *bias)
{
    extern char __executable_start[];
    struct module_record m = {0};

    assert_true(readlink("/proc/self/exe", m.path, sizeof m.path - 1) > 0);
    m.bias = (uint64_t)(uintptr_t)__executable_start;
    *bias = m.bias;
    return module_intern(r, &m, 1);
}

static void forget(struct report *r)
{
    helper_end(r);
    symbols_free(r);
    sites_free(r);
}

static void is_both(const struct frame *frame, struct variable *v)
{
    struct source_line lines[FRAME_LINES_MAX];

    assert_int_equal(frame_lines(frame, lines, FRAME_LINES_MAX), 2);
    assert_string_equal(lines[0].function, "mark");
    assert_string_equal(lines[1].function, "marks");
    assert_non_null(strstr(lines[1].file, "test_variables.c"));
    assert_true(lines[1].line > lines[0].line);
    assert_int_equal(frame_lines(frame, lines, 1), 1);

    assert_string_equal(v->name, "pairs[3].second");
    assert_int_equal(v->offset, 1);
    assert_string_equal(v->whole, "pairs");
    assert_int_equal(v->in_whole, 3 * sizeof(struct pair) + sizeof(int) + 1);
    assert_string_equal(v->section, ".bss");
    assert_non_null(strstr(v->file, "test_variables.c"));
    variable_free(v);
}

static void test_in_this_process(void **state)
{
    struct report r = {0};
    struct variable v = {0};
    uint64_t bias, address = (uint64_t)(uintptr_t)&pairs[3].second + 1;
    uint32_t module = this_program(&r, &bias), frame;

    (void)state;
    marks();
    frame = frame_intern(&r, module, (uint64_t)(uintptr_t)here - bias, true);
    for (int i = 0; i < 2; i++) { /* in both orders */
        variable_symbolize(&r, module, address - bias, &v);
        if (i == 0)
            frame_symbolize(&r, &r.frames[frame]);
        is_both(&r.frames[frame], &v);
    }
    forget(&r);
}

static void test_in_the_helper(void **state)
{
    struct report r = {0};
    struct variable v;
    uint64_t bias, address = (uint64_t)(uintptr_t)&pairs[3].second + 1;
    uint32_t module = this_program(&r, &bias), frame;

    (void)state;
    marks();
    assert_true(variable_find(&r, module, address - bias, &v));
    frame = frame_intern(&r, module, (uint64_t)(uintptr_t)here - bias, true);
    symbolize_site(&r, site_intern(&r, &frame, 1, 0));
    is_both(&r.frames[frame], &v);
    assert_int_equal(r.modules[module].symbols, SYMBOLS_LINES);
    forget(&r);
}

/* ---- on the stack ---------------------------------------------------------------------------- */

/* An address in a function, and addresses in its frame. */
struct scene {
    void *pc;
    uintptr_t cfa;
    uintptr_t of_local, of_inner, of_parameter, of_none;
};

static inline __attribute__((always_inline, no_sanitize("address"))) void
scene_inside(struct scene *s)
{
    volatile struct pair own[2] = {{0}};
    s->of_inner = (uintptr_t)&own[1].first;
    __asm__ volatile("1: lea 1b(%%rip), %0" : "=r"(s->pc) : "r"(own) : "memory");
}

static __attribute__((noinline, no_sanitize("address"))) void scene(struct scene *s,
                                                                    volatile int given)
{
    volatile struct pair local[3] = {{0}};
    volatile char *unnamed = __builtin_alloca(64);
    unnamed[0] = 1;
    s->cfa = (uintptr_t)__builtin_dwarf_cfa();
    s->of_local = (uintptr_t)&local[2].second;
    s->of_parameter = (uintptr_t)&given;
    s->of_none = (uintptr_t)unnamed;
    scene_inside(s);
    __asm__ volatile("" ::"r"(local), "r"(unnamed), "r"(&given) : "memory");
}

static void names(struct report *r, uint32_t frame, const struct scene *s, uintptr_t address,
                  const char *name, const char *function, bool is_parameter)
{
    struct in_frame at = {.at = (int64_t)(address - s->cfa)};

    for (int i = 0; i < 2; i++) {
        struct variable v = {0};
        if (i == 0)
            local_symbolize(r, &r->frames[frame], at, &v);
        else
            local_find(r, frame, at, &v);
        if (!name) {
            assert_null(v.name);
            assert_null(v.function);
            continue;
        }
        assert_string_equal(v.name, name);
        assert_int_equal(v.offset, address % sizeof(int));
        assert_string_equal(v.function, function);
        assert_int_equal(v.is_parameter, is_parameter);
        assert_non_null(strstr(v.file, "test_variables.c"));
        assert_true(v.line > 0);
        assert_null(v.section);
        variable_free(&v);
    }
}

static void test_locals(void **state)
{
    struct report r = {0};
    struct scene s;
    uint64_t bias;
    uint32_t module = this_program(&r, &bias), frame, other;

    (void)state;
    scene(&s, 7);
    frame = frame_intern(&r, module, (uint64_t)(uintptr_t)s.pc - bias, true);
    names(&r, frame, &s, s.of_local, "local[2].second", "scene", false);
    names(&r, frame, &s, s.of_local + 1, "local[2].second", "scene", false);
    names(&r, frame, &s, s.of_inner, "own[1].first", "scene_inside", false);
    names(&r, frame, &s, s.of_parameter, "given", "scene", true);
    names(&r, frame, &s, s.of_none, NULL, NULL, false);
    names(&r, frame, &s, s.cfa + 4096, NULL, NULL, false);
    names(&r, frame, &s, s.cfa - (1ull << 40), NULL, NULL, false);
    other = frame_intern(&r, module, 1, true); /* no code */
    names(&r, other, &s, s.of_local, NULL, NULL, false);
    other = frame_intern(&r, NO_MODULE, (uint64_t)(uintptr_t)s.pc, true);
    names(&r, other, &s, s.of_local, NULL, NULL, false);
    forget(&r);
}

/* ---- nowhere --------------------------------------------------------------------------------- */

static void test_nothing_there(void **state)
{
    struct report r = {0};
    struct variable v;
    uint64_t bias;
    uint32_t module = this_program(&r, &bias);

    (void)state;
    assert_false(variable_find(&r, module, 1ull << 40, &v));
    assert_false(variable_find(&r, NO_MODULE, 4096, &v));
    snprintf(r.modules[module].path, 4, "/no");
    r.modules[module].symbols = SYMBOLS_UNTRIED;
    assert_false(variable_find(&r, module, (uint64_t)(uintptr_t)pairs - bias, &v));
    assert_int_equal(r.modules[module].symbols, SYMBOLS_NO_FILE);
    forget(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_this_process),
        cmocka_unit_test(test_in_the_helper),
        cmocka_unit_test(test_locals),
        cmocka_unit_test(test_nothing_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
