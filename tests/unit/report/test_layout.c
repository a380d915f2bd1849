/*
 * test_layout.c - whole screens: a rich report on pages of several widths, long reports on a
 * terminal and in a log, source lines and links.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

#define BUILD_AREAS 260u
#include "named_frames.h"
#include "golden.h"
#include "rules.h"

#define LIBC 0x7f1000000000ull
#define USUAL \
    .leak_kinds = LEAK_DEFINITE | LEAK_POSSIBLE, .problem_kinds = LEAK_DEFINITE | LEAK_POSSIBLE
#define TERMINAL_LINES 40u

/* ---- a rich report ------------------------------------------------------------------------- */

struct parts {
    uint32_t area;
    struct segment *errors, *leaks, *threads, *depot;
};

static struct parts an_image(struct build *b, uint32_t number, uint32_t parent)
{
    struct made_image i = made_image(b, number, parent, "/usr/bin/prog1");
    struct parts p = {.area = i.area, .threads = i.threads, .depot = i.depot};

    ((struct module_record *)build_item(i.modules, 0))->end = PROG + 0x100000;
    strcpy(build_image_header(b, i.area)->exe, "/usr/bin/prog1");
    p.errors = build_records(b, i.area, SEGMENT_ERRORS, 120);
    p.leaks = build_records(b, i.area, SEGMENT_LEAKS, 120);
    build_module(i.modules, "/opt/libsome.so", SOME_LIB, 0x100000)->number = 2;
    build_module(i.modules, "/lib/libc.so.6", LIBC, 0x10000)->number = 3;
    build_image_header(b, i.area)->leak_check = LEAKS_FOUND;
    return p;
}

/* "ns::tree<ns::tree<..<int>..>>" of about `bytes` bytes, with a tail. */
static const char *template_name(size_t bytes, const char *tail)
{
    static char names[4][2200];
    static unsigned next;
    char *name = names[next++ % 4];
    size_t levels = bytes / strlen("ns::tree<>");

    name[0] = 0;
    for (size_t i = 0; i < levels; i++)
        strcat(name, "ns::tree<");
    strcat(name, "int");
    for (size_t i = 0; i < levels; i++)
        strcat(name, ">");
    return strcat(name, tail);
}

#define STRING "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
#define PAIR "std::pair<" STRING " const, std::vector<" STRING ", std::allocator<" STRING " > > >"

static struct error_record *a_duf(const struct parts *p, uint32_t stack)
{
    struct error_record *e = build_error(p->errors, ERROR_DUF, ENTRY_FREE, stack);

    e->address = e->block = 0x7e0000000040;
    e->block_bytes = 40;
    e->block_state = BLOCK_FREED;
    return e;
}

/* 64 frames of a recursive descent, which main calls. */
static uint32_t deep_stack(const struct parts *p, uint64_t main_pc)
{
    static const char *const names[] = {"parse_value", "parse_object", "parse_array"};
    uint32_t stack = build_node(p->depot, main_pc, 0);

    for (unsigned i = 0; i < 62; i++)
        stack = build_node(
            p->depot, function(names[i % 3], "/home/user/app/src/parse.c", 100 + (int)i, 0), stack);
    return build_node(
        p->depot, function("take_token", "/home/user/app/src/token.c", 12, ENTRY_MALLOC), stack);
}

static void rich_errors(struct build *b, const struct parts *p, uint64_t main_pc)
{
    uint64_t handle = function("handle_request", "/home/user/app/src/server.c", 214, 0);
    uint64_t loop = function("event_loop", "/home/user/app/src/server.c", 88, 0);
    struct error_record *e;

    snprintf(build_thread(p->threads, 3, 0, 0)->name, 16, "worker");
    e = a_duf(p, STACK_OF(p->depot, function("copy_drop", "/home/user/app/src/copy.c", 55, 0),
                          handle, loop, main_pc));
    e->count = 12;
    e->block_thread = 3;
    e->free_stack =
        STACK_OF(p->depot, function("cache_evict", "/home/user/app/src/cache.c", 301, ENTRY_FREE),
                 library_function("some_list_foreach", NULL, 0, 0), handle, loop, main_pc);
    e->alloc_stack = deep_stack(p, main_pc);
    e = build_error(
        p->errors, ERROR_WUA, ENTRY_DELETE,
        STACK_OF(
            p->depot,
            function("__gnu_cxx::new_allocator<" PAIR " >::deallocate(" PAIR "*, unsigned long)",
                     "/usr/include/c++/12/ext/new_allocator.h", 158, ENTRY_DELETE),
            function("std::map<" STRING ", std::vector<" STRING ">, std::less<" STRING
                     "> >::clear()",
                     "/home/user/app/src/index.cc", 77, 0),
            function(template_name(2000, "::rebalance(int)"), "/home/user/app/src/tree.h", 1204, 0),
            main_pc));
    e->block = 0x7e0000001000;
    e->block_bytes = 24;
    e->address = e->block + 24;
    e->bytes = 4;
    e->damage = DAMAGE_AFTER;
    e->block_state = BLOCK_LIVE;
    e->block_family = FAMILY_NEW;
    e->alloc_stack = STACK_OF(
        p->depot,
        function("Index::insert(" STRING " const&)", "/home/user/app/src/index.cc", 31, ENTRY_NEW),
        main_pc);
    build_error(p->errors, ERROR_OOM, ENTRY_CALLOC,
                STACK_OF(p->depot,
                         function("table_new", "/home/user/app/src/table.c", 9, ENTRY_CALLOC),
                         main_pc))
        ->bytes = 1ull << 41;
    struct parts child = an_image(b, 2, 1);
    e = build_error(child.errors, ERROR_BAF, ENTRY_FREE,
                    STACK_OF(child.depot,
                             function("child_run", "/home/user/app/src/child.c", 40, ENTRY_FREE),
                             main_pc));
    e->address = 8;
    e->region = REGION_NULL;
    an_image(b, 3, 1);
}

static void rich_leaks(const struct parts *p, uint64_t main_pc)
{
    uint64_t load = function("load_configuration_from_directory_recursively",
                             "/home/user/app/src/configuration_loader.c", 1333, 0);
    struct leak_group *g;

    g = build_leak(
        p->leaks, REACH_LOST,
        STACK_OF(p->depot, function("xmalloc", "/home/user/app/src/xmalloc.c", 7, ENTRY_MALLOC),
                 function("node_new", "/home/user/app/src/list.c", 41, 0), load, main_pc),
        1, 24);
    g->indirect_blocks = 1234;
    g->indirect_bytes = 5678901;
    build_leak(p->leaks, REACH_LOST_INDIRECT,
               STACK_OF(p->depot,
                        function("node_link", "/home/user/app/src/list.c", 60, ENTRY_MALLOC), load,
                        main_pc),
               1234, 5678901);
    build_leak(p->leaks, REACH_LOST,
               STACK_OF(p->depot,
                        function("std::vector<" PAIR ", std::allocator<" PAIR
                                 " > >::_M_realloc_insert<" PAIR " >",
                                 "/usr/include/c++/12/bits/vector.tcc", 450, ENTRY_NEW),
                        function("Registry::add(" STRING " const&, " PAIR "&&)",
                                 "/home/user/app/src/registry.cc", 88, 0),
                        main_pc),
               10, 4096);
    build_leak(p->leaks, REACH_LOST,
               STACK_OF(p->depot,
                        function(template_name(2000, "::grow"), "/home/user/app/src/tree.h", 12,
                                 ENTRY_NEW),
                        main_pc),
               1, 64);
    g = build_leak(
        p->leaks, REACH_INTERIOR,
        STACK_OF(p->depot,
                 function("buffer_reserve", "/home/user/app/src/buffer.c", 19, ENTRY_REALLOC),
                 function("buffer_append", "/home/user/app/src/buffer.c", 60, 0),
                 function("log_write", "/home/user/app/src/log.c", 5, 0),
                 function("log_line", "/home/user/app/src/log.c", 25, 0),
                 library_function("some_callback", NULL, 0, 0), main_pc),
        2, 512);
    g->witness = WITNESS_REGISTER;
    g->at = 3;
    g->value = g->block + 8;
    build_leak(p->leaks, REACH_INTERIOR, 0, 1, 7);
}

static struct build rich(void)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, 0);
    uint64_t main_pc;

    named_count = 0;
    main_pc = function("main", "/home/user/app/src/main.c", 17, 0);
    rich_errors(&b, &p, main_pc);
    rich_leaks(&p, main_pc);
    build_costs(build_image_header(&b, p.area), COST_CLOCK | COST_RUSAGE);
    build_image_header(&b, p.area)->flags |= IMAGE_SANDBOXED;
    build_image_header(&b, p.area)->peak_bytes = 20 << 20;
    return b;
}

static void test_widths(void **state)
{
    static const unsigned widths[] = {80, 100, 160};

    (void)state;
    for (size_t i = 0; i < countof(widths); i++)
        for (unsigned color = 0; color < 2; color++) {
            struct build b = rich();
            char name[60], *text = named_text(&b, (struct print_options){
                                                      USUAL, .columns = widths[i], .color = color,
                                                      .pool = "/state/last.pool"});
            snprintf(name, sizeof name, "rich, %u columns%s", widths[i],
                     color ? ", in colours" : "");
            golden_add(name, text);
            free(text);
        }
}

/* Long sums and a long reason: the headings of tables and the last line are broken, too. */
static void test_long_lines(void **state)
{
    static const unsigned widths[] = {40, 80, 100, 160};

    (void)state;
    for (size_t i = 0; i < countof(widths); i++) {
        struct build b = build_begin();
        struct parts p = an_image(&b, 1, 0);
        struct image_header *h = build_image_header(&b, p.area);
        char name[60], *text;
        named_count = 0;
        h->end_status = 123;
        h->leak_check = LEAKS_CUT;
        h->errors_unwritten = 4000000000;
        h->errors_unrecorded = UINT64_MAX;
        build_leak(p.leaks, REACH_LOST,
                   STACK_OF(p.depot, function("main", "/app/main.c", 17, ENTRY_MALLOC)), 1000000000,
                   1000000000000);
        build_leak(p.leaks, REACH_INTERIOR,
                   STACK_OF(p.depot, function("other", "/app/main.c", 27, ENTRY_MALLOC)),
                   1000000000, 1000000000000);
        text = named_text(
            &b, (struct print_options){USUAL, .columns = widths[i], .use = PRINT_USE_NOTHING});
        snprintf(name, sizeof name, "long lines, %u columns", widths[i]);
        golden_add(name, text);
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
            if (strlen(line) > widths[i] && !strstr(line, " main.c:"))
                fail_msg("%s has %zu columns", line, strlen(line));
        free(text);
    }
}

/* Colours change nothing else. */
static void test_colours(void **state)
{
    struct build b = rich(), again = rich();
    char *plain = named_text(&b, (struct print_options){USUAL, .columns = 100});
    char *coloured =
             named_text(&again, (struct print_options){USUAL, .columns = 100, .color = true}),
         *to = coloured;

    (void)state;
    for (const char *from = coloured; *from; from++)
        if (*from == '\033')
            from += strcspn(from, "m");
        else
            *to++ = *from;
    *to = 0;
    assert_string_equal(coloured, plain);
    free(plain);
    free(coloured);
}

static void test_log(void **state)
{
    struct build b = rich();
    char *text =
        named_text(&b, (struct print_options){USUAL, .all = true, .pool = "/state/last.pool"});

    (void)state;
    golden_add("rich, log", text);
    free(text);
    b = rich();
    text = named_text(&b, (struct print_options){USUAL, .all = true, .leaks = PRINT_LEAKS_RECORDS});
    golden_add("rich, log, leaks in full", text);
    free(text);
    b = rich();
    text = named_text(&b, (struct print_options){USUAL, .all = true, .deterministic = true,
                                                 .use = PRINT_USE_STACKS});
    golden_add("rich, log, deterministic, memuse", text);
    free(text);
}

/* A narrow page loses no word, and a page narrower than any word ends. */
static void test_narrow(void **state)
{
    static const unsigned widths[] = {1, 2, 17, 40};

    (void)state;
    for (size_t i = 0; i < countof(widths); i++) {
        struct build b = rich();
        char *text =
            named_text(&b, (struct print_options){USUAL, .columns = widths[i], .color = true,
                                                  .leaks = PRINT_LEAKS_RECORDS, .all = true});
        must_print(text, "handle_request");
        must_print(text, "load_configuration_from_directory_recursively");
        must_print(text, "buffer_reserve");
        if (widths[i] == 40)
            golden_add("rich, 40 columns", text);
        free(text);
    }
}

/* ---- wrappers ------------------------------------------------------------------------------ */

static struct build wrapped(void)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, 0);
    uint64_t main_pc;

    named_count = 0;
    main_pc = function("main", "/app/main.c", 17, 0);
    for (int i = 0; i < 3; i++)
        build_leak(p.leaks, REACH_LOST,
                   STACK_OF(p.depot, function("xmalloc", "/app/xmalloc.c", 7, ENTRY_MALLOC),
                            function("g_strdup", "/app/xmalloc.c", 17, 0),
                            function("pool_take(pool&, unsigned long)", "/app/pool.cc", 27, 0),
                            function(i == 0   ? "first"
                                     : i == 1 ? "second"
                                              : "third",
                                     "/app/users.c", 10 * i + 1, 0),
                            main_pc),
                   1, (uint64_t)(100 - i));
    build_leak(p.leaks, REACH_LOST,
               STACK_OF(p.depot, function("my_alloc", "/app/xmalloc.c", 8, ENTRY_MALLOC)), 1, 5);
    build_leak(p.leaks, REACH_LOST,
               STACK_OF(p.depot,
                        function("operator new(unsigned long)", "/app/new.cc", 8, ENTRY_MALLOC),
                        function("Allocator::allocate(int)", "/app/alloc.cc", 9, 0), main_pc),
               1, 4);
    return b;
}

static void test_wrappers(void **state)
{
    static const char *const patterns[] = {NULL, "", "pool_*", "nothing,pool_take,Alloc*,", "*"};

    (void)state;
    for (size_t i = 0; i < countof(patterns); i++) {
        struct build b = wrapped();
        char name[60], *text = named_text(&b, (struct print_options){USUAL, .columns = 100,
                                                                     .wrappers = patterns[i],
                                                                     .use = PRINT_USE_NOTHING});
        snprintf(name, sizeof name, "wrappers: %s", patterns[i] ? patterns[i] : "none");
        golden_add(i == 1 ? "wrappers: empty" : name, text);
        free(text);
    }
    struct build b = wrapped();
    char *text =
        named_text(&b, (struct print_options){USUAL, .leaks = PRINT_LEAKS_RECORDS, .frames = 2});
    must_print(text, "xmalloc"); /* in full, nothing is left out */
    free(text);
}

/* Suppressed findings are summed on lines of the page's width, too. */
static void test_suppressed(void **state)
{
    static const char rules_text[] =
        "# reason: a table that lives as long as the process, which no one frees at its end\n"
        "leak:pool_take\nleak:not_there\n";

    (void)state;
    for (unsigned color = 0; color < 2; color++) {
        struct print_options how = {USUAL,
                                    .columns = 80,
                                    .color = color,
                                    .used_rules = true,
                                    .stale_rules = true,
                                    .use = PRINT_USE_NOTHING};
        struct build b = wrapped();
        struct report *r = collect(&b);
        struct rules *rules = rules_new();
        char err[REPORT_ERROR_BYTES], *text = NULL;
        size_t bytes;
        FILE *out = open_memstream(&text, &bytes);
        assert_non_null(out);
        assert_int_equal(rules_read_text(rules, "/app/x.supp", rules_text, sizeof rules_text - 1,
                                         err, sizeof err),
                         0);
        rules_seal(rules);
        frames_name(r);
        report_suppress(r, rules);
        report_print_text(r, out, &how);
        fclose(out);
        report_close(r);
        rules_free(rules);
        golden_add(color ? "suppressed, in colours" : "suppressed", text);
        free(text);
    }
}

/* ---- long reports -------------------------------------------------------------------------- */

static struct build hundred_errors(void)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, 0);
    static char names[100][24];
    uint32_t main_node, release, take;
    uint64_t main_pc;

    named_count = 0;
    main_pc = function("main", "/app/main.c", 17, 0);
    main_node = build_node(p.depot, main_pc, 0);
    release = build_node(p.depot, function("release", "/app/many.c", 500, ENTRY_FREE), main_node);
    take = build_node(p.depot, function("take", "/app/many.c", 600, ENTRY_MALLOC), main_node);
    for (int i = 0; i < 100; i++) {
        snprintf(names[i], sizeof names[i], "function_%d", i + 1);
        struct error_record *e =
            a_duf(&p, build_node(p.depot, function(names[i], "/app/many.c", i + 1, 0), main_node));
        e->block_bytes = (uint64_t)i + 1;
        e->free_stack = release;
        e->alloc_stack = take;
    }
    return b;
}

static void test_hundred_errors(void **state)
{
    struct build b = hundred_errors();
    char *text =
        named_text(&b, (struct print_options){USUAL, .columns = 100, .pool = "/state/last.pool"});

    (void)state;
    golden_add("100 errors", text);
    assert_true(lines_of(text) <= TERMINAL_LINES);
    free(text);
    b = hundred_errors();
    text = named_text(&b, (struct print_options){USUAL, .all = true});
    must_print(text, "\n100  DOUBLE FREE of a 100-byte block");
    must_not_print(text, " more");
    assert_int_equal(lines_of(text), 2 + 100 * 8 + 3);
    free(text);
}

/* At a place each. */
static struct build ten_thousand_leaks(void)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, 0);
    static char names[10000][24];
    struct segment *depot = p.depot, *leaks = NULL;
    uint32_t area = p.area, nodes = 0;
    uint64_t main_pc;

    named_count = 0;
    main_pc = function("main", "/app/main.c", 17, 0);
    for (uint32_t i = 0; i < 10000; i++) {
        if (i % 1000 == 0) {
            area = build_more(&b, area);
            leaks = build_records(&b, area, SEGMENT_LEAKS, 1000);
        }
        if (nodes + 2 > BUILD_DEPOT_NODES || i == 0) {
            depot = build_depot(&b, area, i == 0 ? 1 : (uint32_t)depot->index + 1);
            nodes = 0;
        }
        nodes += 2;
        snprintf(names[i], sizeof names[i], "function_%u", i + 1);
        build_leak(
            leaks, i % 4 ? REACH_LOST : REACH_INTERIOR,
            STACK_OF(depot, function(names[i], "/app/many.c", (int)i + 1, ENTRY_MALLOC), main_pc),
            1, 100000 - i);
    }
    return b;
}

static void test_ten_thousand_leaks(void **state)
{
    struct build b = ten_thousand_leaks();
    char *text =
        named_text(&b, (struct print_options){USUAL, .columns = 100, .pool = "/state/last.pool"});

    (void)state;
    golden_add("10,000 leaks", text);
    assert_true(lines_of(text) <= TERMINAL_LINES);
    free(text);
    b = ten_thousand_leaks();
    text = named_text(&b, (struct print_options){USUAL, .all = true});
    must_print(text, "function_10000 many.c:10000 < main main.c:17");
    must_not_print(text, " more");
    assert_int_equal(lines_of(text), 2 + 2 + 7500 + 1 + 2 + 2500 + 1 + 3);
    free(text);
}

static struct build processes(uint32_t count)
{
    struct build b = build_begin();
    uint64_t main_pc;

    named_count = 0;
    main_pc = function("main", "/app/main.c", 17, 0);
    function("child_main", "/app/child.c", 4, ENTRY_FREE);
    for (uint32_t i = 1; i <= count; i++) {
        struct made_image m = made_image(&b, i, i > 1, "/usr/bin/prog1");
        struct segment *errors = build_records(&b, m.area, SEGMENT_ERRORS, 2);
        strcpy(build_image_header(&b, m.area)->exe, "/usr/bin/prog1");
        if (i % 2 == 0) {
            struct error_record *e =
                build_error(errors, ERROR_BAF, ENTRY_FREE, STACK_OF(m.depot, PROG + 0x20, main_pc));
            e->address = 8;
            e->region = REGION_NULL;
        }
    }
    return b;
}

static void test_two_hundred_processes(void **state)
{
    struct build b = processes(200);
    char *text = named_text(&b, (struct print_options){USUAL, .columns = 80});

    (void)state;
    golden_add("200 processes", text);
    assert_true(lines_of(text) <= TERMINAL_LINES);
    free(text);
    b = processes(200);
    text = named_text(&b, (struct print_options){USUAL, .use = PRINT_USE_TABLE, .all = true});
    must_print(text, "  2000000200 fork prog1: ");
    assert_int_equal(lines_of(text), 2 + 202 + 4 + 3);
    free(text);
}

/* ---- source lines -------------------------------------------------------------------------- */

static const char source[] =
    "#include <stdlib.h>\n"
    "\n"
    "void drop(char *copy)\n"
    "{\n"
    "\tif (copy)\n"
    "\t\tfree(copy); /* xfree(copy), free (copy) */\n"
    "    \tfree_all(); free(copy);\n"
    "\n"
    "    delete[] copy; \x01\xff \xc3\xa4 end\n"
    "  a_very_long_line_of_more_than_eighty_columns_without_any_call_in_it_until_here(); "
    "free(copy);\n"
    "    say(\"\xc3\xa4\xe2\x82\xac\"); free(copy);\n"
    "}"; /* without a newline */

/* The path of a source file of the test, in a static buffer. */
static const char *source_file(const char *name, const char *text)
{
    static char path[4096];
    FILE *out;

    assert_non_null(getcwd(path, sizeof path - 100));
    snprintf(path + strlen(path), 100, "/%s", name);
    unlink(path);
    out = fopen(path, "we");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
    assert_int_equal(chmod(path, 0644), 0);
    return path;
}

/* What is printed below the frame at this line. */
static char *source_text(const char *file, int line, const char *callee, struct print_options how)
{
    struct stack_line of = {.file = file, .number = line};
    struct report r = {0}; /* not of a pack */
    char *text = NULL;
    size_t bytes;
    struct page page = page_of(open_memstream(&text, &bytes), &how, "");

    assert_non_null(page.out);
    source_print(&r, &of, callee, &page);
    fclose(page.out);
    return text;
}

static void add_source(const char *name, const char *file, int line, const char *callee,
                       struct print_options how)
{
    char *text = source_text(file, line, callee, how);

    golden_add(name, text);
    free(text);
}

static void no_source(const char *file, int line, uint32_t lines)
{
    char *text = source_text(file, line, "free", (struct print_options){.source = lines});

    assert_string_equal(text, "");
    free(text);
}

static void test_source(void **state)
{
    const char *file = source_file("golden.c", source);

    (void)state;
    add_source("source: one line", file, 6, "free", (struct print_options){.source = 1});
    add_source("source: three lines", file, 6, "free", (struct print_options){.source = 3});
    add_source("source: more lines than there are", file, 3, "drop",
               (struct print_options){.source = 9});
    add_source("source: blanks and tabs", file, 7, "free", (struct print_options){.source = 3});
    add_source("source: operator delete[]", file, 9, "operator delete[]",
               (struct print_options){.source = 2});
    add_source("source: no callee", file, 6, NULL, (struct print_options){.source = 1});
    add_source("source: callee not in the line", file, 6, "malloc",
               (struct print_options){.source = 1});
    add_source("source: cut at the right end", file, 10, "free",
               (struct print_options){.source = 1, .columns = 80});
    add_source("source: caret beyond the right end", file, 10, "free",
               (struct print_options){.source = 1, .columns = 90});
    add_source("source: wide", file, 10, "free",
               (struct print_options){.source = 1, .columns = 160});
    add_source("source: last line, without a newline", file, 12, "free",
               (struct print_options){.source = 2});
    add_source("source: more bytes than characters", file, 11, "free",
               (struct print_options){.source = 1});
    add_source("source: empty line", file, 8, "free", (struct print_options){.source = 1});
    add_source("source: in colours", file, 6, "free",
               (struct print_options){.source = 2, .color = true});
    add_source("source: on 20 columns", file, 6, "free",
               (struct print_options){.source = 2, .columns = 20});
    unlink(file);
}

static void test_no_source(void **state)
{
    const char *file = source_file("golden.c", source);
    char other[4200];

    (void)state;
    no_source(file, 6, 0); /* not requested */
    no_source(file, 13, 1);
    no_source(file, 1000000, 3);
    no_source(file, 0, 1);
    no_source(file, -5, 1);
    no_source(NULL, 6, 1);
    no_source("golden.c", 6, 1); /* relative */
    no_source("./golden.c", 6, 1);
    no_source("", 6, 1);
    no_source("/nowhere/golden.c", 6, 1);
    no_source("/", 1, 1);
    no_source("/dev/zero", 1, 1);
    no_source("/dev/null", 1, 1);
    snprintf(other, sizeof other, "%s.fifo", file);
    unlink(other);
    assert_int_equal(mkfifo(other, 0644), 0);
    no_source(other, 1, 1); /* it does not block */
    unlink(other);
    assert_int_equal(chmod(file, 0), 0); /* nor for root: others may not read it */
    no_source(file, 6, 1);
    unlink(file);
    file = source_file("golden.c", "");
    no_source(file, 1, 1);
    unlink(file);
}

/* In a report the lines are below the innermost frame outside headers, of the first stack alone. */
static void test_source_in_report(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, 0);
    const char *file = source_file("golden.c", source);
    struct error_record *e;
    uint64_t main_pc;
    char *text;

    (void)state;
    named_count = 0;
    main_pc = function("main", file, 3, 0);
    e = a_duf(&p,
              STACK_OF(p.depot, function("std::free_it", "/usr/include/c++/12/bits/free.h", 4, 0),
                       function("drop", file, 6, ENTRY_FREE), main_pc));
    e->free_stack = STACK_OF(p.depot, function("drop", file, 7, ENTRY_FREE), main_pc);
    e->alloc_stack = STACK_OF(p.depot, function("drop", file, 5, ENTRY_MALLOC), main_pc);
    text = named_text(&b, (struct print_options){USUAL, .columns = 80, .source = 2});
    golden_add("source in a report", text);
    free(text);
    unlink(file);
}

/* Functions whose source is not there are passed over; so are those that are not printed. */
static void test_source_elsewhere(void **state)
{
    const char *file = source_file("golden.c", source);

    (void)state;
    for (uint32_t shown = 2; shown <= 8; shown += 6) {
        struct build b = build_begin();
        struct parts p = an_image(&b, 1, 0);
        char *text;
        named_count = 0;
        a_duf(&p, STACK_OF(p.depot, library_function("strlen", "../sysdeps/strlen.S", 76, 0),
                           library_function("copy", "/nowhere/golden.c", 5, 0),
                           function("no_line", file, 0, 0), function("drop", file, 6, 0),
                           function("outer", file, 5, 0), function("main", file, 3, 0)));
        text = named_text(
            &b, (struct print_options){USUAL, .columns = 80, .source = 1, .frames = shown});
        golden_add(shown == 2 ? "source of an outer function, 2 shown"
                              : "source of an outer function",
                   text);
        free(text);
    }
    unlink(file);
}

/* ---- links --------------------------------------------------------------------------------- */

/* Replace the host's name, which is part of a link. */
static void host_replace(char *text)
{
    static const char start[] = "\033]8;;file://";
    char host[300] = "";

    assert_int_equal(gethostname(host, sizeof host - 1), 0);
    for (char *at = text; (at = strstr(at, start)) != NULL;) {
        at += sizeof start - 1;
        assert_int_equal(strncmp(at, host, strlen(host)), 0);
        assert_int_equal(at[strlen(host)], '/');
        memmove(at, at + strlen(host), strlen(at + strlen(host)) + 1);
    }
}

static void test_links(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, 0);
    char *text;

    (void)state;
    named_count = 0;
    a_duf(&p, STACK_OF(p.depot, function("blanks", "/home/a user/50% of \xc3\xa4;x/a.c", 4, 0),
                       function("escape", "/x\033\\y\n\x7f/b.c", 5, 0),
                       function("relative", "src/c.c", 6, 0), function("no_line", NULL, 0, 0),
                       function("main", "/app/main.c", 17, 0)));
    text = named_text(
        &b, (struct print_options){USUAL, .columns = 80, .links = true, .use = PRINT_USE_NOTHING});
    host_replace(text);
    golden_add("links", text);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_colours),
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_wrappers),
        cmocka_unit_test(test_suppressed),
        cmocka_unit_test(test_hundred_errors),
        cmocka_unit_test(test_ten_thousand_leaks),
        cmocka_unit_test(test_two_hundred_processes),
        cmocka_unit_test(test_source),
        cmocka_unit_test(test_no_source),
        cmocka_unit_test(test_source_in_report),
        cmocka_unit_test(test_source_elsewhere),
        cmocka_unit_test(test_links),
    };
    return golden_end(cmocka_run_group_tests(tests, NULL, NULL));
}
