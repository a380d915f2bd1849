/*
 * calls.h - numbers of system calls: x86-64 has all of Linux's.
 *
 * Tables of the runtime name calls that only machines older than Linux's generic table have: fork,
 * vfork, pause, poll, select, epoll_wait, open, creat, dup2.  A port to a machine without one of them defines its name
 * as a number that no call has; each a different one, because they are labels of a switch.
 */
#ifndef CALLS_H
#define CALLS_H

#include <sys/syscall.h>

#endif
