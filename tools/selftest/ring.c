/*
 * ring.c - madvise through io_uring: the kernel may execute it in a thread of its own, and
 * no argument of the program's system calls identifies it.
 */
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "selftest.h"

/* Mappings of the ring, kept until the process ends; MAP_FAILED: mmap failed. */
struct ring {
    int fd;
    struct io_uring_params is;
    char *submission_ring, *done;
    struct io_uring_sqe *entry;
};

static void *part_of(const struct ring *r, size_t bytes, off_t which)
{
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd, which);
}

static bool open_ring(struct ring *r)
{
    r->fd = (int)syscall(SYS_io_uring_setup, 1, &r->is);
    if (r->fd < 0)
        return false;
    r->submission_ring = part_of(r, r->is.sq_off.array + sizeof(unsigned), IORING_OFF_SQ_RING);
    r->done = part_of(r, r->is.cq_off.cqes + sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
    r->entry = part_of(r, sizeof *r->entry, IORING_OFF_SQES);
    return r->submission_ring != MAP_FAILED && r->done != MAP_FAILED && r->entry != MAP_FAILED;
}

static bool discard(const struct ring *r, const char *at, size_t bytes)
{
    const struct io_uring_cqe *result = (const void *)(r->done + r->is.cq_off.cqes);
    *r->entry = (struct io_uring_sqe){.opcode = IORING_OP_MADVISE,
                                      .addr = (uintptr_t)at,
                                      .len = (unsigned)bytes,
                                      .fadvise_advice = MADV_DONTNEED};
    __atomic_store_n((unsigned *)(void *)(r->submission_ring + r->is.sq_off.tail), 1,
                     __ATOMIC_RELEASE);
    return syscall(SYS_io_uring_enter, r->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1 &&
           result->res == 0;
}

bool selftest_ring(unsigned *seen)
{
    static struct ring ring;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || !open_ring(&ring))
        return false;
    at[0] = 7;
    *seen = 0;
    return discard(&ring, at, page) && at[0] == 0;
}
