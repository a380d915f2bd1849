/*
 * test_hardware.c - counters of a PMU: requests to the kernel, and use of its results.
 *
 * rtc-build: -Wl,--wrap=os_perf_open,--wrap=os_perf_control,--wrap=os_perf_notify,--wrap=os_perf_id -Wl,--wrap=os_perf_read,--wrap=os_perf_close,--wrap=os_perf_paranoid -Wl,--wrap=processor_counters,--wrap=os_processor_name
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "made_machine.h"

#define USER RTC_CPC_COUNT_USER
#define SYSTEM RTC_CPC_COUNT_SYSTEM
#define NOTIFY RTC_CPC_OVF_NOTIFY_EMT

static rtc_cpc_t *cpc;

static int begin(void **state)
{
    (void)state;
    machine_forget();
    cpc = open_here();
    return 0;
}

static int end(void **state)
{
    (void)state;
    assert_int_equal(rtc_cpc_close(cpc), 0);
    assert_int_equal(machine_open_events(), 0);
    return 0;
}

static void bind(rtc_cpc_set_t *set, unsigned flags)
{
    assert_int_equal(rtc_cpc_bind_curlwp(cpc, set, flags), 0);
}

static void the_machine(void **state)
{
    (void)state;
    assert_int_equal(rtc_cpc_npic(cpc), 4);
    assert_int_equal(rtc_cpc_caps(cpc),
                     RTC_CPC_CAP_OVERFLOW_INTERRUPT | RTC_CPC_CAP_OVERFLOW_PRECISE);
    assert_string_equal(rtc_cpc_cciname(cpc), "Processor 9000");
    assert_string_equal(rtc_cpc_cpuref(cpc),
                        "software events: perf_event_open(2); others: perf-list(1), "
                        "and the manual of Processor 9000");
}

/* ---- requests to the kernel ------------------------------------------------------------------ */

static void attributes_of_a_group(void **state)
{
    (void)state;
    rtc_cpc_set_t *set = set_of(cpc, "cycles", 0, USER);
    add(cpc, set, "instructions", 0, SYSTEM);
    add(cpc, set, "LLC-load-misses", 0, USER | SYSTEM);
    add(cpc, set, "r1c2", 0, USER);
    bind(set, 0);
    static const struct {
        uint32_t type;
        uint64_t config;
        bool no_user, no_kernel;
    } want[] = {{PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false, true},
                {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, true, false},
                {PERF_TYPE_HW_CACHE, 2 | 0 << 8 | 1 << 16, false, false},
                {PERF_TYPE_RAW, 0x1c2, false, true}};
    assert_int_equal(machine.made, 4);
    for (int i = 0; i < 4; i++) {
        const struct machine_event *e = nth_event(i);
        assert_int_equal(e->attr.type, want[i].type);
        assert_int_equal(e->attr.config, want[i].config);
        assert_int_equal(e->attr.exclude_user, want[i].no_user);
        assert_int_equal(e->attr.exclude_kernel, want[i].no_kernel);
        assert_int_equal(e->attr.exclude_hv, want[i].no_user || want[i].no_kernel);
        assert_int_equal(e->attr.disabled, i == 0); /* the leader enables the group */
        assert_int_equal(e->attr.inherit | e->attr.inherit_thread | e->attr.pinned, 0);
        assert_int_equal(e->attr.sample_period, 0);
        assert_int_equal(e->attr.read_format, PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
                                                  PERF_FORMAT_TOTAL_TIME_RUNNING);
        assert_int_equal(e->leader, MACHINE_FD);
        assert_int_equal(e->pid, os_tid());
        assert_int_equal(e->cpu, -1);
    }
    assert_true(nth_event(0)->counts);
}

static void inherited_and_pinned(void **state)
{
    (void)state;
    rtc_cpc_set_t *set = set_of(cpc, "cycles", 0, USER);
    add(cpc, set, "instructions", 0, USER);
    bind(set, RTC_CPC_BIND_LWP_INHERIT | RTC_CPC_BIND_PINNED);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(nth_event(i)->attr.inherit, 1);
        assert_int_equal(nth_event(i)->attr.inherit_thread, 1);
        assert_int_equal(nth_event(i)->attr.pinned, i == 0);
    }
}

static void overflow_leads(void **state)
{
    (void)state;
    rtc_cpc_set_t *set = set_of(cpc, "cycles", 0, USER);
    add(cpc, set, "instructions", (uint64_t)-1000, USER | NOTIFY);
    assert_int_equal(rtc_cpc_overflow_signal(cpc, 40), 0);
    bind(set, 0);
    const struct machine_event *leader = nth_event(0);
    assert_int_equal(leader->attr.config, PERF_COUNT_HW_INSTRUCTIONS);
    assert_int_equal(leader->attr.sample_period, 1000);
    assert_int_equal(leader->attr.wakeup_events, 1);
    assert_true(leader->counts && leader->refreshed == 1 && leader->signal == 40 &&
                leader->owner == os_tid());
    assert_int_equal(nth_event(1)->leader, MACHINE_FD);
    assert_int_equal(nth_event(1)->attr.sample_period, 0);
    assert_int_equal(rtc_cpc_overflow_index(cpc, set, MACHINE_FD), 1);
    assert_int_equal(rtc_cpc_overflow_index(cpc, set, MACHINE_FD + 1), 0);
    nth_event(0)->value = 7;
    nth_event(1)->value = 5;
    machine_run(0, 10, 10);
    assert_int_equal(value_of(cpc, set, 0), 5);
    assert_int_equal(value_of(cpc, set, 1), (uint64_t)-993);
}

/*
 * A stopped set stays stopped over a restart, which reopens its events; the next enable starts it.
 */
static void overflow_restarted_while_stopped(void **state)
{
    (void)state;
    rtc_cpc_set_t *set = set_of(cpc, "cycles", (uint64_t)-1000, USER | NOTIFY);
    bind(set, 0);
    assert_int_equal(rtc_cpc_disable(cpc), 0);
    assert_int_equal(rtc_cpc_set_restart(cpc, set), 0);
    assert_int_equal(machine_open_events(), 1);
    assert_true(!nth_event(1)->counts && nth_event(1)->refreshed == 0);
    assert_int_equal(rtc_cpc_enable(cpc), 0);
    assert_true(nth_event(1)->counts && nth_event(1)->refreshed == 1);
}

/* A preset and the number of events until it overflows. */
static void periods(void **state)
{
    (void)state;
    static const struct {
        uint64_t preset, period;
        /* clang-format off */
    } row[] = {{UINT64_MAX, 1},         {UINT64_MAX - INT32_MAX, 1ull << 31}, {(1ull << 63) + 1, INT64_MAX},
               {1ull << 63, INT64_MAX}, {0, INT64_MAX},                       {1, INT64_MAX}};
    /* clang-format on */
    for (size_t i = 0; i < countof(row); i++) {
        rtc_cpc_set_t *set = set_of(cpc, "cycles", row[i].preset, USER | NOTIFY);
        bind(set, 0);
        assert_int_equal(nth_event((int)i)->attr.sample_period, row[i].period);
    }
}

/* ---- results --------------------------------------------------------------------------------- */

static void each_its_own_value(void **state)
{
    (void)state;
    rtc_cpc_set_t *set = set_of(cpc, "cycles", 0, USER);
    add(cpc, set, "clock:monotonic", 0, USER);
    add(cpc, set, "instructions", 100, USER);
    add(cpc, set, "branches", 0, USER);
    bind(set, 0);
    for (int i = 0; i < 3; i++)
        nth_event(i)->value = 11u * (unsigned)(i + 1);
    machine_run(0, 1000, 1000);
    assert_int_equal(value_of(cpc, set, 0), 11);
    assert_int_equal(value_of(cpc, set, 2), 122);
    assert_int_equal(value_of(cpc, set, 3), 33);
    struct rtc_cpc_reading r = reading_of(cpc, set, 3);
    assert_true(r.known && !r.scaled && r.enabled_ns == 1000 && r.running_ns == 1000);
    assert_string_equal(r.source, "perf: hardware");
}

static void rotation(void **state)
{
    (void)state;
    rtc_cpc_set_t *set = set_of(cpc, "cycles", 500, USER);
    bind(set, 0);
    nth_event(0)->value = 100;
    machine_run(0, 1000, 250);
    struct rtc_cpc_reading r = reading_of(cpc, set, 0);
    assert_true(r.known && r.scaled);
    assert_int_equal(r.value, 900); /* the preset is not scaled */
    assert_int_equal(r.enabled_ns, 1000);
    assert_int_equal(r.running_ns, 250);

    /* Only the counts since the restart. */
    assert_int_equal(rtc_cpc_set_restart(cpc, set), 0);
    nth_event(0)->value = 130;
    machine_run(0, 60, 20);
    r = reading_of(cpc, set, 0);
    assert_true(r.known && r.scaled && r.value == 590 && r.enabled_ns == 60 && r.running_ns == 20);

    /* Never on the counters: unknown, neither 0 nor the preset. */
    assert_int_equal(rtc_cpc_set_restart(cpc, set), 0);
    machine_run(0, 60, 0);
    r = reading_of(cpc, set, 0);
    assert_true(!r.known && r.value == 0);
    assert_string_equal(r.why, "n/a: other events had the counters all the time");

    /* Scaling large numbers does not overflow. */
    nth_event(0)->value = 130 + (1ull << 62);
    machine_run(0, 1ull << 40, 1ull << 40);
    assert_int_equal(reading_of(cpc, set, 0).value, 500 + (1ull << 62) + (60ull << 22));
}

/* Sample the set's only request after `events` more events, in these times in ns. */
static rtc_cpc_buf_t *sampled_after(rtc_cpc_set_t *set, uint64_t events, uint64_t enabled,
                                    uint64_t running)
{
    rtc_cpc_buf_t *buf = rtc_cpc_buf_create(cpc, set);
    nth_event(0)->value += events;
    machine_run(0, enabled, running);
    assert_non_null(buf);
    assert_int_equal(rtc_cpc_set_sample(cpc, set, buf), 0);
    return buf;
}

static void is_reading(rtc_cpc_buf_t *buf, uint64_t value, bool scaled, int64_t enabled,
                       int64_t running)
{
    struct rtc_cpc_reading r;
    assert_int_equal(rtc_cpc_buf_reading(cpc, buf, 0, &r), 0);
    assert_true(r.known && r.scaled == scaled);
    assert_int_equal(r.value, value);
    assert_int_equal(r.enabled_ns, enabled);
    assert_int_equal(r.running_ns, running);
    assert_string_equal(r.source, "perf: hardware");
}

/* Estimates need not grow: a difference is the count in between, scaled to that interval alone. */
static void between_estimates(void **state)
{
    (void)state;
    rtc_cpc_set_t *set = set_of(cpc, "cycles", 500, USER);
    bind(set, 0);
    rtc_cpc_buf_t *b = sampled_after(set, 100, 100, 10), *a = sampled_after(set, 10, 100, 90);
    rtc_cpc_buf_t *c = sampled_after(set, 40, 20, 10), *d = rtc_cpc_buf_create(cpc, set),
                  *e = rtc_cpc_buf_create(cpc, set);
    is_reading(b, 1500, true, 100, 10);
    is_reading(a, 720, true, 200, 100);
    rtc_cpc_buf_sub(cpc, d, a, b);
    is_reading(d, 11, true, 100, 90);
    rtc_cpc_buf_sub(cpc, e, b, a);
    is_reading(e, (uint64_t)-11, true, -100, -90);
    rtc_cpc_buf_add(cpc, e, d, b);
    is_reading(e, 720, true, 200, 100);
    rtc_cpc_buf_add(cpc, e, b, d);
    is_reading(e, 720, true, 200, 100);

    /* Two adjacent intervals are added to one; each alone has an estimate of its own. */
    rtc_cpc_buf_sub(cpc, e, c, a);
    is_reading(e, 80, true, 20, 10);
    rtc_cpc_buf_add(cpc, d, d, e);
    is_reading(d, 60, true, 120, 100);
    rtc_cpc_buf_add(cpc, d, d, e);
    is_reading(d, 140, true, 140, 110);
    rtc_cpc_buf_sub(cpc, d, d, e);
    is_reading(d, 60, true, 120, 100);
    rtc_cpc_buf_sub(cpc, d, d, d);
    is_reading(d, 0, true, 0, 0);

    /* An interval that was counted completely is exact, and so is a value set by the program. */
    rtc_cpc_buf_sub(cpc, d, sampled_after(set, 7, 30, 30), c);
    is_reading(d, 7, false, 30, 30);
    assert_int_equal(rtc_cpc_buf_set(cpc, e, 0, 1000), 0);
    rtc_cpc_buf_add(cpc, d, e, d);
    is_reading(d, 1007, false, 30, 30);
    rtc_cpc_buf_sub(cpc, d, b, e);
    is_reading(d, 500, true, 100, 10);

    /* A sum that began with zeros has the source of the added value. */
    rtc_cpc_buf_t *sum = rtc_cpc_buf_create(cpc, set);
    rtc_cpc_buf_zero(cpc, sum);
    rtc_cpc_buf_add(cpc, sum, sum, a);
    is_reading(sum, 720, true, 200, 100);
}

/* An interval without the counters has no known value, nor have its sums and differences. */
static void between_not_known(void **state)
{
    (void)state;
    struct rtc_cpc_reading r;
    rtc_cpc_set_t *set = set_of(cpc, "cycles", 0, USER);
    bind(set, 0);
    rtc_cpc_buf_t *b = sampled_after(set, 100, 100, 10), *a = sampled_after(set, 0, 50, 0);
    rtc_cpc_buf_sub(cpc, b, a, b);
    assert_int_equal(rtc_cpc_buf_reading(cpc, b, 0, &r), 0);
    assert_true(!r.known && r.value == 0 && r.enabled_ns == 50 && r.running_ns == 0);
    assert_string_equal(r.why, "n/a: other events had the counters all the time");
    rtc_cpc_buf_add(cpc, b, a, b);
    assert_int_equal(rtc_cpc_buf_reading(cpc, b, 0, &r), 0);
    assert_true(!r.known && r.value == 0);
    assert_string_equal(r.why, "n/a: not known of one of the two buffers");
}

/*
 * Samples before and after a restart have no interval in between: their estimates are used as they
 * are.
 */
static void between_starts(void **state)
{
    (void)state;
    rtc_cpc_set_t *set = set_of(cpc, "cycles", 5, USER);
    bind(set, 0);
    rtc_cpc_buf_t *b = sampled_after(set, 100, 100, 10);
    assert_int_equal(rtc_cpc_set_restart(cpc, set), 0);
    rtc_cpc_buf_t *a = sampled_after(set, 300, 50, 10);
    is_reading(a, 1505, true, 50, 10);
    rtc_cpc_buf_add(cpc, a, a, b);
    is_reading(a, 2510, true, 150, 20);
    rtc_cpc_buf_sub(cpc, a, a, b);
    is_reading(a, 1505, true, 50, 10);
    rtc_cpc_buf_sub(cpc, a, b, a);
    is_reading(a, (uint64_t)-500, true, 50, 0);
}

static void nothing_counted_yet(void **state)
{
    (void)state;
    rtc_cpc_set_t *set = set_of(cpc, "cycles", 5, USER);
    bind(set, 0);
    struct rtc_cpc_reading r = reading_of(cpc, set, 0); /* it has not been enabled yet */
    assert_true(r.known && !r.scaled && r.value == 5);
}

static void pinned_without_counters(void **state)
{
    (void)state;
    rtc_cpc_set_t *set = set_of(cpc, "cycles", 0, USER);
    bind(set, RTC_CPC_BIND_PINNED);
    rtc_cpc_buf_t *buf = rtc_cpc_buf_create(cpc, set);
    machine.taken = true;
    assert_true(rtc_cpc_set_sample(cpc, set, buf) == -1 && errno == EAGAIN);
    assert_int_equal(error_seen.subcode, RTC_CPC_RESOURCE_UNAVAIL);
    assert_string_equal(error_seen.text,
                        "cycles: n/a: it is pinned, and somebody else has the counters");
    uint64_t value = 3;
    assert_true(rtc_cpc_buf_get(cpc, buf, 0, &value) == -1 && errno == ENODATA && value == 3);
    machine.taken = false;
    assert_int_equal(rtc_cpc_set_sample(cpc, set, buf), 0);
}

static void stopped_and_going(void **state)
{
    (void)state;
    rtc_cpc_set_t *set = set_of(cpc, "cycles", 0, USER);
    add(cpc, set, "instructions", 0, USER);
    bind(set, 0);
    assert_int_equal(rtc_cpc_disable(cpc), 0);
    assert_true(!nth_event(0)->counts && nth_event(1)->counts); /* only the leader */
    assert_int_equal(rtc_cpc_enable(cpc), 0);
    assert_true(nth_event(0)->counts);
}

/* ---- other threads --------------------------------------------------------------------------- */

static int offline(const struct perf_event_attr *a, int group)
{
    (void)a, (void)group;
    return -ENODEV;
}

static void of_a_processor(void **state)
{
    (void)state;
    rtc_cpc_set_t *set = set_of(cpc, "cycles", 0, USER);
    add(cpc, set, "instructions", 0, USER);
    assert_int_equal(rtc_cpc_bind_cpu(cpc, 0, set, 0), 0);
    assert_true(nth_event(1)->pid == -1 && nth_event(1)->cpu == 0 && nth_event(0)->counts);
    nth_event(1)->value = 9;
    machine_run(0, 10, 10);
    assert_int_equal(value_of(cpc, set, 1), 9);
    assert_true(rtc_cpc_disable(cpc) == -1 && errno == EINVAL); /* bound to another thread */
    machine.answer = offline;
    assert_true(rtc_cpc_bind_cpu(cpc, 0, set, 0) == -1 && errno == ENOSYS);
    assert_int_equal(error_seen.subcode, RTC_CPC_RESOURCE_UNAVAIL);
    assert_string_equal(error_seen.text, "cycles: n/a: the processor is offline");
}

static void of_a_process(void **state)
{
    (void)state;
    rtc_cpc_set_t *set = set_of(cpc, "cycles", 0, USER);
    add(cpc, set, "instructions", 0, USER);
    rtc_pctx_t *self = rtc_pctx_capture(getpid());
    assert_int_equal(rtc_cpc_bind_pctx(cpc, self, 0, set, 0), 0);
    assert_true(nth_event(0)->pid == getpid() && nth_event(0)->cpu == -1 && nth_event(0)->counts);
    assert_false(nth_event(0)->attr.enable_on_exec);
    assert_int_equal(rtc_pctx_release(self), 0);
}

/* ---- kernels that cannot read groups of inherited events ------------------------------------- */

static int refuse_inherited_groups(const struct perf_event_attr *a, int group)
{
    (void)group;
    return a->inherit && a->read_format & PERF_FORMAT_GROUP ? -EINVAL : 0;
}

static int refuse_inherited(const struct perf_event_attr *a, int group)
{
    (void)group;
    return a->inherit ? -EINVAL : 0;
}

static void inherited_alone(void **state)
{
    (void)state;
    rtc_cpc_set_t *set = set_of(cpc, "cycles", 0, USER);
    add(cpc, set, "instructions", 10, USER);
    machine.answer = refuse_inherited_groups;
    bind(set, RTC_CPC_BIND_LWP_INHERIT);
    assert_int_equal(machine_open_events(), 2);
    for (int i = 0; i < 2; i++) {
        assert_true(nth_event(i)->leader == MACHINE_FD + i && nth_event(i)->counts);
        nth_event(i)->value = 100u * (unsigned)(i + 1);
    }
    machine_run(0, 10, 10);
    machine_run(1, 20, 10);
    assert_int_equal(value_of(cpc, set, 0), 100);
    assert_int_equal(value_of(cpc, set, 1), 410);
}

static void not_inherited(void **state)
{
    (void)state;
    rtc_cpc_set_t *set = set_of(cpc, "cycles", 0, USER);
    machine.answer = refuse_inherited;
    assert_true(rtc_cpc_bind_curlwp(cpc, set, RTC_CPC_BIND_LWP_INHERIT) == -1 && errno == ENOTSUP);
    assert_int_equal(error_seen.subcode, RTC_CPC_PIC_NOT_CAPABLE);
    assert_string_equal(error_seen.text,
                        "n/a: the kernel cannot count threads to come without processes to come");
    bind(set, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_machine),
        TEST(attributes_of_a_group),
        TEST(inherited_and_pinned),
        TEST(overflow_leads),
        TEST(overflow_restarted_while_stopped),
        TEST(periods),
        TEST(each_its_own_value),
        TEST(rotation),
        TEST(between_estimates),
        TEST(between_not_known),
        TEST(between_starts),
        TEST(nothing_counted_yet),
        TEST(pinned_without_counters),
        TEST(stopped_and_going),
        TEST(of_a_processor),
        TEST(of_a_process),
        TEST(inherited_alone),
        TEST(not_inherited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
