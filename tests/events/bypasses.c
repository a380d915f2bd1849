/*
 * bypasses.c - a library with functions in front of the runtime's: the one named by BYPASSED makes the system call
 * itself, the others call the next definition.
 *
 * rtc-build: shared
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int is_bypassed(const char *name)
{
    const char *bypassed = getenv("BYPASSED");
    return bypassed && strcmp(bypassed, name) == 0;
}

/* `raw` in place of the next definition's result. */
#define FUNCTION(type, name, parameters, arguments, raw)          \
    type name parameters;                                         \
    type name parameters                                          \
    {                                                             \
        type(*next) parameters;                                   \
        void *f = dlsym(RTLD_NEXT, #name);                        \
        memcpy(&next, &f, sizeof f);                              \
        return is_bypassed(#name) ? (type)(raw) : next arguments; \
    }

FUNCTION(void *, __mmap, (void *at, size_t n, int prot, int flags, int fd, off_t offset),
         (at, n, prot, flags, fd, offset), syscall(SYS_mmap, at, n, prot, flags, fd, offset))
FUNCTION(int, __munmap, (void *at, size_t n), (at, n), syscall(SYS_munmap, at, n))
FUNCTION(int, __mprotect, (void *at, size_t n, int prot), (at, n, prot),
         syscall(SYS_mprotect, at, n, prot))
FUNCTION(int, __madvise, (void *at, size_t n, int advice), (at, n, advice),
         syscall(SYS_madvise, at, n, advice))
FUNCTION(int, posix_madvise, (void *at, size_t n, int advice), (at, n, advice),
         syscall(SYS_madvise, at, n, advice) ? errno : 0)
FUNCTION(ssize_t, process_madvise,
         (int process, const struct iovec *range, size_t n, int advice, unsigned flags),
         (process, range, n, advice, flags),
         syscall(SYS_process_madvise, process, range, n, advice, flags))
FUNCTION(int, pkey_mprotect, (void *at, size_t n, int prot, int key), (at, n, prot, key),
         syscall(SYS_pkey_mprotect, at, n, prot, key))
FUNCTION(int, mlock2, (const void *at, size_t n, unsigned flags), (at, n, flags),
         syscall(SYS_mlock2, at, n, flags))
FUNCTION(int, mlockall, (int flags), (flags), syscall(SYS_mlockall, flags))
FUNCTION(int, munlockall, (void), (), syscall(SYS_munlockall))

void *shmat(int id, const void *at, int flags)
{
    void *(*next)(int, const void *, int), *f = dlsym(RTLD_NEXT, "shmat");
    memcpy(&next, &f, sizeof f);
    return is_bypassed("shmat with SHM_REMAP") && flags & SHM_REMAP
               ? (void *)syscall(SYS_shmat, id, at, flags)
               : next(id, at, flags);
}
