/*
 * profile.h - what the rows of profile.def use.  Each row runs in a process of its own.
 */
#ifndef COUNTERS_PROFILE_H
#define COUNTERS_PROFILE_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../events/alone.h"
#include "rtcheck/profile.h"

#define ROW(name) void row_##name(void);
#include "profile.def"
#undef ROW

#define THREADS 8
#define BYTES 100
#define VARIABLES 29
#define EVENTS 8

extern unsigned long moments; /* that a row about them looks at */

rtc_profile_t *open_process(void);
rtc_profile_t *open_thread(uint64_t tid);
uint32_t id_of(rtc_profile_t *p, const char *variable); /* 0: there is none */
uint32_t event_of(rtc_profile_t *p, const char *event);
uint64_t read_var(rtc_profile_t *p, const char *variable); /* it must be known */
int try_var(rtc_profile_t *p, const char *variable);       /* what the read says */

/* Of BYTES each, kept for `who` (below THREADS), at most 64. */
void allocate(unsigned who, unsigned n);
void release(unsigned who, unsigned n);

/* Must be accepted. */
void listen_to(rtc_profile_t *p, const char *event, rtc_profile_callback callback, void *context);
/* A callback: one more in the unsigned that is its context. */
int count_call(rtc_profile_t *p, struct rtc_profile_desc *event, void *param, size_t size, void *context);
void free_badly(void *volatile p); /* what the compiler would warn of */
/* A bad free, and before the first one a block. */
void free_twice(void);
extern void *volatile freed; /* by that */

#endif
