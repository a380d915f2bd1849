#include "harness.h"

#include "sandbox.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MISSES_PRINTED = 5 };

static const char *row_name = "start";
static bool preloaded;
static bool heap_in_file;
static bool brief;
static _Atomic int row_lines;
static _Atomic int row_misses;
static int rows_missed;

bool is_preloaded(void)
{
    return preloaded;
}

bool is_heap_in_file(void)
{
    return heap_in_file;
}

int rounds(int full)
{
    return brief ? (full + 4) / 5 : full;
}

/* One write(2) per line, no stdio: nothing of the harness itself lies in the heap under test. */
static void print_line(const char *prefix, const char *format, va_list arguments)
{
    char text[512], line[640];
    vsnprintf(text, sizeof text, format, arguments);
    int n = snprintf(line, sizeof line, "%s: %s%s\n", row_name, prefix, text);
    if (n > (int)sizeof line)
        n = (int)sizeof line;
    atomic_fetch_add(&row_lines, 1);
    if (write(STDOUT_FILENO, line, (size_t)n) != n)
        _exit(99);
}

void print_result(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("", format, arguments);
    va_end(arguments);
}

void expect_result(const char *format, ...)
{
    int misses = atomic_fetch_add(&row_misses, 1);
    if (misses >= MISSES_PRINTED)
        return;
    va_list arguments;
    va_start(arguments, format);
    print_line("WRONG: ", format, arguments);
    va_end(arguments);
}

bool row_has_missed(void)
{
    return row_misses != 0;
}

const char *errno_text(int error)
{
    static _Thread_local char number[16];
    switch (error) {
    case ERRNO_KEPT:
        return "kept";
    case ENOMEM:
        return "ENOMEM";
    case EINVAL:
        return "EINVAL";
    case 0:
        return "0";
    }
    snprintf(number, sizeof number, "%d", error);
    return number;
}

void print_outcome(const char *call, void *block)
{
    int error = errno;
    print_result("%s: %s, errno %s", call, block ? "block" : "NULL", errno_text(error));
    free(block);
}

uint32_t next_random(uint32_t *state)
{
    uint32_t x = *state ? *state : 0x9e3779b9u;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return *state = x;
}

static unsigned char pattern_at(size_t i, uint32_t seed)
{
    return (unsigned char)(seed * 167u + i * 31u + (i >> 8) + 1u);
}

void pattern_fill(void *p, size_t n, uint32_t seed)
{
    unsigned char *bytes = escape(p);
    for (size_t i = 0; i < n; i++)
        bytes[i] = pattern_at(i, seed);
}

bool pattern_holds(const void *p, size_t n, uint32_t seed)
{
    const unsigned char *bytes = p;
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != pattern_at(i, seed))
            return false;
    return true;
}

bool is_zeroed(const void *p, size_t n)
{
    const unsigned char *bytes = p;
    return n == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0);
}

void expect_usable(const void *p, size_t request)
{
    size_t usable = malloc_usable_size((void *)(uintptr_t)p);
    if (preloaded)
        expect(usable == request, "usable size %zu of a request of %zu", usable, request);
    else
        expect(usable >= request, "usable size %zu of a request of %zu", usable, request);
}

void expect_block(void *p, size_t request, size_t alignment)
{
    expect(p != NULL, "no block of %zu bytes, errno %s", request, errno_text(errno));
    if (!p)
        return;
    expect(is_aligned(p, alignment), "block of %zu bytes not aligned to %zu", request, alignment);
    expect_usable(p, request);
    pattern_fill(p, request, (uint32_t)request);
    expect(pattern_holds(p, request, (uint32_t)request), "block of %zu bytes lost what was written",
           request);
}

const void *module_of(const void *address)
{
    Dl_info info;
    return address && dladdr(address, &info) ? info.dli_fbase : NULL;
}

const char *module_name(const void *address)
{
    Dl_info info;
    if (!address || !dladdr(address, &info) || !info.dli_fname)
        return "nobody";
    const char *slash = strrchr(info.dli_fname, '/');
    return slash ? slash + 1 : info.dli_fname;
}

void print_status(const char *what, int wait_status)
{
    if (WIFEXITED(wait_status))
        print_result("%s: exit %d", what, WEXITSTATUS(wait_status));
    else
        print_result("%s: signal %d", what, WTERMSIG(wait_status));
}

void print_child(const char *what, int (*body)(void *), void *argument)
{
    pid_t pid = fork();
    if (pid == 0) {
        int status = body(argument);
        _exit(status == 0 && row_has_missed() ? 90 : status);
    }
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        print_result("%s: no child, errno %s", what, errno_text(errno));
    else
        print_status(what, status);
}

bool read_statm(size_t *total_pages, size_t *data_pages)
{
    char text[256];
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return false;
    text[n] = 0;
    return sscanf(text, "%zu %*s %*s %*s %*s %zu", total_pages, data_pages) == 2;
}

bool limits_lower(size_t more)
{
    size_t total, data;
    if (!read_statm(&total, &data))
        return false;
    struct rlimit limit;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = total * page + more;
    int failed = setrlimit(RLIMIT_AS, &limit);
    getrlimit(RLIMIT_DATA, &limit);
    limit.rlim_cur = data * page + more;
    return setrlimit(RLIMIT_DATA, &limit) == 0 && !failed;
}

void limits_restore(void)
{
    static const int lowered[] = {RLIMIT_AS, RLIMIT_DATA};
    for (size_t i = 0; i < sizeof lowered / sizeof lowered[0]; i++) {
        struct rlimit limit;
        getrlimit(lowered[i], &limit);
        limit.rlim_cur = limit.rlim_max;
        setrlimit(lowered[i], &limit);
    }
}

/* Without names on the command line every row is selected. */
static bool is_asked_for(const char *name, char **names)
{
    if (!*names)
        return true;
    for (; *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

static void observe(const struct row *row)
{
    row_name = row->name;
    atomic_store(&row_lines, 0);
    atomic_store(&row_misses, 0);
    if (preloaded || !(row->needs & RUNTIME_ONLY))
        row->observe();
    if (row_lines == 0)
        print_result("ok");
    rows_missed += row_misses != 0;
}

int conform_main(int argc, char **argv)
{
    bool sandbox = false, list = false;
    int first = 1;
    for (; first < argc && strncmp(argv[first], "--", 2) == 0; first++) {
        if (strcmp(argv[first], "--ours") == 0)
            preloaded = true;
        else if (strcmp(argv[first], "--heap-in-file") == 0)
            heap_in_file = true;
        else if (strcmp(argv[first], "--sandbox") == 0)
            sandbox = true;
        else if (strcmp(argv[first], "--brief") == 0)
            brief = true;
        else if (strcmp(argv[first], "--list") == 0)
            list = true;
        else
            return 125;
    }
    if (sandbox && !list && sandbox_enter())
        return 124;
    for (size_t i = 0; i < conform_row_count; i++) {
        const struct row *row = &conform_rows[i];
        if (!is_asked_for(row->name, argv + first) || (sandbox && (row->needs & OUTSIDE)))
            continue;
        if (list)
            puts(row->name);
        else
            observe(row);
    }
    return rows_missed != 0;
}
