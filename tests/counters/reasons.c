/*
 * reasons.c - counts some events, each in a separate set, and prints the number's source or the reason
 * why there is none.
 */
#include <stdio.h>
#include <string.h>

#include "rtcheck/cpc.h"

static void print(rtc_cpc_t *cpc, const char *fn, int subcode, const char *fmt, va_list ap)
{
    (void)cpc;
    printf("%s %d ", fn, subcode);
    vprintf(fmt, ap);
    putchar('\n');
}

static void try(rtc_cpc_t *cpc, const char *event, unsigned flags)
{
    struct rtc_cpc_reading r;
    rtc_cpc_set_t *set = rtc_cpc_set_create(cpc);
    int index = rtc_cpc_set_add_request(cpc, set, event, 0, flags, 0, NULL);
    rtc_cpc_buf_t *buf = rtc_cpc_buf_create(cpc, set);
    if (rtc_cpc_bind_curlwp(cpc, set, 0) == 0 && rtc_cpc_set_sample(cpc, set, buf) == 0 &&
        rtc_cpc_buf_reading(cpc, buf, index, &r) == 0)
        printf("%s %s\n", event, r.known ? r.source : r.why);
}

int main(void)
{
    rtc_cpc_t *cpc = rtc_cpc_open(RTC_CPC_VER_CURRENT);
    rtc_cpc_seterrhndlr(cpc, print);
    printf("%s, %u counters, capabilities %u\n", rtc_cpc_cciname(cpc), rtc_cpc_npic(cpc),
           rtc_cpc_caps(cpc));
    try(cpc, "instructions", RTC_CPC_COUNT_USER);
    try(cpc, "minor-faults", RTC_CPC_COUNT_USER);
    try(cpc, "page-faults", RTC_CPC_COUNT_USER | RTC_CPC_COUNT_SYSTEM);
    try(cpc, "task-clock", RTC_CPC_COUNT_USER);
    return rtc_cpc_close(cpc);
}
