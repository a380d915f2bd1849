/*
 * overflow.c - a signal for every thousandth page fault: the sites where a program touches new memory.
 *
 *     cc -I PREFIX/include overflow.c -o overflow && rtcheck ./overflow
 *
 * C and C++. The handler samples the set, which an overflow has stopped, and restarts it.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rtcheck/cpc.h>

#define PERIOD 1000

static rtc_cpc_t *cpc;
static rtc_cpc_set_t *set;
static rtc_cpc_buf_t *buf;
static volatile sig_atomic_t overflows, others;

/* All that it calls may be called by handlers. */
static void overflowed(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context; /* the place is in there */
    uint64_t counted;
    if (rtc_cpc_overflow_index(cpc, set, info->si_fd) != 0 ||
        rtc_cpc_set_sample(cpc, set, buf) != 0 || rtc_cpc_buf_get(cpc, buf, 0, &counted) != 0 ||
        counted >= PERIOD)
        others = others + 1;
    else
        overflows = overflows + 1; /* `counted` faults came after the one that was reported */
    rtc_cpc_set_restart(cpc, set);
}

static int begin(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = overflowed;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    cpc = rtc_cpc_open(RTC_CPC_VER_CURRENT);
    if (!cpc || sigaction(SIGRTMIN + 1, &action, NULL) != 0)
        return -1;
    set = rtc_cpc_set_create(cpc);
    if (!set || rtc_cpc_overflow_signal(cpc, SIGRTMIN + 1) != 0)
        return -1;
    if (rtc_cpc_set_add_request(cpc, set, "page-faults", (uint64_t)0 - PERIOD,
                                RTC_CPC_COUNT_USER | RTC_CPC_OVF_NOTIFY_EMT, 0, NULL) != 0)
        return -1;
    buf = rtc_cpc_buf_create(cpc, set);
    return buf ? rtc_cpc_bind_curlwp(cpc, set, 0) : -1;
}

static void work(void)
{
    for (int i = 0; i < 50; i++) {
        size_t bytes = 1 << 20;
        char *memory = (char *)malloc(bytes);
        if (memory)
            memset(memory, i, bytes);
        free(memory);
    }
}

int main(void)
{
    if (!rtc_cpc_open) {
        puts("no counters here: start this program with rtcheck");
        work();
        return 0;
    }
    if (begin() != 0)
        return 1;
    work();
    printf("%d times %d faults, %d of something else\n", (int)overflows, PERIOD, (int)others);
    return rtc_cpc_close(cpc) != 0;
}
