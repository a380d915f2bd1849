/*
 * profile.c - the contract of rtcheck/profile.h, row by row (profile.def).
 *
 *     profile [--moments N] [ROW...]     without the runtime: "absent"
 *
 * rtc-build: +profile_*.c -pthread
 */
#include "profile.h"

unsigned long moments = 20000;

rtc_profile_t *open_process(void)
{
    rtc_profile_t *p = NULL;
    must(rtc_profile_open(RTC_PROFILE_PROCESS, 0, 0, &p, NULL) == 0 && p);
    return p;
}

rtc_profile_t *open_thread(uint64_t tid)
{
    rtc_profile_t *p = NULL;
    must(rtc_profile_open(RTC_PROFILE_THREAD, tid, 0, &p, NULL) == 0 && p);
    return p;
}

static uint32_t find(const struct rtc_profile_desc *list, ssize_t n, const char *name)
{
    for (ssize_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return list[i].id;
    return 0;
}

uint32_t id_of(rtc_profile_t *p, const char *variable)
{
    struct rtc_profile_desc list[VARIABLES];
    size_t count = VARIABLES;
    return find(list, rtc_profile_query_vars(p, list, &count), variable);
}

uint32_t event_of(rtc_profile_t *p, const char *event)
{
    struct rtc_profile_desc list[EVENTS];
    size_t count = EVENTS;
    return find(list, rtc_profile_query_events(p, list, &count), event);
}

int try_var(rtc_profile_t *p, const char *variable)
{
    uint64_t value = 77;
    int err = rtc_profile_read_u64(p, id_of(p, variable), &value);
    must(!err || value == 77);
    return err;
}

uint64_t read_var(rtc_profile_t *p, const char *variable)
{
    uint64_t value = 77;
    must(rtc_profile_read_u64(p, id_of(p, variable), &value) == 0);
    return value;
}

static void *volatile kept[THREADS][64];

void allocate(unsigned slot, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        must((kept[slot][i] = malloc(BYTES)));
}

void release(unsigned slot, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        free(kept[slot][i]);
}

void listen_to(rtc_profile_t *p, const char *event, rtc_profile_callback callback, void *context)
{
    must(rtc_profile_register_callback(p, event_of(p, event), callback, context) == 0);
}

int count_call(rtc_profile_t *p, struct rtc_profile_desc *event, void *param, size_t size,
               void *context)
{
    (void)p, (void)event, (void)param, (void)size;
    ++*(unsigned *)context;
    return 0;
}

void free_badly(void *volatile p)
{
    free(p);
}

void *volatile freed;

void free_twice(void)
{
    if (!freed)
        free((freed = malloc(10)));
    free_badly(freed);
}

static const struct row row[] = {
#define ROW(name) {#name, row_##name},
#include "profile.def"
#undef ROW
};

/* Register the thread with the runtime. */
static void allocate_once(void)
{
    free(malloc(1));
}

int main(int argc, char **argv)
{
    const struct rows all = {row, sizeof row / sizeof row[0], 3600, allocate_once};
    if (argc > 2 && strcmp(argv[1], "--moments") == 0) {
        moments = strtoul(argv[2], NULL, 10);
        argv += 2;
        argc -= 2;
    }
    return rows_main(&all, rtc_profile_open, argc, argv);
}
