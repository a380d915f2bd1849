/*
 * counters.c - the cost of a part of a program: samples before and after it, and their difference.
 *
 *     cc -I PREFIX/include counters.c -o counters && rtcheck ./counters
 *
 * C and C++. Without the runtime it prints so, and does its work.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rtcheck/cpc.h>

enum { ITERATIONS = 20, COUNTED = 3 };

static const char *const event[COUNTED] = {"page-faults", "task-clock", "clock:monotonic"};

/* The piece: memory that is written for the first time. */
static void work(int iteration)
{
    size_t bytes = (size_t)(iteration + 1) * 100000;
    char *memory = (char *)malloc(bytes);
    if (memory)
        memset(memory, iteration, bytes);
    free(memory);
}

static rtc_cpc_set_t *make_set(rtc_cpc_t *cpc)
{
    rtc_cpc_set_t *set = rtc_cpc_set_create(cpc);
    for (int i = 0; set && i < COUNTED; i++)
        if (rtc_cpc_set_add_request(cpc, set, event[i], 0, RTC_CPC_COUNT_USER, 0, NULL) != i)
            return NULL; /* the default handler has printed the reason */
    return set;
}

/* A counter that was not read has the value "n/a", never 0. */
static void print(rtc_cpc_t *cpc, rtc_cpc_buf_t *diff, int iteration)
{
    printf("%d:", iteration);
    for (int i = 0; i < COUNTED; i++) {
        struct rtc_cpc_reading r;
        if (rtc_cpc_buf_reading(cpc, diff, i, &r) == 0 && r.known)
            printf(" %s %" PRIu64, event[i], r.value);
        else
            printf(" %s n/a", event[i]);
    }
    putchar('\n');
}

static void measure(rtc_cpc_t *cpc, rtc_cpc_set_t *set)
{
    rtc_cpc_buf_t *before = rtc_cpc_buf_create(cpc, set);
    rtc_cpc_buf_t *after = rtc_cpc_buf_create(cpc, set);
    rtc_cpc_buf_t *diff = rtc_cpc_buf_create(cpc, set);
    for (int i = 0; before && after && diff && i < ITERATIONS; i++) {
        if (rtc_cpc_set_sample(cpc, set, before) != 0)
            return;
        work(i);
        if (rtc_cpc_set_sample(cpc, set, after) != 0)
            return;
        rtc_cpc_buf_sub(cpc, diff, after, before);
        print(cpc, diff, i);
    }
}

int main(void)
{
    if (!rtc_cpc_open) {
        puts("no counters here: start this program with rtcheck");
        work(0);
        return 0;
    }
    rtc_cpc_t *cpc = rtc_cpc_open(RTC_CPC_VER_CURRENT);
    rtc_cpc_set_t *set = cpc ? make_set(cpc) : NULL;
    if (!set || rtc_cpc_bind_curlwp(cpc, set, 0) != 0)
        return 1;
    measure(cpc, set);
    return rtc_cpc_unbind(cpc, set) != 0 || rtc_cpc_close(cpc) != 0;
}
