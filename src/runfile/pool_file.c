/*
 * pool_file.c - a heap of fixed size in a file of its own, as libvmmalloc has it (init/vmmalloc.c).
 *
 * The file has no name from the start (O_TMPFILE), or loses it at once where the file system cannot
 * do that.  So nothing is left after a crash.  Its blocks are allocated before it is mapped: a full
 * file system is an error here, and never a SIGBUS in the program.  No descriptor is kept: the private
 * mapping that a fork needs is made at start, without access rights, and moved to its place then.
 */
#include "heap.h"
#include "runfile_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

#define PATH_ROOM 4096u
#define NAMES_MAX 1000u

static struct {
    char *at;
    char *spare; /* private, of the same bytes; NULL: it is used, or could not be made */
    uint64_t bytes;
} pool;

char *run_pool(uint64_t *bytes)
{
    *bytes = pool.bytes;
    return pool.at;
}

char *run_pool_take_spare(uint64_t ready)
{
    char *spare = pool.spare;
    if (!spare)
        return NULL;
    pool.spare = NULL;
    /* First: the program may map memory where a part was, at once. */
    os_disown((uintptr_t)spare, (uintptr_t)spare + pool.bytes);
    os_unmap(spare + ready, pool.bytes - ready);
    return spare;
}

/* folder/vmem.<pid>.<n> */
static void name_file(char *out, const char *folder, uint64_t n)
{
    struct text t = text_begin(out, PATH_ROOM);
    text_put(&t, folder);
    text_put(&t, "/vmem.");
    text_decimal(&t, os_pid());
    text_put(&t, ".");
    text_decimal(&t, n);
    text_end(&t);
}

static int create_and_unlink(const char *folder)
{
    static char path[PATH_ROOM];
    int fd = -EEXIST;
    for (uint64_t n = 1; fd == -EEXIST && n < NAMES_MAX; n++) {
        name_file(path, folder, n);
        fd = os_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    }
    if (fd >= 0)
        os_unlink(path);
    return fd;
}

static int create_in(const char *folder)
{
    int fd = os_open(folder, O_RDWR | O_TMPFILE | O_EXCL, 0600);
    bool is_missing = fd == -EOPNOTSUPP || fd == -EISDIR || fd == -EINVAL;
    return is_missing ? create_and_unlink(folder) : fd;
}

/* As posix_fallocate, for file systems that cannot allocate blocks ahead. */
static int write_zeros(int fd, uint64_t bytes)
{
    static const char zeros[PAGE_BYTES];
    for (uint64_t at = 0; at < bytes;) {
        uint64_t n = bytes - at < sizeof zeros ? bytes - at : sizeof zeros;
        long written = os_write_at(fd, zeros, n, at);
        if (written <= 0)
            return written ? (int)written : -ENOSPC;
        at += (uint64_t)written;
    }
    return 0;
}

static int allocate(int fd, uint64_t bytes)
{
    int err = os_allocate(fd, bytes);
    return err == -EOPNOTSUPP ? write_zeros(fd, bytes) : err;
}

static int map_file(int fd, uint64_t bytes)
{
    char *whole = os_reserve(NULL, bytes + HUGE_PAGE_BYTES, false);
    if (os_failed(whole))
        return -ENOMEM;
    char *heap = (char *)align_up((uintptr_t)whole, HUGE_PAGE_BYTES);
    if (os_failed(os_reserve_file(heap, fd, bytes, 0))) {
        os_unmap(whole, bytes + HUGE_PAGE_BYTES);
        return -ENOMEM;
    }
    char *spare = os_map_file(NULL, bytes, 0, false, fd, 0);
    pool.at = heap;
    pool.bytes = bytes;
    pool.spare = os_failed(spare) ? NULL : spare;
    return 0;
}

/*
 * Huge pages, as far as the file system has room for them.  This takes less time than the allocation of small
 * ones, and so does the fork that replaces the mapping.
 */
static void allocate_huge(void)
{
    uint64_t at = 0;
    if (os_allow(pool.at, pool.bytes))
        return;
    while (at + HUGE_PAGE_BYTES <= pool.bytes && os_populate(pool.at + at, PAGE_BYTES) == 0)
        at += HUGE_PAGE_BYTES;
    os_collapse(pool.at, at);
    os_protect(pool.at, pool.bytes, 0);
}

int run_make_pool(const char *folder, uint64_t bytes)
{
    int fd = create_in(folder);
    if (fd < 0)
        return fd;
    /* growing beyond the limit raises SIGXFSZ */
    int err = bytes > os_limit(RLIMIT_FSIZE) ? -EFBIG : os_truncate(fd, (int64_t)bytes);
    if (!err)
        err = map_file(fd, align_down(bytes, UNIT_BYTES));
    if (!err && os_is_in_memory(fd))
        allocate_huge();
    if (!err)
        err = allocate(fd, bytes);
    os_close(fd);
    return err;
}
