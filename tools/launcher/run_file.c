/*
 * run_file.c - creation of the run file by the launcher, before exec.
 *
 * A memfd is preferred: it has no name, no quota and no write-back.  Without memfds the file is in
 * a run directory and is unlinked at once.  Without /proc, by which later images open it, it keeps
 * its name until the end.  The file gets its full size here: growing a file beyond RLIMIT_FSIZE
 * raises SIGXFSZ, and the program must never receive that because of rtcheck.  Writing within the
 * size does not raise it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "shadow.h"
#include "launcher.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u /* Linux 6.3 */
#endif

#define AREA_BYTES_MIN (1ull << 20)
#define SPACE_SHARE 128       /* an area is at most 1/128 of a limited address space */
#define AREA_COUNT_COMFORT 64 /* with fewer areas, halve their size rather than their number */
#define AREA_COUNT_MIN 4
#define HEADER_MAP_BYTES RTC_AREA_TABLE_OFFSET
#define SMALL_FILE_BYTES (4ull << 30) /* a smaller file causes a warning */

static bool has_proc(void)
{
    return !test_without("proc") && access("/proc/self/fd", X_OK) == 0;
}

/* ---- size ------------------------------------------------------------------------------------ */

/*
 * With a limit on the address space the program maps only the front of the file.  Smaller areas
 * mean that the front has more of them.
 */
static uint64_t area_bytes_wanted(void)
{
    struct rlimit space;
    uint64_t bytes = RTC_AREA_BYTES;
    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
        while (bytes > AREA_BYTES_MIN && bytes > space.rlim_cur / SPACE_SHARE)
            bytes /= 2;
    return bytes;
}

static bool step_down(struct run_shape *shape)
{
    if (shape->heap_count > 1) {
        shape->heap_count /= 2;
        return true;
    }
    bool can_shrink = shape->area_bytes > AREA_BYTES_MIN;
    if (shape->area_count > (can_shrink ? AREA_COUNT_COMFORT : AREA_COUNT_MIN))
        shape->area_count /= 2;
    else if (can_shrink)
        shape->area_bytes /= 2;
    else
        return false;
    return true;
}

/*
 * Raise the soft limit of file sizes to the hard limit; *was is to be restored.  Return the limit.
 */
static uint64_t raise_file_limit(struct rlimit *was)
{
    if (getrlimit(RLIMIT_FSIZE, was) != 0) {
        *was = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
        return UINT64_MAX;
    }
    struct rlimit raised = {was->rlim_max, was->rlim_max};
    if (setrlimit(RLIMIT_FSIZE, &raised) != 0)
        raised.rlim_cur = was->rlim_cur;
    return raised.rlim_cur == RLIM_INFINITY ? UINT64_MAX : raised.rlim_cur;
}

static int write_at(int fd, const void *from, size_t bytes, uint64_t offset)
{
    ssize_t n = pwrite(fd, from, bytes, (off_t)offset);
    return n == (ssize_t)bytes ? 0 : n < 0 ? -errno : -ENOSPC;
}

/*
 * Write zeros for the tables: on a full file system this fails, while a later store would raise
 * SIGBUS.
 */
static int write_tables(int fd, const struct run_header *header)
{
    static const char zeros[32768];
    int bad = 0;
    for (uint64_t at = sizeof *header, end = run_tables_end(header); !bad && at < end;
         at += sizeof zeros)
        bad = write_at(fd, zeros, end - at < sizeof zeros ? end - at : sizeof zeros, at);
    return bad;
}

static int write_front(int fd, const struct run_shape *shape)
{
    static struct run_header header; /* 8 KiB, used once */
    memset(&header, 0, sizeof header);
    int bad = run_header_init(&header, shape);
    if (!bad)
        bad = write_at(fd, &header, sizeof header, 0);
    return bad ? bad : write_tables(fd, &header);
}

static int size_within(int fd, struct run_shape *shape, uint64_t limit)
{
    int bad = -EFBIG;
    do {
        uint64_t bytes = run_file_bytes(shape);
        if (bytes > limit || bytes > RTC_FILE_BYTES_MAX)
            continue;
        bad = ftruncate(fd, 0) == 0 && ftruncate(fd, (off_t)bytes) == 0 ? write_front(fd, shape)
                                                                        : -errno;
    } while (bad && step_down(shape));
    return bad;
}

/*
 * Give the file the largest shape that the limit and the file system allow, and write its header
 * and tables.  Room for records takes precedence over a heap in the file.
 */
static int size_and_head(int fd, struct run_shape *shape)
{
    struct run_shape without_heap = *shape;
    without_heap.heap_bytes = without_heap.heap_count = 0;
    struct rlimit was;
    uint64_t limit = raise_file_limit(&was);
    int bad = size_within(fd, shape, limit);
    if (bad == -EFBIG && shape->heap_bytes > 0) {
        *shape = without_heap;
        bad = size_within(fd, shape, limit);
    }
    setrlimit(RLIMIT_FSIZE, &was);
    return bad;
}

/* ---- place ----------------------------------------------------------------------------------- */

static int open_memfd(void)
{
    if (test_without("memfd"))
        return -ENOSYS;
    int fd = memfd_create("rtcheck", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL) /* a kernel without this seal */
        fd = memfd_create("rtcheck", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    fchmod(fd, 0600);
    return fd;
}

/*
 * Other processes can open the file through the launcher's /proc/PID/fd.  From here on no process
 * can change its size, or add a seal that would keep children from mapping it.  Holes can still be
 * punched.  Kernels without seals and files in directories leave the size unprotected: see guard.c.
 */
static void seal(int fd)
{
    (void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
}

/*
 * Open a file in `dir`.  If `named`, its name stays, in f->path; otherwise maps still has it, by which other
 * processes recognise the file (tools/find_process.c).  A file of O_TMPFILE never had a name.
 */
static int open_in_dir(struct run_file *f, const char *dir, bool named)
{
    for (unsigned n = 0; n < 100; n++) {
        int len =
            snprintf(f->path, sizeof f->path, "%s/rtcheck.launcher.%d.%u.pool", dir, getpid(), n);
        if (len < 0 || (size_t)len >= sizeof f->path)
            return -ENAMETOOLONG;
        int fd = open(f->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0 && !named)
            unlink(f->path);
        if (fd >= 0 || errno != EEXIST)
            return fd >= 0 ? fd : -errno;
    }
    return -EEXIST;
}

static int try_dir(struct run_file *f, const char *dir, struct run_shape *shape)
{
    struct run_shape tried = *shape;
    tried.folder = dir;
    int fd = dir && dir[0] == '/' ? open_in_dir(f, dir, f->is_named) : -ENOENT;
    if (fd < 0)
        return fd;
    int bad = size_and_head(fd, &tried);
    if (bad) {
        close(fd);
        if (f->is_named)
            unlink(f->path);
        return bad;
    }
    *shape = tried;
    return fd;
}

/* Use the first of the run directories in which the file can be created. */
static int make_in_some_dir(struct run_file *f, const struct options *o, struct run_shape *shape,
                            struct warnings *warnings)
{
    const char *const dirs[] = {
        option_text(o, "pool-dir"), getenv("RTCHECK_POOL_DIR"),
        getenv("XDG_RUNTIME_DIR"),  "/dev/shm",
        getenv("TMPDIR"),           "/tmp",
    };
    int worst = -ENOENT;
    for (unsigned i = 0; i < countof(dirs); i++) {
        int fd = try_dir(f, dirs[i], shape);
        struct statfs fs;
        if (fd >= 0) {
            if (fstatfs(fd, &fs) == 0 && fs.f_type != TMPFS_MAGIC)
                warnings_add(warnings, "the run file is on a disk, in %.80s: recording is slower",
                             dirs[i]);
            return fd;
        }
        if (fd != -ENOENT)
            worst = fd;
    }
    return worst;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static uint64_t file_heap_bytes(const struct options *o)
{
    return strcmp(option_text(o, "heap"), "file") == 0 ? option_size(o, "pool-size") : 0;
}

/* With --heap=file the heap is where the user wants it, and so is all of the file. */
static const char *folder_of_heap(const struct options *o)
{
    const char *dirs[] = {option_text(o, "pool-dir"), getenv("RTCHECK_POOL_DIR"),
                          RTC_TEST_POOL_DIR};
    for (unsigned i = 0; file_heap_bytes(o) > 0 && i < countof(dirs); i++)
        if (dirs[i] && *dirs[i])
            return dirs[i];
    return NULL;
}

static int check_folder(const char *dir, char err[TOOLS_ERROR_BYTES])
{
    struct stat st;
    struct statfs fs;
    if (dir[0] != '/')
        return fail(err, -EINVAL, "pool-dir %.200s: not an absolute path", dir);
    if (stat(dir, &st) != 0)
        return fail(err, -errno, "pool-dir %.200s: %s", dir, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return fail(err, -ENOTDIR, "pool-dir %.200s: %s", dir, strerror(ENOTDIR));
    if (access(dir, W_OK | X_OK) != 0)
        return fail(err, -errno, "pool-dir %.200s: %s", dir, strerror(errno));
    if (statfs(dir, &fs) == 0 && fs.f_type == HUGETLBFS_MAGIC)
        return fail(err, -EINVAL,
                    "pool-dir %.150s: hugetlbfs has no small pages; /dev/shm has huge ones, too",
                    dir);
    return 0;
}

int run_file_check_heap(const struct options *o, char err[TOOLS_ERROR_BYTES])
{
    uint64_t bytes = option_size(o, "pool-size");
    if (strcmp(option_text(o, "heap"), "file") != 0)
        return 0;
    if (folder_of_heap(o) && check_folder(folder_of_heap(o), err))
        return -EINVAL;
    if (bytes < RTC_HEAP_BYTES_MIN)
        return fail(err, -EINVAL, "option pool-size: %llu bytes is less than the minimum, %llum",
                    (unsigned long long)bytes, RTC_HEAP_BYTES_MIN >> 20);
    if (bytes > RTC_HEAP_BYTES_MAX)
        return fail(err, -EINVAL, "option pool-size: %llu bytes is more than the maximum, %llug",
                    (unsigned long long)bytes, RTC_HEAP_BYTES_MAX >> 30);
    return 0;
}

static struct run_shape first_shape(const struct options *o, const char *options_text)
{
    static char host[sizeof((struct run_header *)0)->host];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    gethostname(host, sizeof host - 1);
    return (struct run_shape){
        .area_bytes = area_bytes_wanted(),
        .area_count = RTC_AREA_COUNT_MAX,
        .heap_bytes = file_heap_bytes(o),
        .heap_count = run_heap_count(file_heap_bytes(o)),
        .start_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
        .mode = RUN_BY_LAUNCHER,
        .uid = geteuid(),
        .launcher_pid = (uint32_t)getpid(),
        .host = host,
        .options = options_text,
    };
}

static int make_file(struct run_file *f, const struct options *o, struct run_shape *shape,
                     struct warnings *warnings)
{
    const char *folder = folder_of_heap(o);
    if (folder) {
        f->is_named = !has_proc();
        f->fd = try_dir(f, folder, shape);
        return f->fd < 0 ? f->fd : 0;
    }
    f->is_named = !has_proc();
    if (f->is_named)
        warnings_add(warnings, "no /proc: the run file has a name until the end");
    f->fd = f->is_named ? -ENOENT : open_memfd();
    if (f->fd >= 0) {
        int bad = size_and_head(f->fd, shape);
        if (!bad)
            seal(f->fd);
        return bad;
    }
    if (!f->is_named)
        warnings_add(warnings, "no memfd (%s): the run file is in a directory", strerror(-f->fd));
    f->fd = make_in_some_dir(f, o, shape, warnings);
    return f->fd < 0 ? f->fd : 0;
}

static int map_header(struct run_file *f)
{
    struct stat st;
    if (fstat(f->fd, &st) != 0)
        return -errno;
    f->dev = st.st_dev;
    f->ino = st.st_ino;
    void *at = mmap(NULL, HEADER_MAP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
    if (at == MAP_FAILED)
        return -errno;
    f->run = at;
    if (!f->is_named)
        snprintf(f->path, sizeof f->path, "/proc/%d/fd/%d", getpid(), f->fd);
    return 0;
}

/*
 * Only needed without memfds; but a directory that was given and cannot be used causes a warning.
 */
static void check_pool_dir(const struct options *o, struct warnings *warnings)
{
    const char *dir = option_text(o, "pool-dir");
    struct stat st;
    if (!*dir)
        return;
    int err = access(dir, W_OK | X_OK) != 0 || stat(dir, &st) != 0 ? errno
              : S_ISDIR(st.st_mode)                                ? 0
                                                                   : ENOTDIR;
    if (dir[0] != '/')
        warnings_add(warnings, "pool-dir %.80s: not an absolute path, not used", dir);
    else if (err)
        warnings_add(warnings, "pool-dir %.80s: %s, not used", dir, strerror(err));
}

int run_file_make(struct run_file *f, const struct options *o, const char *options_text,
                  struct warnings *warnings, char err[TOOLS_ERROR_BYTES])
{
    memset(f, 0, sizeof *f);
    struct run_shape shape = first_shape(o, options_text);
    check_pool_dir(o, warnings);
    int bad = make_file(f, o, &shape, warnings);
    if (!bad)
        bad = map_header(f);
    if (bad) {
        run_file_close(f);
        return fail(err, bad, "cannot make a run file: %s%s", strerror(-bad),
                    bad == -EFBIG ? " (see ulimit -f)" : "");
    }
    if (shape.heap_bytes < file_heap_bytes(o))
        warnings_add(warnings,
                     "limits on file sizes: no room for pool-size, %llu bytes: the heap is in "
                     "private memory",
                     (unsigned long long)file_heap_bytes(o));
    uint64_t bytes = shape.area_bytes * shape.area_count;
    if (bytes < SMALL_FILE_BYTES)
        warnings_add(warnings, "limits on file sizes: the run file holds at most %llu MiB",
                     (unsigned long long)(bytes >> 20));
    return 0;
}

void run_file_close(struct run_file *f)
{
    if (f->run)
        munmap(f->run, HEADER_MAP_BYTES);
    if (f->fd >= 0)
        close(f->fd);
    if (f->is_named && f->path[0] == '/')
        unlink(f->path);
    memset(f, 0, sizeof *f);
    f->fd = -1;
}
