/*
 * next.h - the next definitions of interposed functions, as the loader would have found them
 * without us (next.c).
 */
#ifndef NEXT_H
#define NEXT_H

#include <spawn.h>
#include <sys/uio.h>

#include "base.h"

struct next {
    void (*exit)(int);
    void (*abort)(void);
    int (*fork)(void);
    int (*_Fork)(void);
    int (*execvpe)(const char *, char *const[], char *const[]);
    int (*fexecve)(int, char *const[], char *const[]);
    int (*posix_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                       const posix_spawnattr_t *, char *const[], char *const[]);
    int (*posix_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                        const posix_spawnattr_t *, char *const[], char *const[]);
    int (*system)(const char *);
    void *(*popen)(const char *, const char *); /* returns a FILE *, which we do not use */
    int (*wordexp)(const char *, void *, int);
    int (*on_exit)(void (*)(int, void *), void *);
    int (*cxa_atexit)(void (*)(void *), void *, void *);
    int (*cxa_at_quick_exit)(void (*)(void *), void *);
    int (*register_atfork)(void (*)(void), void (*)(void), void (*)(void), void *);
    long (*syscall)(long, ...);
    int (*prctl)(int, ...);
    /* Takes struct sigaction; its header conflicts with our names. */
    int (*sigaction)(int, const void *, void *);
    int (*sigaltstack)(const void *, void *);
    int (*sigprocmask)(int, const void *, void *);
    int (*pthread_sigmask)(int, const void *, void *);
    void *(*signal)(int, void *);
    void *(*sysv_signal)(int, void *);
    void *(*sigset)(int, void *);
    void (*siglongjmp)(void *, int) __attribute__((noreturn));
    void (*longjmp_chk)(void *, int) __attribute__((noreturn));
    /* of a sanitizer's runtime, if one is in the process: then it handles leaks */
    void (*lsan_disable)(void);
    void (*lsan_enable)(void);
    void (*lsan_ignore_object)(const void *);
    void (*lsan_register_root_region)(const void *, size_t);
    void (*lsan_unregister_root_region)(const void *, size_t);
    void (*lsan_do_leak_check)(void);
    int (*lsan_do_recoverable_leak_check)(void);
    /* libc's own heap, for blocks that came from there */
    void (*free)(void *);
    void *(*realloc)(void *, size_t);
    size_t (*malloc_usable_size)(void *);
    /* the address space */
    void *(*mmap)(void *, size_t, int, int, int, long);
    int (*munmap)(void *, size_t);
    void *(*mremap)(void *, size_t, size_t, int, ...);
    void *(*shmat)(int, const void *, int);
    int (*shmdt)(const void *);
    void *(*sbrk)(intptr_t);
    void *(*__sbrk)(intptr_t);
    int (*brk)(void *);
    int (*madvise)(void *, size_t, int);
    int (*posix_madvise)(void *, size_t, int);
    ssize_t (*process_madvise)(int, const struct iovec *, size_t, int,
                               unsigned); /* NULL: libc has none */
    int (*mprotect)(void *, size_t, int);
    int (*pkey_mprotect)(void *, size_t, int, int);
    int (*mlock)(const void *, size_t);
    int (*mlock2)(const void *, size_t, unsigned);
    int (*munlock)(const void *, size_t);
    int (*mlockall)(int);
    int (*munlockall)(void);
    int (*msync)(void *, size_t, int);
    int (*remap_file_pages)(void *, size_t, int, size_t, int);
    /* objects: struct dl_phdr_info and Dl_info are of headers that few files need */
    int (*dl_iterate_phdr)(void *, void *);
    int (*dladdr)(const void *, void *);
    int (*dladdr1)(const void *, void *, void **, int);
    int (*backtrace)(void **, int);
};

extern HIDDEN struct next next;
/* Fill `next`. May be called again, whenever libc is usable. */
void next_resolve(void);
/* One of them. Usable also in a library's constructor that runs before ours. */
#define NEXT(name) (likely(next.name) ? (void)0 : next_resolve(), next.name)

#endif
