/*
 * profile.h - functions that the rows of profile.def use.  Each row runs in a process of its own.
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

extern unsigned long moments; /* used by rows about moments */

rtc_profile_t *open_process(void);
rtc_profile_t *open_thread(uint64_t tid);
uint32_t id_of(rtc_profile_t *p, const char *variable); /* 0: there is none */
uint32_t event_of(rtc_profile_t *p, const char *event);
uint64_t read_var(rtc_profile_t *p, const char *variable); /* its value must be known */
int try_var(rtc_profile_t *p, const char *variable);       /* returns the result of the read */

/* Allocate n blocks of BYTES and keep them in list `who` (< THREADS), 64 at most. */
void allocate(unsigned slot, unsigned n);
void release(unsigned slot, unsigned n);

/* The registration must be accepted. */
void listen_to(rtc_profile_t *p, const char *event, rtc_profile_callback callback, void *context);
/* A callback that increments the unsigned to which its context points. */
int count_call(rtc_profile_t *p, struct rtc_profile_desc *event, void *param, size_t size,
               void *context);
void free_badly(void *volatile p); /* hidden from the compiler's warnings */
/* A double free; the first call allocates the block before. */
void free_twice(void);
extern void *volatile freed; /* the block of free_twice */

#endif
