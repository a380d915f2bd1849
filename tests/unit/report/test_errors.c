/*
 * test_errors.c - error records merged into one table: sites, threads and modules are looked up,
 * and equal errors of several processes become one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "made_image.h"

#define LIB 0x7f0000000000ull

/* The segments of an image to which errors refer. */
struct parts {
    struct segment *errors, *threads, *depot, *modules;
};

static struct parts an_image(struct build *b, uint32_t number, uint32_t parent, uint64_t bias)
{
    enum image_how how = parent ? IMAGE_FORK : IMAGE_ROOT;
    uint32_t area = build_image(b, number, parent, NOBODYS_PID + number, how);
    struct parts p = {
        build_records(b, area, SEGMENT_ERRORS, 16),
        build_records(b, area, SEGMENT_THREADS, 4),
        build_depot(b, area, 0),
        build_records(b, area, SEGMENT_MODULES, 4),
    };

    build_module(p.modules, "/opt/prog", bias, 0x10000)->number = 1;
    build_module(p.modules, "/opt/lib.so", LIB, 0x10000)->number = 2;
    build_thread(p.threads, 1, 0, 0)->tid = NOBODYS_PID + number;
    return p;
}

static void test_all_fields(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, 0, PROG);
    uint32_t outer = build_node(p.depot, PROG + 0x1010, 0);
    uint32_t inner = build_node(p.depot, LIB + 0x2020, outer);
    struct error_record *e = build_error(p.errors, ERROR_DUF, ENTRY_REALLOC, inner);
    struct report *r;

    (void)state;
    snprintf(build_thread(p.threads, 3, 0, 0)->name, 16, "fifteen letters");
    e->count = 12;
    e->address = e->block = 0x1234;
    e->bytes = 5;
    e->block_bytes = 40;
    e->block_state = BLOCK_FREED;
    e->block_family = FAMILY_NEW;
    e->block_thread = 3;
    e->alloc_stack = outer;
    e->found_bytes = 2;
    e->found[1] = 0xab;
    r = collect(&b);
    assert_int_equal(r->error_count, 1);
    const struct error *error = &r->errors[0];
    assert_int_equal(error->kind, ERROR_DUF);
    assert_int_equal(error->entry, ENTRY_REALLOC);
    assert_int_equal(error->count, 12);
    assert_int_equal(error->block_bytes, 40);
    assert_int_equal(error->block_state, BLOCK_FREED);
    assert_int_equal(error->block_family, FAMILY_NEW);
    assert_int_equal(r->sites[error->stack].count, 2);
    assert_int_equal(r->sites[error->alloc_stack].count, 1);
    assert_int_equal(error->free_stack, NO_SITE);
    assert_int_equal(error->thread.tid, NOBODYS_PID + 1);
    assert_int_equal(error->block_thread.number, 3);
    assert_string_equal(error->block_thread.name, "fifteen letters");
    assert_int_equal(error->found[1], 0xab);
    assert_int_equal(error->images.count, 1);
    report_close(r);
}

/* The same error in parent and child, at different load addresses; the first one is reported. */
static void test_processes_merge(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, 0, PROG), q = an_image(&b, 2, 0, PROG + 0x100000);
    struct error_record *late =
        build_error(p.errors, ERROR_BAF, ENTRY_FREE, build_node(p.depot, PROG + 0x1010, 0));
    struct error_record *soon =
        build_error(q.errors, ERROR_BAF, ENTRY_FREE, build_node(q.depot, PROG + 0x101010, 0));
    struct report *r;

    (void)state;
    late->count = 3;
    late->address = 0x8;
    soon->count = 4;
    soon->address = 0x9;
    soon->time_ns = late->time_ns - 1;
    r = collect(&b);
    assert_int_equal(r->error_count, 1);
    assert_int_equal(r->errors[0].count, 7);
    assert_int_equal(r->errors[0].address, 0x9);
    assert_int_equal(r->errors[0].images.count, 2);
    assert_int_equal(r->errors[0].images.at[0], 1);
    assert_int_equal(r->errors[0].images.at[1], 2);
    report_close(r);
}

/* Errors that differ in one part of a site are not merged. */
static void test_others_do_not_merge(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, 0, PROG);
    uint32_t one = build_node(p.depot, PROG + 0x1010, 0),
             two = build_node(p.depot, PROG + 0x2020, 0);
    struct report *r;

    (void)state;
    build_error(p.errors, ERROR_MAF, ENTRY_FREE, one);
    build_error(p.errors, ERROR_DUF, ENTRY_FREE, one);
    build_error(p.errors, ERROR_MAF, ENTRY_REALLOC, one);
    build_error(p.errors, ERROR_MAF, ENTRY_FREE, two);
    build_error(p.errors, ERROR_MAF, ENTRY_FREE, one)->alloc_stack = two;
    build_error(p.errors, ERROR_MAF, ENTRY_FREE, one)->free_stack = two;
    build_error(p.errors, ERROR_MAF, ENTRY_FREE, one);
    r = collect(&b);
    assert_int_equal(r->error_count, 6);
    assert_int_equal(r->errors[0].count, 2);
    assert_int_equal(r->errors[0].images.count, 1);
    report_close(r);
}

/* Damage is detected at arbitrary times: its site is the stack that allocated the block. */
static void test_damage_merges(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, 0, PROG);
    uint32_t one = build_node(p.depot, PROG + 0x1010, 0),
             two = build_node(p.depot, PROG + 0x2020, 0);
    struct error_record *late[3];
    struct report *r;

    (void)state;
    late[0] = build_error(p.errors, ERROR_WUA, ENTRY_FREE, one);
    late[1] = build_error(p.errors, ERROR_WUA, ENTRY_EXIT, 0);
    late[2] = build_error(p.errors, ERROR_WUA, ENTRY_FREE, one);
    for (unsigned i = 0; i < countof(late); i++) {
        late[i]->alloc_stack = i < 2 ? one : two;
        late[i]->damage = DAMAGE_AFTER;
    }
    build_error(p.errors, ERROR_WUA, ENTRY_FREE, one)->damage = DAMAGE_BEFORE;
    r = collect(&b);
    assert_int_equal(r->error_count, 3);
    assert_int_equal(r->errors[0].count, 2);
    report_close(r);
}

/*
 * A child frees again what its parent's thread had freed: both stacks are in the parent's tables.
 */
static void test_inherited(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, 0, PROG);
    uint32_t place = build_node(p.depot, LIB + 0x2020, 0);
    uint32_t area = build_image(&b, 2, 1, NOBODYS_PID + 2, IMAGE_FORK);
    struct segment *errors = build_records(&b, area, SEGMENT_ERRORS, 4);
    struct error_record *e = build_error(errors, ERROR_BAF, ENTRY_FREE, place);
    struct report *r;

    (void)state;
    snprintf(build_thread(p.threads, 2, 0, 0)->name, 16, "worker");
    ((struct thread_record *)build_item(p.threads, 1))->gone = 1;
    build_image_header(&b, area)->first_depot_chunk = 1;
    build_image_header(&b, area)->first_thread = 3;
    snprintf(build_thread(p.threads, 3, 0, 0)->name, 16,
             "later"); /* the parent's, after the fork */
    e->block_thread = 2;
    e->thread = 3; /* the child's own thread; the record was reused for another thread since */
    e->region = REGION_MODULE;
    e->region_module = 2;
    e->region_bias = LIB;
    e->address = LIB + 0x4444;
    r = collect(&b);
    assert_int_equal(r->error_count, 1);
    assert_string_equal(r->errors[0].block_thread.name, "worker");
    assert_true(r->errors[0].block_thread.gone);
    assert_int_equal(r->errors[0].thread.number, 3);
    assert_string_equal(r->errors[0].thread.name, "");
    assert_int_equal(r->sites[r->errors[0].stack].count, 1);
    assert_string_equal(r->modules[r->errors[0].region.module].path, "/opt/lib.so");
    assert_int_equal(r->errors[0].region.offset, 0x4444);
    report_close(r);
}

/* Invalid numbers are unknown; the other data is still used. */
static void test_strange_numbers(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, 0, PROG);
    struct error_record *e;
    struct report *r;

    (void)state;
    build_error(p.errors, ERROR_KIND_COUNT, ENTRY_FREE, 0);
    build_error(p.errors, ERROR_NONE, ENTRY_FREE, 0);
    e = build_error(p.errors, ERROR_BAF, ENTRY_COUNT, 0x12345);
    e->count = 0;
    e->thread = 77;
    e->damage = 99;
    e->region = REGION_COUNT;
    build_error(p.errors, ERROR_BAF, ENTRY_FREE, 0)->region = REGION_MODULE;
    r = collect(&b);
    assert_int_equal(r->strange_errors, 1);
    assert_int_equal(r->error_count, 2);
    assert_int_equal(r->errors[0].entry, ENTRY_NONE);
    assert_int_equal(r->errors[0].count, 1);
    assert_int_equal(r->errors[0].thread.number, 77);
    assert_int_equal(r->errors[0].thread.tid, 0);
    assert_int_equal(r->errors[0].damage, DAMAGE_NONE);
    assert_int_equal(r->errors[0].region.what, REGION_UNKNOWN);
    assert_int_equal(r->sites[r->errors[0].stack].end, SITE_LOST);
    assert_int_equal(r->errors[1].region.module, NO_MODULE);
    report_close(r);
}

/* Without a module number: the module at the address.  Its end is exclusive. */
static void test_module_by_address(void **state)
{
    struct build b = build_begin();
    struct parts p = an_image(&b, 1, 0, PROG);
    struct error_record *in = build_error(p.errors, ERROR_BAF, ENTRY_FREE, 0);
    struct error_record *after = build_error(p.errors, ERROR_BAF, ENTRY_CFREE, 0);
    struct report *r;

    (void)state;
    in->region = after->region = REGION_MODULE;
    in->address = PROG + 0xffff;
    after->address = PROG + 0x10000;
    in->region_bias = after->region_bias = PROG;
    r = collect(&b);
    assert_int_equal(r->error_count, 2);
    assert_string_equal(r->modules[r->errors[0].region.module].path, "/opt/prog");
    assert_int_equal(r->errors[1].region.module, NO_MODULE);
    report_close(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_fields),          cmocka_unit_test(test_processes_merge),
        cmocka_unit_test(test_others_do_not_merge), cmocka_unit_test(test_inherited),
        cmocka_unit_test(test_damage_merges),       cmocka_unit_test(test_strange_numbers),
        cmocka_unit_test(test_module_by_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
