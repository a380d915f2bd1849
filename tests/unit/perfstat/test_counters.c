/*
 * test_counters.c - --counters on a simulated machine: requests to the kernel, use of its results,
 * and texts about refused events.
 *
 * rtc-build: -Wl,--wrap=perf_open,--wrap=perf_read,--wrap=perf_close
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/resource.h>

#include "perfstat_priv.h" /* before cmocka's fail() */

#include <cmocka.h>

int __wrap_perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu);
bool __wrap_perf_read(int fd, struct counts *counts);
void __wrap_perf_close(int fd);

#define PROGRAM 4711

static struct {
    int answer;        /* 0: a descriptor; else the error */
    int kernel_answer; /* if not 0, the answer for events that count the kernel, too */
    int probe;         /* for the launcher's own event: is there a PMU? */
    int asked;
    struct perf_event_attr attr[8];
    int open;
    bool unreadable;
    struct counts counts;
} machine;

int __wrap_perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
    assert_int_equal(cpu, -1);
    assert_int_equal(attr->size, sizeof *attr);
    int answer = pid == 0 ? machine.probe : machine.answer;
    if (pid != 0) {
        assert_int_equal(pid, PROGRAM);
        machine.attr[machine.asked++] = *attr;
        if (!attr->exclude_kernel && machine.kernel_answer)
            answer = machine.kernel_answer;
    }
    machine.open += answer == 0;
    return answer ? answer : 100 + machine.open;
}

bool __wrap_perf_read(int fd, struct counts *counts)
{
    assert_true(fd > 100);
    *counts = machine.counts;
    return !machine.unreadable;
}

void __wrap_perf_close(int fd)
{
    assert_true(fd > 100);
    machine.open--;
}

static struct counters *all;
static struct counter_row rows[COUNTERS_MAX];

static int begin(void **state)
{
    (void)state;
    memset(&machine, 0, sizeof machine);
    machine.counts = (struct counts){1000, 500, 500};
    return 0;
}

/* Open and read them; the rows are valid until forget(). */
static void count(const char *list)
{
    char err[TOOLS_ERROR_BYTES];
    struct rusage usage = {.ru_minflt = 30,
                           .ru_majflt = 4,
                           .ru_nvcsw = 5,
                           .ru_utime = {.tv_sec = 2},
                           .ru_stime = {.tv_usec = 7}};
    assert_int_equal(counters_make(&all, list, err), 0);
    counters_open(all, PROGRAM);
    counters_read(all, &usage, 99, rows);
}

static void forget(void)
{
    counters_free(all);
    assert_int_equal(machine.open, 0);
}

/* ---- requests ------------------------------------------------------------------------------ */

static void attributes(void **state)
{
    (void)state;
    static const struct {
        uint32_t type;
        uint64_t config;
        bool no_user, no_kernel;
    } want[] = {{PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false, false},
                {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, false, true},
                {PERF_TYPE_HW_CACHE, 2 | 0 << 8 | 1 << 16, true, false},
                {PERF_TYPE_RAW, 0x1c2, false, false},
                {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, false, true}};
    count("cycles,instructions:u,LLC-load-misses:k,r1c2,task-clock,clock:monotonic");
    assert_int_equal(machine.asked, 5); /* a clock is no event */
    for (int i = 0; i < 5; i++) {
        const struct perf_event_attr *a = &machine.attr[i];
        assert_int_equal(a->type, want[i].type);
        assert_int_equal(a->config, want[i].config);
        assert_int_equal(a->exclude_user, want[i].no_user);
        assert_int_equal(a->exclude_kernel, want[i].no_kernel);
        assert_int_equal(a->inherit & a->disabled & a->enable_on_exec, 1);
        assert_int_equal(a->read_format,
                         PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING);
    }
    assert_int_equal(machine.attr[0].exclude_hv, 0);
    assert_int_equal(machine.attr[1].exclude_hv, 1);
    forget();
}

/* An ordinary user may count user mode only: that is counted, and marked. */
static void user_alone(void **state)
{
    (void)state;
    machine.kernel_answer = -EACCES;
    count("cycles,cycles:k,cs");
    assert_true(rows[0].reading.known && rows[0].user_alone);
    assert_true(machine.attr[1].exclude_kernel && machine.attr[1].exclude_hv);
    assert_true(!rows[1].reading.known && !rows[1].user_alone);
    assert_non_null(
        strstr(rows[1].why, "n/a: not permitted in the kernel (perf_event_paranoid is "));
    assert_true(rows[2].reading.known && !rows[2].user_alone && rows[2].reading.value == 5);
    assert_string_equal(rows[2].source, "getrusage, of what was waited for");
    forget();
    machine.answer = machine.probe = -ENOENT; /* absence wins over permission */
    count("cycles");
    assert_string_equal(rows[0].why, "n/a: no PMU");
    forget();
}

/* ---- results ------------------------------------------------------------------------------- */

static void values(void **state)
{
    (void)state;
    count("cycles");
    assert_true(rows[0].reading.known && !rows[0].reading.scaled && rows[0].is_cycles);
    assert_int_equal(rows[0].reading.value, 1000);
    assert_string_equal(rows[0].source, "perf: hardware");
    forget();
}

/* The counter for our share in cycles must count all modes. */
static void cycles(void **state)
{
    (void)state;
    count("cpu-cycles,cycles:u,cycles:k,ref-cycles,cpu-clock,clock:monotonic");
    assert_true(rows[0].is_cycles);
    for (int i = 1; i < 6; i++)
        assert_false(rows[i].is_cycles);
    forget();
}

static void turns(void **state)
{
    (void)state;
    machine.counts = (struct counts){UINT64_MAX / 4, 900, 300};
    count("cycles");
    assert_true(rows[0].reading.known && rows[0].reading.scaled);
    assert_int_equal(rows[0].reading.value, UINT64_MAX / 4 * 3);
    assert_int_equal(rows[0].reading.enabled_ns, 900);
    assert_int_equal(rows[0].reading.running_ns, 300);
    forget();
}

static void never(void **state)
{
    (void)state;
    machine.counts = (struct counts){0, 900, 0};
    count("cycles");
    assert_false(rows[0].reading.known);
    assert_string_equal(rows[0].why, "n/a: other events had the counters all the time");
    forget();
    machine.unreadable = true;
    count("cycles");
    assert_false(rows[0].reading.known);
    assert_string_equal(rows[0].why, "n/a: it could not be read");
    forget();
}

static void clocks(void **state)
{
    (void)state;
    count("clock:monotonic,clock:process,rusage:minor-faults,rusage:major-faults,clock:thread");
    assert_int_equal(rows[0].reading.value, 99);
    assert_int_equal(rows[1].reading.value, 2000007000);
    assert_int_equal(rows[2].reading.value, 30);
    assert_int_equal(rows[3].reading.value, 4);
    assert_false(rows[4].reading.known);
    assert_true(rows[0].is_time && rows[1].is_time && !rows[2].is_time);
    forget();
}

/* ---- texts about refused events ------------------------------------------------------------ */

static void refusals(void **state)
{
    (void)state;
    static const struct {
        int error, probe;
        const char *why;
    } want[] = {
        {-ENOENT, -ENOENT, "n/a: no PMU"},
        {-ENOENT, 0, "n/a: the PMU has no such event"},
        {-EPERM, 0, "n/a: forbidden by the system: a container's filter, or a security module"},
        {-ENOSYS, 0, "n/a: the kernel has no perf events"},
        {-EINVAL, 0, "n/a: the kernel cannot count it with these flags and attributes"},
        {-ENFILE, 0, "n/a: no descriptor left in the system"},
        {-EBUSY, 0, "n/a: somebody else has the counters to himself"},
        {-ENOSPC, 0, "n/a: all counters of its kind are in use"},
        {-EOPNOTSUPP, 0, "n/a: the PMU cannot count it in this way"},
        {-ESRCH, 0, "n/a: there is no such thread"},
        {-ENODEV, 0, "n/a: the processor is offline"},
        {-E2BIG, 0, "n/a: the kernel refuses it with error 7"}};
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        machine.asked = 0;
        machine.answer = want[i].error;
        machine.probe = want[i].probe;
        count("instructions:u");
        assert_false(rows[0].reading.known);
        assert_string_equal(rows[0].why, want[i].why);
        forget();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(attributes, begin), cmocka_unit_test_setup(user_alone, begin),
        cmocka_unit_test_setup(values, begin),     cmocka_unit_test_setup(turns, begin),
        cmocka_unit_test_setup(never, begin),      cmocka_unit_test_setup(clocks, begin),
        cmocka_unit_test_setup(refusals, begin),   cmocka_unit_test_setup(cycles, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
