/*
 * test_helper.c - names from files that crash their reader: names from other files are still found.
 *
 * rtc-build: -Wl,--wrap=demangle -rdynamic -ldl
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "text.h"
#include "variables.h"

/* ---- a name that crashes the reader -------------------------------------------------------- */

void crashes(void);
void hangs(void);
void stays(void);

/* The functions differ, so that no two are merged. */
void crashes(void)
{
    abort();
}

void hangs(void)
{
    pause();
}

void stays(void)
{
    _exit(1);
}

char *__real_demangle(const char *name);
char *__wrap_demangle(const char *name);

char *__wrap_demangle(const char *name)
{
    if (strcmp(name, "crashes") == 0)
        raise(SIGSEGV);
    if (strcmp(name, "hangs") == 0)
        for (;;)
            pause();
    return __real_demangle(name);
}

/* ---- stacks in this process ----------------------------------------------------------------- */

static uint32_t frame_at(struct report *r, void *address)
{
    struct module_record m = {0};
    char here[sizeof m.path] = "";
    Dl_info info;

    assert_true(dladdr(address, &info) != 0);
    m.bias = (uint64_t)(uintptr_t)info.dli_fbase;
    assert_true(readlink("/proc/self/exe", here, sizeof here - 1) > 0);
    snprintf(m.path, sizeof m.path, "%s", info.dli_fname[0] == '/' ? info.dli_fname : here);
    return frame_intern(r, module_intern(r, &m, 1), (uint64_t)(uintptr_t)address - m.bias + 1,
                        false);
}

static void *libc_place(void)
{
    return dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
}

static void forget(struct report *r)
{
    helper_end(r);
    symbols_free(r);
    sites_free(r);
}

/*
 * A stack of `bad` and an address in libc: the second gets its name whatever happens with the
 * first.
 */
static struct report try_it(void (*bad)(void))
{
    struct report r = {.timeout_ms = 4000}; /* libc is read in less */
    uint32_t frames[2] = {frame_at(&r, (void *)bad), frame_at(&r, libc_place())};

    symbolize_site(&r, site_intern(&r, frames, 2, 0));
    assert_non_null(r.frames[frames[1]].system_name);
    assert_non_null(strstr(r.frames[frames[1]].system_name, "gnu_get_libc_version"));
    assert_true(r.modules[r.frames[frames[1]].module].symbols >= SYMBOLS_EXPORTED);
    assert_true(r.frames[frames[0]].tried);
    return r;
}

static void test_good(void **state)
{
    struct report r = try_it(stays);

    (void)state;
    assert_string_equal(r.frames[0].system_name, "stays");
    assert_non_null(strstr(r.frames[0].file, "test_helper.c"));
    assert_int_equal(r.modules[0].symbols, SYMBOLS_LINES);
    assert_non_null(r.helper);
    forget(&r);
}

static void test_crash(void **state)
{
    struct report r = try_it(crashes);

    (void)state;
    assert_null(r.frames[0].system_name);
    assert_int_equal(r.modules[0].symbols, SYMBOLS_UNREADABLE);
    forget(&r);
}

static void test_hang(void **state)
{
    struct report r = try_it(hangs);

    (void)state;
    assert_null(r.frames[0].system_name);
    assert_int_equal(r.modules[0].symbols, SYMBOLS_UNREADABLE);
    forget(&r);
}

/* Sites that are added later are sent to the running helper. */
static void test_more_sites(void **state)
{
    struct report r = try_it(stays);
    const struct helper *helper = r.helper;
    uint32_t frame = frame_at(&r, (void *)frame_at), both[2];
    struct module_record m = {0};

    (void)state;
    symbolize_site(&r, site_intern(&r, &frame, 1, 0));
    assert_string_equal(r.frames[frame].system_name, "frame_at");

    both[0] = frame_intern(&r, NO_MODULE, 0x4242, false); /* beside one that has a name */
    both[1] = frame_intern(&r, r.frames[frame].module, r.frames[frame].offset + 1, true);
    symbolize_site(&r, site_intern(&r, both, 2, 0));
    assert_null(r.frames[both[0]].system_name);
    assert_string_equal(r.frames[both[1]].system_name, "frame_at");
    assert_false(r.no_symbols);

    snprintf(m.path, sizeof m.path, "/proc/%d/exe", getpid());
    frame = frame_intern(&r, module_intern(&r, &m, 1), r.frames[frame].offset, false);
    symbolize_site(&r, site_intern(&r, &frame, 1, 0));
    assert_string_equal(r.frames[frame].system_name, "frame_at");
    assert_ptr_equal(r.helper, helper); /* the same helper process is used */
    forget(&r);
}

/* At the limit of processes there is no helper: the reporter reads the names itself. */
static void no_child(void)
{
    struct rlimit none = {0};
    struct report r;

    setrlimit(RLIMIT_NPROC, &none);
    r = try_it(stays);
    _exit(r.helper != NULL || strcmp(r.frames[0].system_name, "stays") != 0);
}

static void test_no_child(void **state)
{
    int status;
    pid_t pid;

    (void)state;
    if (getuid() == 0) /* root has no such limit */
        return;
    pid = fork();
    if (pid == 0)
        no_child();
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* ---- corrupted files ------------------------------------------------------------------------- */

#define SPOILT_TIMES 20

static void spoil(const char *path, unsigned seed)
{
    struct stat st;
    int fd = open(path, O_RDWR | O_CLOEXEC);

    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    srandom(seed);
    for (int i = 0; i < 400; i++) {
        char byte = (char)random();
        off_t at = (seed % 4 == 0 ? 64 : 0) + random() % st.st_size; /* some keep the header */
        if (i >= 4 || seed % 4 == 0)
            assert_int_equal(pwrite(fd, &byte, 1, at % st.st_size), 1);
    }
    close(fd);
}

static void copy_to(const char *path)
{
    char command[1024];

    snprintf(command, sizeof command, "cp /proc/%d/exe %s && chmod u+w %s", getpid(), path, path);
    assert_int_equal(system(command), 0);
}

static void request_variables(struct report *r)
{
    struct variable v;

    for (uint32_t i = 0; i < r->frame_count; i++)
        for (int64_t at = -512; at < 64; at += 96) {
            local_find(r, i, (struct in_frame){at, at % 5 - 64}, &v);
            variable_free(&v);
        }
    r->modules[0].no_variables = false; /* the others are tried also after a failure */
    thread_variable_find(r, 0, 8, &v);
    variable_free(&v);
    for (uint64_t offset = 0; offset < 0x20000; offset += 0x800) {
        variable_find(r, 0, offset, &v);
        variable_free(&v);
    }
}

static void test_spoilt_files(void **state)
{
    char path[256], here[200];

    (void)state;
    assert_non_null(getcwd(here, sizeof here));
    for (unsigned seed = 0; seed < SPOILT_TIMES; seed++) {
        struct report r = {.timeout_ms = 5000};
        struct module_record m = {0};
        uint32_t frames[32];
        snprintf(path, sizeof path, "%s/spoilt", here);
        copy_to(path);
        spoil(path, seed);
        snprintf(m.path, sizeof m.path, "%s", path);
        for (uint32_t i = 0; i < countof(frames); i++)
            frames[i] = frame_intern(&r, module_intern(&r, &m, 1),
                                     r.frames ? 0x3000 + i * 0x400 : 0x2800, false);
        symbolize_site(&r, site_intern(&r, frames, countof(frames), 0));
        assert_true(r.modules[0].symbols != SYMBOLS_UNTRIED);
        request_variables(&r);
        forget(&r);
    }
}

/* The debug file is a pipe: the reader does not wait for its data. */
static void test_pipe_as_debug_file(void **state)
{
    struct report r = {.timeout_ms = 500};
    struct module_record m = {0};
    char here[200];
    uint32_t frame;

    (void)state;
    assert_non_null(getcwd(here, sizeof here));
    copy_to("stripped");
    assert_int_equal(
        system("objcopy --only-keep-debug stripped stripped.debug && objcopy -S "
               "--add-gnu-debuglink=stripped.debug --remove-section=.note.gnu.build-id "
               "stripped && rm -f stripped.debug && mkfifo stripped.debug"),
        0);
    snprintf(m.path, sizeof m.path, "%s/stripped", here);
    frame = frame_intern(&r, module_intern(&r, &m, 1), 0x3000, false);
    symbolize_site(&r, site_intern(&r, &frame, 1, 0));
    assert_int_equal(r.modules[0].symbols, SYMBOLS_UNREADABLE);
    forget(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_crash),
        cmocka_unit_test(test_hang),
        cmocka_unit_test(test_more_sites),
        cmocka_unit_test(test_no_child),
        cmocka_unit_test(test_spoilt_files),
        cmocka_unit_test(test_pipe_as_debug_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
