/*
 * callbacks.c - callbacks for events of the heap, across a fork; and the sites with most of its memory.
 *
 *     cc -I PREFIX/include callbacks.c -o callbacks && rtcheck ./callbacks
 *
 * C and C++. The order of calls is that of fi_profile(3): open, get the number of variables, list them,
 * register, read several in one moment, close.  Without the runtime it prints so, and does its work.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rtcheck/profile.h>

enum { BLOCKS = 100, BLOCK_BYTES = 1000 };

static void *block[BLOCKS];
static unsigned failures;

static void work(void)
{
    for (int i = 0; i < BLOCKS; i++)
        block[i] = malloc(BLOCK_BYTES);
    for (int i = 0; i < BLOCKS / 2; i++)
        free(block[i]);
}

/* It may read and free; it must not allocate, or print with streams that do. */
static int on_event(rtc_profile_t *profile, struct rtc_profile_desc *event, void *param,
                    size_t size, void *context)
{
    const struct rtc_profile_alloc_error *data = (const struct rtc_profile_alloc_error *)param;
    (void)profile, (void)event;
    if (size == sizeof *data && data->bytes > 1000)
        ++*(unsigned *)context;
    return 0;
}

/* By the count protocol: get the number, allocate the list, get the descriptions. */
static uint32_t find(rtc_profile_t *profile, const char *name,
                     ssize_t (*query)(rtc_profile_t *, struct rtc_profile_desc *, size_t *))
{
    uint32_t id = 0;
    size_t count = 0;
    query(profile, NULL, &count);
    struct rtc_profile_desc *list = (struct rtc_profile_desc *)calloc(count, sizeof *list);
    ssize_t n = list ? query(profile, list, &count) : 0;
    for (ssize_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            id = list[i].id;
    free(list);
    return id;
}

static void show_moment(rtc_profile_t *profile)
{
    static const char *const name[] = {"alloc_calls", "free_calls", "blocks_live", "bytes_live"};
    uint32_t id[4];
    for (int i = 0; i < 4; i++)
        id[i] = find(profile, name[i], rtc_profile_query_vars);
    if (rtc_profile_start_reads(profile, 0) != 0)
        return;
    for (int i = 0; i < 4; i++) {
        uint64_t value;
        int err = rtc_profile_read_u64(profile, id[i], &value);
        if (err)
            printf("%s: n/a: %s ", name[i], strerror(-err));
        else
            printf("%s %" PRIu64 " ", name[i], value);
    }
    printf("\n");
    rtc_profile_end_reads(profile, 0);
}

static void show_largest_site(rtc_profile_t *profile)
{
    struct rtc_profile_site list[RTC_PROFILE_TOP_SITES];
    size_t bytes = sizeof list;
    if (rtc_profile_read_data(profile, find(profile, "top_sites", rtc_profile_query_vars), list,
                              &bytes) == 0 &&
        bytes)
        printf("largest: %" PRIu64 " bytes in %" PRIu64 " blocks, %s\n", list[0].bytes,
               list[0].blocks,
               list[0].site == rtc_profile_site_of(block[BLOCKS - 1]) ? "where work allocates"
                                                                      : "elsewhere");
}

int main(void)
{
    rtc_profile_t *profile;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!rtc_profile_open) {
        puts("no counters here: start this program with rtcheck");
        work();
        return 0;
    }
    if (rtc_profile_open(RTC_PROFILE_PROCESS, 0, 0, &profile, NULL) != 0)
        return 1;
    rtc_profile_register_callback(profile, find(profile, "alloc_error", rtc_profile_query_events),
                                  on_event, &failures);
    work();
    show_moment(profile);
    show_largest_site(profile);
    void *volatile too_much = malloc((size_t)1 << 50);
    free(too_much);
    pid_t child = fork(); /* which has its parent's profile, and its own counts from here on */
    if (child == 0)
        too_much = malloc((size_t)1 << 50);
    printf("%s: %u allocations failed\n", child ? "parent" : "child", failures);
    if (child > 0)
        waitpid(child, NULL, 0);
    rtc_profile_close(profile);
    if (child == 0)
        _exit(0);
    puts("closed");
    return 0;
}
