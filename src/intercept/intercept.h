/*
 * intercept.h - the interface of intercept: exported functions that replace those of libc and
 * libstdc++, and the program's API.
 *
 *   heap.c, heap_cxx.c, heap_info.c  malloc, operator new and delete, statistics of malloc
 *   exec.c, child.c, shell.c  exec, spawn, system: the environment of a program that is started
 *   lifecycle.c   fork, exit, dlopen, sandboxes
 *   unwinders.c   _dl_find_object, dl_iterate_phdr, dladdr, backtrace: copies of code (--access=full)
 *   descriptors.c  functions that open or close descriptors, for --track-fds
 *   signals.c, jump.c  sigaction and its like, longjmp out of a handler
 *   api.c         rtcheck/check.h and parts of sanitizer/lsan_interface.h
 *
 * Each function inspects its arguments and makes one call into the rooms below, with its call site
 * (CALLER): so the files are compiled with frame pointers and without tail calls.  Semantics are
 * those of glibc.  The originals are the next definitions (init/next.h).
 *
 * Data: the environment that is lent to shells (shell.c), and whether the program has operators of
 * its own (heap_cxx.c).
 *
 * Lock: RANK_ENVIRONMENT (shell.c), the last rank, inside a section.  Functions of vfork children
 * take none and write only to the stack and to counters.
 */
#ifndef INTERCEPT_H
#define INTERCEPT_H

#include "init.h"

/* Does the program define its own operators new or delete?  Called by the constructor. */
void cxx_look_for_replacements(void);

/* Called by the constructor: from now on exit and quick_exit end the image. */
void lifecycle_constructed(void);
void descriptors_look_up(void); /* the originals, in the constructor */
void unwinders_look_up(void);

/* Call in a forked child: restores the environment lent by other threads of the parent. */
void shell_after_fork(void);

/*
 * With --track-fds: does this call open or close a descriptor?  Make it by libc's syscall, and record
 * it for the program's call `at`.
 */
bool descriptor_is_call(long nr);
long descriptor_call(long nr, const long a[6], const struct entry *at);

#endif
