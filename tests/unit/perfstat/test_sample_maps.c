/*
 * test_sample_maps.c - from perf records to counts by file and offset, with records as the kernel writes them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "samples_priv.h" /* before cmocka's fail() */

#include <cmocka.h>

#define PROGRAM 4711u
#define CHILD 4712u

static struct sample_maps maps;

static int begin(void **state)
{
    (void)state;
    maps = (struct sample_maps){0};
    return 0;
}

static int end(void **state)
{
    (void)state;
    sample_maps_free(&maps);
    return 0;
}

/* `words` and then, unless it is a sample or a task, the tail of other records: pid, tid and time. */
static void take(uint32_t type, uint16_t misc, const void *words, size_t bytes)
{
    char record[512] = {0};
    struct perf_event_header h = {.type = type, .misc = misc, .size = (uint16_t)(sizeof h + bytes)};

    memcpy(record, &h, sizeof h);
    memcpy(record + sizeof h, words, bytes);
    sample_maps_take(&maps, record, &h);
}

static void sample(uint64_t address, uint32_t pid)
{
    take(PERF_RECORD_SAMPLE, 0, (const uint64_t[]){address, (uint64_t)pid << 32 | pid, 1}, 24);
}

static void task(uint32_t type, uint32_t pid, uint32_t parent)
{
    take(type, 0, (const uint32_t[]){pid, parent, pid, parent, 0, 0}, 24);
}

static void exec(uint32_t pid)
{
    take(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC,
         (const uint32_t[]){pid, pid, 0x6968, 0, pid, pid, 0, 0}, 32);
}

static void mapped(uint32_t pid, uint64_t address, uint64_t bytes, uint64_t offset,
                   const char *path)
{
    struct {
        uint32_t pid, tid;
        uint64_t address, bytes, offset, device, inode, generation, protection;
        char path[64];
        uint64_t ids, time;
    } words = {.pid = pid, .tid = pid, .address = address, .bytes = bytes, .offset = offset};

    strcpy(words.path, path);
    take(PERF_RECORD_MMAP2, 0, &words, sizeof words);
}

static uint64_t samples_at(const char *path, uint64_t offset)
{
    const struct sample_row *rows;
    size_t count = sample_maps_rows(&maps, &rows);
    uint64_t samples = 0;

    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].path, path) == 0 && rows[i].offset == offset) {
            assert_int_equal(samples, 0);
            samples = rows[i].samples;
        }
    return samples;
}

static void offsets(void **state)
{
    (void)state;
    mapped(PROGRAM, 0x400000, 0x1000, 0x2000, "/bin/prog");
    mapped(PROGRAM, 0x500000, 0x1000, 0, "/lib/a.so");
    sample(0x400010, PROGRAM);
    sample(0x500fff, PROGRAM);
    sample(0x400010, PROGRAM);
    sample(0x501000, PROGRAM); /* past its end */
    sample(0x400010, CHILD);   /* not known */
    assert_int_equal(samples_at("/bin/prog", 0x2010), 2);
    assert_int_equal(samples_at("/lib/a.so", 0xfff), 1);
    assert_int_equal(samples_at("", 0), 2);
}

static void later_mapping(void **state)
{
    (void)state;
    mapped(PROGRAM, 0x400000, 0x3000, 0, "/lib/a.so");
    mapped(PROGRAM, 0x401000, 0x1000, 0, "/lib/b.so");
    sample(0x400000, PROGRAM);
    sample(0x401004, PROGRAM);
    sample(0x402000, PROGRAM);
    assert_int_equal(samples_at("/lib/a.so", 0), 1);
    assert_int_equal(samples_at("/lib/b.so", 4), 1);
    assert_int_equal(samples_at("/lib/a.so", 0x2000), 1);
    for (unsigned i = 0; i < 100; i++)
        mapped(PROGRAM, 0x400000, 0x3000, 0, "/lib/c.so");
    sample(0x401004, PROGRAM);
    assert_int_equal(samples_at("/lib/c.so", 0x1004), 1);
    assert_int_equal(samples_at("/lib/b.so", 4), 1);
}

static void processes(void **state)
{
    (void)state;
    mapped(PROGRAM, 0x400000, 0x1000, 0, "/bin/prog");
    task(PERF_RECORD_FORK, CHILD, PROGRAM);
    sample(0x400001, CHILD);
    exec(CHILD);
    sample(0x400001, CHILD);
    mapped(CHILD, 0x400000, 0x1000, 0, "/bin/other");
    sample(0x400002, CHILD);
    sample(0x400002, PROGRAM);
    assert_int_equal(samples_at("/bin/prog", 1), 1);
    assert_int_equal(samples_at("", 0), 1);
    assert_int_equal(samples_at("/bin/other", 2), 1);
    assert_int_equal(samples_at("/bin/prog", 2), 1);
    task(PERF_RECORD_FORK, CHILD, CHILD); /* a thread */
    task(PERF_RECORD_EXIT, CHILD, PROGRAM);
    sample(0x400003, CHILD);
    task(PERF_RECORD_EXIT, CHILD, PROGRAM);
    sample(0x400003, CHILD);
    assert_int_equal(samples_at("/bin/other", 3), 1);
    assert_int_equal(samples_at("", 0), 2);
}

/* Counts are merged on the way. */
static void many(void **state)
{
    (void)state;
    mapped(PROGRAM, 0x400000, 0x10000, 0, "/bin/prog");
    for (unsigned i = 0; i < 100000; i++)
        sample(0x400000 + i % 5000, PROGRAM);
    assert_int_equal(samples_at("/bin/prog", 0), 20);
    assert_int_equal(samples_at("/bin/prog", 4999), 20);
    assert_true(maps.room < 50000);
}

static void cut_records(void **state)
{
    (void)state;
    mapped(PROGRAM, 0x400000, 0x1000, 0, "/bin/prog");
    for (uint32_t type = 1; type < 20; type++)
        for (size_t bytes = 0; bytes < 24; bytes++)
            take(type, PERF_RECORD_MISC_COMM_EXEC, (const uint64_t[3]){1, 2, 3}, bytes);
    sample(0x400000, PROGRAM);
    assert_int_equal(samples_at("/bin/prog", 0), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(offsets, begin, end),
        cmocka_unit_test_setup_teardown(later_mapping, begin, end),
        cmocka_unit_test_setup_teardown(processes, begin, end),
        cmocka_unit_test_setup_teardown(many, begin, end),
        cmocka_unit_test_setup_teardown(cut_records, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
