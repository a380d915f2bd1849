/*
 * profile_state.c - rows of profile.def: variables other than counts of allocations, and sites.
 */
#include "profile.h"

#include "rtcheck/check.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

/* ---- errors, searches ----------------------------------------------------------------------------- */

void row_errors(void)
{
    rtc_profile_t *p = open_process();
    static long no_block[4];
    char *q = malloc(100);
    must(read_var(p, "err_baf") == 0 && read_var(p, "err_oom") == 0);
    free_badly(q + 16);
    free_badly(q);
    free_badly(q);
    free_badly(q);
    free_badly(no_block + 2);
    must(!malloc((size_t)1 << 50));
    must(read_var(p, "err_maf") == 1 && read_var(p, "err_duf") == 2 && read_var(p, "err_baf") == 1);
    must(read_var(p, "err_oom") == 1 && read_var(p, "dropped") == 0);
    must(rtc_profile_reset(p, 0) == 0 && read_var(p, "err_duf") == 0);
}

/* A child counts its own errors, also after a reset in the parent; it inherits counts of allocations. */
void row_errors_in_children(void)
{
    rtc_profile_t *p = open_process();
    char *q = malloc(100);
    free_badly(q + 16);
    free_badly(q + 16);
    must(rtc_profile_reset(p, 0) == 0);
    allocate(0, 3);
    pid_t pid = fork();
    if (pid == 0) {
        must(read_var(p, "err_maf") == 0 && read_var(p, "alloc_calls") == 3 &&
             read_var(p, "threads_seen") == 0);
        free_badly(q + 16);
        must(read_var(p, "err_maf") == 1 && read_var(p, "perf_task_clock_ns") < 1000000000);
        _exit(0);
    }
    must_end_well(pid);
    must(read_var(p, "err_maf") == 0);
}

/* Only a search counts lost blocks; before it the variables have no value. */
void row_searches(void)
{
    rtc_profile_t *p = open_process();
    must(try_var(p, "blocks_leaked") == -ENODATA && try_var(p, "suppressed") == -ENODATA);
    must(read_var(p, "scan_count") == 0);
    for (unsigned i = 0; i < 3; i++)
        must(malloc(40 + i));
    long lost = rtc_check_leaks(RTC_QUIET, NULL);
    must(lost >= 2); /* a register may hold the last one */
    must(read_var(p, "scan_count") == 1 && read_var(p, "blocks_leaked") == (uint64_t)lost);
    must(try_var(p, "suppressed") == -ENODATA); /* it was not reported */
}

__attribute__((noinline)) static void lose_two(void)
{
    for (unsigned i = 0; i < 2; i++)
        must(malloc(60));
    __asm__ volatile("" ::: "memory");
}

/* Run with a rule that suppresses the leaks of lose_two: one leak, or two if a pointer to one of the blocks exists. */
void row_hidden_leaks(void)
{
    rtc_profile_t *p = open_process();
    lose_two();
    must(rtc_check_leaks(0, NULL) >= 1 && read_var(p, "suppressed") - 1 <= 1);
}

/* ---- memory of ours ------------------------------------------------------------------------------- */

void row_memory(void)
{
    rtc_profile_t *p = open_process();
    uint64_t waiting = read_var(p, "quarantine_bytes");
    allocate(0, 10);
    release(0, 10);
    must(read_var(p, "quarantine_bytes") >= waiting + 10 * BYTES);
    uint64_t size = read_var(p, "pool_size"), used = read_var(p, "pool_used"),
             shadow = read_var(p, "shadow_bytes");
    must(size >= used && used > 4096 && shadow > 0);
    must(read_var(p, "bytes_live") == 0 && try_var(p, "meta_overhead_pct") == -ENODATA);
    allocate(0, 1);
    must(rtc_profile_start_reads(p, 0) == 0);
    uint64_t percent = 100 * read_var(p, "shadow_bytes") / read_var(p, "bytes_live");
    must(read_var(p, "meta_overhead_pct") == percent);
    must(rtc_profile_end_reads(p, 0) == 0);
    for (unsigned i = 0; i < 100000; i++)
        must(malloc(16));
    must(read_var(p, "shadow_bytes") > shadow + 100000 * 16 / 2 && read_var(p, "pool_used") > used);
}

void row_maps(void)
{
    rtc_profile_t *p = open_process();
    uint64_t before = read_var(p, "maps_live");
    char *a = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *b = mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(a != MAP_FAILED && b != MAP_FAILED && read_var(p, "maps_live") == before + 2);
    must(munmap(b, 4 << 20) == 0 && read_var(p, "maps_live") == before + 1);
}

static void *allocate_a_bit(void *unused)
{
    free(malloc(10));
    return unused;
}

void row_threads_seen(void)
{
    pthread_t thread;
    rtc_profile_t *p = open_process();
    must(read_var(p, "threads_seen") == 1);
    for (unsigned i = 0; i < 5; i++)
        must(pthread_create(&thread, NULL, allocate_a_bit, NULL) == 0 &&
             pthread_join(thread, NULL) == 0);
    must(read_var(p, "threads_seen") == 6 && read_var(p, "threads_live") <= 2);
}

/* The value comes from the kernel; here it lies between two of libc's own results. */
void row_perf(void)
{
    struct rusage usage;
    struct timespec cpu;
    rtc_profile_t *p = open_process();
    uint64_t ns = read_var(p, "perf_task_clock_ns"), faults = read_var(p, "perf_faults"),
             ctx = read_var(p, "perf_ctx");
    must(getrusage(RUSAGE_SELF, &usage) == 0 && clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu) == 0);
    must(ns && faults && ns <= (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec);
    must(faults <= (uint64_t)(usage.ru_minflt + usage.ru_majflt) &&
         ctx <= (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw));
    must(read_var(p, "perf_faults") >= (uint64_t)(usage.ru_minflt + usage.ru_majflt));
    char *at = mmap(NULL, 64 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(at != MAP_FAILED && madvise(at, 64 * 4096, MADV_NOHUGEPAGE) == 0 &&
         rtc_profile_reset(p, 0) == 0);
    for (unsigned i = 0; i < 64; i++)
        at[i * 4096] = 1;
    must(read_var(p, "perf_faults") >= 64 && read_var(p, "perf_faults") < 264);
}

/* ---- sites ---------------------------------------------------------------------------------------- */

__attribute__((noinline)) static void *make_here(size_t bytes)
{
    void *p = malloc(bytes);
    must(p);
    __asm__ volatile("" ::"r"(p) : "memory");
    return p;
}

static void *volatile held[3][1000];

__attribute__((noinline)) static void hold(unsigned which, unsigned n, size_t bytes)
{
    for (unsigned i = 0; i < n; i++)
        held[which][i] = make_here(bytes);
}

/* Two calls of the same function are two sites; a block's inside is the block. */
void row_site_of(void)
{
    hold(0, 2, 100);
    hold(1, 1, 100);
    uint64_t a = rtc_profile_site_of(held[0][0]), b = rtc_profile_site_of(held[1][0]);
    must(a && b && a != b && rtc_profile_site_of(held[0][1]) == a);
    must(rtc_profile_site_of((char *)held[0][0] + 50) == a);
    must(!rtc_profile_site_of(&a) && !rtc_profile_site_of(NULL));
    free(held[0][0]);
    must(!rtc_profile_site_of(held[0][0]) && rtc_profile_site_of(held[0][1]) == a);
}

void row_site(void)
{
    rtc_profile_t *p = NULL;
    hold(0, 100, 1000);
    hold(1, 7, 300000);
    uint64_t site = rtc_profile_site_of(held[0][0]);
    for (uint64_t none = site + 1000; none <= UINT32_MAX;
         none = 2 * none + 1) /* larger than all existing ones */
        must(rtc_profile_open(RTC_PROFILE_SITE, none, 0, &p, NULL) == -EINVAL);
    must(rtc_profile_open(RTC_PROFILE_SITE, site, 0, &p, NULL) == 0);
    must(read_var(p, "blocks_live") == 100 && read_var(p, "bytes_live") == 100 * 1000);
    for (unsigned i = 0; i < 40; i++)
        free(held[0][i]);
    must(read_var(p, "blocks_live") == 60 && read_var(p, "bytes_live") == 60 * 1000);
    size_t count = 0;
    must(rtc_profile_query_vars(p, NULL, &count) == 0 && count == 2);
    must(rtc_profile_query_events(p, NULL, &count) == 0 && count == 0);
    must(rtc_profile_register_callback(p, 1, NULL, NULL) == -EINVAL);
    must(rtc_profile_start_reads(p, RTC_PROFILE_WITH_SITES) == -EINVAL &&
         rtc_profile_start_reads(p, 0) == 0);
    free(held[0][50]);
    must(read_var(p, "blocks_live") == 60 && rtc_profile_end_reads(p, 0) == 0 &&
         read_var(p, "blocks_live") == 59);
    must(rtc_profile_close(p) == 0);
    must(rtc_profile_open(RTC_PROFILE_SITE, rtc_profile_site_of(held[1][0]), 0, &p, NULL) == 0);
    must(read_var(p, "blocks_live") == 7 && read_var(p, "bytes_live") == 7 * 300000);
}

static const struct rtc_profile_site *find_site(const struct rtc_profile_site *list, size_t bytes,
                                                uint64_t site)
{
    for (size_t i = 0; i < bytes / sizeof *list; i++)
        if (list[i].site == site)
            return &list[i];
    return NULL;
}

void row_top_sites(void)
{
    struct rtc_profile_site list[RTC_PROFILE_TOP_SITES];
    rtc_profile_t *p = open_process();
    uint32_t id = id_of(p, "top_sites");
    size_t size = sizeof list;
    hold(0, 900, 2000);
    hold(1, 800, 3000);
    hold(2, 100, 10000);
    must(rtc_profile_read_data(p, id, list, &size) == 0 && size >= 3 * sizeof *list &&
         size % sizeof *list == 0);
    must(list[0].site == rtc_profile_site_of(held[1][0]) && list[0].blocks == 800 &&
         list[0].bytes == 800 * 3000);
    must(list[1].site == rtc_profile_site_of(held[0][0]) && list[1].blocks == 900 &&
         list[1].bytes == 900 * 2000);
    must(list[2].site == rtc_profile_site_of(held[2][0]));
    for (size_t i = 1; i < size / sizeof *list; i++)
        must(list[i - 1].bytes >= list[i].bytes);
    size_t all = size--;
    must(rtc_profile_read_data(p, id, list, &size) == -ERANGE && size == all);
    must(rtc_profile_start_reads(p, 0) == 0 &&
         rtc_profile_read_data(p, id, list, &size) == -ENODATA);
    must(rtc_profile_end_reads(p, 0) == 0);
}

static _Atomic int stop;

static void *come_and_go(void *unused)
{
    while (!stop)
        free(make_here(500));
    return unused;
}

/* One snapshot with sites, when the list has all sites of the process: they add up to the blocks in use. */
static int add_up_sites(rtc_profile_t *p, unsigned in_first)
{
    struct rtc_profile_site list[RTC_PROFILE_TOP_SITES];
    size_t size = sizeof list;
    uint64_t blocks = 0;
    int err = rtc_profile_start_reads(p, RTC_PROFILE_WITH_SITES);
    if (err)
        return err;
    must(rtc_profile_read_data(p, id_of(p, "top_sites"), list, &size) == 0);
    must(size < sizeof list &&
         find_site(list, size, rtc_profile_site_of(held[0][0]))->blocks == in_first);
    for (size_t j = 0; j < size / sizeof *list; j++)
        blocks += list[j].blocks;
    must(blocks == read_var(p, "blocks_live"));
    return rtc_profile_end_reads(p, 0);
}

static void begin_threads(pthread_t thread[3])
{
    for (unsigned i = 0; i < 3; i++)
        must(pthread_create(&thread[i], NULL, come_and_go, NULL) == 0);
}

static void end_threads(pthread_t thread[3])
{
    stop = 1;
    for (unsigned i = 0; i < 3; i++)
        must(pthread_join(thread[i], NULL) == 0);
}

/* All blocks belong to a site: the sums are those of the same moment, while threads allocate. */
void row_sites_at_once(void)
{
    pthread_t thread[3];
    rtc_profile_t *p = open_process();
    hold(0, 900, 2000);
    begin_threads(thread);
    for (unsigned i = 0; i < 200; i++)
        must(add_up_sites(p, 900) == 0);
    end_threads(thread);
}

/* With too many blocks for a sum in the permitted time there is no value, rather than a sum of two moments. */
void row_sites_without_end(void)
{
    pthread_t thread[3];
    bool given_up = false;
    rtc_profile_t *p = open_process();
    hold(0, 900, 60000);
    begin_threads(thread);
    for (unsigned blocks = 0; !given_up && blocks < 20000000; blocks += 1000000) {
        for (unsigned i = 0; i < 1000000; i++)
            must(make_here(1));
        for (unsigned i = 0; i < 3; i++)
            given_up |= add_up_sites(p, 900) == -EAGAIN;
    }
    must(given_up);
    end_threads(thread);
}
