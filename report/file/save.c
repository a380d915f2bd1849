/*
 * save.c - save a run that is in a memfd as a sparse file.
 *
 * A run with heap=file has its heaps behind room for 16,384 areas, 64 GiB from the beginning, each with room
 * for --pool-size.  Programs that do not know holes (cp to some file systems, tar, scp) would write and read
 * all of that.  So a copy has the heaps that have data, one after the other, behind the areas that are used.
 * Its header describes this placement: fewer areas, and fewer, smaller heaps.  Readers need to know nothing
 * about it.
 *
 *   | areas 0 .. n-1 | heap of the 1st process that has data | heap of the 2nd | ...
 *
 * All heaps have the size of the largest.  Holes inside a heap stay holes.
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
    uint64_t back;  /* data is written so many bytes before its offset in `from` */
    char *buffer;
};

/* Where the heaps are in the copy. */
struct placement {
    uint64_t offset;
    uint64_t bytes; /* of each */
    uint64_t data;  /* in all */
    uint32_t areas, count;
    uint32_t number[RTC_HEAPS_MAX]; /* in the run */
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
        if ((uint64_t)n > c->left || at - c->back + (uint64_t)n > c->limit)
            return -EFBIG;
        c->left -= (uint64_t)n;
        err = write_at(c->to, c->buffer, (size_t)n, at - c->back);
        if (err)
            return err;
        at += (uint64_t)n;
        c->end = at - c->back;
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

/* Add the heap with this number, if it has data.  Its end is the end of a unit. */
static void place_heap(const struct view *v, uint32_t number, struct placement *p)
{
    uint64_t start = v->run->heap_offset + number * v->run->heap_bytes, at = start, stop;
    uint64_t end = start + v->run->heap_bytes, last = start;

    for (; at < end && view_next_data(v, &at, &stop, end); at = stop) {
        p->data += stop - at;
        last = stop;
    }
    if (last == start)
        return;
    last = align_up(last - start, 1u << RTC_UNIT_SHIFT);
    p->bytes = last > p->bytes ? last : p->bytes;
    p->number[p->count++] = number;
}

static struct placement place_heaps(const struct view *v)
{
    uint32_t heaps = v->run->heap_count ? v->run->heap_count : 1;
    uint32_t areas = view_area_end(v);
    struct placement p = {.areas = areas > 0 ? areas : 1}; /* area 0 is always used */

    p.offset = v->run->area_bytes * p.areas;
    for (uint32_t i = 0; i < heaps && i < RTC_HEAPS_MAX; i++)
        place_heap(v, i, &p);
    return p;
}

static int copy_heap(struct copier *c, const struct view *v, const struct placement *p, uint32_t i)
{
    uint64_t from = v->run->heap_offset + p->number[i] * v->run->heap_bytes;

    c->back = from - (p->offset + i * p->bytes);
    return copy_data(c, from, from + p->bytes);
}

#define FIELD(name) offsetof(struct run_header, name)

/* Describe the placement in the copy's header. */
static int write_placement(const struct copier *c, const struct view *v, const struct placement *p)
{
    uint64_t file_bytes = p->offset + p->count * p->bytes, owners[RTC_HEAPS_MAX] = {0};
    bool has_table = v->run->heap_count > 0;
    int err = write_at(c->to, &p->areas, sizeof p->areas, FIELD(area_count));

    if (!err)
        err = write_at(c->to, &p->offset, sizeof p->offset, FIELD(heap_offset));
    if (!err)
        err = write_at(c->to, &p->bytes, sizeof p->bytes, FIELD(heap_bytes));
    if (!err)
        err = write_at(c->to, &file_bytes, sizeof file_bytes, FIELD(file_bytes));
    if (err || !has_table)
        return err;
    for (uint32_t i = 0; i < p->count; i++)
        owners[i] =
            atomic_load_explicit(&run_heap_slots(v->run)[p->number[i]].owner, memory_order_relaxed);
    err = write_at(c->to, &p->count, sizeof p->count, FIELD(heap_count));
    return err ? err : write_at(c->to, owners, sizeof owners, v->run->heap_table_offset);
}

/* Copy all heaps with data.  On failure the copy is as before. */
static int copy_heaps(struct copier *c, const struct view *v, const struct placement *p)
{
    uint64_t without = c->end;
    int err = 0;

    for (uint32_t i = 0; !err && i < p->count; i++)
        err = copy_heap(c, v, p, i);
    c->back = 0;
    if (!err && p->count > 0)
        err = write_placement(c, v, p);
    if (err && ftruncate(c->to, (off_t)without) == 0)
        c->end = without;
    return err;
}

/* Heaps that are too large, or for which there is no room, are left out: the findings do not need them. */
static bool fit(const struct copier *c, const struct placement *p)
{
    return p->data <= REPORT_HEAP_KEPT_BYTES && p->data <= c->left &&
           p->offset + p->count * p->bytes <= c->limit;
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
    struct placement placed = {0};
    int err = c.buffer ? 0 : -ENOMEM;

    if (heaps != HEAPS_NONE && v->run->heap_bytes > 0)
        placed = place_heaps(v);
    /* areas that are claimed now would be where the heaps are */
    if (!err)
        err = copy_data(&c, 0,
                        v->run->area_bytes * (placed.count ? placed.areas : v->run->area_count));
    if (!err && heaps == HEAPS_ALL)
        err = copy_heaps(&c, v, &placed);
    else if (!err && heaps == HEAPS_IF_ROOM && fit(&c, &placed))
        copy_heaps(&c, v, &placed);
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
