/*
 * view.c - verified, private copies of a run file.
 *
 * A run file is a terabyte of hole with some data. Reading a hole through a mapping would allocate
 * it, so nothing here maps the file. The head (header and tables) and each requested area are read
 * with SEEK_DATA and pread into anonymous memory. The writer may still run or be hostile, but it
 * cannot change a copy after verify.c has checked it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "view.h"

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Read the available bytes; the remaining bytes of `to` stay unchanged (zero). Returns -errno. */
static int read_fully(int fd, char *to, uint64_t bytes, uint64_t offset)
{
    while (bytes > 0) {
        ssize_t n = pread(fd, to, bytes, (off_t)offset);
        if (n == 0)
            return 0;
        if (n < 0) {
            if (errno == EINTR)
                continue;
            return -errno;
        }
        to += n;
        offset += (uint64_t)n;
        bytes -= (uint64_t)n;
    }
    return 0;
}

/* Find the next range of data at or after *start, before `end`. false: there is none. */
static bool next_data(int fd, uint64_t *start, uint64_t *stop, uint64_t end)
{
    off_t data = lseek(fd, (off_t)*start, SEEK_DATA);
    off_t hole;

    *stop = end;
    if (data < 0)
        return errno != ENXIO; /* the file system does not support holes: all bytes are data */
    if ((uint64_t)data >= end)
        return false;
    *start = (uint64_t)data;
    hole = lseek(fd, data, SEEK_HOLE);
    if (hole > data && (uint64_t)hole < end)
        *stop = (uint64_t)hole;
    return true;
}

static int read_sparse(int fd, char *to, uint64_t offset, uint64_t bytes)
{
    uint64_t at = offset, stop, end = offset + bytes;

    while (at < end && next_data(fd, &at, &stop, end)) {
        int err = read_fully(fd, to + (at - offset), stop - at, at);
        if (err)
            return err;
        at = stop;
    }
    return 0;
}

bool view_next_data(const struct view *v, uint64_t *start, uint64_t *stop, uint64_t end)
{
    return next_data(v->fd, start, stop, end);
}

int view_read(const struct view *v, uint64_t offset, void *to, size_t bytes)
{
    memset(to, 0, bytes);
    return read_fully(v->fd, to, bytes, offset);
}

static void *anonymous(uint64_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int refuse(char err[REPORT_ERROR_BYTES], int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int refuse(char err[REPORT_ERROR_BYTES], int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(err, REPORT_ERROR_BYTES, format, args);
    va_end(args);
    return code;
}

static int read_head(const struct view *v, struct run_header *to)
{
    uint64_t bytes = v->stored_bytes < RTC_RUN_HEAD_BYTES ? v->stored_bytes : RTC_RUN_HEAD_BYTES;
    return read_fully(v->fd, (char *)to, bytes, 0);
}

/*
 * The size of the file including the tail of zeros that a kept copy does not store. A copy with
 * fewer bytes than were stored has been truncated later, which verify.c detects.
 */
static uint64_t bytes_with_hole(const struct view *v)
{
    const struct run_header *run = v->run;
    bool is_kept = atomic_load_explicit(&run->reported, memory_order_relaxed) == REPORTED_SAVED &&
                   run->kept_bytes != 0 && run->kept_bytes <= v->stored_bytes;

    return is_kept && run->file_bytes > v->stored_bytes ? run->file_bytes : v->stored_bytes;
}

static int check_head(struct view *v, char err[REPORT_ERROR_BYTES])
{
    struct verify_error wrong;
    int code = read_head(v, v->run);

    if (code)
        return refuse(err, code, "%s cannot be read: %s", v->name, strerror(-code));
    if (v->file_bytes < sizeof *v->run || v->run->magic != RTC_RUN_MAGIC)
        return refuse(err, -EBADMSG, "%s is not a run file", v->name);
    if (v->run->version_major != RTC_VERSION_MAJOR)
        return refuse(err, -EPROTO, "%s is a run file of version %u, this rtcheck reads version %u",
                      v->name, v->run->version_major, RTC_VERSION_MAJOR);
    v->file_bytes = bytes_with_hole(v);
    if (!verify_run(v->run, v->file_bytes, &wrong))
        return refuse(err, -EBADMSG, "%s is damaged: %s at offset 0x%llx", v->name, wrong.what,
                      (unsigned long long)wrong.offset);
    v->finished = atomic_load_explicit(&v->run->reported, memory_order_relaxed) == REPORTED_SAVED;
    return 0;
}

static int view_begin(struct view *v, const struct stat *st, char err[REPORT_ERROR_BYTES])
{
    int code;

    v->stored_bytes = v->file_bytes = (uint64_t)st->st_size;
    v->run = anonymous(RTC_RUN_HEAD_BYTES);
    v->spare = anonymous(RTC_RUN_HEAD_BYTES);
    if (!v->run || !v->spare)
        code = refuse(err, -ENOMEM, "no memory to read %s", v->name);
    else
        code = check_head(v, err);
    if (code)
        view_close(v);
    return code;
}

/*
 * Is the reader allowed to use a file of this owner? Root may use all files, but is restricted in
 * the files it opens for symbols.
 */
static bool owner_is_trusted(struct view *v, const struct stat *st)
{
    v->owner = st->st_uid;
    v->foreign = st->st_uid != geteuid();
    return !v->foreign || geteuid() == 0;
}

int view_open(struct view *v, const char *path, char err[REPORT_ERROR_BYTES])
{
    struct stat st;
    int code;

    *v = (struct view){.fd = -1, .owns_fd = true, .name = xalloc(strdup(path))};
    /* NONBLOCK: opening must not block, whatever the type of the file */
    v->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (v->fd < 0 || fstat(v->fd, &st) < 0)
        code = refuse(err, -errno, "%s cannot be opened: %s", path, strerror(errno));
    else if (!S_ISREG(st.st_mode))
        code = refuse(err, -EBADMSG, "%s is not a run file", path);
    else if (!owner_is_trusted(v, &st))
        code = refuse(err, -EACCES, "%s belongs to user %u, not to you", path, st.st_uid);
    else
        return view_begin(v, &st, err);
    view_close(v);
    return code;
}

int view_open_fd(struct view *v, int fd, const char *name, char err[REPORT_ERROR_BYTES])
{
    struct stat st;

    *v = (struct view){.fd = fd, .name = xalloc(strdup(name))};
    if (fstat(fd, &st) == 0)
        return view_begin(v, &st, err);
    int code = refuse(err, -errno, "%s cannot be read: %s", name, strerror(errno));
    view_close(v);
    return code;
}

void view_close(struct view *v)
{
    if (v->run)
        munmap(v->run, RTC_RUN_HEAD_BYTES);
    if (v->spare)
        munmap(v->spare, RTC_RUN_HEAD_BYTES);
    if (v->owns_fd && v->fd >= 0)
        close(v->fd);
    free(v->name);
    *v = (struct view){.fd = -1};
}

static bool same_geometry(const struct run_header *a, const struct run_header *b)
{
    return a->area_bytes == b->area_bytes && a->area_count == b->area_count &&
           a->lease_count == b->lease_count && a->area_table_offset == b->area_table_offset &&
           a->lease_table_offset == b->lease_table_offset && a->heap_offset == b->heap_offset;
}

int view_refresh(struct view *v)
{
    struct verify_error wrong;
    struct run_header *fresh = v->spare;
    struct stat st;

    if (fstat(v->fd, &st) == 0 && (uint64_t)st.st_size < v->stored_bytes)
        return -ESTALE; /* missing bytes would look like unused areas */
    int code = read_head(v, fresh);

    if (code)
        return code;
    if (!verify_run(fresh, v->file_bytes, &wrong) || !same_geometry(fresh, v->run))
        return -EBADMSG;
    v->spare = v->run;
    v->run = fresh;
    return 0;
}

/* ---- areas ----------------------------------------------------------------------------------- */

const struct area_entry *view_area_entry(const struct view *v, uint32_t area)
{
    const char *table = (const char *)v->run + v->run->area_table_offset;
    return (const struct area_entry *)(const void *)table + area;
}

const struct lease *view_lease(const struct view *v, uint32_t index)
{
    const char *table = (const char *)v->run + v->run->lease_table_offset;
    return (const struct lease *)(const void *)table + index;
}

uint32_t view_area_end(const struct view *v)
{
    uint32_t next = atomic_load_explicit(&v->run->next_area, memory_order_relaxed);
    return next < v->run->area_count ? next : v->run->area_count;
}

int view_read_area(const struct view *v, uint32_t area, struct area_copy *out)
{
    uint64_t offset = area_offset(v->run, area);
    struct area_head head;
    struct area_copy copy;
    int err = view_read(v, offset, &head, sizeof head);

    if (err)
        return err;
    uint64_t used = atomic_load_explicit(&head.used_bytes, memory_order_relaxed);
    if (used > v->run->area_bytes)
        used = v->run->area_bytes; /* verify.c reports it */
    copy.bytes =
        align_up(used > RTC_AREA_HEAD_BYTES ? used : RTC_AREA_HEAD_BYTES, RTC_AREA_HEAD_BYTES);
    copy.at = anonymous(copy.bytes);
    if (!copy.at)
        return -ENOMEM;
    err = read_sparse(v->fd, copy.at, offset, copy.bytes);
    if (err) {
        area_copy_drop(&copy);
        return err;
    }
    /*
     * A running writer may have appended: use the head read before the segments, which counts only
     * complete ones.
     */
    memcpy(copy.at, &head, sizeof head);
    *out = copy;
    return 0;
}

void area_copy_drop(struct area_copy *copy)
{
    munmap(copy->at, copy->bytes);
    copy->at = NULL;
}

bool view_verify_area(const struct view *v, uint32_t area, const struct area_copy *copy,
                      struct verify_error *wrong)
{
    uint64_t owner = atomic_load_explicit(&view_area_entry(v, area)->owner, memory_order_relaxed);
    uint32_t whose = copy_head(copy)->image;

    if (!verify_area(copy->at, copy->bytes, v->run, area, wrong))
        return false;
    if (whose == 0 || whose == area_owner_image(owner)) /* 0: claimed, not initialized */
        return true;
    *wrong = (struct verify_error){"area of another image", area_offset(v->run, area)};
    return false;
}

const struct image_header *copy_image(const struct area_copy *c)
{
    const struct image_header *h = (const void *)(c->at + RTC_AREA_HEAD_BYTES);

    if (copy_head(c)->magic != RTC_AREA_MAGIC || copy_head(c)->ordinal != 0)
        return NULL;
    if (!range_inside(RTC_AREA_HEAD_BYTES, sizeof *h, c->bytes))
        return NULL;
    return h->magic == RTC_IMAGE_MAGIC ? h : NULL;
}

const struct segment *copy_next_segment(const struct area_copy *c, uint64_t *off)
{
    const struct area_head *head = copy_head(c);

    if (*off == 0) {
        const struct image_header *h = copy_image(c);
        if (head->magic != RTC_AREA_MAGIC || (head->ordinal == 0 && !h))
            return NULL;
        *off = RTC_AREA_HEAD_BYTES + (uint64_t)(h ? h->header_bytes : 0);
    } else {
        *off += ((const struct segment *)(const void *)(c->at + *off))->bytes;
    }
    if (*off >= atomic_load_explicit(&head->used_bytes, memory_order_relaxed))
        return NULL;
    return (const void *)(c->at + *off);
}
