/*
 * system_calls.c - the memory that system calls read and write (system_calls.def), as far as their
 * arguments say it.
 *
 * The kernel accesses less than the arguments permit if a file ends, or a call fails. All is checked,
 * as by valgrind, except what the kernel refuses or ignores by the arguments alone. The call proceeds
 * in any case; the kernel itself refuses only memory that is not mapped.  Guards in a refused range
 * are opened, because the kernel would refuse them, too; also with --access=no.
 *
 * All arguments are integers and pointers in registers, and the calls at the end are jumps: so one
 * type is enough for all functions, and those of libc's headers need not be repeated here. That is
 * why the C names differ from the exported ones.
 */
#include <poll.h>
#include <sys/auxv.h>
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
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <linux/limits.h>
#include <time.h>

#include "check.h"
#include "next_functions.h"
#include "system_calls.h"

struct next_calls next_calls;

/* A library of the program may define such a name for something else: its arguments are not looked at. */
static struct {
#define CALL(name, entry, checks) bool name;
#include "system_calls.def"
    bool recvfrom_chk;
} is_checked;

static recvfrom_chk_call *next_recvfrom_chk;

struct object_range {
    uintptr_t start, end;
};

/* The addresses of an object, by the program headers at its start. */
static struct object_range range_of(uintptr_t start)
{
    const ElfW(Ehdr) *head = (const void *)start;
    struct object_range range = {start, start};
    if (!start)
        return range;
    const ElfW(Phdr) *part = (const void *)(start + head->e_phoff);
    for (unsigned i = 0; i < head->e_phnum; i++)
        if (part[i].p_type == PT_LOAD && start + part[i].p_vaddr + part[i].p_memsz > range.end)
            range.end = start + part[i].p_vaddr + part[i].p_memsz;
    return range;
}

/* libc, and the vDSO, where libc's gettimeofday is. */
static struct object_range libc, vdso;

static bool is_of_libc(const void *slot)
{
    uintptr_t f;
    __builtin_memcpy(&f, slot, sizeof f);
    return (f >= libc.start && f < libc.end) || (f >= vdso.start && f < vdso.end);
}

void system_calls_start(void)
{
    Dl_info of;
    void *f;
    bool checks_any = rt.options.access || guarded_is_wanted();
    boundary_look_up(&f, "gnu_get_libc_version");
    libc = range_of(f && dladdr(f, &of) ? (uintptr_t)of.dli_fbase : 0);
    vdso = range_of(getauxval(AT_SYSINFO_EHDR));
#define CALL(name, entry, checks)              \
    boundary_look_up(&next_calls.name, #name); \
    is_checked.name = checks_any && is_of_libc(&next_calls.name);
#include "system_calls.def"
    boundary_look_up(&next_recvfrom_chk, "__recvfrom_chk");
    is_checked.recvfrom_chk = checks_any && is_of_libc(&next_recvfrom_chk);
}

/* ---- the checks ------------------------------------------------------------------------------ */

static NOINLINE void refuse(const void *p, uint64_t n, bool is_write, uint32_t entry,
                            const struct entry *at)
{
    if (access_is_on)
        access_refused(&(struct access){.at = p, .bytes = n, .is_write = is_write, .entry = entry},
                       at);
    else
        access_by_kernel(p, n);
}

ALWAYS_INLINE void check_range(uint64_t p, uint64_t n, bool is_write, uint32_t entry,
                               const struct entry *at)
{
    const void *start = (const void *)p;
    if (n <= INT64_MAX && is_in_heap(start) && unlikely(!is_allowed(start, n)))
        refuse(start, n, is_write, entry, at);
}

/* The same of data that leave the process: they are to be initialised. */
ALWAYS_INLINE void check_data(uint64_t p, uint64_t n, uint32_t entry, const struct entry *at)
{
    check_range(p, n, false, entry, at);
    if (unlikely(fill_is_sought) && n <= INT64_MAX)
        uninitialised_search_any((const void *)p, n, entry, at);
}

/* Of a string that libc reads up to its end: longer ones are checked this far. */
#define STRING_MOST UINT32_MAX

/*
 * The end of a string of at most n bytes; NULL: there is none.  The program may have made pages of a large
 * block inaccessible: there the kernel refuses the string.
 */
static const char *end_of(const char *s, uint64_t n)
{
    if (!may_be_guarded(s))
        return NEXT_OF(memchr)(s, 0, n);
    while (n > 0) {
        uint64_t left = PAGE_BYTES - (uintptr_t)s % PAGE_BYTES, part = left < n ? left : n;
        const char *end = os_is_readable((uintptr_t)s) ? NEXT_OF(memchr)(s, 0, part) : s;
        if (end)
            return end;
        s += part;
        n -= part;
    }
    return NULL;
}

/*
 * A string of which at most `most` bytes are read. Nothing beyond the block is read here: a guard may
 * follow some bytes of slack.
 */
static NOINLINE void check_string(const char *s, uint64_t most, uint32_t entry,
                                  const struct entry *at)
{
    uint64_t allowed = access_allowed((uintptr_t)s, most);
    bool is_all = allowed == most; /* also of memory without a record, which is not read here */
    const char *end = is_all && !fill_is_sought ? NULL : end_of(s, allowed);
    if (unlikely(fill_is_sought))
        uninitialised_search_any(s, end ? (uint64_t)(end - s) : allowed, entry, at);
    if (is_all || end)
        return;
    refuse(s, allowed + 1, false, entry, at);
    access_by_kernel(s, most);
}

/* A template of mkstemp: libc reads it by strlen, and replaces its six X, if they are there. */
static NOINLINE void check_template(const char *s, int suffix, uint32_t entry,
                                    const struct entry *at)
{
    static const char letters[] = "XXXXXX";
    const size_t n = sizeof letters - 1;
    if (suffix < 0)
        return; /* EINVAL */
    check_string(s, STRING_MOST, entry, at);
    size_t length = NEXT_OF(strlen)(s);
    if (length < n + (size_t)suffix)
        return;
    const char *replaced = s + length - (size_t)suffix - n;
    if (NEXT_OF(memcmp)(replaced, letters, n) == 0)
        check_range((uintptr_t)replaced, n, true, entry, at);
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
        check_range(p, length > INT_MAX ? 0 : length, true, entry, at); /* EINVAL */
}

static void check_part(const struct iovec *part, bool is_write, uint32_t entry,
                       const struct entry *at)
{
    if (is_write)
        check_range((uintptr_t)part->iov_base, part->iov_len, true, entry, at);
    else
        check_data((uintptr_t)part->iov_base, part->iov_len, entry, at);
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
            check_part(&part[i], is_write, entry, at);
    }
}

/* What a struct msghdr points to. A negative length of the name is refused. */
static void check_parts(uint64_t message, bool is_write, uint32_t entry, const struct entry *at)
{
    struct msghdr m;
    if (!copy_argument(&m, message, sizeof m, at))
        return;
    check_range((uintptr_t)m.msg_name, m.msg_namelen > INT_MAX ? 0 : m.msg_namelen, is_write, entry,
                at);
    check_range((uintptr_t)m.msg_control, m.msg_controllen, is_write, entry, at);
    check_vector((uintptr_t)m.msg_iov, m.msg_iovlen, is_write, entry, at);
}

/* The kernel writes into the struct what it has received. */
static NOINLINE void check_message(uint64_t message, bool is_write, uint32_t entry,
                                   const struct entry *at)
{
    check_range(message, sizeof(struct msghdr), is_write, entry, at);
    check_parts(message, is_write, entry, at);
}

/* The kernel looks at no more than UIO_MAXIOV, and writes the length of each. */
static NOINLINE void check_messages(uint64_t messages, uint32_t count, bool is_write,
                                    uint32_t entry, const struct entry *at)
{
    const uint64_t n = count < IOV_MAX ? count : IOV_MAX, bytes = sizeof(struct mmsghdr);
    check_range(messages, n * bytes, true, entry, at);
    for (uint64_t i = 0; i < n; i++)
        check_parts(messages + i * bytes, is_write, entry, at);
}

/* ---- the functions --------------------------------------------------------------------------- */

#define IF(condition, check) \
    if (condition)           \
    check
#define IN(p, n) check_range((uint64_t)(p), (uint64_t)(n), false, entry_, CALLER)
#define DATA(p, n) check_data((uint64_t)(p), (uint64_t)(n), entry_, CALLER)
#define OUT(p, n) check_range((uint64_t)(p), (uint64_t)(n), true, entry_, CALLER)
#define STRING(p, most)                \
    if (is_in_heap((const void *)(p))) \
    check_string((const char *)(p), most, entry_, CALLER)
#define PATH(p) STRING(p, PATH_MAX) /* that many bytes the kernel reads at most */
#define TEXT(p) STRING(p, STRING_MOST)
#define TEMPLATE(p, suffix)            \
    if (is_in_heap((const void *)(p))) \
    check_template((const char *)(p), (int)(suffix), entry_, CALLER)
#define SIZED(p, length) check_sized((uint64_t)(p), (uint64_t)(length), entry_, CALLER)
#define VECTOR_IN(p, n) check_vector((uint64_t)(p), (uint32_t)(n), false, entry_, CALLER)
#define VECTOR_OUT(p, n) check_vector((uint64_t)(p), (uint32_t)(n), true, entry_, CALLER)
#define MESSAGE_IN(p) check_message((uint64_t)(p), false, entry_, CALLER)
#define MESSAGE_OUT(p) check_message((uint64_t)(p), true, entry_, CALLER)
#define MESSAGES_IN(p, n) check_messages((uint64_t)(p), (uint32_t)(n), false, entry_, CALLER)
#define MESSAGES_OUT(p, n) check_messages((uint64_t)(p), (uint32_t)(n), true, entry_, CALLER)

#define TIME sizeof(struct timespec)
/* A length or number that is an int; a negative one is refused. */
#define LENGTH(n) ((int)(n) < 0 ? 0 : (uint64_t)(int)(n))
#define SET(n) ((LENGTH(n) + 63) / 64 * 8)
#define POLLED(n) ((uint64_t)(n) * sizeof(struct pollfd))
#define EVENTS(n) (LENGTH(n) * sizeof(struct epoll_event))
#define GROUPS(n) (LENGTH(n) * sizeof(gid_t))

static_assert(sizeof(struct timespec) == sizeof(struct timeval), "TIME is for both");

static NOINLINE system_call *looked_up(system_call **next)
{
    boundary_start();
    return *next;
}

#define EXPORTED(name, entry, checks, continues)                                               \
    EXPORT long checked_##name(long a, long b, long c, long d, long e, long f) __asm__(#name); \
    EXPORT long checked_##name(long a, long b, long c, long d, long e, long f)                 \
    {                                                                                          \
        enum { entry_ = ENTRY_##entry };                                                       \
        if (likely(is_checked.name)) {                                                         \
            checks;                                                                            \
        }                                                                                      \
        return (continues)(a, b, c, d, e, f);                                                  \
    }
#define CALL(name, entry, checks) \
    EXPORTED(name, entry, checks, \
             likely(next_calls.name) ? next_calls.name : looked_up(&next_calls.name))
#define INTERCEPTED(name, entry, checks)   \
    HIDDEN system_call intercepted_##name; \
    EXPORTED(name, entry, checks, intercepted_##name)
#include "system_calls.def"

/* Its last argument is on the stack. */
EXPORT long __recvfrom_chk(long fd, void *to, size_t n, size_t room, long flags, void *from,
                           socklen_t *length)
{
    enum { entry_ = ENTRY_RECVFROM };
    if (is_checked.recvfrom_chk) {
        OUT(to, n);
        IF(from, SIZED(from, length));
    }
    if (unlikely(!next_recvfrom_chk))
        boundary_start();
    return next_recvfrom_chk(fd, to, n, room, flags, from, length);
}
