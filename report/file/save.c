/*
 * save.c - save a run that is in a memfd as a sparse file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "view.h"

#define COPY_BYTES (256u << 10)

struct copier {
    int from;
    int to;
    uint64_t left;  /* bytes that may still be written */
    uint64_t limit; /* RLIMIT_FSIZE: a write beyond it would raise SIGXFSZ instead of failing */
    uint64_t end;   /* end of the written data */
    char *buffer;
};

static int copy_range(struct copier *c, uint64_t at, uint64_t stop)
{
    while (at < stop) {
        size_t want = stop - at < COPY_BYTES ? (size_t)(stop - at) : COPY_BYTES;
        ssize_t n = pread(c->from, c->buffer, want, (off_t)at);
        int err;
        if (n < 0)
            return -errno;
        if (n == 0)
            return 0;
        if ((uint64_t)n > c->left || at + (uint64_t)n > c->limit)
            return -EFBIG;
        c->left -= (uint64_t)n;
        err = write_at(c->to, c->buffer, (size_t)n, at);
        if (err)
            return err;
        at += (uint64_t)n;
        c->end = at;
    }
    return 0;
}

static int copy_data(struct copier *c, uint64_t from, uint64_t end)
{
    off_t at = (off_t)from, hole;

    while ((at = lseek(c->from, at, SEEK_DATA)) >= 0 && (uint64_t)at < end) {
        int err;
        hole = lseek(c->from, at, SEEK_HOLE);
        if (hole < 0 || (uint64_t)hole > end)
            hole = (off_t)end;
        err = copy_range(c, (uint64_t)at, (uint64_t)hole);
        if (err)
            return err;
        at = hole;
    }
    return 0;
}

/* The bytes of data in a part of a file. */
static uint64_t data_bytes(const struct view *v, uint64_t at, uint64_t end)
{
    uint64_t sum = 0;

    for (uint64_t stop; at < end && view_next_data(v, &at, &stop, end); at = stop)
        sum += stop - at;
    return sum;
}

static uint64_t heaps_end(const struct view *v)
{
    uint32_t heaps = v->run->heap_count ? v->run->heap_count : 1;

    return v->run->heap_offset + heaps * v->run->heap_bytes;
}

/* Heaps that are too large, or for which there is no room, are left out: the findings do not need them. */
static void copy_heap(struct copier *c, const struct view *v)
{
    uint64_t at = v->run->heap_offset, end = heaps_end(v), without = c->end;
    uint64_t bytes = data_bytes(v, at, end);

    if (bytes > REPORT_HEAP_KEPT_BYTES || bytes > c->left || end > c->limit)
        return;
    if (copy_data(c, at, end) != 0 && ftruncate(c->to, (off_t)without) == 0)
        c->end = without;
}

static uint64_t file_limit(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur
                                                                                   : UINT64_MAX;
}

/* Mark the copy: its process ids are no longer valid, and `kept_bytes` is its length. */
static int mark_finished(int fd, uint64_t kept_bytes)
{
    uint32_t saved = REPORTED_SAVED;
    int err = write_at(fd, &kept_bytes, sizeof kept_bytes, offsetof(struct run_header, kept_bytes));
    return err ? err : write_at(fd, &saved, sizeof saved, offsetof(struct run_header, reported));
}

enum heaps_saved { HEAPS_NONE, HEAPS_IF_ROOM, HEAPS_ALL };

/* Copy the metadata, and the heaps that are requested. A hole after the last data is not stored. */
static int save_to(int to, const struct view *v, enum heaps_saved heaps, uint64_t max_bytes)
{
    struct copier c = {.from = v->fd,
                       .to = to,
                       .left = max_bytes,
                       .limit = file_limit(),
                       .buffer = malloc(COPY_BYTES)};
    int err = c.buffer ? 0 : -ENOMEM;

    if (!err)
        err = copy_data(&c, 0, v->run->area_bytes * v->run->area_count);
    if (!err && heaps == HEAPS_IF_ROOM)
        copy_heap(&c, v);
    else if (!err && heaps == HEAPS_ALL)
        err = copy_data(&c, v->run->heap_offset, heaps_end(v));
    if (!err)
        err = mark_finished(to, c.end);
    free(c.buffer);
    return err;
}

/* The heap has the program's data, which others than its user may read. */
int view_save(const struct view *v, int to, uint64_t max_bytes)
{
    return save_to(to, v, HEAPS_NONE, max_bytes);
}

/* Never replaces a file: a process in another pid namespace may have made one of this name. */
static int give_name(const char *beside, const char *path)
{
    struct stat st;

    if (link(beside, path) == 0) {
        unlink(beside);
        return 0;
    }
    if (errno == EEXIST)
        return -EEXIST;
    if (lstat(path, &st) == 0) /* a file system without links */
        return -EEXIST;
    return rename(beside, path) < 0 ? -errno : 0;
}

typedef int name_giver(const char *beside, const char *path);

static int rename_over(const char *beside, const char *path)
{
    return rename(beside, path) < 0 ? -errno : 0;
}

/* Write the copy beside `path`, with mode 0600; give it the name when it is whole. */
static int save_beside(const struct view *v, const char *path, enum heaps_saved heaps,
                       uint64_t max_bytes, name_giver *give)
{
    char *beside;
    int to, err;

    if (asprintf(&beside, "%s.XXXXXX", path) < 0)
        beside = xalloc(NULL);
    to = mkostemp(beside, O_CLOEXEC);
    err = to < 0 ? -errno : save_to(to, v, heaps, max_bytes);
    if (to >= 0 && close(to) < 0 && !err)
        err = -errno;
    if (!err)
        err = give(beside, path);
    if (err && to >= 0)
        unlink(beside);
    free(beside);
    return err;
}

int report_save(int fd, const char *path, uint64_t max_bytes)
{
    char why[REPORT_ERROR_BYTES];
    struct view v;
    struct stat st;
    int err = view_open_fd(&v, fd, path, why);

    if (err)
        return err;
    /* before much is copied; give_name decides */
    err = lstat(path, &st) == 0 ? -EEXIST
                                : save_beside(&v, path, HEAPS_IF_ROOM, max_bytes, give_name);
    view_close(&v);
    return err;
}

int report_save_whole_check(const char *path)
{
    struct stat st;

    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
    return report_write_check(path);
}

int report_save_whole(int fd, const char *path)
{
    char why[REPORT_ERROR_BYTES];
    struct view v;
    int err = report_save_whole_check(path);

    if (!err)
        err = view_open_fd(&v, fd, path, why);
    if (err)
        return err;
    err = save_beside(&v, path, HEAPS_ALL, UINT64_MAX, rename_over);
    view_close(&v);
    return err;
}
