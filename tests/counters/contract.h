/*
 * contract.h - functions that the rows of contract.def use.
 *
 * Each row runs in a process of its own.
 */
#ifndef COUNTERS_CONTRACT_H
#define COUNTERS_CONTRACT_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST_ALSO last_error.text
#include "../events/alone.h"
#include "rtcheck/cpc.h"

#define ROW(name) void row_##name(void);
#include "contract.def"
#undef ROW

#define USER RTC_CPC_COUNT_USER
#define SYSTEM RTC_CPC_COUNT_SYSTEM
#define BOTH (USER | SYSTEM)

/*
 * The call fails with this errno, and open_quietly's handler gets this subcode (0: it is not
 * called).
 */
#define fails(call, error, sub)                                                       \
    do {                                                                              \
        last_error.subcode = 0;                                                       \
        last_error.text[0] = '\0';                                                    \
        errno = 0;                                                                    \
        must((call) == -1 && errno == (error));                                       \
        if (last_error.subcode != (sub))                                              \
            fprintf(stderr, "subcode %d: %s\n", last_error.subcode, last_error.text); \
        must(last_error.subcode == (sub));                                            \
    } while (0)

extern struct last_error {
    int subcode;
    unsigned count;
    char function[64], text[256];
} last_error;

rtc_cpc_t *open_quietly(void); /* with a handler that fills `last_error` */
/* A set of one request, which must be accepted. */
rtc_cpc_set_t *set_of(rtc_cpc_t *cpc, const char *event, unsigned flags);
void add(rtc_cpc_t *cpc, rtc_cpc_set_t *set, const char *event, uint64_t preset, unsigned flags);
rtc_cpc_buf_t *buffer(rtc_cpc_t *cpc, rtc_cpc_set_t *set);
/* The present value of request `index` of a bound set; it must be known. */
uint64_t sampled(rtc_cpc_t *cpc, rtc_cpc_set_t *set, int index);
uint64_t value_of(rtc_cpc_t *cpc, rtc_cpc_buf_t *buf, int index);

void touch(unsigned pages); /* that many page faults, and few more */
/* Is it n faults, plus a few unrelated ones? */
bool is_about(uint64_t counted, uint64_t n);
unsigned open_descriptors(void);

#endif
