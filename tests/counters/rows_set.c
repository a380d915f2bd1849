/* rows_set.c - handles, sets, requests, and the reporting of errors. */
#include "contract.h"

#include <stdlib.h>
#include <sys/resource.h>

void row_version(void)
{
    errno = 0;
    must(!rtc_cpc_open(RTC_CPC_VER_CURRENT + 1) && errno == EINVAL);
    errno = 0;
    must(!rtc_cpc_open(0) && errno == EINVAL);
    errno = 77;
    rtc_cpc_t *cpc = rtc_cpc_open(RTC_CPC_VER_CURRENT);
    must(cpc && errno == 77);
    must(rtc_cpc_close(cpc) == 0 && errno == 77);
}

void row_close_ends_everything(void)
{
    unsigned before = open_descriptors();
    for (unsigned i = 0; i < 20; i++) {
        rtc_cpc_t *cpc = open_quietly();
        for (unsigned s = 0; s < 20; s++) {
            rtc_cpc_set_t *set = set_of(cpc, "page-faults", USER);
            buffer(cpc, set);
            must(rtc_cpc_bind_curlwp(cpc, set, 0) == 0);
        }
        must(open_descriptors() == before + 20);
        must(rtc_cpc_close(cpc) == 0);
        errno = 0;
        must(rtc_cpc_close(cpc) == -1 && errno == EINVAL && !rtc_cpc_cciname(cpc));
    }
    must(open_descriptors() == before);
    must(rtc_cpc_close(NULL) == -1 && errno == EINVAL);
}

/* Limit the address space to the current use. */
static void no_more_room(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    must(f && fscanf(f, "%lu", &pages) == 1 && fclose(f) == 0);
    rlim_t bytes = pages * (rlim_t)sysconf(_SC_PAGESIZE);
    must(setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes}) == 0);
}

void row_no_memory(void)
{
    rtc_cpc_t *cpc = open_quietly();
    rtc_cpc_set_t *set = set_of(cpc, "page-faults", USER);
    unsigned sets = 0, bufs = 0;
    no_more_room();
    errno = 0;
    must(!rtc_cpc_open(RTC_CPC_VER_CURRENT) && errno == ENOMEM);
    errno = 0;
    must(!rtc_pctx_capture(getpid()) && errno == ENOMEM);
    while (rtc_cpc_set_create(cpc))
        sets++;
    must(errno == ENOMEM && sets > 0);
    errno = 0;
    while (rtc_cpc_buf_create(cpc, set))
        bufs++;
    must(errno == ENOMEM);
    must(rtc_cpc_bind_curlwp(cpc, set, 0) == 0 && rtc_cpc_set_destroy(cpc, set) == 0);
    must(rtc_cpc_set_create(cpc) == set &&
         !rtc_cpc_set_create(cpc)); /* the memory of the destroyed set, once */
}

void row_what_counts(void)
{
    rtc_cpc_t *cpc = open_quietly();
    rtc_cpc_set_t *set = set_of(cpc, "cycles", USER);
    bool has_hardware = rtc_cpc_bind_curlwp(cpc, set, 0) == 0;
    must(has_hardware == (strcmp(rtc_cpc_cciname(cpc), "software only") != 0));
    must(has_hardware || rtc_cpc_npic(cpc) == 0);
    must(strstr(rtc_cpc_cpuref(cpc), "perf_event_open(2)"));
    must(rtc_cpc_caps(cpc) == (RTC_CPC_CAP_OVERFLOW_INTERRUPT | RTC_CPC_CAP_OVERFLOW_PRECISE));
    must(!rtc_cpc_cciname(NULL) && !rtc_cpc_cpuref(NULL) && !rtc_cpc_caps(NULL) &&
         !rtc_cpc_npic(NULL));
}

void row_event_names(void)
{
    /* clang-format off */
    static const char *const good[] = {
        "task-clock", "cpu-clock", "page-faults", "faults", "minor-faults", "major-faults", "cs",
        "context-switches", "migrations", "cpu-migrations", "alignment-faults", "emulation-faults", "dummy",
        "cycles", "cpu-cycles", "instructions", "cache-references", "cache-misses", "branches",
        "branch-instructions", "branch-misses", "bus-cycles", "stalled-cycles-frontend",
        "stalled-cycles-backend", "ref-cycles", "PAPI_tot_cyc", "PAPI_tot_ins", "PAPI_br_ins", "PAPI_br_msp",
        "PAPI_ref_cyc", "L1-dcache-loads", "L1-icache-load-misses", "LLC-stores", "dTLB-store-misses",
        "iTLB-prefetches", "branch-prefetch-misses", "node-loads", "r1a8", "clock:thread", "clock:process",
        "clock:monotonic", "rusage:minor-faults", "rusage:major-faults", "rusage:voluntary-switches",
        "rusage:involuntary-switches", "rusage:user-time", "rusage:system-time", "schedstat:wait-time"};
    static const char *const bad[] = {"", "cycle", "cycless", "L1-dcache", "L1-dcache-load", "rxyz", "r", "r1 ",
                                      "r12345678901234567", "clock:", "rusage:faults", "Cycles",
                                      "nobody/x/", "software/x/", "/", "a/b"};
    /* clang-format on */
    rtc_cpc_t *cpc = open_quietly();
    rtc_cpc_set_t *set = rtc_cpc_set_create(cpc);
    for (int i = 0; i < (int)(sizeof good / sizeof *good); i++)
        must(rtc_cpc_set_add_request(cpc, set, good[i], 0, BOTH, 0, NULL) == i);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        fails(rtc_cpc_set_add_request(cpc, set, bad[i], 0, BOTH, 0, NULL), EINVAL,
              RTC_CPC_INVALID_EVENT);
    fails(rtc_cpc_set_add_request(cpc, set, NULL, 0, BOTH, 0, NULL), EINVAL, RTC_CPC_INVALID_EVENT);
    char name[200] = "r";
    memset(name + 1, '0', sizeof name - 2);
    fails(rtc_cpc_set_add_request(cpc, set, name, 0, BOTH, 0, NULL), EINVAL, RTC_CPC_INVALID_EVENT);
}

static struct {
    rtc_cpc_t *cpc;
    rtc_cpc_set_t *set;
    unsigned names, faults;
} walk;

static void try_name(void *arg, const char *event)
{
    must(arg == &walk);
    must(rtc_cpc_set_add_request(walk.cpc, walk.set, event, 0, BOTH, 0, NULL) == 0);
    must(rtc_cpc_set_destroy(walk.cpc, walk.set) == 0);
    walk.set = rtc_cpc_set_create(walk.cpc);
    walk.names++;
    walk.faults += strcmp(event, "page-faults") == 0;
}

static void never(void *arg, unsigned picno, const char *event)
{
    (void)arg, (void)picno;
    must_failed(__FILE__, __LINE__, event, last_error.text);
}

static void note_name(void *arg, const char *attr)
{
    must(arg == &walk && attr[0]);
    walk.names++;
}

void row_names_are_walked(void)
{
    walk.cpc = open_quietly();
    walk.set = rtc_cpc_set_create(walk.cpc);
    rtc_cpc_walk_events_all(walk.cpc, &walk, try_name);
    must(walk.names >= 20 && walk.faults == 1 && last_error.count == 0);
    rtc_cpc_walk_generic_events_all(walk.cpc, &walk, try_name);
    rtc_cpc_walk_events_pic(walk.cpc, 1000, NULL, never);
    must(last_error.subcode == RTC_CPC_INVALID_PICNUM &&
         strcmp(last_error.function, "rtc_cpc_walk_events_pic") == 0);
    rtc_cpc_walk_generic_events_pic(walk.cpc, 1000, NULL, never);
    must(last_error.count == 2);
    walk.names = 0;
    rtc_cpc_walk_attrs(walk.cpc, &walk, note_name);
    must(walk.names >= 3);
    rtc_cpc_walk_attrs(NULL, &walk, note_name);
    rtc_cpc_walk_events_all(NULL, &walk, note_name);
}

void row_request_flags(void)
{
    rtc_cpc_t *cpc = open_quietly();
    rtc_cpc_set_t *set = rtc_cpc_set_create(cpc);
#define refused(event, flags, sub) \
    fails(rtc_cpc_set_add_request(cpc, set, event, 0, flags, 0, NULL), EINVAL, sub)
    refused("page-faults", 0, RTC_CPC_REQ_INVALID_FLAGS);
    refused("page-faults", RTC_CPC_OVF_NOTIFY_EMT, RTC_CPC_REQ_INVALID_FLAGS);
    refused("page-faults", USER | 8, RTC_CPC_REQ_INVALID_FLAGS);
    refused("page-faults", BOTH | RTC_CPC_OVF_NOTIFY_EMT, RTC_CPC_REQ_INVALID_FLAGS);
    refused("context-switches", USER, RTC_CPC_REQ_INVALID_FLAGS);
    refused("cpu-migrations", USER, RTC_CPC_REQ_INVALID_FLAGS);
    refused("clock:thread", USER | RTC_CPC_OVF_NOTIFY_EMT, RTC_CPC_PIC_NOT_CAPABLE);
#undef refused
    for (int i = 0; i < RTC_CPC_REQUESTS_MAX; i++)
        must(rtc_cpc_set_add_request(cpc, set, "dummy", 0, USER, 0, NULL) == i);
    fails(rtc_cpc_set_add_request(cpc, set, "dummy", 0, USER, 0, NULL), ENOMEM, 0);
}

void row_request_attributes(void)
{
    rtc_cpc_t *cpc = open_quietly();
    rtc_cpc_set_t *set = rtc_cpc_set_create(cpc);
    static const struct {
        rtc_cpc_attr_t attr;
        int subcode;
    } bad[] = {
        {{"no-such-attribute", 1}, RTC_CPC_INVALID_ATTRIBUTE},
        {{"a name that is much longer than any attribute has", 1}, RTC_CPC_INVALID_ATTRIBUTE},
        {{NULL, 1}, RTC_CPC_INVALID_ATTRIBUTE},
        {{"picnum", 1u << 20}, RTC_CPC_INVALID_PICNUM}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        fails(rtc_cpc_set_add_request(cpc, set, "cycles", 0, USER, 1, &bad[i].attr), EINVAL,
              bad[i].subcode);
    fails(rtc_cpc_set_add_request(cpc, set, "cycles", 0, USER, 1, NULL), EINVAL, 0);
    must(rtc_cpc_set_add_request(cpc, set, "cycles", 0, USER, 0, NULL) ==
         0); /* no request was added */
}

static unsigned walked;

static void look(void *arg, int index, const char *event, uint64_t preset, unsigned flags,
                 int nattrs, const rtc_cpc_attr_t *attrs)
{
    static const char *const name[] = {"page-faults", "task-clock", "cs"};
    must(arg == &walked && index == (int)walked && nattrs == 0 && attrs);
    must(strcmp(event, name[index]) == 0 && preset == 10u * (unsigned)index);
    must(flags == (index ? BOTH : USER));
    walked++;
}

static void call_back(void *arg, int index, const char *event, uint64_t preset, unsigned flags,
                      int nattrs, const rtc_cpc_attr_t *attrs)
{
    rtc_cpc_t *cpc = arg;
    (void)index, (void)event, (void)preset, (void)flags, (void)nattrs, (void)attrs;
    must(rtc_cpc_set_create(cpc)); /* no lock is held */
}

void row_requests_are_walked(void)
{
    rtc_cpc_t *cpc = open_quietly();
    rtc_cpc_set_t *set = rtc_cpc_set_create(cpc);
    char name[] = "page-faults";
    add(cpc, set, name, 0, USER);
    memset(name, 'x', sizeof name - 1); /* the library has a copy */
    add(cpc, set, "task-clock", 10, BOTH);
    add(cpc, set, "cs", 1, BOTH);
    must(rtc_cpc_set_request_preset(cpc, set, 2, 20) == 0);
    rtc_cpc_walk_requests(cpc, set, &walked, look);
    must(walked == 3);
    rtc_cpc_walk_requests(cpc, set, cpc, call_back);
}

void row_foreign_sets_and_buffers(void)
{
    rtc_cpc_t *a = open_quietly(), *b = open_quietly();
    rtc_cpc_set_t *set = set_of(a, "page-faults", USER);
    rtc_cpc_buf_t *buf = buffer(a, set);
    uint64_t value;
    must(rtc_cpc_bind_curlwp(a, set, 0) == 0);
    fails(rtc_cpc_set_add_request(b, set, "cycles", 0, USER, 0, NULL), EINVAL, 0);
    fails(rtc_cpc_set_request_preset(b, set, 0, 0), EINVAL, 0);
    fails(rtc_cpc_bind_curlwp(b, set, 0), EINVAL, 0);
    fails(rtc_cpc_set_sample(b, set, buf), EINVAL, 0);
    fails(rtc_cpc_set_restart(b, set), EINVAL, 0);
    fails(rtc_cpc_unbind(b, set), EINVAL, 0);
    fails(rtc_cpc_set_destroy(b, set), EINVAL, 0);
    fails(rtc_cpc_buf_get(b, buf, 0, &value), EINVAL, 0);
    fails(rtc_cpc_buf_set(b, buf, 0, 1), EINVAL, 0);
    fails(rtc_cpc_buf_destroy(b, buf), EINVAL, 0);
    fails(rtc_cpc_set_sample(a, NULL, buf), EINVAL, 0);
    fails(rtc_cpc_set_sample(a, set, NULL), EINVAL, 0);
    fails(rtc_cpc_unbind((rtc_cpc_t *)NULL, set), EINVAL, 0);
    errno = 0;
    must(!rtc_cpc_buf_create(b, set) && errno == EINVAL);
    must(rtc_cpc_set_destroy(a, set) == 0);
    fails(rtc_cpc_unbind(a, set), EINVAL, 0); /* its memory is still the library's */
}

void row_error_handler(void)
{
    rtc_cpc_t *cpc = open_quietly();
    rtc_cpc_set_t *set = rtc_cpc_set_create(cpc);
    fails(rtc_cpc_set_add_request(cpc, set, "nothing", 0, USER, 0, NULL), EINVAL,
          RTC_CPC_INVALID_EVENT);
    must(strcmp(last_error.function, "rtc_cpc_set_add_request") == 0);
    must(strcmp(last_error.text, "there is no event of this name: nothing") == 0);
    fails(rtc_cpc_set_add_request(cpc, set, "cs", 0, USER, 0, NULL), EINVAL,
          RTC_CPC_REQ_INVALID_FLAGS);
    must(strcmp(last_error.text,
                "cs: it happens in the kernel only: in user mode it would count nothing") == 0);
    must(last_error.count == 2);
    fails(rtc_cpc_bind_curlwp(cpc, set, 0), EINVAL, 0);
    must(last_error.count == 2);
}

void row_default_handler_writes_a_line(void)
{
    static const char line[] =
        "rtcheck: rtc_cpc_set_add_request: cs: neither in user mode nor in the kernel: "
        "it would count nothing\n";
    char printed[256] = "";
    int ends[2];
    rtc_cpc_t *cpc = open_quietly();
    rtc_cpc_set_t *set = rtc_cpc_set_create(cpc);
    must(rtc_cpc_seterrhndlr(cpc, NULL) == 0 && pipe(ends) == 0 && dup2(ends[1], 2) == 2);
    rtc_cpc_set_add_request(cpc, set, "cs", 0, 0, 0, NULL);
    must(read(ends[0], printed, sizeof printed - 1) == (ssize_t)strlen(line) &&
         strcmp(printed, line) == 0);
    must(last_error.count == 0);
}
