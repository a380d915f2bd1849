/*
 * made_machine.h - a simulated machine with a PMU, in place of the kernel.  Counts, and the times for
 * which groups had their counters, are set by the test.
 *
 * A test that includes it is linked with
 *     -Wl,--wrap=os_perf_open,--wrap=os_perf_control,--wrap=os_perf_notify,--wrap=os_perf_id
 *     -Wl,--wrap=os_perf_read,--wrap=os_perf_close,--wrap=os_perf_paranoid
 *     -Wl,--wrap=processor_counters,--wrap=os_processor_name
 */
#ifndef MADE_MACHINE_H
#define MADE_MACHINE_H

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "counters_priv.h"

#define MACHINE_EVENTS 200
#define MACHINE_FD 5000

struct machine_event {
    struct perf_event_attr attr;
    int pid, cpu, leader; /* leader: equal to its own descriptor for a group leader */
    bool open, counts;    /* counts: of a leader, for its group */
    unsigned refreshed, owner, signal;
    uint64_t value, enabled, running;
};

static struct {
    struct machine_event event[MACHINE_EVENTS];
    int made;
    int (*answer)(const struct perf_event_attr *attr, int group); /* 0, or -errno; NULL: 0 */
    bool taken;       /* pinned groups do not get their counters */
    int64_t paranoid; /* INT64_MIN: it cannot be read */
} machine = {.paranoid = 2};

static struct machine_event *machine_event(int fd)
{
    assert_in_range(fd, MACHINE_FD, MACHINE_FD + machine.made - 1);
    return &machine.event[fd - MACHINE_FD];
}

/* The n-th event opened since machine_forget. */
static inline struct machine_event *nth_event(int n)
{
    return machine_event(MACHINE_FD + n);
}

static inline void machine_forget(void)
{
    memset(&machine, 0, sizeof machine);
    machine.paranoid = 2;
}

static inline int machine_open_events(void)
{
    int n = 0;
    for (int i = 0; i < machine.made; i++)
        n += machine.event[i].open;
    return n;
}

/* The group was enabled and running for these times. */
static inline void machine_run(int n, uint64_t enabled, uint64_t running)
{
    nth_event(n)->enabled += enabled;
    nth_event(n)->running += running;
}

/* ---- replacements of os ---------------------------------------------------------------------- */

int __wrap_os_perf_open(const struct perf_event_attr *attr, int pid, int cpu, int group);
int __wrap_os_perf_open(const struct perf_event_attr *attr, int pid, int cpu, int group)
{
    int err = machine.answer ? machine.answer(attr, group) : 0;
    if (err)
        return err;
    assert_int_equal(attr->size, sizeof *attr);
    if (group >= 0)
        assert_true(machine_event(group)->open && machine_event(group)->leader == group);
    int fd = MACHINE_FD + machine.made++;
    *machine_event(fd) = (struct machine_event){.attr = *attr,
                                                .pid = pid,
                                                .cpu = cpu,
                                                .open = true,
                                                .leader = group < 0 ? fd : group,
                                                .counts = !attr->disabled};
    return fd;
}

int __wrap_os_perf_control(int fd, unsigned long request, const void *argument);
int __wrap_os_perf_control(int fd, unsigned long request, const void *argument)
{
    struct machine_event *e = machine_event(fd);
    (void)argument;
    assert_true(e->open);
    switch (request) {
    case PERF_EVENT_IOC_ENABLE:
        e->counts = true;
        break;
    case PERF_EVENT_IOC_DISABLE:
        e->counts = false;
        break;
    case PERF_EVENT_IOC_REFRESH:
        e->counts = true, e->refreshed += (unsigned)(uintptr_t)argument;
        break;
    default:
        fail_msg("ioctl %lx", request);
    }
    return 0;
}

int __wrap_os_perf_notify(int fd, uint32_t tid, int signal);
int __wrap_os_perf_notify(int fd, uint32_t tid, int signal)
{
    machine_event(fd)->owner = tid;
    machine_event(fd)->signal = (unsigned)signal;
    return 0;
}

int __wrap_os_perf_id(int fd, uint64_t *id);
int __wrap_os_perf_id(int fd, uint64_t *id)
{
    *id = (uint64_t)fd * 3;
    return machine_event(fd)->open ? 0 : -EBADF;
}

static long read_one(const struct machine_event *e, uint64_t *words)
{
    words[0] = e->value;
    words[1] = e->enabled;
    words[2] = e->running;
    return 3 * sizeof *words;
}

long __wrap_os_perf_read(int fd, uint64_t *words, size_t bytes);
long __wrap_os_perf_read(int fd, uint64_t *words, size_t bytes)
{
    const struct machine_event *e = machine_event(fd);
    assert_true(e->open);
    if (machine.taken && e->attr.pinned)
        return 0;
    if (!(e->attr.read_format & PERF_FORMAT_GROUP))
        return read_one(e, words);
    words[0] = 0;
    words[1] = e->enabled;
    words[2] = e->running;
    for (int i = 0; i < machine.made; i++)
        if (machine.event[i].leader == fd && machine.event[i].open)
            words[3 + words[0]++] = machine.event[i].value;
    assert_true((3 + words[0]) * sizeof *words <= bytes);
    return (long)((3 + words[0]) * sizeof *words);
}

void __wrap_os_perf_close(int fd);
void __wrap_os_perf_close(int fd)
{
    assert_true(machine_event(fd)->open);
    machine_event(fd)->open = false;
}

bool __wrap_os_perf_paranoid(int64_t *level);
bool __wrap_os_perf_paranoid(int64_t *level)
{
    *level = machine.paranoid;
    return machine.paranoid != INT64_MIN;
}

uint32_t __wrap_processor_counters(void);
uint32_t __wrap_processor_counters(void)
{
    return 4;
}

bool __wrap_os_processor_name(char *buffer, size_t room);
bool __wrap_os_processor_name(char *buffer, size_t room)
{
    snprintf(buffer, room, "Processor 9000");
    return true;
}

/* ---- errors and values ----------------------------------------------------------------------- */

static struct {
    int subcode;
    char text[256];
} error_seen;

static void take_note(rtc_cpc_t *cpc, const char *fn, int subcode, const char *fmt, va_list ap)
{
    (void)cpc, (void)fn;
    error_seen.subcode = subcode;
    vsnprintf(error_seen.text, sizeof error_seen.text, fmt, ap);
}

/* Open a handle, and forget the events that were opened as probes. */
static inline rtc_cpc_t *open_here(void)
{
    rtc_cpc_t *cpc = rtc_cpc_open(RTC_CPC_VER_CURRENT);
    assert_non_null(cpc);
    assert_int_equal(rtc_cpc_seterrhndlr(cpc, take_note), 0);
    assert_int_equal(machine_open_events(), 0);
    machine.made = 0;
    return cpc;
}

static inline void add(rtc_cpc_t *cpc, rtc_cpc_set_t *set, const char *event, uint64_t preset,
                       unsigned flags)
{
    assert_true(rtc_cpc_set_add_request(cpc, set, event, preset, flags, 0, NULL) >= 0);
}

static inline rtc_cpc_set_t *set_of(rtc_cpc_t *cpc, const char *event, uint64_t preset,
                                    unsigned flags)
{
    rtc_cpc_set_t *set = rtc_cpc_set_create(cpc);
    assert_non_null(set);
    add(cpc, set, event, preset, flags);
    return set;
}

/* The present value of request `index`. */
static inline struct rtc_cpc_reading reading_of(rtc_cpc_t *cpc, rtc_cpc_set_t *set, int index)
{
    struct rtc_cpc_reading r;
    rtc_cpc_buf_t *buf = rtc_cpc_buf_create(cpc, set);
    assert_non_null(buf);
    assert_int_equal(rtc_cpc_set_sample(cpc, set, buf), 0);
    assert_int_equal(rtc_cpc_buf_reading(cpc, buf, index, &r), 0);
    rtc_cpc_buf_destroy(cpc, buf);
    return r;
}

static inline uint64_t value_of(rtc_cpc_t *cpc, rtc_cpc_set_t *set, int index)
{
    struct rtc_cpc_reading r = reading_of(cpc, set, index);
    assert_true(r.known);
    return r.value;
}

#endif
