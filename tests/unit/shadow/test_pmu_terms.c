/*
 * test_pmu_terms.c - events of PMUs, whose files the test provides.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "pmu_terms.h"

#include <cmocka.h>

static const struct {
    const char *path, *text;
} file[] = {
    {"cpu/type", "4"},
    {"cpu/events/misses", "event=0x2e,umask=65"},
    {"cpu/events/asks", "event=?"},
    {"cpu/events/nested", "misses"},
    {"cpu/format/event", "config:0-7,32-35"},
    {"cpu/format/umask", "config:8-15"},
    {"cpu/format/edge", "config:18"},
    {"cpu/format/all", "config2:0-63"},
    {"cpu/format/configured", "config1:0"},
    {"cpu/format/strange", "config9:0-63"},
    {"cpu/format/bare", "config"},
    {"cpu/format/backwards", "config:7-3"},
    {"cpu/format/beyond", "config:64"},
    {"broken/type", "seventeen"},
};

static bool read_made(void *about, const char *pmu, const char *folder, const char *name,
                      char *line, size_t room)
{
    char path[512];
    assert_ptr_equal(about, file);
    snprintf(path, sizeof path, "%s/%s%s%s", pmu, folder ? folder : "", folder ? "/" : "", name);
    for (size_t i = 0; i < sizeof file / sizeof file[0]; i++)
        if (strcmp(file[i].path, path) == 0) {
            assert_true(strlen(file[i].text) < room);
            strcpy(line, file[i].text);
            return true;
        }
    return false;
}

static struct pmu_terms terms;

static enum pmu_fault parse(const char *name, struct event *e)
{
    static char words[128];
    terms = (struct pmu_terms){.read = read_made, .about = (void *)(uintptr_t)file};
    return pmu_event_parse(&terms, strcpy(words, name), e);
}

static void events(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t config, config1, config2;
    } row[] = {
        {"cpu/misses/", 0x412e, 0, 0},
        {"cpu/misses,edge,umask=2/", 0x4022e, 0, 0},
        {"cpu/event=0xF2e/", 0xf0000002e, 0, 0}, /* a value in two bit fields */
        {"cpu/umask=010/", 10 << 8, 0, 0},       /* not octal */
        {"cpu/config/", 1, 0, 0},
        {"cpu/config1=7,config2/", 0, 7, 1},
        {"cpu/configured/", 0, 1, 0},
        {"cpu/all=18446744073709551615/", 0, 0, UINT64_MAX},
        {"cpu/all=0XffffFFFFffffFFFF/", 0, 0, UINT64_MAX},
        {"cpu/edge=1,edge=0/", 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct event e;
        assert_int_equal(parse(row[i].name, &e), PMU_NO_FAULT);
        assert_true(e.source == SOURCE_PMU && e.type == 4 && !e.in_kernel_only && !e.in_both);
        assert_int_equal(e.config, row[i].config);
        assert_int_equal(e.config1, row[i].config1);
        assert_int_equal(e.config2, row[i].config2);
    }
}

static void faults(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum pmu_fault fault;
        const char *word;
    } row[] = {
        {"", PMU_BAD_FORM, NULL},
        {"cpu", PMU_BAD_FORM, NULL},
        {"cpu/", PMU_BAD_FORM, NULL},
        {"cpu//", PMU_BAD_FORM, NULL},
        {"cpu/misses", PMU_BAD_FORM, NULL},
        {"gpu/x/", PMU_UNKNOWN, "gpu"},
        {"broken/x/", PMU_UNKNOWN, "broken"},
        {"../x/", PMU_UNKNOWN, ".."},
        {"/x/", PMU_UNKNOWN, ""},
        {"cpu/event=/", PMU_NO_NUMBER, ""},
        {"cpu/event=1x/", PMU_NO_NUMBER, "1x"},
        {"cpu/event=0x/", PMU_NO_NUMBER, "0x"},
        {"cpu/event= 1/", PMU_NO_NUMBER, " 1"},
        {"cpu/event=-1/", PMU_NO_NUMBER, "-1"},
        {"cpu/event=0xg/", PMU_NO_NUMBER, "0xg"},
        {"cpu/all=18446744073709551616/", PMU_NO_NUMBER, "18446744073709551616"},
        {"cpu/edge,asks/", PMU_NO_NUMBER, "?"},
        {"cpu/nothing/", PMU_NO_EVENT, "nothing"},
        {"cpu/config3/", PMU_NO_EVENT, "config3"},
        {"cpu/nested/", PMU_NO_ATTRIBUTE, "misses"},
        {"cpu/nothing=1/", PMU_NO_ATTRIBUTE, "nothing"},
        {"cpu/strange/", PMU_NO_ATTRIBUTE, "strange"},
        {"cpu/bare/", PMU_NO_ATTRIBUTE, "bare"},
        {"cpu/misses,,edge/", PMU_NO_ATTRIBUTE, ""},
        {"cpu/.hidden/", PMU_NO_ATTRIBUTE, ".hidden"},
        {"cpu/events/misses/", PMU_NO_ATTRIBUTE, "events/misses"},
        {"cpu/umask=256/", PMU_TOO_LARGE, "umask"},
        {"cpu/event=0x1000/", PMU_TOO_LARGE, "event"},
        {"cpu/backwards/", PMU_TOO_LARGE, "backwards"},
        {"cpu/beyond=0/", PMU_TOO_LARGE, "beyond"},
    };
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct event e;
        assert_int_equal(parse(row[i].name, &e), row[i].fault);
        if (row[i].word)
            assert_string_equal(terms.word, row[i].word);
    }
}

/* A refused value changes nothing. */
static void one_attribute(void **state)
{
    (void)state;
    struct event e = {.config = 0xffff, .config2 = 5};
    terms = (struct pmu_terms){.read = read_made, .about = (void *)(uintptr_t)file};
    assert_int_equal(pmu_attribute_put(&terms, "cpu", "umask", 256, &e), PMU_TOO_LARGE);
    assert_int_equal(pmu_attribute_put(&terms, "cpu", "nothing", 1, &e), PMU_NO_ATTRIBUTE);
    assert_true(e.config == 0xffff && e.config2 == 5);
    assert_int_equal(pmu_attribute_put(&terms, "cpu", "umask", 0x41, &e), PMU_NO_FAULT);
    assert_true(e.config == 0x41ff && e.config2 == 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(events), cmocka_unit_test(faults),
                                       cmocka_unit_test(one_attribute)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
