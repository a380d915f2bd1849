/*
 * test_refusals.c - errors of the kernel when a counter is opened: the program's errno, the subcode
 * and the exact text; no descriptor stays open, and no value is returned.
 *
 * rtc-build: -Wl,--wrap=os_perf_open,--wrap=os_perf_control,--wrap=os_perf_notify,--wrap=os_perf_id -Wl,--wrap=os_perf_read,--wrap=os_perf_close,--wrap=os_perf_paranoid -Wl,--wrap=processor_counters,--wrap=os_processor_name
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "made_machine.h"

#define USER RTC_CPC_COUNT_USER
#define BOTH (USER | RTC_CPC_COUNT_SYSTEM)
#define NOTIFY RTC_CPC_OVF_NOTIFY_EMT

/* The machine's error for these events; members: only for an event that joins a group. */
static struct {
    int err;
    uint32_t type; /* -1u: any */
    bool members;
} refusal;

static int answer(const struct perf_event_attr *a, int group)
{
    bool meant =
        (refusal.type == -1u || a->type == refusal.type) && (!refusal.members || group >= 0);
    return meant ? refusal.err : 0;
}

static void refuse(int err, uint32_t type, bool members)
{
    machine_forget();
    refusal.err = err;
    refusal.type = type;
    refusal.members = members;
}

static void bind_fails(rtc_cpc_t *cpc, rtc_cpc_set_t *set, int error, int subcode,
                       const char *words)
{
    rtc_cpc_buf_t *buf = rtc_cpc_buf_create(cpc, set);
    struct rtc_cpc_reading r;
    error_seen.subcode = 0;
    assert_true(rtc_cpc_bind_curlwp(cpc, set, 0) == -1);
    assert_string_equal(error_seen.text, words);
    assert_int_equal(errno, error);
    assert_int_equal(error_seen.subcode, subcode);
    assert_int_equal(machine_open_events(), 0);
    assert_int_equal(rtc_cpc_set_sample(cpc, set, buf), -1);
    assert_int_equal(rtc_cpc_buf_reading(cpc, buf, 0, &r), 0);
    assert_true(!r.known && r.value == 0);
}

#define OTHERS "forbidden by the system: a container's filter, or a security module"

/* The machine has counters and refuses only `event`, the last of its set. */
static const struct row {
    int err;
    const char *event;
    unsigned flags;
    int error, subcode;
    const char *words;
} rows[] = {
    {ENOENT, "instructions", USER, EINVAL, RTC_CPC_INVALID_EVENT,
     "instructions: n/a: the PMU has no such event"},
    {ENOENT, "minor-faults", USER, EINVAL, RTC_CPC_INVALID_EVENT,
     "minor-faults: n/a: the kernel has no such event"},
    {EACCES, "instructions", USER, EACCES, RTC_CPC_ATTR_REQUIRES_PRIVILEGE,
     "instructions: n/a: not permitted (perf_event_paranoid is 2)"},
    {EACCES, "instructions", BOTH, EACCES, RTC_CPC_ATTR_REQUIRES_PRIVILEGE,
     "instructions: n/a: not permitted in the kernel (perf_event_paranoid is 2)"},
    {EPERM, "instructions", USER, EACCES, RTC_CPC_ATTR_REQUIRES_PRIVILEGE,
     "instructions: n/a: " OTHERS},
    {ENOSYS, "instructions", USER, ENOSYS, RTC_CPC_UNAVAILABLE,
     "instructions: n/a: the kernel has no perf events"},
    {EINVAL, "instructions", USER, EINVAL, RTC_CPC_REQ_INVALID_FLAGS,
     "instructions: n/a: the kernel cannot count it with these flags and attributes"},
    {EMFILE, "instructions", USER, EMFILE, RTC_CPC_RESOURCE_UNAVAIL, NULL},
    {ENFILE, "instructions", USER, ENFILE, RTC_CPC_RESOURCE_UNAVAIL,
     "instructions: n/a: no descriptor left in the system"},
    {EBUSY, "instructions", USER, EAGAIN, RTC_CPC_RESOURCE_UNAVAIL,
     "instructions: n/a: somebody else has the counters to himself"},
    {ENOSPC, "instructions", USER, EAGAIN, RTC_CPC_RESOURCE_UNAVAIL,
     "instructions: n/a: all counters of its kind are in use"},
    {EOPNOTSUPP, "instructions", USER, ENOTSUP, RTC_CPC_PIC_NOT_CAPABLE,
     "instructions: n/a: the PMU cannot count it in this way"},
    {EOPNOTSUPP, "instructions", USER | NOTIFY, ENOTSUP, RTC_CPC_PIC_NOT_CAPABLE,
     "instructions: n/a: the PMU cannot interrupt when it overflows"},
    {ENOMEM, "instructions", USER, ENOMEM, RTC_CPC_RESOURCE_UNAVAIL,
     "instructions: n/a: the kernel refuses it with error 12"},
};

static void one_refusal(const struct row *row)
{
    char no_descriptor[128];
    refuse(0, PERF_TYPE_HARDWARE, false);
    machine.answer = answer;
    rtc_cpc_t *cpc = open_here();
    rtc_cpc_set_t *set = set_of(cpc, "page-faults", 0, USER);
    add(cpc, set, row->event, 0, row->flags);
    bool software = strcmp(row->event, "minor-faults") == 0;
    refusal.err = -row->err;
    refusal.type = software ? PERF_TYPE_SOFTWARE : PERF_TYPE_HARDWARE;
    refusal.members = software;
    snprintf(no_descriptor, sizeof no_descriptor,
             "instructions: n/a: no descriptor left in this process (RLIMIT_NOFILE is %lu)",
             (unsigned long)os_limit(RLIMIT_NOFILE));
    bind_fails(cpc, set, row->error, row->subcode, row->words ? row->words : no_descriptor);
    assert_int_equal(rtc_cpc_close(cpc), 0);
}

static void every_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(rows); i++)
        one_refusal(&rows[i]);
}

/* As in a virtual machine without a PMU. */
static void no_pmu(void **state)
{
    (void)state;
    refuse(-ENOENT, PERF_TYPE_HARDWARE, false);
    machine.answer = answer;
    rtc_cpc_t *cpc = open_here();
    assert_string_equal(rtc_cpc_cciname(cpc), "software only");
    assert_string_equal(rtc_cpc_cpuref(cpc), "software events: perf_event_open(2)");
    assert_int_equal(rtc_cpc_npic(cpc), 0);
    assert_true(rtc_cpc_caps(cpc) != 0);
    bind_fails(cpc, set_of(cpc, "cycles", 0, USER), EINVAL, RTC_CPC_INVALID_EVENT,
               "cycles: n/a: no PMU");
    rtc_cpc_close(cpc);
}

static void paranoid_levels(void **state)
{
    (void)state;
    static const struct {
        int64_t level;
        const char *words;
    } row[] = {{-1, "cycles: n/a: not permitted (perf_event_paranoid is -1)"},
               {4, "cycles: n/a: not permitted (perf_event_paranoid is 4)"},
               {INT64_MIN, "cycles: n/a: not permitted (perf_event_paranoid is not known)"}};
    for (size_t i = 0; i < countof(row); i++) {
        refuse(-EACCES, -1u, false);
        machine.answer = answer;
        machine.paranoid = row[i].level;
        rtc_cpc_t *cpc = open_here();
        assert_int_equal(rtc_cpc_caps(cpc), 0);
        bind_fails(cpc, set_of(cpc, "cycles", 0, USER), EACCES, RTC_CPC_ATTR_REQUIRES_PRIVILEGE,
                   row[i].words);
        rtc_cpc_close(cpc);
    }
}

/* Each event can be counted, but not all of them at once. */
static void too_much_for_one_group(void **state)
{
    (void)state;
    refuse(-EINVAL, PERF_TYPE_HARDWARE, true);
    machine.answer = answer;
    rtc_cpc_t *cpc = open_here();
    rtc_cpc_set_t *set = set_of(cpc, "cycles", 0, USER);
    add(cpc, set, "instructions", 0, USER);
    bind_fails(cpc, set, EINVAL, RTC_CPC_CONFLICTING_REQS,
               "instructions: n/a: it cannot be counted together with the others of the set");
    rtc_cpc_close(cpc);
}

/* Probes that failed for lack of resources are repeated. */
static void asked_again(void **state)
{
    static const int passing[] = {ENFILE, EMFILE, ENOMEM};
    (void)state;
    for (size_t i = 0; i < countof(passing); i++) {
        refuse(-passing[i], -1u, false);
        machine.answer = answer;
        rtc_cpc_t *cpc = open_here();
        assert_true(rtc_cpc_caps(cpc) == 0 && rtc_cpc_npic(cpc) == 0);
        assert_string_equal(rtc_cpc_cciname(cpc), "software only");
        refusal.err = 0;
        assert_true(rtc_cpc_caps(cpc) != 0 && rtc_cpc_npic(cpc) == 4);
        assert_string_equal(rtc_cpc_cciname(cpc), "Processor 9000");
        rtc_cpc_close(cpc);
    }
}

/* ---- clocks as substitutes ------------------------------------------------------------------- */

static const struct {
    const char *event;
    unsigned flags;
    const char *source; /* NULL: no substitute */
} replacements[] = {
    {"task-clock", USER, "clock_gettime: CPU time of the thread"},
    {"cpu-clock", BOTH, "clock_gettime: CPU time of the thread"},
    {"page-faults", BOTH, "getrusage"},
    {"minor-faults", BOTH, "getrusage"},
    {"major-faults", BOTH, "getrusage"},
    {"context-switches", BOTH, "getrusage"},
    {"page-faults", USER, NULL}, /* a clock does not distinguish the modes */
    {"page-faults", USER | NOTIFY, NULL},
    {"cpu-migrations", BOTH, NULL},
    {"dummy", BOTH, NULL},
};

static void replacement(int err, size_t i)
{
    refuse(-err, -1u, false);
    machine.answer = answer;
    rtc_cpc_t *cpc = open_here();
    rtc_cpc_set_t *set = set_of(cpc, replacements[i].event, 0, replacements[i].flags);
    bool binds = rtc_cpc_bind_curlwp(cpc, set, 0) == 0;
    assert_int_equal(binds, replacements[i].source != NULL);
    if (binds)
        assert_string_equal(reading_of(cpc, set, 0).source, replacements[i].source);
    assert_int_equal(machine.made, 0);
    rtc_cpc_close(cpc);
}

static void clocks_instead(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(replacements); i++) {
        replacement(EACCES, i);
        replacement(EPERM, i);
        replacement(ENOSYS, i);
    }
}

/* Errors other than missing permission are reported. */
static void no_clock_instead(void **state)
{
    (void)state;
    refuse(-EMFILE, -1u, false);
    machine.answer = answer;
    rtc_cpc_t *cpc = open_here();
    assert_int_equal(rtc_cpc_bind_curlwp(cpc, set_of(cpc, "page-faults", 0, BOTH), 0), -1);
    assert_int_equal(errno, EMFILE);
    rtc_cpc_close(cpc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_error),      cmocka_unit_test(no_pmu),
        cmocka_unit_test(paranoid_levels),  cmocka_unit_test(too_much_for_one_group),
        cmocka_unit_test(asked_again),      cmocka_unit_test(clocks_instead),
        cmocka_unit_test(no_clock_instead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
