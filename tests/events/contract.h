/*
 * contract.h - functions that the rows of contract.def use: a log of events, and checks of it.
 *
 * Each row runs in a process of its own, forked before any handler was registered.  libc declares
 * some of the calls as leaf functions, but they call back here: so all that callbacks write is
 * volatile or atomic.
 */
#ifndef EVENTS_CONTRACT_H
#define EVENTS_CONTRACT_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include "alone.h"
#include "rtcheck/event.h"

#define ROW(name) void row_##name(void);
#include "contract.def"
#undef ROW

#define ALL_EVENTS 0x370fffu
#define NATIVE_EVENTS 0xfffu
#define VM_EVENTS 0x70000u
#define EVENTS_OF_MEMORY (RTC_EVENT_MEM_TYPE_ALLOC | RTC_EVENT_MEM_TYPE_FREE)
#define PAGE ((size_t)sysconf(_SC_PAGESIZE))
#define PLAIN (MAP_PRIVATE | MAP_ANONYMOUS)
#define READ_WRITE (PROT_READ | PROT_WRITE)

/* The events that `record` received, in order; `arg` is the handler's. */
#define LOGGED_MAX 4096
extern volatile struct logged {
    unsigned type;
    const void *arg;
    union rtc_event e;
} logged[LOGGED_MAX];
extern _Atomic unsigned logged_count;

void record(unsigned type, union rtc_event *e, void *arg);
/* Register `record` with `arg`; it must succeed. */
void handle(unsigned events, int priority, const char *arg);
void forget(void); /* clear the log */
/* The n-th logged event of this type (from 0); it must exist. */
union rtc_event nth(unsigned type, unsigned n);
unsigned count_of(unsigned type);
/* Number of bytes announced by events of this type since forget. */
size_t bytes_of(unsigned type);
/* Is the n-th event of this type about this range? */
bool is_range(unsigned type, unsigned n, const void *start, size_t bytes);

/*
 * An address where n pages can be mapped, and where the kernel maps nothing without an address
 * hint.
 */
void *own_place(size_t n);
void *pages(size_t n);                        /* fresh anonymous pages, mapped there */
bool is_mapped(const void *at, size_t bytes); /* any page of it */

#endif
