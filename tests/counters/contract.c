/*
 * contract.c - the contract of rtcheck/cpc.h, row by row (contract.def).
 *
 *     contract [ROW...]     without the runtime: "absent"
 *
 * rtc-build: +rows_*.c -pthread
 */
#include "contract.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/mman.h>

#define FRESH_BYTES ((size_t)1 << 30)

struct last_error last_error;

static void take_note(rtc_cpc_t *cpc, const char *fn, int subcode, const char *fmt, va_list ap)
{
    must(cpc);
    last_error.subcode = subcode;
    last_error.count++;
    snprintf(last_error.function, sizeof last_error.function, "%s", fn);
    vsnprintf(last_error.text, sizeof last_error.text, fmt, ap);
}

rtc_cpc_t *open_quietly(void)
{
    rtc_cpc_t *cpc = rtc_cpc_open(RTC_CPC_VER_CURRENT);
    must(cpc && rtc_cpc_seterrhndlr(cpc, take_note) == 0);
    return cpc;
}

void add(rtc_cpc_t *cpc, rtc_cpc_set_t *set, const char *event, uint64_t preset, unsigned flags)
{
    must(rtc_cpc_set_add_request(cpc, set, event, preset, flags, 0, NULL) >= 0);
}

rtc_cpc_set_t *set_of(rtc_cpc_t *cpc, const char *event, unsigned flags)
{
    rtc_cpc_set_t *set = rtc_cpc_set_create(cpc);
    must(set);
    add(cpc, set, event, 0, flags);
    return set;
}

rtc_cpc_buf_t *buffer(rtc_cpc_t *cpc, rtc_cpc_set_t *set)
{
    rtc_cpc_buf_t *buf = rtc_cpc_buf_create(cpc, set);
    must(buf);
    return buf;
}

uint64_t value_of(rtc_cpc_t *cpc, rtc_cpc_buf_t *buf, int index)
{
    uint64_t value = 1234567;
    must(rtc_cpc_buf_get(cpc, buf, index, &value) == 0);
    return value;
}

uint64_t sampled(rtc_cpc_t *cpc, rtc_cpc_set_t *set, int index)
{
    rtc_cpc_buf_t *buf = buffer(cpc, set);
    must(rtc_cpc_set_sample(cpc, set, buf) == 0);
    uint64_t value = value_of(cpc, buf, index);
    must(rtc_cpc_buf_destroy(cpc, buf) == 0);
    return value;
}

/* Untouched pages, mapped before counting starts: the runtime sees no call. */
static struct {
    char *at;
    _Atomic size_t used;
} fresh;

static void map_fresh(void)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    fresh.at = mmap(NULL, FRESH_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);
    must(fresh.at != MAP_FAILED);
    madvise(fresh.at, FRESH_BYTES, MADV_NOHUGEPAGE);
}

void touch(unsigned pages)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), at = atomic_fetch_add(&fresh.used, pages * page);
    must(at + pages * page <= FRESH_BYTES);
    for (unsigned i = 0; i < pages; i++)
        *(volatile char *)(fresh.at + at + i * page) = 1;
}

bool is_about(uint64_t counted, uint64_t n)
{
    if (counted < n || counted > n + 30)
        fprintf(stderr, "%llu instead of %llu\n", (unsigned long long)counted,
                (unsigned long long)n);
    return counted >= n && counted <= n + 30;
}

unsigned open_descriptors(void)
{
    unsigned n = 0;
    DIR *folder = opendir("/proc/self/fd");
    must(folder);
    for (const struct dirent *e; (e = readdir(folder));)
        n += e->d_name[0] != '.';
    closedir(folder);
    return n - 1;
}

/* ---- rows ------------------------------------------------------------------------------------- */

static const struct row row[] = {
#define ROW(name) {#name, row_##name},
#include "contract.def"
#undef ROW
};

int main(int argc, char **argv)
{
    const struct rows all = {row, sizeof row / sizeof row[0], 60, NULL};
    map_fresh();
    return rows_main(&all, rtc_cpc_open, argc, argv);
}
