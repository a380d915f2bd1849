/*
 * test_save.c - a kept run file, and the output of dump.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "golden.h"
#include "printed.h"

static const char *const saved = "saved.pool";

static int run_fd(void)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, (uint32_t)getpid(), IMAGE_ROOT);
    int fd;

    build_block(build_slab(&b, area, 1, 64, 64), 0, BLOCK_LIVE, 10, 0);
    build_image_header(&b, area)->state = IMAGE_OPEN;
    fd = build_fd(&b);
    build_end(&b);
    unlink(saved);
    return fd;
}

static struct stat stat_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st;
}

static uint32_t files_here(void)
{
    uint32_t count = 0;
    FILE *list = popen("ls", "re");

    assert_non_null(list);
    for (int c; (c = getc(list)) != EOF;)
        count += c == '\n';
    pclose(list);
    return count;
}

static void test_saved_copy(void **state)
{
    int fd = run_fd();
    char err[REPORT_ERROR_BYTES];
    struct report *r;
    struct stat st;

    (void)state;
    assert_int_equal(report_save(fd, saved, 1u << 20), 0);
    st = stat_of(saved);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_true(st.st_size > BUILD_AREA_BYTES &&
                st.st_size < 2 * BUILD_AREA_BYTES); /* up to its last data */
    assert_true(st.st_blocks * 512 < 256 << 10);    /* holes stay holes */
    assert_int_equal(report_open(&r, saved, err), 0);
    assert_int_equal(report_collect(r, err), 0);
    assert_int_equal(image_of(r, 1)->live_bytes, 10);
    /* the copy shows the moment of copying: a process that still runs does not matter */
    assert_int_equal(report_running(r), 0);
    assert_string_equal(end_name(r, image_of(r, 1)), "killed");
    report_close(r);
    close(fd);
}

/* A copy that has lost stored data is distinguished from one that ends with a hole. */
static void test_cut_copy(void **state)
{
    int fd = run_fd();
    char err[REPORT_ERROR_BYTES];
    struct report *r;

    (void)state;
    assert_int_equal(report_save(fd, saved, 1u << 20), 0);
    off_t bytes = stat_of(saved).st_size;
    assert_int_equal(truncate(saved, bytes - 1), 0);
    assert_int_equal(report_open(&r, saved, err), -EBADMSG);
    assert_non_null(strstr(err, "is damaged: file is cut"));
    assert_int_equal(truncate(saved, bytes + 1), 0); /* data after the end mark does not matter */
    assert_int_equal(report_open(&r, saved, err), 0);
    report_close(r);
    close(fd);
}

/* The file of a current run has no end mark: a shorter one is damaged. */
static void test_cut_while_read(void **state)
{
    int fd = run_fd();
    char err[REPORT_ERROR_BYTES];
    struct report *r;

    (void)state;
    assert_int_equal(report_open_fd(&r, fd, "the run", err), 0);
    assert_int_equal(ftruncate(fd, BUILD_AREA_BYTES), 0);
    assert_int_equal(report_collect(r, err), -ESTALE);
    assert_string_equal(err, "the run: the file was made shorter while the program ran");
    report_close(r);
    close(fd);
}

static void test_replaces_nothing(void **state)
{
    int fd = run_fd();
    FILE *old = fopen(saved, "w");

    (void)state;
    assert_non_null(old);
    fputs("old", old);
    fclose(old);
    assert_int_equal(chmod(saved, 0644), 0);
    assert_int_equal(report_save(fd, saved, 1u << 20), -EEXIST);
    assert_int_equal(stat_of(saved).st_mode & 07777, 0644);
    assert_int_equal(stat_of(saved).st_size, 3);
    unlink(saved);
    assert_int_equal(symlink("nowhere", saved), 0);
    assert_int_equal(report_save(fd, saved, 1u << 20), -EEXIST);
    unlink(saved);
    assert_int_equal(report_save(fd, saved, 1u << 20), 0);
    assert_int_equal(stat_of(saved).st_mode & 07777, 0600);
    assert_int_equal(stat_of(saved).st_nlink, 1);
    close(fd);
}

/* On failure neither the file nor a temporary one is there. */
static void test_too_much_to_save(void **state)
{
    int fd = run_fd();
    uint32_t files;

    (void)state;
    files = files_here();
    assert_int_equal(report_save(fd, saved, 8192), -EFBIG);
    assert_int_equal(files_here(), files);
    assert_int_equal(report_save(fd, saved, 1u << 20), 0);
    assert_true(stat_of(saved).st_size > 8192);
    unlink(saved);
    close(fd);
}

static void test_limit_on_files(void **state)
{
    int fd = run_fd();
    struct rlimit was, low;
    uint32_t files = files_here();

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    low = was;
    low.rlim_cur = BUILD_AREA_BYTES + 4096; /* a larger file raises SIGXFSZ */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    assert_int_equal(report_save(fd, saved, 1u << 20), -EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    assert_int_equal(files_here(), files);
    close(fd);
}

static void test_nowhere_to_save(void **state)
{
    int fd = run_fd();

    (void)state;
    assert_int_equal(report_save(fd, "no/such/folder/file", 1u << 20), -ENOENT);
    close(fd);
}

/* heap=file: the heap is kept with the records, unless there is no room for both. */
static void test_heap_is_kept(void **state)
{
    struct build b = build_begin();
    static const char data[] = "the program's data";
    char read[sizeof data] = "", err[REPORT_ERROR_BYTES];
    uint64_t heap = b.bytes - BUILD_AREA_BYTES, placed;
    struct report *r;
    int fd, to;

    (void)state;
    build_run(&b)->area_count--;
    build_run(&b)->heap_offset = heap;
    build_run(&b)->heap_bytes = BUILD_AREA_BYTES;
    build_image(&b, 1, 0, 5, IMAGE_ROOT);
    memcpy(b.file + heap, data, sizeof data);
    fd = build_fd(&b);
    unlink(saved);
    assert_int_equal(report_save(fd, saved, 1u << 20), 0);
    to = open(saved, O_RDONLY | O_CLOEXEC);
    placed = atomic_load(&build_run(&b)->next_area) * BUILD_AREA_BYTES; /* behind the used areas */
    assert_true(placed < heap);
    assert_int_equal(pread(to, read, sizeof read, (off_t)placed), sizeof read);
    assert_memory_equal(read, data, sizeof data);
    close(to);
    unlink(saved);
    /* the last byte of the room is that of the heap */
    for (uint64_t room = 1u << 20;
         report_save(fd, saved, room) == 0 && (uint64_t)stat_of(saved).st_size > placed;
         room -= 4096)
        unlink(saved);
    assert_true((uint64_t)stat_of(saved).st_size <= placed); /* the copy ends before the heap */
    assert_int_equal(report_open(&r, saved, err), 0);
    report_close(r);
    close(fd);
    build_end(&b);
}

/* Heaps with data are adjacent in the copy, and keep their owners; others are left out. */
static void test_heaps_are_compact(void **state)
{
    enum { HEAPS = 6, FIRST = 1, SECOND = 4 };
    struct build b = build_begin();
    const uint64_t owners[HEAPS] = {[FIRST] = heap_owner(5, 1), [SECOND] = heap_owner(6, 2)};
    uint64_t heap_bytes = 1ull << 30, at = b.bytes;
    struct run_header run;
    struct heap_slot slots[RTC_HEAPS_MAX];
    char byte;
    int fd, to;

    (void)state;
    build_image(&b, 1, 0, 5, IMAGE_ROOT);
    build_run(&b)->heap_table_offset = run_unchecked_end(build_run(&b));
    build_run(&b)->heap_offset = at;
    build_run(&b)->heap_bytes = heap_bytes;
    build_run(&b)->heap_count = HEAPS;
    build_run(&b)->file_bytes = at + HEAPS * heap_bytes;
    for (int i = 0; i < HEAPS; i++)
        run_heap_slots(build_run(&b))[i].owner = owners[i];
    fd = build_fd(&b);
    assert_int_equal(ftruncate(fd, (off_t)(at + HEAPS * heap_bytes)), 0);
    assert_int_equal(pwrite(fd, "1", 1, (off_t)(at + FIRST * heap_bytes)), 1);
    assert_int_equal(pwrite(fd, "2", 1, (off_t)(at + SECOND * heap_bytes + 70000)), 1);
    unlink(saved);
    assert_int_equal(report_save_whole(fd, saved), 0);
    to = open(saved, O_RDONLY | O_CLOEXEC);
    assert_int_equal(pread(to, &run, sizeof run, 0), sizeof run);
    assert_int_equal(run.area_count, atomic_load(&run.next_area));
    assert_int_equal(run.heap_offset, run.area_count * BUILD_AREA_BYTES);
    assert_int_equal(run.heap_bytes, 128 << 10);
    assert_int_equal(run.heap_count, 2);
    assert_int_equal(run.file_bytes, run.heap_offset + run.heap_count * run.heap_bytes);
    assert_true((uint64_t)stat_of(saved).st_size <= run.file_bytes);
    assert_int_equal(pread(to, slots, sizeof slots, (off_t)run.heap_table_offset), sizeof slots);
    assert_int_equal(slots[0].owner, owners[FIRST]);
    assert_int_equal(slots[1].owner, owners[SECOND]);
    assert_int_equal(slots[FIRST + 1].owner, 0);
    assert_int_equal(pread(to, &byte, 1, (off_t)run.heap_offset), 1);
    assert_int_equal(byte, '1');
    assert_int_equal(pread(to, &byte, 1, (off_t)(run.heap_offset + run.heap_bytes + 70000)), 1);
    assert_int_equal(byte, '2');
    close(to);
    close(fd);
    build_end(&b);
}

static void test_not_a_run(void **state)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    (void)state;
    assert_int_equal(report_save(fd, saved, 1u << 20), -EBADMSG);
    close(fd);
}

/* ---- dump ---------------------------------------------------------------------------------- */

static const char *dump_of(struct build *b, int *code)
{
    static char text[32768];
    struct printed p = print_begin(b, text, sizeof text);

    *code = report_dump(p.r, p.out);
    print_end(&p, b);
    return text;
}

static void add_leaks(const struct build *b, uint32_t area)
{
    struct image_header *h = build_image_header(b, area);
    struct leak_group *g =
        build_leak(build_records(b, area, SEGMENT_LEAKS, 4), REACH_LOST, 1, 3, 48);
    struct root_record *root =
        build_root(build_records(b, area, SEGMENT_ROOTS, 4), ROOT_STACK, 0x7000, 0x1000);

    h->leak_check = LEAKS_FOUND;
    h->threads_not_stopped = 2;
    h->leak_ns = 3;
    h->root_bytes = 4;
    h->root_bytes_skipped = 5;
    g->indirect_blocks = 2;
    g->indirect_bytes = 99;
    g->witness = WITNESS_ROOT;
    g->value = g->block + 4;
    g->at = 0x77;
    g->root = 1;
    g->frame_pc = 7ull << DEPOT_MODULE_SHIFT | 0x55;
    g->frame_cfa = 0x66;
    g->frame_sp = 0x60;
    g->on_thread = 4;
    g->control_block = 0x88;
    root->thread = 3;
    strcpy(root->path, "/\x1b");
}

static struct build one_of_each(void)
{
    struct build b = build_begin();
    uint32_t area = build_image(&b, 1, 0, 4711, IMAGE_ROOT);
    struct segment *d = build_depot(&b, area, 0), *s = build_slab(&b, area, 1, 64, 64);
    struct segment *l = build_records(&b, area, SEGMENT_LARGE, 4);
    struct segment *t = build_records(&b, area, SEGMENT_THREADS, 4);
    struct segment *m = build_records(&b, area, SEGMENT_MODULES, 4);
    struct segment *errors = build_records(&b, area, SEGMENT_ERRORS, 4);
    struct lease *lease = build_lease(&b, 17);
    struct segment *crashes = build_records(&b, area, SEGMENT_CRASHES, 1);
    struct segment *objects = build_records(&b, area, SEGMENT_OBJECTS, 1);
    struct object_record *object = build_item(objects, objects->count++);
    struct crash_record *crash;
    struct error_record *e;

    build_block(s, 3, BLOCK_FREED, 10, build_node(d, 0x1234, 0));
    build_large(l, 5, 2, 70000, 1);
    build_image_header(&b, area)->missing_features = 0x101;
    build_thread(t, 1, 5, 4);
    build_module(m, "/lib/\x1b.so", 0x1000, 0x1000);
    e = build_error(errors, ERROR_WUA, ENTRY_EXIT, 1);
    e->address = 0x4010;
    e->bytes = 2;
    e->found_bytes = 2;
    e->found[1] = 0xab;
    strcpy(e->region_path, "/\x1b");
    add_leaks(&b, area);
    crash = build_item(crashes, crashes->count++);
    crash->thread = 1;
    crash->registers = 2;
    crash->value[1] = 0x55;
    strcpy(crash->exception, "i");
    object->native = NATIVE_NO_PLAN;
    object->text_bytes = 4096;
    object->function_bytes[1] = 12;
    object->outside_bytes = 5;
    strcpy(object->path, "/\x1b");
    lease->parent = 1;
    lease->pid = 77;
    lease->state = LEASE_HELD;
    return b;
}

static void test_dump(void **state)
{
    struct build b = one_of_each();
    int code;
    const char *text = dump_of(&b, &code);

    (void)state;
    assert_int_equal(code, 0);
    golden_add("dump", text);
}

/* The last line has the first error; valid areas are printed all the same. */
static void test_dump_of_damage(void **state)
{
    struct build b = one_of_each();
    uint32_t second = build_image(&b, 2, 0, 4712, IMAGE_ROOT), code_offset;
    uint32_t third = build_image(&b, 3, 0, 4713, IMAGE_ROOT);
    uint32_t fourth = build_image(&b, 4, 0, 4714, IMAGE_ROOT);
    const char *text;
    int code;

    (void)state;
    (void)fourth;
    build_image_header(&b, second)->how = 9;
    build_head(&b, third)->magic = 1;
    build_entry(&b, build_image(&b, 5, 0, 4715, IMAGE_ROOT))->owner = area_owner(AREA_CLAIMED, 6);
    code_offset = second * BUILD_AREA_BYTES + RTC_AREA_HEAD_BYTES;
    assert_int_equal(code_offset, 0x81000);
    text = dump_of(&b, &code);
    assert_int_equal(code, -EBADMSG);
    golden_add("dump of a damaged file", text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_saved_copy),
        cmocka_unit_test(test_cut_copy),
        cmocka_unit_test(test_cut_while_read),
        cmocka_unit_test(test_replaces_nothing),
        cmocka_unit_test(test_too_much_to_save),
        cmocka_unit_test(test_limit_on_files),
        cmocka_unit_test(test_nowhere_to_save),
        cmocka_unit_test(test_heap_is_kept),
        cmocka_unit_test(test_heaps_are_compact),
        cmocka_unit_test(test_not_a_run),
        cmocka_unit_test(test_dump),
        cmocka_unit_test(test_dump_of_damage),
    };
    return golden_end(cmocka_run_group_tests(tests, NULL, NULL));
}
