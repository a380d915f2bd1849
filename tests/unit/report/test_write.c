/* test_write.c - what is replaced when a file is written, and what is kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basics.h"

static int put(FILE *out, void *text)
{
    fputs(text, out);
    return 0;
}

static void expect_text(const char *path, const char *wanted)
{
    size_t bytes;
    char *text = file_read(path, &bytes);

    assert_non_null(text);
    assert_int_equal(bytes, strlen(wanted));
    assert_memory_equal(text, wanted, bytes);
    free(text);
}

static bool is_link(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* The target of a link is written, whether it exists or not, and the link stays. */
static void test_links(void **state)
{
    (void)state;
    assert_int_equal(symlink("target", "link"), 0);
    assert_int_equal(write_whole_check("link"), 0);
    assert_int_equal(write_whole("link", put, "first"), 0);
    assert_true(is_link("link"));
    expect_text("target", "first");
    assert_int_equal(write_whole("link", put, "second"), 0);
    assert_true(is_link("link"));
    expect_text("target", "second");
    unlink("link");
    unlink("target");
}

/* A descriptor that is closed cannot be written, and its name is not replaced. */
static void test_closed_descriptor(void **state)
{
    char path[64];
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    (void)state;
    close(fd);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    assert_int_equal(write_whole_check(path), -ENOENT);
    assert_int_equal(write_whole(path, put, "text"), -ENOENT);
    assert_int_equal(symlink(path, "descriptor"), 0);
    assert_true(write_whole("descriptor", put, "text") < 0);
    assert_true(is_link("descriptor"));
    unlink("descriptor");
}

/* A descriptor of a file is written in place: the file behind it is not another one afterwards. */
static void test_descriptor_of_file(void **state)
{
    char path[64];
    struct stat before, after;
    int fd = open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    (void)state;
    assert_true(fd >= 0 && fstat(fd, &before) == 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    assert_int_equal(write_whole(path, put, "text"), 0);
    assert_int_equal(stat("file", &after), 0);
    assert_int_equal(after.st_ino, before.st_ino);
    expect_text("file", "text");
    close(fd);
    unlink("file");
}

/* A folder of /dev with files, in which a new file can be made, and a device cannot. */
static void test_new_file_below_dev(void **state)
{
    char path[64];

    (void)state;
    assert_true(write_whole_check("/dev/none") < 0);
    if (access("/dev/shm", W_OK | X_OK) != 0)
        return;
    snprintf(path, sizeof path, "/dev/shm/rtcheck.test_write.%d", getpid());
    assert_int_equal(write_whole_check(path), 0);
    assert_int_equal(write_whole(path, put, "text"), 0);
    expect_text(path, "text");
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_closed_descriptor),
        cmocka_unit_test(test_descriptor_of_file),
        cmocka_unit_test(test_new_file_below_dev),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
