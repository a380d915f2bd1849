/*
 * vmmalloc_log.c - the log of a process that rtcheck serves in place of libvmmalloc.
 *
 * A line is "libvmmalloc <pid>: " and a text, written by one call, so lines of several threads and
 * processes are never mixed.  The log's file is opened for each line, since the program may close every
 * descriptor and reuse its number.  Lines to stderr are written only while descriptor 2 is the file that it was
 * at the program's start.
 *
 * Nothing is logged in a sandbox, which may forbid these calls.
 */
#include "init.h"
#include "vmmalloc.h"

#include <errno.h>
#include <fcntl.h>

#define LINE_ROOM 256u
#define PATH_ROOM 4096u

uint32_t vmmalloc_level;

static struct {
    char name[PATH_ROOM]; /* absolute; "": stderr */
    char path[PATH_ROOM]; /* name, with the pid if that is appended */
    bool has_pid;
    bool wants_statistics;
    uint64_t device, inode; /* of stderr at start */
} out;

/* ---- lines ----------------------------------------------------------------------------------- */

struct line {
    struct text text;
    char room[LINE_ROOM];
};

static void line_begin(struct line *l)
{
    l->text = text_begin(l->room, sizeof l->room - 1); /* and the newline */
    text_put(&l->text, "libvmmalloc ");
    text_decimal(&l->text, os_pid());
    text_put(&l->text, ": ");
}

static bool is_stderr_of_start(void)
{
    struct stat now;
    return os_stat_fd(2, &now) == 0 && now.st_dev == out.device && now.st_ino == out.inode;
}

static int open_log(void)
{
    return os_open(out.path, O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY, 0644);
}

static void line_end(struct line *l)
{
    char *end = text_end(&l->text);
    *end++ = '\n';
    if (os_sandboxed())
        return;
    if (!out.path[0]) {
        if (is_stderr_of_start())
            os_write(2, l->room, (size_t)(end - l->room));
        return;
    }
    int fd = open_log();
    if (fd < 0)
        return;
    os_write(fd, l->room, (size_t)(end - l->room));
    os_close(fd);
}

static void put_address(struct text *t, const void *p)
{
    text_put(t, "0x");
    text_hex(t, (uintptr_t)p);
}

void vmmalloc_log(enum vmmalloc_level level, const char *what, uint64_t number, const char *unit)
{
    struct line l;
    if (!vmmalloc_logs(level))
        return;
    line_begin(&l);
    text_put(&l.text, what);
    if (unit) {
        text_put(&l.text, " ");
        text_decimal(&l.text, number);
        text_put(&l.text, unit);
    }
    line_end(&l);
}

/* ---- operations ------------------------------------------------------------------------------ */

void vmmalloc_log_alloc(uint32_t entry, uint64_t bytes, uint64_t align, const void *p)
{
    struct line l;
    line_begin(&l);
    text_put(&l.text, error_entry_name(entry));
    text_put(&l.text, "(");
    text_decimal(&l.text, bytes);
    if (align) {
        text_put(&l.text, ", align ");
        text_decimal(&l.text, align);
    }
    text_put(&l.text, ") = ");
    put_address(&l.text, p);
    line_end(&l);
}

void vmmalloc_log_resize(uint32_t entry, const void *from, uint64_t bytes, const void *p)
{
    struct line l;
    line_begin(&l);
    text_put(&l.text, error_entry_name(entry));
    text_put(&l.text, "(");
    put_address(&l.text, from);
    text_put(&l.text, ", ");
    text_decimal(&l.text, bytes);
    text_put(&l.text, ") = ");
    put_address(&l.text, p);
    line_end(&l);
}

void vmmalloc_log_free(uint32_t entry, const void *p)
{
    struct line l;
    line_begin(&l);
    text_put(&l.text, error_entry_name(entry));
    text_put(&l.text, "(");
    put_address(&l.text, p);
    text_put(&l.text, ")");
    line_end(&l);
}

void vmmalloc_log_error(const struct error_record *e)
{
    struct line l;
    uint32_t kind = atomic_load_explicit(&e->kind, memory_order_relaxed);
    line_begin(&l);
    text_put(&l.text, "error: ");
    text_put(&l.text, error_title(kind));
    text_put(&l.text, ", ");
    text_put(&l.text, error_entry_name(e->entry));
    if (e->address) {
        text_put(&l.text, " of ");
        put_address(&l.text, (const void *)(uintptr_t)e->address);
    }
    if (e->bytes) {
        text_put(&l.text, ", ");
        text_decimal(&l.text, e->bytes);
        text_put(&l.text, " bytes");
    }
    line_end(&l);
}

/* ---- start and end --------------------------------------------------------------------------- */

/* The program may change its working directory. */
static int make_absolute(const char *file)
{
    struct text t = text_begin(out.name, sizeof out.name);
    if (file[0] && file[0] != '/') {
        long n = os_working_directory(out.name, sizeof out.name);
        if (n <= 0)
            return n ? (int)n : -ENOENT;
        t.at += n - 1;
        text_put(&t, "/");
    }
    text_put(&t, file);
    text_end(&t);
    return text_length(file) + 1 < sizeof out.name ? 0 : -ENAMETOOLONG;
}

static void complete_path(void)
{
    struct text t = text_begin(out.path, sizeof out.path);
    text_put(&t, out.name);
    if (out.has_pid)
        text_decimal(&t, os_pid());
    text_end(&t);
}

int vmmalloc_log_start(uint32_t level, const char *file, bool wants_statistics)
{
    struct stat st;
    size_t n = text_length(file);
    if (!level && !wants_statistics)
        return 0;
    if (os_stat_fd(2, &st) == 0) {
        out.device = st.st_dev;
        out.inode = st.st_ino;
    }
    int err = make_absolute(file);
    if (err)
        return err;
    out.has_pid = n && file[n - 1] == '-';
    complete_path();
    if (out.path[0]) {
        int fd = open_log();
        if (fd < 0)
            return fd;
        os_close(fd);
    }
    out.wants_statistics = wants_statistics || level >= VMMALLOC_CALLS;
    vmmalloc_level = level;
    return 0;
}

void vmmalloc_log_after_fork(void)
{
    complete_path();
    vmmalloc_log(VMMALLOC_OPERATIONS, "forked by process", os_ppid(), "");
}

static void put_statistic(const char *what, uint64_t n)
{
    struct line l;
    line_begin(&l);
    text_put(&l.text, "statistics: ");
    text_put(&l.text, what);
    text_put(&l.text, " ");
    text_decimal(&l.text, n);
    line_end(&l);
}

void vmmalloc_log_end(void)
{
    static _Atomic uint32_t ended; /* the pid that has written them */
    if (!out.wants_statistics || atomic_exchange(&ended, os_pid()) == os_pid())
        return;
    struct track_totals sum = track_totals();
    put_statistic("bytes of the pool", rt.drop_in.heap_bytes);
    put_statistic("bytes of the pool in use", sum.heap_bytes - sum.free_bytes);
    put_statistic("allocations", sum.allocs);
    put_statistic("frees", sum.frees);
    put_statistic("live blocks", sum.live_blocks);
    put_statistic("bytes of live blocks", sum.live_bytes);
    put_statistic("failed allocations", errors_no_memory());
}
