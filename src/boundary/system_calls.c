/*
 * system_calls.c - the memory that system calls read and write (system_calls.def), as far as their
 * arguments say it.
 *
 * The kernel accesses less than the arguments permit if a file ends, or a call fails. It could have
 * accessed all, so all is checked, as valgrind does. The call proceeds in any case; the kernel itself
 * refuses only memory that is not mapped.
 *
 * All arguments are integers and pointers in registers, and the calls at the end are jumps: so one
 * type is enough for all functions, and those of libc's headers need not be repeated here. That is
 * why the C names differ from the exported ones.
 */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <linux/limits.h>

#include "check.h"
#include "next_functions.h"
#include "system_calls.h"

struct next_calls next_calls;

void system_calls_start(void)
{
#define CALL(name, entry, checks) boundary_look_up(&next_calls.name, #name);
#include "system_calls.def"
}

/* ---- the checks ------------------------------------------------------------------------------ */

static NOINLINE void refuse(const void *p, uint64_t n, bool is_write, uint32_t entry,
                            const struct entry *at)
{
    access_refused(&(struct access){.at = p, .bytes = n, .is_write = is_write, .entry = entry}, at);
}

ALWAYS_INLINE void check_range(uint64_t p, uint64_t n, bool is_write, uint32_t entry,
                               const struct entry *at)
{
    const void *start = (const void *)p;
    if (is_in_heap(start) && unlikely(!is_allowed(start, n)))
        refuse(start, n, is_write, entry, at);
}

/* The kernel reads at most PATH_MAX bytes. Nothing beyond the block is read here. */
static NOINLINE void check_path(const char *path, uint32_t entry, const struct entry *at)
{
    uint64_t allowed = access_allowed((uintptr_t)path, PATH_MAX);
    if (allowed < PATH_MAX && !NEXT_OF(memchr)(path, 0, allowed))
        refuse(path, allowed + 1, false, entry, at);
}

/* Is it certain that it can be read: in a block in use, or in the page of the caller's frame? */
static bool is_readable(uint64_t from, size_t bytes, const struct entry *at)
{
    const uint64_t page = 4096;
    return (from / page == (uintptr_t)at / page && (from + bytes - 1) / page == from / page) ||
           (is_in_heap((const void *)from) && is_surely_allowed((const void *)from, bytes));
}

/* Copy what the kernel is about to read; false: it cannot be read. */
static bool copy_argument(void *to, uint64_t from, size_t bytes, const struct entry *at)
{
    if (unlikely(!is_readable(from, bytes, at)))
        return from && os_copy(to, (const void *)from, bytes) == bytes;
    memcpy(to, (const void *)from, bytes);
    return true;
}

static NOINLINE void check_sized(uint64_t p, uint64_t length_at, uint32_t entry,
                                 const struct entry *at)
{
    socklen_t length;
    check_range(length_at, sizeof length, true, entry, at);
    if (is_in_heap((const void *)p) && copy_argument(&length, length_at, sizeof length, at))
        check_range(p, length, true, entry, at);
}

/* In parts, as each may cost a system call to see whether it can be read. */
static NOINLINE void check_vector(uint64_t vector, uint64_t count, bool is_write, uint32_t entry,
                                  const struct entry *at)
{
    struct iovec part[16];
    if (count > IOV_MAX)
        return; /* EINVAL */
    check_range(vector, count * sizeof part[0], false, entry, at);
    for (uint64_t done = 0, n; done < count; done += n) {
        n = count - done < 16 ? count - done : 16;
        if (!copy_argument(part, vector + done * sizeof part[0], n * sizeof part[0], at))
            return;
        for (uint64_t i = 0; i < n; i++)
            check_range((uintptr_t)part[i].iov_base, part[i].iov_len, is_write, entry, at);
    }
}

static NOINLINE void check_message(uint64_t message, uint32_t entry, const struct entry *at)
{
    struct msghdr m;
    check_range(message, sizeof m, false, entry, at);
    if (!copy_argument(&m, message, sizeof m, at))
        return;
    check_range((uintptr_t)m.msg_name, m.msg_namelen, false, entry, at);
    check_range((uintptr_t)m.msg_control, m.msg_controllen, false, entry, at);
    check_vector((uintptr_t)m.msg_iov, m.msg_iovlen, false, entry, at);
}

/* ---- the functions --------------------------------------------------------------------------- */

#define IN(p, n) check_range((uint64_t)(p), (uint64_t)(n), false, entry_, CALLER)
#define OUT(p, n) check_range((uint64_t)(p), (uint64_t)(n), true, entry_, CALLER)
#define PATH(p)                        \
    if (is_in_heap((const void *)(p))) \
    check_path((const char *)(p), entry_, CALLER)
#define SIZED(p, length) check_sized((uint64_t)(p), (uint64_t)(length), entry_, CALLER)
#define VECTOR_IN(p, n) check_vector((uint64_t)(p), (uint32_t)(n), false, entry_, CALLER)
#define VECTOR_OUT(p, n) check_vector((uint64_t)(p), (uint32_t)(n), true, entry_, CALLER)
#define MESSAGE_IN(p) check_message((uint64_t)(p), entry_, CALLER)

#define TIME sizeof(struct timespec)
#define SET(n) (((uint64_t)(uint32_t)(n) + 63) / 64 * 8)
#define POLLED(n) ((uint64_t)(n) * sizeof(struct pollfd))
#define EVENTS(n) ((uint64_t)(uint32_t)(n) * sizeof(struct epoll_event))
#define GROUPS(n) ((uint64_t)(uint32_t)(n) * sizeof(gid_t))

static_assert(sizeof(struct timespec) == sizeof(struct timeval), "TIME is for both");

static NOINLINE system_call *looked_up(system_call **next)
{
    boundary_start();
    return *next;
}

#define CALL(name, entry, checks)                                                              \
    EXPORT long checked_##name(long a, long b, long c, long d, long e, long f) __asm__(#name); \
    EXPORT long checked_##name(long a, long b, long c, long d, long e, long f)                 \
    {                                                                                          \
        enum { entry_ = ENTRY_##entry };                                                       \
        if (likely(access_is_on)) {                                                            \
            checks;                                                                            \
        }                                                                                      \
        system_call *next = next_calls.name;                                                   \
        return (likely(next) ? next : looked_up(&next_calls.name))(a, b, c, d, e, f);          \
    }
#include "system_calls.def"
