/*
 * events.c - calls that change the address space, from the one that costs the kernel most to the one
 * that makes no system call, and a handler that does almost nothing, of rtcheck or of UCX's libucm.
 *
 * libucm is loaded, not linked: the program is also built on machines without it. libucs, which
 * initialises libucm, is loaded first.
 */
#include "events.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rtcheck/profile.h"

#define PAGE 4096u
#define HOLES 64u
#define RANGES (1 << 16 | 1 << 17) /* VM_MAPPED, VM_UNMAPPED: the same numbers in both */

static const char *how;
static volatile unsigned long
    reported; /* volatile: libc declares the calls that call back here as leaf functions */
static char *page, *holes; /* of a page, a page before each */

static _Noreturn void fail(const char *what, const char *why)
{
    fprintf(stderr, "calls: %s: %s\n", what, why);
    exit(1);
}

static void note(unsigned type, void *event, void *arg)
{
    (void)type, (void)event, (void)arg;
    reported++;
}

/* ---- handlers ------------------------------------------------------------------------------- */

static void *function(void *library, const char *name)
{
    void *f = dlsym(library, name);
    if (!f)
        fail("BENCH_EVENTS", dlerror());
    return f;
}

/* Both systems' functions have this type, except for the return type of ucm's second one. */
static void register_in(void *library, const char *set_name, const char *unset_name)
{
    int (*set)(int, int, void (*)(unsigned, void *, void *), void *);
    void (*unset)(int, void (*)(unsigned, void *, void *), void *);
    void *f = function(library, set_name);
    memcpy(&set, &f, sizeof f);
    if (set(RANGES, 0, note, NULL) != 0)
        fail(set_name, "refused");
    f = function(library, unset_name);
    memcpy(&unset, &f, sizeof f);
    if (strcmp(how, "none") == 0)
        unset(RANGES, note, NULL);
}

static void *ucm(void)
{
    if (!dlopen("libucs.so.0", RTLD_NOW | RTLD_GLOBAL))
        fail("BENCH_EVENTS", dlerror());
    void *library = dlopen("libucm.so.0", RTLD_NOW | RTLD_GLOBAL);
    return library ? library : (fail("BENCH_EVENTS", dlerror()), NULL);
}

static void *hole(size_t i)
{
    return holes + (2 * (i % HOLES) + 1) * PAGE;
}

static int on_event(rtc_profile_t *p, struct rtc_profile_desc *event, void *param, size_t size,
                    void *context)
{
    (void)p, (void)event, (void)param, (void)size, (void)context;
    return 0;
}

/* A profile that is open, and a callback for an event that does not come. */
static void profile_begin(const char *event)
{
    struct rtc_profile_desc list[32];
    rtc_profile_t *p;
    size_t count = 32;
    if (!rtc_profile_open || rtc_profile_open(RTC_PROFILE_PROCESS, 0, 0, &p, NULL))
        fail("BENCH_PROFILE", "no profile");
    for (ssize_t i = rtc_profile_query_events(p, list, &count); i-- > 0;)
        if (strcmp(list[i].name, event) == 0 &&
            rtc_profile_register_callback(p, list[i].id, on_event, NULL) == 0)
            return;
    fail(event, "no such event");
}

void events_begin(void)
{
    const char *setting = getenv("BENCH_EVENTS"), *profile = getenv("BENCH_PROFILE");
    if (profile)
        profile_begin(profile);
    page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    holes = mmap(NULL, (2 * HOLES + 1) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || holes == MAP_FAILED)
        fail("mmap", "refused");
    for (size_t i = 0; i < HOLES; i++)
        munmap(hole(i), PAGE);
    if (!setting)
        return;
    how = strchr(setting, '-') ? strchr(setting, '-') + 1 : "";
    if (strncmp(setting, "ucm-", 4) == 0)
        register_in(ucm(), "ucm_set_event_handler", "ucm_unset_event_handler");
    else
        register_in(RTLD_DEFAULT, "rtc_event_set_handler", "rtc_event_unset_handler");
    reported = 0;
}

void events_end(void)
{
    unsigned long before = reported;
    map_and_unmap(1);
    if (how && reported - before != (strcmp(how, "one") == 0 ? 2 : 0))
        fail(how, "not told, or told what it did not ask for");
}

/* ---- the calls ------------------------------------------------------------------------------ */

/*
 * At many addresses in turn, between pages of another kind: the kernel's cost at one address depends on the
 * neighbouring mappings in its tree, and differs by half.
 */
void map_and_unmap(size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (munmap(mmap(hole(i), PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                   PAGE) != 0)
            abort();
}

static void advise(size_t count, size_t bytes)
{
    for (size_t i = 0; i < count; i++)
        if (madvise(page, bytes, MADV_DONTNEED) != 0)
            abort();
}

void discard(size_t count)
{
    advise(count, PAGE);
}

void discard_nothing(size_t count)
{
    advise(count, 0);
}

void query_break(size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (sbrk(0) == (void *)-1)
            abort();
}
