/*
 * test_print_stack.c - stack frames as text: functions, lines, inlined functions, long and short.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "text.h"
#include "golden.h"

static char prog[] = "/opt/prog", lib[] = "/opt/lib.so";
static char swap[] = "swap", sort[] = "sort", caller[] = "main", source[] = "src/e.c",
            header[] = "inc/e.h", stl[] = "/usr/include/c++/12/bits/v.h", give[] = "give";

static struct inlined inlined[] = {
    {.system_name = swap, .call_file = source, .call_line = 5},
    {.system_name = sort, .call_file = source, .call_line = 9},
};

static struct inlined hidden[] = {
    {.system_name = swap, .call_file = stl, .call_line = 2},
    {.system_name = swap, .call_file = stl, .call_line = 3},
};

/* swap is inlined in sort, which is inlined in main; main's callers have a name, and none. */
static struct frame frames[] = {
    /* clang-format off */
    {.module = 0, .offset = 0x1189, .system_name = caller, .file = header, .line = 3,
     .in_function = 0x1a, .inlined = inlined, .inlined_count = 2, .tried = true},
    {.module = 1, .offset = 0x2020, .system_name = sort, .in_function = 0x20, .tried = true},
    {.module = 1, .offset = 0x3030, .tried = true},
    {.module = NO_MODULE, .offset = 0x4242, .tried = true},
    {.module = 0, .offset = 0x5050, .tried = true},
    {.module = 1, .offset = 0x6060, .exact = true, .tried = true},
    {.module = 0, .system_name = give, .file = stl, .line = 1, .inlined = hidden, .inlined_count = 2, .tried = true},
    {.module = 0, .system_name = sort, .file = stl, .line = 4, .tried = true},
    {.module = 0, .system_name = caller, .file = source, .line = 7, .tried = true},
    /* clang-format on */
};

static uint32_t order[] = {0, 1, 2, 3, 4};
static uint32_t interrupted[] = {1, 2, 5, 2, 2, 2}; /* a signal interrupted the third frame */
static uint32_t recursive[] = {1, 8, 8, 8, 8, 4, 4}, recursive_headers[] = {7, 7, 7, 7, 8, 1};
static uint32_t headers[] = {6, 7, 8, 7, 7}; /* four functions of headers, and two outer ones */

static struct module modules[] = {{.path = prog}, {.path = lib}};
/* clang-format off */
static struct site sites[] = {{.frames = order, .count = 5}, {.count = 0}, {.frames = order, .count = 1, .end = STACK_CUT},
                              {.frames = interrupted, .count = 6}, {.frames = headers, .count = 5},
                              {.frames = headers, .count = 2}, {.frames = recursive, .count = 7},
                              {.frames = recursive_headers, .count = 6}};
/* clang-format on */

static struct report report = {
    /* clang-format off */
    .modules = modules, .module_count = 2, .frames = frames, .frame_count = 9,
    .sites = sites,     .site_count = 8,
    /* clang-format on */
};

static struct page page;

static const char *printed(void (*print)(const struct page *page), struct print_options how,
                           uint32_t shown, bool whole)
{
    static char text[4096];

    memset(text, 0, sizeof text);
    page = page_of(fmemopen(text, sizeof text - 1, "w"), &how, prog);
    page.frames = shown;
    page.whole = whole;
    assert_non_null(page.out);
    print(&page);
    fclose(page.out);
    return text;
}

static void first_stack(const struct page *p)
{
    stack_print(&report, "allocated", 0, p);
}

static void cut_stack(const struct page *p)
{
    stack_print(&report, "freed", 2, p);
}

static void interrupted_stack(const struct page *p)
{
    stack_print(&report, "freed", 3, p);
}

static void recursive_stack(const struct page *p)
{
    stack_print(&report, "freed", 6, p);
}

static void recursive_header_stack(const struct page *p)
{
    stack_print(&report, "freed", 7, p);
}

static void header_stack(const struct page *p)
{
    stack_print(&report, "freed", 4, p);
}

static void header_line(const struct page *p)
{
    site_put(&report, 4, p->frames, p);
}

static void header_only_line(const struct page *p)
{
    site_put(&report, 5, p->frames, p);
}

static void one_line(const struct page *p)
{
    site_put(&report, 0, p->frames, p);
}

static void no_place(const struct page *p)
{
    site_put(&report, 1, p->frames, p);
}

/* Add the stack as it is printed in a report, and with all details. */
static void add_both(const char *name, void (*print)(const struct page *page))
{
    char longer[80];

    golden_add(name, printed(print, (struct print_options){0}, 9, false));
    snprintf(longer, sizeof longer, "%s, whole", name);
    golden_add(longer, printed(print, (struct print_options){0}, 9, true));
}

static void test_lines(void **state)
{
    (void)state;
    add_both("lines", first_stack);
    golden_add("lines, deterministic",
               printed(first_stack, (struct print_options){.deterministic = true}, 9, false));
    golden_add("lines in colours",
               printed(first_stack, (struct print_options){.color = true}, 9, false));
    golden_add("lines on 40 columns",
               printed(first_stack, (struct print_options){.columns = 40}, 9, false));
    golden_add("lines on 10 columns",
               printed(first_stack, (struct print_options){.columns = 10}, 9, false));
}

/* Functions are counted; the number of omitted frames is printed, and the outermost is kept. */
static void test_limit(void **state)
{
    (void)state;
    for (uint32_t most = 1; most <= 6; most++) {
        char name[40];
        snprintf(name, sizeof name, "at most %u functions of 7", most);
        golden_add(name, printed(first_stack, (struct print_options){0}, most, false));
    }
}

static void test_cut(void **state)
{
    (void)state;
    add_both("cut", cut_stack);
}

/* The frame interrupted by a signal is marked, also between frames that would be merged. */
static void test_signal(void **state)
{
    (void)state;
    add_both("signal", interrupted_stack);
}

/* However deep the recursion is, its first caller is shown. */
static void test_recursion(void **state)
{
    (void)state;
    add_both("recursion", recursive_stack);
    golden_add("recursion, 5 functions",
               printed(recursive_stack, (struct print_options){0}, 5, false));
    add_both("recursion in headers", recursive_header_stack);
}

/*
 * Of functions in headers only the outermost is shown, and in one line none, unless there is no
 * other.
 */
static void test_headers(void **state)
{
    (void)state;
    add_both("headers", header_stack);
    golden_add("headers, 2 functions", printed(header_stack, (struct print_options){0}, 2, false));
    golden_add("headers, one line", printed(header_line, (struct print_options){0}, 2, false));
    golden_add("headers only, one line",
               printed(header_only_line, (struct print_options){0}, 1, false));
}

static void test_one_line(void **state)
{
    (void)state;
    golden_add("one line", printed(one_line, (struct print_options){0}, 4, false));
    golden_add("no place", printed(no_place, (struct print_options){0}, 3, false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),    cmocka_unit_test(test_limit),
        cmocka_unit_test(test_cut),      cmocka_unit_test(test_signal),
        cmocka_unit_test(test_headers),  cmocka_unit_test(test_recursion),
        cmocka_unit_test(test_one_line),
    };
    return golden_end(cmocka_run_group_tests(tests, NULL, NULL));
}
