/*
 * profile.c - the heap at run time: all available variables, and the work of one part of the program.
 *
 *     cc -I PREFIX/include profile.c -o profile && rtcheck ./profile
 *
 * C and C++. Without the runtime it prints so, and does its work.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rtcheck/profile.h>

enum { BLOCKS = 100, VARIABLES_MAX = 64 };

static void *block[BLOCKS];

/* Allocate all blocks, free half of them. */
static void work(void)
{
    for (int i = 0; i < BLOCKS; i++)
        block[i] = malloc(1000);
    for (int i = 0; i < BLOCKS; i += 2) {
        free(block[i]);
        block[i] = NULL;
    }
}

static uint32_t id_of(const struct rtc_profile_desc *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0)
            return list[i].id;
    return 0; /* which no variable has */
}

/* All numbers are of one moment. */
static int print_all(rtc_profile_t *profile, const struct rtc_profile_desc *list, size_t count)
{
    int err = rtc_profile_start_reads(profile, 0);
    for (size_t i = 0; !err && i < count; i++) {
        uint64_t value;
        if (list[i].datatype_sel != RTC_PROFILE_PRIMITIVE ||
            list[i].datatype.primitive != RTC_PROFILE_UINT64)
            continue;
        if (rtc_profile_read_u64(profile, list[i].id, &value) == 0)
            fprintf(stderr, "%-14s %12" PRIu64 "  %s\n", list[i].name, value, list[i].desc);
    }
    return err ? err : rtc_profile_end_reads(profile, 0);
}

static int measure(rtc_profile_t *profile)
{
    struct rtc_profile_desc list[VARIABLES_MAX];
    size_t count = VARIABLES_MAX;
    ssize_t got = rtc_profile_query_vars(profile, list, &count);
    uint64_t allocs = 0, frees = 0;
    if (got < 0 || rtc_profile_reset(profile, 0) != 0)
        return 1;
    work();
    if (rtc_profile_start_reads(profile, 0) != 0 ||
        rtc_profile_read_u64(profile, id_of(list, (size_t)got, "alloc_calls"), &allocs) != 0 ||
        rtc_profile_read_u64(profile, id_of(list, (size_t)got, "free_calls"), &frees) != 0 ||
        rtc_profile_end_reads(profile, 0) != 0)
        return 1;
    printf("%" PRIu64 " blocks taken, %" PRIu64 " given back\n", allocs, frees);
    return print_all(profile, list, (size_t)got) != 0;
}

int main(void)
{
    rtc_profile_t *profile;
    if (!rtc_profile_open) {
        puts("no variables of the heap here: start this program with rtcheck");
        work();
        return 0;
    }
    if (rtc_profile_open(RTC_PROFILE_PROCESS, 0, 0, &profile, NULL) != 0)
        return 1;
    int bad = measure(profile);
    return rtc_profile_close(profile) != 0 || bad;
}
