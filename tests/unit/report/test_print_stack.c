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

static char prog[] = "/opt/prog", lib[] = "/opt/lib.so";
static char swap[] = "swap", sort[] = "sort", caller[] = "main", source[] = "src/e.c", header[] = "inc/e.h",
            stl[] = "/usr/include/c++/12/bits/v.h", give[] = "give";

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
};

static uint32_t order[] = {0, 1, 2, 3, 4};
static uint32_t interrupted[] = {1, 2, 5, 2, 2, 2}; /* a signal interrupted the third frame */
static uint32_t recursive[] = {1, 8, 8, 8, 8, 4, 4}, recursive_headers[] = {7, 7, 7, 7, 8, 1};
static uint32_t headers[] = {6, 7, 8, 7, 7}; /* four functions of headers, and two outer ones */

static struct module modules[] = {{.path = prog}, {.path = lib}};
static struct site sites[] = {{.frames = order, .count = 5}, {.count = 0}, {.frames = order, .count = 1, .end = STACK_CUT},
                              {.frames = interrupted, .count = 6}, {.frames = headers, .count = 5},
                              {.frames = headers, .count = 2}, {.frames = recursive, .count = 7},
                              {.frames = recursive_headers, .count = 6}};

static const struct report report = {
    .modules = modules, .module_count = 2, .frames = frames, .frame_count = 9,
    .sites = sites,     .site_count = 8,
};

static struct page page;

static const char *printed(void (*print)(const struct page *page), struct print_options how,
                           uint32_t shown, bool whole)
{
    static char text[4096];

    memset(text, 0, sizeof text);
    page = (struct page){.how = &how, .program = prog, .frames = shown, .whole = whole};
    page.out = fmemopen(text, sizeof text - 1, "w");
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

#define INDENT "                  "

static void test_lines(void **state)
{
    (void)state;
    assert_string_equal(printed(first_stack, (struct print_options){0}, 9, false),
                        "     allocated    swap  e.h:3  (inlined)\n"
                        INDENT "sort  e.c:5  (inlined)\n"
                        INDENT "main  e.c:9\n"
                        INDENT "sort+0x20  lib.so\n"
                        INDENT "lib.so+0x3030\n"
                        INDENT "0x4242 in no known module\n"
                        INDENT "prog+0x5050\n");
    assert_non_null(strstr(printed(first_stack, (struct print_options){.deterministic = true}, 9, false),
                           INDENT "an address in no known module\n"));
}

/* All details, including those omitted in a short text. */
static void test_whole(void **state)
{
    (void)state;
    assert_string_equal(printed(first_stack, (struct print_options){0}, 9, true),
                        "     allocated    swap  inc/e.h:3  (inlined)\n"
                        INDENT "sort  src/e.c:5  (inlined)\n"
                        INDENT "main+0x1a  src/e.c:9  /opt/prog+0x1189\n"
                        INDENT "sort+0x20  /opt/lib.so+0x2020\n"
                        INDENT "/opt/lib.so+0x3030\n"
                        INDENT "0x4242 in no known module\n"
                        INDENT "/opt/prog+0x5050\n");
}

/* Functions are counted; the number of omitted frames is printed. */
static void test_limit(void **state)
{
    (void)state;
    assert_string_equal(printed(first_stack, (struct print_options){0}, 2, false),
                        "     allocated    swap  e.h:3  (inlined)\n"
                        INDENT "sort  e.c:5  (inlined)\n"
                        INDENT "... 4 more\n");
}

static void test_cut(void **state)
{
    (void)state;
    assert_null(strstr(printed(cut_stack, (struct print_options){0}, 9, false), "ends here"));
    assert_non_null(strstr(printed(cut_stack, (struct print_options){0}, 9, true),
                           INDENT "(ends here: deeper than is kept)\n"));
}

/* The frame interrupted by a signal is marked, also between frames that would be merged. */
static void test_signal(void **state)
{
    (void)state;
    assert_string_equal(printed(interrupted_stack, (struct print_options){0}, 9, false),
                        "     freed        sort+0x20  lib.so\n"
                        INDENT "lib.so+0x3030  (signal)\n"
                        INDENT "... 4 frames in lib.so\n");
    assert_non_null(strstr(printed(interrupted_stack, (struct print_options){0}, 9, true),
                           INDENT "/opt/lib.so+0x3030  (signal)\n"
                           INDENT "/opt/lib.so+0x6060\n"));
}

/* However deep the recursion is, its first caller is shown. */
static void test_recursion(void **state)
{
    (void)state;
    assert_string_equal(printed(recursive_stack, (struct print_options){0}, 5, false),
                        "     freed        sort+0x20  lib.so\n"
                        INDENT "main  e.c:7\n"
                        INDENT "... 3 times the same\n"
                        INDENT "prog+0x5050\n"
                        INDENT "prog+0x5050\n");
    assert_null(strstr(printed(recursive_stack, (struct print_options){0}, 9, true), "same"));
    assert_string_equal(printed(recursive_header_stack, (struct print_options){0}, 9, false),
                        "     freed        ... 3 functions in headers\n"
                        INDENT "sort  v.h:4\n"
                        INDENT "main  e.c:7\n"
                        INDENT "sort+0x20  lib.so\n");
}

/*
 * Of functions in headers only the outermost is shown, and in one line none, unless there is no
 * other.
 */
static void test_headers(void **state)
{
    (void)state;
    assert_string_equal(printed(header_stack, (struct print_options){0}, 9, false),
                        "     freed        ... 3 functions in headers\n"
                        INDENT "sort  v.h:4\n"
                        INDENT "main  e.c:7\n"
                        INDENT "sort  v.h:4\n"
                        INDENT "sort  v.h:4\n");
    assert_string_equal(printed(header_stack, (struct print_options){0}, 2, false),
                        "     freed        ... 3 functions in headers\n"
                        INDENT "sort  v.h:4\n"
                        INDENT "... 3 more\n");
    assert_null(strstr(printed(header_stack, (struct print_options){0}, 9, true), "headers"));
    assert_string_equal(printed(header_line, (struct print_options){0}, 2, false), "main  e.c:7  <- sort  v.h:4");
    assert_string_equal(printed(header_only_line, (struct print_options){0}, 1, false), "swap  v.h:1  (inlined)");
}

static void test_one_line(void **state)
{
    (void)state;
    assert_string_equal(printed(one_line, (struct print_options){0}, 4, false),
                        "swap  e.h:3  (inlined)  <- sort  e.c:5  (inlined)  <- main  e.c:9  <- "
                        "sort+0x20  lib.so");
    assert_string_equal(printed(no_place, (struct print_options){0}, 3, false), "place not recorded");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines), cmocka_unit_test(test_whole),    cmocka_unit_test(test_limit),
        cmocka_unit_test(test_cut),   cmocka_unit_test(test_signal),   cmocka_unit_test(test_headers),
        cmocka_unit_test(test_recursion),
        cmocka_unit_test(test_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
