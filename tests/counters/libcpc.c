/*
 * libcpc.c - the contract of rtcheck/libcpc.h, row by row (libcpc.def), by the names of Solaris alone.
 *
 *     libcpc [ROW...]     without the runtime: "absent"
 *
 * rtc-build: -pthread
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "../events/alone.h"
#include "rtcheck/libcpc.h"

#define ROW(name) static void row_##name(void);
#include "libcpc.def"
#undef ROW

static cpc_t *cpc;
static cpc_set_t *set;

/* So many page faults. */
static void touch_pages(size_t pages)
{
    size_t bytes = pages * 4096;
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(at != MAP_FAILED);
    madvise(at, bytes, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < bytes; i += 4096)
        at[i] = 1;
    must(munmap(at, bytes) == 0);
}

static void begin(void)
{
    must((cpc = cpc_open(CPC_VER_CURRENT)));
    must((set = cpc_set_create(cpc)));
    must(cpc_set_add_request(cpc, set, "page-faults", 0, CPC_COUNT_USER, 0, NULL) == 0);
}

static cpc_buf_t *sampled(void)
{
    cpc_buf_t *buf = cpc_buf_create(cpc, set);
    must(buf && cpc_set_sample(cpc, set, buf) == 0);
    return buf;
}

static uint64_t value_of(cpc_buf_t *buf)
{
    uint64_t value;
    must(cpc_buf_get(cpc, buf, 0, &value) == 0);
    return value;
}

static void row_handle(void)
{
    must(!cpc_open(CPC_VER_CURRENT + 1) && errno == EINVAL);
    begin();
    must(cpc_cciname(cpc)[0] && cpc_cpuref(cpc)[0] && cpc_npic(cpc) < 100);
    must(!(cpc_caps(cpc) & ~(uint_t)(CPC_OVERFLOW_INTERRUPT | CPC_OVERFLOW_PRECISE)));
    must(cpc_set_destroy(cpc, set) == 0 && cpc_close(cpc) == 0);
    must(cpc_close(cpc) == -1 && errno == EINVAL);
}

static void count_name(void *arg, const char *name)
{
    must(name[0]);
    ++*(unsigned *)arg;
}

static void count_of_pic(void *arg, uint_t picno, const char *name)
{
    must(picno == 0 && name[0]);
    ++*(unsigned *)arg;
}

static void row_lists(void)
{
    unsigned events = 0, others = 0;
    begin();
    cpc_walk_events_all(cpc, &events, count_name);
    must(events > 3);
    cpc_walk_generic_events_all(cpc, &others, count_name);
    cpc_walk_attrs(cpc, &others, count_name);
    if (cpc_npic(cpc)) {
        cpc_walk_events_pic(cpc, 0, &others, count_of_pic);
        cpc_walk_generic_events_pic(cpc, 0, &others, count_of_pic);
    }
}

static void is_first(void *arg, int index, const char *event, uint64_t preset, uint_t flags,
                     int nattrs, const cpc_attr_t *attrs)
{
    (void)attrs;
    must(index == 0 && strcmp(event, "page-faults") == 0 && preset == 7);
    must(flags == CPC_COUNT_USER && nattrs == 0);
    ++*(unsigned *)arg;
}

static void row_requests(void)
{
    unsigned requests = 0;
    cpc_attr_t attribute = {"no-such", 1};
    begin();
    must(cpc_set_request_preset(cpc, set, 0, 7) == 0);
    cpc_walk_requests(cpc, set, &requests, is_first);
    must(requests == 1);
    must(cpc_set_add_request(cpc, set, "page-faults", 0, 0, 0, NULL) == -1 && errno == EINVAL);
    must(cpc_set_add_request(cpc, set, "page-faults", 0, CPC_COUNT_USER, 1, &attribute) == -1);
}

static void row_binding(void)
{
    begin();
    cpc_buf_t *buf = cpc_buf_create(cpc, set);
    must(cpc_enable(cpc) == -1 && errno == EINVAL && cpc_disable(cpc) == -1);
    must(cpc_set_sample(cpc, set, buf) == -1 && errno == EINVAL && cpc_unbind(cpc, set) == -1);
    must(cpc_bind_curlwp(cpc, set, 0) == 0 && cpc_disable(cpc) == 0 && cpc_enable(cpc) == 0);
    touch_pages(100);
    must(cpc_buf_sample(cpc, set, buf) == 0 && value_of(buf) >= 100);
    must(cpc_buf_hrtime(cpc, buf) > 0 && cpc_buf_tick(cpc, buf) > 0);
    must(cpc_set_restart(cpc, set) == 0 && value_of(sampled()) < 100);
    must(cpc_unbind(cpc, set) == 0 && cpc_buf_destroy(cpc, buf) == 0);
}

static void *touch_there(void *unused)
{
    touch_pages(300);
    return unused;
}

static void row_inherited(void)
{
    pthread_t thread;
    begin();
    must(cpc_bind_curlwp(cpc, set, CPC_BIND_LWP_INHERIT) == 0);
    must(pthread_create(&thread, NULL, touch_there, NULL) == 0 && pthread_join(thread, NULL) == 0);
    must(value_of(sampled()) >= 300);
}

static unsigned reported;

static void report(const char *fn, const char *fmt, va_list ap)
{
    char text[200];
    vsnprintf(text, sizeof text, fmt, ap);
    must(strcmp(fn, "pctx_capture") == 0 && strncmp(text, "no process ", 11) == 0);
    reported++;
}

static void row_other_process(void)
{
    char *argv[] = {(char *)"true", NULL};
    begin();
    pctx_t *pctx = pctx_create("true", argv, NULL, 0, NULL);
    must(pctx && cpc_bind_pctx(cpc, pctx, 0, set, 0) == 0);
    pctx_release(pctx);
    int status;
    must(wait(&status) > 0 && status == 0 && value_of(sampled()) > 10);
    must(cpc_unbind(cpc, set) == 0);
    must(!pctx_capture(0x7ffffff0, NULL, 0, report) && errno == ESRCH && reported == 1);
}

static void quiet(cpc_t *of, const char *fn, int subcode, const char *fmt, va_list ap)
{
    (void)of, (void)fn, (void)fmt, (void)ap;
    reported = (unsigned)subcode;
}

/* Where it is not permitted, that is the reason. */
static void row_processor(void)
{
    begin();
    cpc_seterrhndlr(cpc, quiet);
    must(cpc_bind_cpu(cpc, 1 << 20, set, 0) == -1 && errno == EINVAL);
    must(cpc_bind_cpu(cpc, 0, set, 0) == 0 ||
         (errno == EACCES && reported == CPC_ATTR_REQUIRES_PRIVILEGE));
}

static void row_arithmetic(void)
{
    begin();
    must(cpc_bind_curlwp(cpc, set, 0) == 0);
    cpc_buf_t *before = sampled(), *diff = cpc_buf_create(cpc, set);
    touch_pages(50);
    cpc_buf_t *after = sampled();
    errno = 5;
    must(cpc_buf_sub(cpc, diff, after, before) == 0 && errno == 5 && value_of(diff) >= 50);
    must(cpc_buf_add(cpc, diff, diff, before) == 0 && value_of(diff) == value_of(after));
    must(cpc_buf_hrtime(cpc, diff) == cpc_buf_hrtime(cpc, after));
    must(cpc_buf_copy(cpc, diff, before) == 0 && value_of(diff) == value_of(before));
    cpc_buf_zero(cpc, diff);
    must(value_of(diff) == 0 && cpc_buf_hrtime(cpc, diff) == 0 && cpc_buf_tick(cpc, diff) == 0);
}

static void row_value_or_address(void)
{
    uint64_t value = 12;
    const uint64_t other = 14;
    begin();
    cpc_buf_t *buf = cpc_buf_create(cpc, set);
    must(cpc_buf_set(cpc, buf, 0, &value) == 0 && value_of(buf) == 12);
    must(cpc_buf_set(cpc, buf, 0, &other) == 0 && value_of(buf) == 14);
    must(cpc_buf_set(cpc, buf, 0, 13) == 0 && value_of(buf) == 13);
    must(cpc_buf_set(cpc, buf, 0, value) == 0 && value_of(buf) == 12);
}

static void row_errors(void)
{
    begin();
    cpc_seterrhndlr(cpc, quiet);
    must(cpc_set_add_request(cpc, set, "no-such-event", 0, CPC_COUNT_USER, 0, NULL) == -1);
    must(errno == EINVAL && reported == CPC_INVALID_EVENT);
    cpc_set_t *other = cpc_set_create(cpc);
    must(cpc_set_add_request(cpc, other, "minor-faults", 0, CPC_COUNT_USER, 0, NULL) == 0);
    cpc_buf_t *one = cpc_buf_create(cpc, set), *two = cpc_buf_create(cpc, other);
    must(cpc_buf_sub(cpc, one, one, two) == -1 && reported == CPC_CONFLICTING_REQS);
    must(cpc_buf_add(cpc, one, one, two) == -1 && cpc_buf_copy(cpc, one, two) == -1);
    must(cpc_bind_curlwp(cpc, cpc_set_create(cpc), 0) == -1 && errno == EINVAL);
    cpc_seterrhndlr(cpc, NULL);
}

static volatile sig_atomic_t overflows;

static void overflowed(int signal, siginfo_t *info, void *context)
{
    (void)context;
    must(signal == SIGEMT && info->si_code == EMT_CPCOVF);
    overflows = overflows + 1;
    must(cpc_request_preset(cpc, 0, UINT64_MAX - 19) == 0 && cpc_set_restart(cpc, set) == 0);
}

/* The set stops at an overflow, and is restarted with another preset by the handler. */
static void row_presets(void)
{
    struct sigaction action = {.sa_sigaction = overflowed, .sa_flags = SA_SIGINFO | SA_RESTART};
    must(sigaction(SIGEMT, &action, NULL) == 0 && (cpc = cpc_open(CPC_VER_CURRENT)));
    must((set = cpc_set_create(cpc)));
    must(cpc_set_add_request(cpc, set, "page-faults", UINT64_MAX - 9,
                             CPC_COUNT_USER | CPC_OVF_NOTIFY_EMT, 0, NULL) == 0);
    must(cpc_bind_curlwp(cpc, set, 0) == 0);
    touch_pages(200);
    must(overflows >= 8 && overflows <= 16 && cpc_unbind(cpc, set) == 0);
}

static const struct row row[] = {
#define ROW(name) {#name, row_##name},
#include "libcpc.def"
#undef ROW
};

int main(int argc, char **argv)
{
    const struct rows all = {row, sizeof row / sizeof row[0], 60, NULL};
    return rows_main(&all, rtc_cpc_open, argc, argv);
}
