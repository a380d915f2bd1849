/*
 * test_print_objects.c - --access=full: the line of the report, the section in detail, and the notes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/plan.h"
#include "text.h"
#include "made_image.h"
#include "golden.h"

#define OBJECTS 8u

static struct segment *objects;

static struct object_record *object(const char *path, uint32_t native)
{
    struct object_record *o = build_item(objects, objects->count++);

    o->native = native;
    o->text_bytes = 10000;
    strcpy(o->path, path);
    return o;
}

static struct made_image process(struct build *b, uint32_t number)
{
    struct made_image p = made_image(b, number, 0, "/usr/bin/prog1");

    objects = build_records(b, p.area, SEGMENT_OBJECTS, OBJECTS);
    return p;
}

static void copied(const char *path)
{
    struct object_record *o = object(path, NATIVE_NOT);

    o->function_bytes[PLAN_TRANSLATED] = 9000;
    o->function_bytes[PLAN_LINKAGE] = 600;
    o->outside_bytes = 400;
    memset(o->build_id, 0xab, o->build_id_bytes = 20);
}

static struct build checked(void)
{
    struct build b = build_begin();

    process(&b, 1);
    copied("/usr/bin/prog1");
    object("/lib/libc.so.6", NATIVE_LIBRARY);
    return b;
}

/* With an object loaded later, and one that the records have by its build-id. */
static struct build partly_checked(void)
{
    struct build b = build_begin();
    struct made_image p = process(&b, 1);
    struct segment *modules = build_records(&b, p.area, SEGMENT_MODULES, 4);

    copied("/usr/bin/prog1");
    object("/lib/liba.so", NATIVE_NO_BUILD_ID);
    object("/lib/libb\x1b.so", NATIVE_REFUSED);
    object("/lib/libc.so.6", NATIVE_LIBRARY);
    object("/lib/libd.so", NATIVE_COUNT + 2);
    object("/lib/libe.so", NATIVE_REFUSED);
    build_module(modules, "/lib/later.so", 0x1000, 0x1000);
    build_module(modules, "/lib/liba.so", 0x3000, 0x1000);
    struct module_record *same = build_module(modules, "/proc/self/exe", 0x5000, 0x1000);
    memset(same->build_id, 0xab, same->build_id_bytes = 20);
    return b;
}

static struct build unchecked(void)
{
    struct build b = build_begin();

    for (uint32_t i = 1; i <= 4; i++) {
        struct image_header *h = build_image_header(&b, process(&b, i).area);
        object("/usr/bin/prog1", i == 4 ? NATIVE_NO_MEMORY : NATIVE_NO_PLAN);
        h->how = i == 1 || i == 4 ? IMAGE_ROOT : IMAGE_EXEC;
        h->flags |= IMAGE_WITHOUT_COPIES;
    }
    build_image_header(&b, made_image(&b, 5, 0, "/usr/bin/old").area)->flags |=
        IMAGE_WITHOUT_COPIES;
    return b;
}

static void add(const char *name, struct build (*make)(void))
{
    char longer[80];
    struct build b = make();

    golden_add(name, text_of(&b, (struct print_options){.use = PRINT_USE_NOTHING}));
    b = make();
    snprintf(longer, sizeof longer, "%s, in detail", name);
    golden_add(longer, text_of(&b, (struct print_options){.use = PRINT_USE_NOTHING, .cost = true}));
}

static void add_timed(const char *name, const struct access_time *time)
{
    for (int cost = 0; cost <= 1; cost++) {
        struct build b = checked();
        ((struct object_record *)segment_items(objects))[0].function_bytes[PLAN_SKIPPED] = 100;
        struct report *r = collect(&b);
        char longer[80];

        report_set_access_time(r, time);
        snprintf(longer, sizeof longer, "%s%s", name, cost ? ", in detail" : "");
        golden_add(longer, text_of_report(r, (struct print_options){.use = PRINT_USE_NOTHING,
                                                                    .cost = cost != 0}));
    }
}

static void test_times(void **state)
{
    (void)state;
    struct access_time time = {
        .copies = 930,
        .native = 70,
        .elsewhere = 1000,
        .hottest = {{"f(int)", "/usr/bin/prog1", 40}, {"g\x1b", "/usr/bin/prog1", 30}}};
    add_timed("time", &time);
    add_timed("few samples",
              &(struct access_time){.copies = ACCESS_TIME_LEAST - 1, .elsewhere = 900});
    add_timed("no samples", &(struct access_time){.why = "perf events: why"});
}

static void test_checked_objects(void **state)
{
    (void)state;
    struct build b = partly_checked();
    struct report *r = collect(&b);

    assert_true(report_is_checked(r, "/usr/bin/prog1"));
    assert_false(report_is_checked(r, "/lib/liba.so"));
    assert_false(report_is_checked(r, "/lib/libc.so.6"));
    assert_false(report_is_checked(r, ""));
    report_close(r);
}

static void test_objects(void **state)
{
    (void)state;
    add("all checked", checked);
    add("some native", partly_checked);
    add("none checked", unchecked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_objects), cmocka_unit_test(test_times),
                                       cmocka_unit_test(test_checked_objects)};

    return golden_end(cmocka_run_group_tests(tests, NULL, NULL));
}
