/*
 * raw_calls.h - calls that change the address space; every other one is a raw system call, which no
 * interposer of libc sees, unless calls_bypassing is false.
 */
#ifndef RAW_CALLS_H
#define RAW_CALLS_H

#include <stdbool.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool calls_bypassing;

static inline bool is_bypassing(void)
{
    static __thread unsigned calls;
    return calls_bypassing && calls++ % 2;
}

static inline int brk_bypassing(void *to)
{
    return (void *)syscall(SYS_brk, to) == to ? 0 : -1;
}

/* The inner names are the functions, not the macros. */
#define mmap(at, n, prot, flags, fd, from)                                    \
    (is_bypassing() ? (void *)syscall(SYS_mmap, at, n, prot, flags, fd, from) \
                    : mmap(at, n, prot, flags, fd, from))
#define munmap(at, n) (is_bypassing() ? (int)syscall(SYS_munmap, at, n) : munmap(at, n))
#define mremap(at, n, m, flags, to)                                    \
    (is_bypassing() ? (void *)syscall(SYS_mremap, at, n, m, flags, to) \
                    : mremap(at, n, m, flags, to))
#define mprotect(at, n, prot) \
    (is_bypassing() ? (int)syscall(SYS_mprotect, at, n, prot) : mprotect(at, n, prot))
#define madvise(at, n, advice) \
    (is_bypassing() ? (int)syscall(SYS_madvise, at, n, advice) : madvise(at, n, advice))
#define shmat(id, at, flags) \
    (is_bypassing() ? (void *)syscall(SYS_shmat, id, at, flags) : shmat(id, at, flags))
#define shmdt(at) (is_bypassing() ? (int)syscall(SYS_shmdt, at) : shmdt(at))
#define brk(to) (is_bypassing() ? brk_bypassing(to) : brk(to))
#define mlock(at, n) (is_bypassing() ? (int)syscall(SYS_mlock, at, n) : mlock(at, n))
#define munlock(at, n) (is_bypassing() ? (int)syscall(SYS_munlock, at, n) : munlock(at, n))
#define remap_file_pages(at, n, prot, page, flags)                                 \
    (is_bypassing() ? (int)syscall(SYS_remap_file_pages, at, n, prot, page, flags) \
                    : remap_file_pages(at, n, prot, page, flags))

#endif
