/*
 * run_file.c - the mapping of the run file, inherited from a launcher or created by hand.
 *
 * The whole file is reserved at once as shared PROT_NONE memory.  So a forked child can claim an
 * area without open, path or permission.  Only the tables in area 0 are made accessible here.  No
 * descriptor is kept: the program could close it, or depend on its number being free.
 *
 * Under a limit on the address space only the front of the file is mapped, an eighth of the limit:
 * fewer areas are available, nothing else changes.
 */
#include "heap.h"
#include "runfile_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

#define WINDOW_SHARE 8u /* part of a limited address space: 1/8 */
#define NAME_ROOM 512u

static struct {
    char *base;
    uint64_t window_bytes;
    uint64_t dev, ino;
    bool in_memory; /* not on a disk */
    uint32_t maker; /* by hand: pid of the first image */
    struct run_header *header;
    struct run_header first; /* the header as it was at start: for cut.c */
    char path[NAME_ROOM];    /* by hand */
    char opened[NAME_ROOM];  /* with a launcher: by which every process opens the file */
    char aside[NAME_ROOM];   /* its path while an exec is under way */
    const char *folder; /* without a launcher: the folder of the run file; NULL: it is a memfd */
} run;

struct run_header *run_header(void)
{
    return run.header;
}

const char *run_path(void)
{
    return run.path;
}

struct area_entry *run_areas(void)
{
    return (struct area_entry *)(void *)(run.base + run.header->area_table_offset);
}

struct lease *run_leases(void)
{
    return (struct lease *)(void *)(run.base + run.header->lease_table_offset);
}

uint32_t run_area_limit(void)
{
    return (uint32_t)(run.window_bytes / run.first.area_bytes);
}

char *run_area(uint32_t index)
{
    return index < run_area_limit() ? run.base + index * run.first.area_bytes : NULL;
}

const struct run_header *run_header_at_start(void)
{
    return &run.first;
}

char *run_window(uint64_t *bytes)
{
    *bytes = run.window_bytes;
    return run.base;
}

bool run_contains(const void *p)
{
    return (uintptr_t)p - (uintptr_t)run.base < run.window_bytes || heap_files_contain(p);
}

bool run_is_in_memory(void)
{
    return run.in_memory;
}

bool run_is_short(void)
{
    struct stat st;
    const char *path = run.path[0] ? run.path : run.opened;
    return run.header && path[0] && os_stat(path, &st) == 0 &&
           (uint64_t)st.st_size < run.first.file_bytes;
}

bool run_has_room(uint64_t bytes)
{
    const char *path = run.path[0] ? run.path : run.opened;
    uint64_t room = path[0] && !os_sandboxed() ? os_room_of(path) : UINT64_MAX;
    return bytes <= room;
}

void run_ring(void)
{
    if (!run.header)
        return;
    atomic_fetch_add_explicit(&run.header->doorbell, 1, memory_order_release);
    if (run.header->mode == RUN_BY_LAUNCHER && !os_sandboxed())
        os_wake(&run.header->doorbell, true);
}

/* ---- mapping --------------------------------------------------------------------------------- */

static uint64_t window_for(uint64_t bytes)
{
    uint64_t limit = os_limit(RLIMIT_AS);
    return limit != UINT64_MAX && bytes > limit / WINDOW_SHARE ? limit / WINDOW_SHARE : bytes;
}

static uint64_t table_bytes(const struct run_header *h)
{
    return align_up(run_tables_end(h), PAGE_BYTES);
}

/* Does this runtime support the file's header? */
static int check_header(const struct run_header *h, uint64_t file_bytes)
{
    if (h->magic != RTC_RUN_MAGIC || h->version_major != RTC_VERSION_MAJOR)
        return -EPROTO;
    uint64_t areas;
    if (!is_pow2(h->area_bytes) || h->area_count < 2 || h->area_count > RTC_AREA_COUNT_MAX ||
        h->lease_count != RTC_LEASE_COUNT || h->area_table_offset != RTC_AREA_TABLE_OFFSET ||
        h->lease_table_offset !=
            RTC_AREA_TABLE_OFFSET + (uint64_t)h->area_count * sizeof(struct area_entry) ||
        (h->unchecked_offset && h->unchecked_offset != run_leases_end(h)) ||
        table_bytes(h) > h->area_bytes || !checked_mul(h->area_count, h->area_bytes, &areas) ||
        areas > file_bytes)
        return -EBADMSG;
    return 0;
}

static int map_window(int fd, const struct run_header *h)
{
    uint64_t want = window_for(h->area_bytes * h->area_count);
    for (; want >= 2 * h->area_bytes; want /= 2) {
        uint64_t bytes = align_down(want, h->area_bytes);
        char *p = os_reserve_file(NULL, fd, bytes, 0);
        if (os_failed(p))
            continue;
        os_dont_dump(p, bytes);
        /* The tables' pages were populated when the file was created. */
        if (os_allow(p, table_bytes(h))) {
            os_unmap(p, bytes);
            return -ENOMEM;
        }
        run.base = p;
        run.window_bytes = bytes;
        return 0;
    }
    return -ENOMEM;
}

/* Map the run; closes the descriptor in all cases. */
static int map_run(int fd)
{
    struct run_header *first = &run.first;
    struct stat st;
    int err = os_stat_fd(fd, &st);
    if (!err)
        err = os_read(fd, first, sizeof *first) == (long)sizeof *first
                  ? check_header(first, (uint64_t)st.st_size)
                  : -EBADMSG;
    if (!err)
        err = map_window(fd, first);
    if (!err)
        heap_files_map(fd, first);
    run.in_memory = os_is_in_memory(fd);
    os_close(fd);
    run.dev = st.st_dev;
    run.ino = st.st_ino;
    if (!err)
        run.header = (struct run_header *)(void *)run.base;
    return err;
}

/* ---- inherited from a launcher --------------------------------------------------------------- */

struct handed {
    uint64_t fd; /* UINT64_MAX: none */
    uint64_t dev, ino;
    const char *path;
};

/* <fd>:<dev>:<ino>:<path>, fd may be -1 */
static bool parse_handed(const char *s, struct handed *out)
{
    if (text_starts(s, "-1")) {
        out->fd = UINT64_MAX;
        s += 2;
    } else if (!text_parse_decimal(&s, &out->fd)) {
        return false;
    }
    if (*s++ != ':' || !text_parse_decimal(&s, &out->dev) || *s++ != ':' ||
        !text_parse_decimal(&s, &out->ino) || *s++ != ':')
        return false;
    out->path = s;
    return true;
}

static bool is_the_run(int fd, const struct handed *h)
{
    struct stat st;
    return os_stat_fd(fd, &st) == 0 && st.st_dev == h->dev && st.st_ino == h->ino;
}

static int open_checked(const char *path, const struct handed *h)
{
    int fd = os_open(path, O_RDWR, 0);
    if (fd >= 0 && !is_the_run(fd, h)) {
        os_close(fd);
        return -ESTALE;
    }
    return fd;
}

static int open_handed(const char *env)
{
    struct handed h;
    if (!parse_handed(env, &h))
        return -EINVAL;
    struct text t = text_begin(run.opened, NAME_ROOM);
    text_put(&t, h.path);
    text_end(&t);
    if (h.fd <= INT_MAX && is_the_run((int)h.fd, &h))
        return (int)h.fd;
    return open_checked(h.path, &h);
}

int run_open(void)
{
    struct handed h = {.dev = run.dev, .ino = run.ino};
    const char *path = run.path[0] ? run.path : run.opened;
    return !run.header ? -ENOENT : !path[0] || os_sandboxed() ? -EACCES : open_checked(path, &h);
}

/* ---- created by hand ------------------------------------------------------------------------- */

static const char *variable(char *const *envp, const char *name)
{
    size_t n = text_length(name);
    for (; envp && *envp; envp++)
        if (text_starts(*envp, name) && (*envp)[n] == '=')
            return *envp + n + 1;
    return NULL;
}

/* dir/rtcheck.<exe>.<pid>.<n>.pool */
static void pool_name(char *out, const char *dir, const char *exe, uint64_t n)
{
    struct text t = text_begin(out, NAME_ROOM);
    text_put(&t, dir);
    text_put(&t, "/rtcheck.");
    text_put(&t, exe);
    text_put(&t, ".");
    text_decimal(&t, os_pid());
    text_put(&t, ".");
    text_decimal(&t, n);
    text_put(&t, ".pool");
    text_end(&t);
}

static const char *own_name(char room[256])
{
    long n = os_read_link("/proc/self/exe", room, 255);
    if (n <= 0)
        return "program";
    room[n] = '\0';
    char *base = room;
    for (char *p = room; *p; p++)
        if (*p == '/')
            base = p + 1;
    for (char *p = base; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f ||
            (unsigned char)*p == 0xe2) /* U+2028, U+202E and the like */
            *p = '_';
    return base;
}

/* dir/rtcheck.exec.<pid>.pool: the file of the image that this one replaced by exec */
static void aside_name(char *out, const char *dir)
{
    struct text t = text_begin(out, NAME_ROOM);
    text_put(&t, dir);
    text_put(&t, "/rtcheck.exec.");
    text_decimal(&t, os_pid());
    text_put(&t, ".pool");
    text_end(&t);
}

void run_step_aside(bool aside)
{
    /* The file is kept if other images have data in it. */
    if (!run.path[0] || !run.aside[0] || os_sandboxed() || os_pid() != run.maker ||
        (aside && atomic_load(&run.header->next_image) > 1))
        return;
    if (aside)
        os_rename(run.path, run.aside);
    else
        os_rename(run.aside, run.path);
}

static int create_in(const char *dir, const char *exe)
{
    if (!dir || dir[0] != '/')
        /* relative paths are refused: the program may change its directory */
        return dir && dir[0] ? -EINVAL : -ENOENT;
    aside_name(run.aside, dir);
    os_unlink(run.aside);
    run.maker = os_pid();
    int fd = -EEXIST;
    for (uint64_t n = 1; fd == -EEXIST && n < 1000; n++) {
        pool_name(run.path, dir, exe, n);
        fd = os_open(run.path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    }
    return fd;
}

/*
 * Write the header, and zeros for the tables: on a full file system a write fails, a page access is
 * fatal.
 */
static int write_front(int fd, const struct run_header *header)
{
    static const char zeros[PAGE_BYTES];
    if (os_write_at(fd, header, sizeof *header, 0) != (long)sizeof *header)
        return -ENOSPC;
    for (uint64_t at = sizeof *header, end = table_bytes(header); at < end;) {
        uint64_t n = end - at < sizeof zeros ? end - at : sizeof zeros;
        if (os_write_at(fd, zeros, n, at) != (long)n)
            return -ENOSPC;
        at += n;
    }
    return 0;
}

/* With fewer heaps if that is too large. */
static bool set_size(int fd, struct run_shape *shape, uint64_t file_limit)
{
    for (shape->heap_count = run_heap_count(shape->heap_bytes);; shape->heap_count /= 2) {
        if (run_file_bytes(shape) <= file_limit && os_truncate(fd, 0) == 0 &&
            os_truncate(fd, (int64_t)run_file_bytes(shape)) == 0)
            return true;
        if (shape->heap_count <= 1)
            return false;
    }
}

/* Set the file's size and write its header; if the size is refused, try with fewer areas. */
static int format_with(int fd, const struct run_request *request, uint64_t heap_bytes)
{
    static struct run_header header;
    static char host[64];
    os_host_name(host, sizeof host);
    /* growing beyond it raises SIGXFSZ */
    uint64_t file_limit = os_limit(RLIMIT_FSIZE);
    struct run_shape shape = {.area_bytes = RTC_AREA_BYTES,
                              .heap_bytes = heap_bytes,
                              .heap_count = run_heap_count(heap_bytes),
                              .start_ns = os_wall_clock_ns(),
                              .mode = RUN_BY_HAND,
                              .uid = os_uid(),
                              .host = host,
                              .options = request->options,
                              .folder = run.folder};
    for (shape.area_count = RTC_AREA_COUNT_MAX; shape.area_count >= 2; shape.area_count /= 2) {
        if (!set_size(fd, &shape, file_limit))
            continue;
        memset(&header, 0, sizeof header);
        int err = run_header_init(&header, &shape);
        if (!err)
            /* with fewer areas the table is shorter */
            err = write_front(fd, &header);
        if (err != -ENOSPC)
            return err;
    }
    return -EFBIG;
}

static int heap_size_error(const struct run_request *request)
{
    return request->heap_bytes < RTC_HEAP_BYTES_MIN   ? -EINVAL
           : request->heap_bytes > RTC_HEAP_BYTES_MAX ? -EFBIG
                                                      : 0;
}

/* heap=file: if the file has no room for the heap, it is private; the header holds the reason. */
static int format(int fd, const struct run_request *request)
{
    int heap_err = request->has_heap ? heap_size_error(request) : 0;
    if (request->has_heap && !heap_err) {
        int err = format_with(fd, request, align_up(request->heap_bytes, UNIT_BYTES));
        if (err != -EFBIG)
            return err;
        heap_err = err;
    }
    uint32_t reason = (uint32_t)-heap_err;
    int err = format_with(fd, request, 0);
    if (!err && reason &&
        os_write_at(fd, &reason, sizeof reason, offsetof(struct run_header, heap_error)) !=
            (long)sizeof reason)
        err = -ENOSPC;
    return err;
}

static int map_by_name(void)
{
    struct stat st;
    int fd = os_stat(run.path, &st) == 0 ? os_open(run.path, O_RDWR, 0) : -ENOENT;
    return fd < 0 ? fd : map_run(fd);
}

/* Initialize the new file as a run, or remove it. */
static int make_of(int fd, const struct run_request *request)
{
    int err = format(fd, request);
    os_close(fd);
    if (!err)
        err = map_by_name();
    if (err)
        os_unlink(run.path);
    return err;
}

static int make_by_hand(const struct run_request *request)
{
    static char exe_room[256];
    const char *exe = own_name(exe_room);
    const char *dirs[] = {request->pool_dir,
                          variable(request->envp, "RTCHECK_POOL_DIR"),
                          variable(request->envp, "XDG_RUNTIME_DIR"),
                          "/dev/shm",
                          variable(request->envp, "TMPDIR"),
                          "/tmp"};
    /* wanted_err: of the directory that the option or RTCHECK_POOL_DIR names */
    int err = -ENOENT, wanted_err = 0;
    for (size_t i = 0; i < countof(dirs); i++) {
        run.folder = dirs[i];
        int fd = create_in(dirs[i], exe);
        err = fd < 0 ? fd : make_of(fd, request);
        if (!err) {
            run.header->pool_dir_error = (uint32_t)-wanted_err;
            return 0;
        }
        if (i < 2 && dirs[i] && dirs[i][0] && !wanted_err)
            wanted_err = err;
    }
    run.path[0] = '\0';
    return err;
}

static int make_unnamed(const struct run_request *request)
{
    int fd = os_memory_file("rtcheck");
    int err = fd < 0 ? fd : format_with(fd, request, 0);
    if (err && fd >= 0)
        os_close(fd);
    return err ? err : map_run(fd);
}

int run_start(const struct run_request *request)
{
    if (request->unnamed)
        return os_has(OS_RUN_FILE) ? make_unnamed(request) : -ENOTSUP;
    if (!request->env)
        return os_has(OS_RUN_FILE) ? make_by_hand(request) : -ENOTSUP;
    int fd = open_handed(request->env);
    if (fd >= 0 && !os_has(OS_RUN_FILE)) {
        os_close(fd); /* the program must not see it */
        return -ENOTSUP;
    }
    return fd < 0 ? fd : map_run(fd);
}
