/*
 * behind.h - calls that change the address space, every other one by a system call of its own: behind the back of who
 * stands in front of libc, unless calls_behind is false.
 */
#ifndef BEHIND_H
#define BEHIND_H

#include <stdbool.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool calls_behind;

static inline bool is_behind(void)
{
    static __thread unsigned turn;
    return calls_behind && turn++ % 2;
}

static inline int brk_behind(void *to)
{
    return (void *)syscall(SYS_brk, to) == to ? 0 : -1;
}

/* The names inside are the functions. */
#define mmap(at, n, prot, flags, fd, from) \
    (is_behind() ? (void *)syscall(SYS_mmap, at, n, prot, flags, fd, from) : mmap(at, n, prot, flags, fd, from))
#define munmap(at, n) (is_behind() ? (int)syscall(SYS_munmap, at, n) : munmap(at, n))
#define mremap(at, n, m, flags, to) \
    (is_behind() ? (void *)syscall(SYS_mremap, at, n, m, flags, to) : mremap(at, n, m, flags, to))
#define mprotect(at, n, prot) (is_behind() ? (int)syscall(SYS_mprotect, at, n, prot) : mprotect(at, n, prot))
#define madvise(at, n, advice) (is_behind() ? (int)syscall(SYS_madvise, at, n, advice) : madvise(at, n, advice))
#define shmat(id, at, flags) (is_behind() ? (void *)syscall(SYS_shmat, id, at, flags) : shmat(id, at, flags))
#define shmdt(at) (is_behind() ? (int)syscall(SYS_shmdt, at) : shmdt(at))
#define brk(to) (is_behind() ? brk_behind(to) : brk(to))
#define mlock(at, n) (is_behind() ? (int)syscall(SYS_mlock, at, n) : mlock(at, n))
#define munlock(at, n) (is_behind() ? (int)syscall(SYS_munlock, at, n) : munlock(at, n))
#define remap_file_pages(at, n, prot, page, flags) \
    (is_behind() ? (int)syscall(SYS_remap_file_pages, at, n, prot, page, flags) \
                 : remap_file_pages(at, n, prot, page, flags))

#endif
