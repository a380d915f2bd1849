/*
 * test_memory.c - guarantees of os for mappings, with all features of this kernel and without.
 */
#include "instructions.h"
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/resource.h>

#include "os.h"
#include "../in_child.h"

#include <cmocka.h>

#define PAGES 4u
#define BYTES (PAGES * PAGE_BYTES)

static char *place; /* the address that the next child accesses */

static void touch(void)
{
    signal(SIGSEGV, SIG_DFL); /* cmocka and sanitizers have handlers for it */
    *(volatile char *)place = 1;
}

static bool is_accessible(char *at)
{
    place = at;
    int status = in_child(touch);
    assert_true(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV));
    return status == 0;
}

static void reserving(void **state)
{
    (void)state;
    char *p = os_reserve(NULL, BYTES, false);
    assert_false(os_failed(p));
    assert_false(is_accessible(p));
    assert_int_equal(os_allow(p + PAGE_BYTES, PAGE_BYTES), 0);
    assert_false(is_accessible(p));
    assert_true(is_accessible(p + PAGE_BYTES));
    assert_false(is_accessible(p + 2 * PAGE_BYTES));
    p[PAGE_BYTES] = 1;
    assert_int_equal(os_read_only(p + PAGE_BYTES, PAGE_BYTES), 0);
    assert_false(is_accessible(p + PAGE_BYTES));
    assert_int_equal(p[PAGE_BYTES], 1);
    assert_int_equal(os_unmap(p, BYTES), 0);
    assert_true(os_failed(os_reserve(NULL, (size_t)1 << 60, false)));
}

/* Map exactly there or fail; existing mappings stay. */
static void fixed(void)
{
    char *p = os_map(BYTES);
    MUST(!os_failed(p));
    memset(p, 7, BYTES);
    MUST(os_failed(os_reserve(p + PAGE_BYTES, BYTES, true)));
    for (size_t i = 0; i < BYTES; i++)
        MUST(p[i] == 7);
    MUST(os_unmap(p + PAGE_BYTES, PAGE_BYTES) == 0);
    MUST(os_reserve(p + PAGE_BYTES, PAGE_BYTES, true) == p + PAGE_BYTES);
    MUST(os_reserve((void *)0x200000000000, PAGE_BYTES, true) == (void *)0x200000000000);
}

static void fixed_by_comparing(void)
{
    os_mark_missing(OS_NOREPLACE);
    fixed();
}

static void fixed_place(void **state)
{
    (void)state;
    assert_int_equal(in_child(fixed), 0);
    assert_int_equal(in_child(fixed_by_comparing), 0);
}

/* A file of two pages mapped as four. */
static char *short_file(void)
{
    int fd = memfd_create("pages", MFD_CLOEXEC);
    MUST(fd >= 0 && os_truncate(fd, 2 * PAGE_BYTES) == 0);
    char *p = os_reserve_file(NULL, fd, BYTES, 0);
    MUST(!os_failed(p) && os_close(fd) == 0 && os_allow(p, BYTES) == 0);
    return p;
}

static void populating(void)
{
    char *p = short_file();
    unsigned char in_core[PAGES];
    MUST(mincore(p, 2 * PAGE_BYTES, in_core) == 0 && !(in_core[0] & 1));
    MUST(os_populate(p, 2 * PAGE_BYTES) == 0);
    MUST(mincore(p, 2 * PAGE_BYTES, in_core) == 0 && in_core[0] & 1 && in_core[1] & 1);
    for (size_t i = 0; i < 2 * PAGE_BYTES; i++)
        MUST(p[i] == 0);
    MUST(os_populate(p, BYTES) == -EFAULT); /* past the end of the file: an error, no signal */
    MUST(os_populate(p + 2 * PAGE_BYTES, PAGE_BYTES) == -EFAULT);
}

static void populating_by_writes(void)
{
    os_mark_missing(OS_POPULATE);
    populating();
}

static void populate(void **state)
{
    (void)state;
    assert_int_equal(in_child(populating), 0);
    assert_int_equal(in_child(populating_by_writes), 0);
}

static void giving_back(void **state)
{
    (void)state;
    char *p = os_map(BYTES);
    unsigned char in_core[PAGES];
    memset(p, 5, BYTES);
    assert_int_equal(os_release(p + PAGE_BYTES, PAGE_BYTES), 0);
    assert_int_equal(mincore(p, BYTES, in_core), 0);
    assert_int_equal(in_core[0] & 1, 1);
    assert_int_equal(in_core[1] & 1, 0);
    assert_int_equal(p[PAGE_BYTES], 0);
    assert_int_equal(p[PAGE_BYTES - 1], 5);
    assert_int_equal(p[2 * PAGE_BYTES], 5);
    os_unmap(p, BYTES);

    p = short_file();
    memset(p, 5, 2 * PAGE_BYTES);
    assert_int_equal(os_release_file(p, PAGE_BYTES), 0); /* for all processes that map it */
    assert_int_equal(p[0], 0);
    assert_int_equal(p[PAGE_BYTES], 5);
    os_unmap(p, BYTES);
}

/* A mapping of ours becomes a reservation, or a file's mapping, at the same address. */
static void replacing(void **state)
{
    (void)state;
    char *p = os_map(BYTES);
    memset(p, 1, BYTES);
    assert_ptr_equal(os_replace(p + PAGE_BYTES, PAGE_BYTES), p + PAGE_BYTES);
    assert_false(is_accessible(p + PAGE_BYTES));
    assert_int_equal(p[PAGE_BYTES - 1] + p[2 * PAGE_BYTES], 2);
    int fd = memfd_create("page", MFD_CLOEXEC);
    assert_int_equal(os_truncate(fd, 2 * PAGE_BYTES), 0);
    assert_int_equal(pwrite(fd, "x", 1, PAGE_BYTES), 1);
    assert_ptr_equal(os_reserve_file(p + PAGE_BYTES, fd, PAGE_BYTES, PAGE_BYTES), p + PAGE_BYTES);
    assert_int_equal(os_close(fd), 0);
    assert_false(is_accessible(p + PAGE_BYTES));
    assert_int_equal(os_allow(p + PAGE_BYTES, PAGE_BYTES), 0);
    assert_int_equal(p[PAGE_BYTES], 'x');
    assert_int_equal(p[PAGE_BYTES - 1] + p[2 * PAGE_BYTES], 2);
    os_unmap(p, BYTES);
}

static char *word;

static void is_wiped(void)
{
    MUST(word[0] == 0);
}

static void is_kept(void)
{
    MUST(word[0] == 9);
}

static void wiping(void **state)
{
    (void)state;
    word = os_map(PAGE_BYTES);
    word[0] = 9;
    assert_int_equal(in_child(is_kept), 0);
    assert_int_equal(os_wipe_on_fork(word, PAGE_BYTES), 0);
    assert_int_equal(in_child(is_wiped), 0);
    assert_int_equal(word[0], 9);
}

static void measuring(void **state)
{
    (void)state;
    uint64_t before = os_data_bytes();
    char *p = os_map(64 << 20);
    assert_in_range(os_data_bytes() - before, 64 << 20, 65 << 20);
    os_unmap(p, 64 << 20);
    struct rlimit limit, lower;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    lower = limit;
    lower.rlim_cur = 123456;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &lower), 0);
    assert_int_equal(os_limit(RLIMIT_FSIZE), 123456);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    if (limit.rlim_cur == RLIM_INFINITY)
        assert_true(os_limit(RLIMIT_FSIZE) == UINT64_MAX);
}

static void reading(void **state)
{
    (void)state;
    char *p = os_map(BYTES);
    assert_true(os_is_readable((uintptr_t)p + BYTES - 1));
    assert_int_equal(mprotect(p + PAGE_BYTES, PAGE_BYTES, PROT_NONE), 0);
    assert_false(os_is_readable((uintptr_t)p + PAGE_BYTES));
    os_unmap(p, BYTES);
    assert_false(os_is_readable((uintptr_t)p));
    assert_false(os_is_readable(16));
    assert_false(os_is_readable(UINTPTR_MAX));
}

/* Number of bytes of [p, p + BYTES) that are registered as ours. */
static size_t own_bytes(const char *p)
{
    uintptr_t start = 0, end = (uintptr_t)p;
    size_t sum = 0;
    for (;;) {
        os_next_own(end, &start, &end);
        if (start >= (uintptr_t)p + BYTES)
            return sum;
        sum += end - start;
    }
}

static void find_own_mappings(void **state)
{
    (void)state;
    char *p = os_map(BYTES),
         *foreign = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uintptr_t start, end;
    assert_int_equal(own_bytes(p), BYTES);
    assert_int_equal(own_bytes(foreign), 0);
    os_next_own((uintptr_t)p + PAGE_BYTES, &start, &end);
    assert_true(start == (uintptr_t)p + PAGE_BYTES && end == (uintptr_t)p + BYTES);
    assert_false(os_failed(os_replace(p, PAGE_BYTES))); /* at the same address: registered once */
    assert_int_equal(own_bytes(p), BYTES);
    os_unmap(p, BYTES);
    assert_int_equal(own_bytes(p), 0);
    os_note_own(foreign, 1); /* whole pages */
    assert_int_equal(own_bytes(foreign), PAGE_BYTES);
    os_unmap(foreign, BYTES);
    os_next_own(UINTPTR_MAX - 1, &start, &end);
    assert_true(start == UINTPTR_MAX && end == UINTPTR_MAX);
}

/* Remove a piece in the middle, then the beginning and the end of the rest, then all. */
static void release_own_mappings(void **state)
{
    (void)state;
    char *p = os_map(8 * PAGE_BYTES);
    uintptr_t at = (uintptr_t)p, start, end;
    assert_true(os_disown(at + 3 * PAGE_BYTES, at + 5 * PAGE_BYTES));
    os_next_own(at + 2 * PAGE_BYTES, &start, &end);
    assert_true(start == at + 2 * PAGE_BYTES && end == at + 3 * PAGE_BYTES);
    os_next_own(end, &start, &end);
    assert_true(start == at + 5 * PAGE_BYTES && end == at + 8 * PAGE_BYTES);
    assert_true(os_disown(at - PAGE_BYTES, at + PAGE_BYTES) &&
                os_disown(at + 7 * PAGE_BYTES, at + 9 * PAGE_BYTES));
    os_next_own(at, &start, &end);
    assert_true(start == at + PAGE_BYTES && end == at + 3 * PAGE_BYTES);
    os_next_own(end, &start, &end);
    assert_true(start == at + 5 * PAGE_BYTES && end == at + 7 * PAGE_BYTES);
    assert_true(os_disown(at, at + 8 * PAGE_BYTES));
    os_next_own(at, &start, &end);
    assert_true(start >= at + 8 * PAGE_BYTES);
    assert_int_equal(munmap(p, 8 * PAGE_BYTES), 0);
}

/* Every field of the maps lines of a file's mapping. */
static void reading_mappings(void **state)
{
    (void)state;
    struct stat st;
    struct mapping m;
    int fd = memfd_create("mapped", 0);
    assert_int_equal(ftruncate(fd, 4 * PAGE_BYTES), 0);
    assert_int_equal(fstat(fd, &st), 0);
    char *p = mmap(NULL, 2 * PAGE_BYTES, PROT_READ, MAP_SHARED, fd, PAGE_BYTES);
    assert_int_equal(os_mapping_of((uintptr_t)p + PAGE_BYTES, &m), 1);
    assert_true(m.start == (uintptr_t)p && m.end == m.start + 2 * PAGE_BYTES);
    assert_true(m.offset == PAGE_BYTES && m.inode == st.st_ino && m.shared);
    assert_true(m.major == major(st.st_dev) && m.minor == minor(st.st_dev));
    assert_int_equal(m.protection, PROT_READ);
    assert_string_equal(m.path, "/memfd:mapped (deleted)");
    munmap(p, 2 * PAGE_BYTES);
    close(fd);
    assert_in_range(os_break_start(), 1u << 20, (uintptr_t)sbrk(0));
    assert_int_equal(brk((void *)(os_break_start() - 1)), 0); /* libc's result, although */
    assert_true((uintptr_t)sbrk(0) >= os_break_start());      /* the kernel has refused */
}

/* libc's code, unmodified and patched with a jump's first bytes. */
static void plain_calls(void **state)
{
    (void)state;
    uint8_t code[32];
    memcpy(code, (const void *)(uintptr_t)&madvise, sizeof code);
    assert_true(code_is_stub((const void *)(uintptr_t)&madvise, SYS_madvise));
    assert_true(code_is_stub(code, SYS_madvise));
    assert_false(code_is_stub(code, SYS_munmap));
    code[0] = 0xe9;
    assert_false(code_is_stub(code, SYS_madvise));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_calls),
        cmocka_unit_test(find_own_mappings),
        cmocka_unit_test(release_own_mappings),
        cmocka_unit_test(reading_mappings),
        cmocka_unit_test(reserving),
        cmocka_unit_test(fixed_place),
        cmocka_unit_test(populate),
        cmocka_unit_test(giving_back),
        cmocka_unit_test(reading),
        cmocka_unit_test(replacing),
        cmocka_unit_test(wiping),
        cmocka_unit_test(measuring),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
