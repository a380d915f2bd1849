/*
 * calls.h - numbers of system calls: AArch64 has only Linux's generic table.
 */
#ifndef CALLS_H
#define CALLS_H

#include <sys/syscall.h>

#define SYS_fork 60001
#define SYS_vfork 60002
#define SYS_pause 60003
#define SYS_poll 60004
#define SYS_select 60005
#define SYS_epoll_wait 60006
#define SYS_open 60007
#define SYS_creat 60008
#define SYS_dup2 60009

#endif
