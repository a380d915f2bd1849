/*
 * test_ids.c - ids of findings: the data on which they depend, and data on which they do not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "findings.h"

/*
 * A report with three modules, built by the test; stacks are offsets with the module's number
 * above.
 */
static struct report a_report(void)
{
    static char prog[] = "/opt/prog", lib[] = "/opt/lib.so", libc[] = "/lib/libc.so.6";
    static struct module modules[] = {{.path = prog}, {.path = lib}, {.path = libc}};
    return (struct report){.modules = modules, .module_count = countof(modules)};
}

/* Free it; modules and names are static. */
static void report_drop(struct report *r)
{
    r->modules = NULL;
    r->module_count = 0;
    for (uint32_t i = 0; i < r->frame_count; i++)
        r->frames[i].system_name = r->frames[i].function = r->frames[i].file = NULL;
    sites_free(r);
}

enum { PROG = 0x00000, LIB = 0x10000, LIBC = 0x20000, NOWHERE = 0x90000 };

static uint32_t a_site(struct report *r, uint32_t count, const uint32_t *places)
{
    uint32_t frames[8];

    for (uint32_t i = 0; i < count; i++)
        frames[i] = frame_intern(r, places[i] == NOWHERE ? NO_MODULE : places[i] >> 16,
                                 places[i] & 0xffff, false);
    return site_intern(r, frames, count, STACK_WHOLE);
}

static const char *id(struct report *r, const char *code, uint32_t site)
{
    static char ids[16][ID_BYTES];
    static unsigned read_epoch;
    char *text = ids[read_epoch++ % 16];

    id_of_site(r, code, site, text);
    return text;
}

#define SITE(r, ...) a_site(r, sizeof(uint32_t[]){__VA_ARGS__} / 4, (uint32_t[]){__VA_ARGS__})

static void test_what_makes_an_id(void **state)
{
    struct report r = a_report();
    const char *one = id(&r, "duf", SITE(&r, LIB + 1, PROG + 2));

    (void)state;
    assert_int_equal(strlen(one), strlen("duf-01234567"));
    assert_string_equal(one, id(&r, "duf", SITE(&r, LIB + 1, PROG + 2)));
    assert_string_not_equal(one, id(&r, "baf", SITE(&r, LIB + 1, PROG + 2)));
    assert_string_not_equal(one, id(&r, "duf", SITE(&r, LIB + 1, PROG + 3)));
    assert_string_not_equal(one, id(&r, "duf", SITE(&r, LIB + 1)));
    assert_string_not_equal(one, id(&r, "duf", SITE(&r, LIB + 1, LIB + 2)));
    assert_string_not_equal(one, id(&r, "duf", NO_SITE));
    report_drop(&r);
}

/* Frames of the C library outside of main do not count; frames in the middle do. */
static void test_before_main(void **state)
{
    struct report r = a_report();
    const char *plain = id(&r, "duf", SITE(&r, PROG + 1));
    uint32_t start = frame_intern(&r, 0, 7, false);

    (void)state;
    assert_string_equal(plain, id(&r, "duf", SITE(&r, PROG + 1, LIBC + 5, LIBC + 6)));
    r.frames[start].system_name = (char[]){"_start"};
    assert_string_equal(plain, id(&r, "duf", SITE(&r, PROG + 1, LIBC + 5, PROG + 7)));
    assert_string_equal(plain,
                        id(&r, "duf", SITE(&r, PROG + 1, LIBC + 5, PROG + 8))); /* stripped */
    assert_string_not_equal(plain, id(&r, "duf", SITE(&r, PROG + 1, LIB + 5, PROG + 8)));
    assert_string_not_equal(plain, id(&r, "duf", SITE(&r, LIBC + 5, PROG + 1)));
    assert_string_not_equal(id(&r, "duf", SITE(&r, LIBC + 5)), id(&r, "duf", SITE(&r, LIBC + 6)));
    report_drop(&r);
}

/* The id of a stack of one function with this name. */
static const char *id_of_name(struct report *r, char *name)
{
    uint32_t site = SITE(r, PROG + 1);

    r->frames[r->sites[site].frames[0]].system_name = name;
    return id(r, "duf", site);
}

/* What compilers append to the names of copies and parts of functions does not count. */
static void test_names_of_copies(void **state)
{
    static char plain[] = "grow";
    static char same[][32] = {"grow.constprop.0", "grow.isra.0.cold", "grow.part.0",
                              "grow.lto_priv.3",  "grow.llvm.12345",  "grow@@V1.0"};
    static char other[][32] = {"growth", "grow.c", "grow..2E", ".cold", "_ZN4growE"};
    struct report r = a_report();
    const char *one = id_of_name(&r, plain);

    (void)state;
    for (size_t i = 0; i < countof(same); i++)
        assert_string_equal(one, id_of_name(&r, same[i]));
    for (size_t i = 0; i < countof(other); i++)
        assert_string_not_equal(one, id_of_name(&r, other[i]));
    report_drop(&r);
}

/* Addresses without a module differ between runs. */
static void test_no_module(void **state)
{
    struct report r = a_report();

    (void)state;
    assert_string_equal(
        id(&r, "biu", a_site(&r, 1, (uint32_t[]){NOWHERE})),
        id(&r, "biu",
           site_intern(&r, &(uint32_t){frame_intern(&r, NO_MODULE, 77, false)}, 1, STACK_WHOLE)));
    report_drop(&r);
}

static void test_make_unique(void **state)
{
    struct record records[4] = {{.id = "biu-1"}, {.id = "biu-2"}, {.id = "biu-1"}, {.id = "biu-1"}};

    (void)state;
    ids_make_unique(records, 4, sizeof records[0]);
    assert_string_equal(records[0].id, "biu-1");
    assert_string_equal(records[1].id, "biu-2");
    assert_string_equal(records[2].id, "biu-1.2");
    assert_string_equal(records[3].id, "biu-1.3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_makes_an_id), cmocka_unit_test(test_before_main),
        cmocka_unit_test(test_names_of_copies),  cmocka_unit_test(test_no_module),
        cmocka_unit_test(test_make_unique),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
