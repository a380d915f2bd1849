/*
 * self.c - prints the result of the test of events in a program: the missing events, once, or again after a
 * library has redirected a function.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "rtcheck/event.h"

#define EVENTS 0x70fffu

static void nothing(unsigned type, union rtc_event *e, void *arg)
{
    (void)type, (void)e, (void)arg;
}

static void test(void)
{
    unsigned missing = 0;
    int err = rtc_event_test(EVENTS, &missing);
    printf("%s", err == 0 ? "covered" : err == -ENOTSUP ? "missing" : "failed");
    for (unsigned event = 1; event; event <<= 1)
        if (missing & event)
            printf(" %s", rtc_event_name(event));
    putchar('\n');
}

int main(void)
{
    void (*redirect)(void), *f = dlsym(RTLD_DEFAULT, "redirect");
    void *at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (rtc_event_set_handler(EVENTS, 0, nothing, NULL) != 0 || munmap(at, 4096) != 0)
        return 1;
    test();
    memcpy(&redirect, &f, sizeof f);
    if (redirect) {
        redirect();
        test();
    }
    return 0;
}
