/*
 * test_names.c - events and attributes that the kernel describes in files; the test provides the
 * files.
 *
 * rtc-build: -Wl,--wrap=os_perf_open,--wrap=os_perf_control,--wrap=os_perf_notify,--wrap=os_perf_id -Wl,--wrap=os_perf_read,--wrap=os_perf_close,--wrap=os_perf_paranoid -Wl,--wrap=processor_counters,--wrap=os_processor_name -Wl,--wrap=os_read_text,--wrap=os_each_name,--wrap=os_stat
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "made_machine.h"

#define USER RTC_CPC_COUNT_USER
#define BOTH (USER | RTC_CPC_COUNT_SYSTEM)
#define DEVICES "/sys/bus/event_source/devices/"

static const struct {
    const char *path, *text;
} file[] = {
    {DEVICES "cpu/type", "4\n"},
    {DEVICES "cpu/events/cache-misses", "event=0x2e,umask=0x41\n"},
    {DEVICES "cpu/events/mem-loads", "event=0xcd,ldlat=3,edge\n"},
    {DEVICES "cpu/events/mem-loads.unit", "joules\n"},
    {DEVICES "cpu/events/recursive", "recursive\n"},
    {DEVICES "cpu/events/asks", "event=?\n"},
    {DEVICES "cpu/format/event", "config:0-7,32-35\n"},
    {DEVICES "cpu/format/umask", "config:8-15\n"},
    {DEVICES "cpu/format/edge", "config:18\n"},
    {DEVICES "cpu/format/ldlat", "config1:0-15\n"},
    {DEVICES "cpu/format/all", "config2:0-63\n"},
    {DEVICES "cpu/format/strange", "config9:0-63\n"},
    {DEVICES "cpu/format/backwards", "config:7-3\n"},
    {DEVICES "uncore/type", "17\n"},
    {DEVICES "uncore/events/reads", "event=3\n"},
    {DEVICES "uncore/format/event", "config:0-7\n"},
    {DEVICES "uncore/format/port", "config:8-9\n"},
    {DEVICES "broken/type", "seventeen\n"},
    {"/sys/kernel/tracing/events/sched/sched_switch/id", "316\n"},
};

static bool has_tracefs = true;
static unsigned looks_left = UINT32_MAX; /* reads that succeed before descriptors run out */

static bool may_look(void)
{
    looks_left -= looks_left > 0 && looks_left < UINT32_MAX;
    return looks_left > 0;
}

long __wrap_os_read_text(const char *path, char *buffer, size_t room);
long __wrap_os_read_text(const char *path, char *buffer, size_t room)
{
    buffer[0] = '\0';
    if (!may_look())
        return -EMFILE;
    for (size_t i = 0; i < countof(file); i++)
        if (strcmp(file[i].path, path) == 0)
            return snprintf(buffer, room, "%s", file[i].text) < (int)room
                       ? (long)strlen(file[i].text)
                       : (long)room - 1;
    return -ENOENT;
}

int __wrap_os_stat(const char *path, struct stat *st);
int __wrap_os_stat(const char *path, struct stat *st)
{
    (void)st;
    assert_string_equal(path, "/sys/kernel/tracing/events");
    return has_tracefs ? 0 : -ENOENT;
}

/* The next component of a path below the folder; false if the path is elsewhere. */
static bool child_of(size_t i, const char *folder, char name[64])
{
    size_t n = strlen(folder);
    if (strncmp(file[i].path, folder, n) != 0 || file[i].path[n] != '/')
        return false;
    snprintf(name, 64, "%s", file[i].path + n + 1);
    name[strcspn(name, "/")] = '\0';
    return true;
}

int __wrap_os_each_name(const char *folder, void (*visit)(const char *name, void *about),
                        void *about);
int __wrap_os_each_name(const char *folder, void (*visit)(const char *name, void *about),
                        void *about)
{
    char name[64], before[64] = "";
    if (!may_look())
        return -EMFILE;
    for (size_t i = 0; i < countof(file); i++)
        if (child_of(i, folder, name) && strcmp(name, before) != 0) {
            visit(name, about);
            strcpy(before, name);
        }
    return 0;
}

static rtc_cpc_t *cpc;

static int begin(void **state)
{
    (void)state;
    machine_forget();
    has_tracefs = true;
    looks_left = UINT32_MAX;
    cpc = open_here();
    return 0;
}

static int end(void **state)
{
    (void)state;
    return rtc_cpc_close(cpc);
}

static const struct perf_event_attr *asked_for(const char *event, unsigned n,
                                               const rtc_cpc_attr_t *attrs)
{
    rtc_cpc_set_t *set = rtc_cpc_set_create(cpc);
    assert_int_equal(rtc_cpc_set_add_request(cpc, set, event, 0, BOTH, n, attrs), 0);
    assert_int_equal(rtc_cpc_bind_curlwp(cpc, set, 0), 0);
    return &nth_event(machine.made - 1)->attr;
}

static void is_asked_for(const char *event, uint32_t type, uint64_t config, uint64_t config1,
                         uint64_t config2)
{
    const struct perf_event_attr *a = asked_for(event, 0, NULL);
    assert_int_equal(a->type, type);
    assert_int_equal(a->config, config);
    assert_int_equal(a->config1, config1);
    assert_int_equal(a->config2, config2);
}

static void events(void **state)
{
    (void)state;
    is_asked_for("cpu/cache-misses/", 4, 0x412e, 0, 0);
    is_asked_for("cpu/mem-loads/", 4, 0x400cd, 3, 0);
    is_asked_for("cpu/event=0x2e,umask=65/", 4, 0x412e, 0, 0);
    is_asked_for("cpu/event=0xf2e/", 4, 0xf0000002e, 0, 0); /* a value in two bit fields */
    is_asked_for("cpu/cache-misses,umask=0x2/", 4, 0x22e, 0, 0);
    is_asked_for("cpu/edge/", 4, 1 << 18, 0, 0);
    is_asked_for("cpu/all=0xffffffffffffffff/", 4, 0, 0, UINT64_MAX);
    is_asked_for("cpu/config=0x99,config2=7/", 4, 0x99, 0, 7);
    is_asked_for("cpu/config1,edge/", 4, 1 << 18, 1, 0);
    is_asked_for("uncore/reads,port=3/", 17, 0x303, 0, 0);
    is_asked_for("sched:sched_switch", PERF_TYPE_TRACEPOINT, 316, 0, 0);
}

static void fails(const char *event, const rtc_cpc_attr_t *attr, unsigned flags, int subcode,
                  const char *words)
{
    rtc_cpc_set_t *set = rtc_cpc_set_create(cpc);
    error_seen.text[0] = '\0';
    assert_int_equal(rtc_cpc_set_add_request(cpc, set, event, 0, flags, attr != NULL, attr), -1);
    assert_int_equal(errno, EINVAL);
    assert_string_equal(error_seen.text, words);
    assert_int_equal(error_seen.subcode, subcode);
}

static void not_events(void **state)
{
    (void)state;
    static const struct {
        const char *event;
        int subcode;
        const char *words;
    } row[] = {
        /* clang-format off */
        {"cpu/", RTC_CPC_INVALID_EVENT, "not of the form PMU/EVENT/: cpu/"},
        {"cpu//", RTC_CPC_INVALID_EVENT, "not of the form PMU/EVENT/: cpu//"},
        {"cpu/cache-misses", RTC_CPC_INVALID_EVENT, "not of the form PMU/EVENT/: cpu/cache-misses"},
        {"gpu/x/", RTC_CPC_INVALID_EVENT, "n/a: there is no PMU of this name: gpu"},
        {"broken/x/", RTC_CPC_INVALID_EVENT, "n/a: there is no PMU of this name: broken"},
        {"../x/", RTC_CPC_INVALID_EVENT, "n/a: there is no PMU of this name: .."},
        {"cpu/nothing/", RTC_CPC_INVALID_EVENT, "the PMU has no event of this name: nothing"},
        {"cpu/recursive/", RTC_CPC_INVALID_ATTRIBUTE, "the event has no attribute of this name: recursive"},
        {"cpu/asks/", RTC_CPC_INVALID_EVENT, "this is no number: ?"},
        {"cpu/event=/", RTC_CPC_INVALID_EVENT, "this is no number: "},
        {"cpu/event=1x/", RTC_CPC_INVALID_EVENT, "this is no number: 1x"},
        {"cpu/cache-misses,,edge/", RTC_CPC_INVALID_ATTRIBUTE, "the event has no attribute of this name: "},
        {"cpu/umask=256/", RTC_CPC_ATTRIBUTE_OUT_OF_RANGE, "the value is too large for this attribute: umask"},
        {"cpu/event=0x1000/", RTC_CPC_ATTRIBUTE_OUT_OF_RANGE, "the value is too large for this attribute: event"},
        {"cpu/strange=1/", RTC_CPC_INVALID_ATTRIBUTE, "the event has no attribute of this name: strange"},
        {"cpu/backwards=1/", RTC_CPC_ATTRIBUTE_OUT_OF_RANGE,
         "the value is too large for this attribute: backwards"},
        {"cpu/none=1/", RTC_CPC_INVALID_ATTRIBUTE, "the event has no attribute of this name: none"},
        {"sched:nothing", RTC_CPC_INVALID_EVENT, "there is no tracepoint of this name: sched:nothing"},
        {":", RTC_CPC_INVALID_EVENT, "there is no tracepoint of this name: :"},
        /* clang-format on */
    };
    for (size_t i = 0; i < countof(row); i++)
        fails(row[i].event, NULL, BOTH, row[i].subcode, row[i].words);
    fails("sched:sched_switch", NULL, USER, RTC_CPC_REQ_INVALID_FLAGS,
          "sched:sched_switch: it happens in the kernel only: in user mode it would count nothing");
    has_tracefs = false;
    fails("sched:nothing", NULL, BOTH, RTC_CPC_INVALID_EVENT,
          "n/a: tracefs is not mounted, for: sched:nothing");
}

static void attributes(void **state)
{
    (void)state;
    const rtc_cpc_attr_t two[] = {{"umask", 0x41}, {"edge", 1}};
    assert_int_equal(asked_for("cpu/event=0x2e/", 2, two)->config, 0x4412e);
    assert_int_equal(asked_for("r2e", 2, two)->config, 0x4412e);
    fails("uncore/reads/", &two[0], BOTH, RTC_CPC_INVALID_ATTRIBUTE,
          "the event has no attribute of this name: umask");
    fails("cycles", &two[0], BOTH, RTC_CPC_INVALID_ATTRIBUTE,
          "the event has no attribute of this name: umask");
    fails("cpu/event=1/", &(rtc_cpc_attr_t){"umask", 256}, BOTH, RTC_CPC_ATTRIBUTE_OUT_OF_RANGE,
          "the value is too large for this attribute: umask");
    fails("cycles", &(rtc_cpc_attr_t){"picnum", 3}, BOTH, RTC_CPC_PIC_NOT_CAPABLE,
          "the kernel chooses the counter: 3");
    fails("cycles", &(rtc_cpc_attr_t){"picnum", 4}, BOTH, RTC_CPC_INVALID_PICNUM,
          "there is no such counter: 4");
}

/* ---- walks ----------------------------------------------------------------------------------- */

static struct {
    unsigned count, picno;
    char name[300][48];
} visited;

static void visit_name(void *arg, const char *name)
{
    assert_ptr_equal(arg, &visited);
    snprintf(visited.name[visited.count++], sizeof visited.name[0], "%s", name);
}

static void visit_counter(void *arg, unsigned picno, const char *name)
{
    visited.picno = picno;
    visit_name(arg, name);
}

static unsigned times_visited(const char *name)
{
    unsigned n = 0;
    for (unsigned i = 0; i < visited.count; i++)
        n += strcmp(visited.name[i], name) == 0;
    return n;
}

/* Each visited name can be added. */
static void all_can_be_added(void)
{
    for (unsigned i = 0; i < visited.count; i++) {
        rtc_cpc_set_t *set = rtc_cpc_set_create(cpc);
        assert_int_equal(times_visited(visited.name[i]), 1);
        if (!strstr(visited.name[i], "asks") && !strstr(visited.name[i], "recursive"))
            assert_int_equal(rtc_cpc_set_add_request(cpc, set, visited.name[i], 0, BOTH, 0, NULL),
                             0);
        rtc_cpc_set_destroy(cpc, set);
    }
}

static int no_nodes_no_cycles(const struct perf_event_attr *a, int group)
{
    (void)group;
    if (a->type == PERF_TYPE_HW_CACHE && (a->config & 0xff) == PERF_COUNT_HW_CACHE_NODE)
        return -ENOENT;
    return a->type == PERF_TYPE_HARDWARE && a->config == PERF_COUNT_HW_BUS_CYCLES ? -ENOENT : 0;
}

static void walks(void **state)
{
    (void)state;
    machine.answer = no_nodes_no_cycles;
    visited.count = 0;
    rtc_cpc_walk_events_all(cpc, &visited, visit_name);
    static const char *const some[] = {"page-faults",     "cycles",
                                       "L1-dcache-loads", "branch-prefetch-misses",
                                       "clock:thread",    "cpu/cache-misses/",
                                       "uncore/reads/"};
    for (size_t i = 0; i < countof(some); i++)
        assert_int_equal(times_visited(some[i]), 1);
    assert_int_equal(times_visited("bus-cycles") + times_visited("node-loads") +
                         times_visited("PAPI_tot_cyc"),
                     0);
    assert_int_equal(times_visited("cpu/mem-loads.unit/"), 0);
    all_can_be_added();

    visited.count = 0;
    rtc_cpc_walk_events_pic(cpc, 3, &visited, visit_counter);
    assert_true(visited.picno == 3 && times_visited("cycles") == 1 &&
                times_visited("cpu/cache-misses/") == 1);
    assert_int_equal(times_visited("page-faults") + times_visited("clock:thread") +
                         times_visited("uncore/reads/"),
                     0);
    all_can_be_added();

    visited.count = 0;
    rtc_cpc_walk_generic_events_all(cpc, &visited, visit_name);
    assert_int_equal(visited.count, 5);
    all_can_be_added();
    visited.count = 0;
    rtc_cpc_walk_generic_events_pic(cpc, 0, &visited, visit_counter);
    assert_true(visited.count == 5 && times_visited("PAPI_tot_ins") == 1);
    visited.count = error_seen.subcode = 0;
    rtc_cpc_walk_generic_events_pic(cpc, 4, &visited, visit_counter);
    assert_true(visited.count == 0 && error_seen.subcode == RTC_CPC_INVALID_PICNUM);
    rtc_cpc_walk_events_pic(cpc, 4, &visited, visit_counter);
    assert_int_equal(visited.count, 0);
    assert_string_equal(error_seen.text, "there is no such counter: 4");
    assert_int_equal(machine_open_events(), 0);
}

static void walks_of_attributes(void **state)
{
    (void)state;
    visited.count = 0;
    rtc_cpc_walk_attrs(cpc, &visited, visit_name);
    static const char *const want[] = {"config", "config1", "config2", "event",     "umask", "edge",
                                       "ldlat",  "all",     "strange", "backwards", "port"};
    assert_int_equal(visited.count, countof(want));
    for (size_t i = 0; i < countof(want); i++)
        assert_string_equal(visited.name[i], want[i]);
}

/* ---- without free descriptors ---------------------------------------------------------------- */

static int open_if_may_look(const struct perf_event_attr *a, int group)
{
    (void)a, (void)group;
    return may_look() ? 0 : -EMFILE;
}

static void counts_descriptors(void)
{
    char words[128];
    struct rlimit files;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    snprintf(words, sizeof words, "n/a: no descriptor left in this process (RLIMIT_NOFILE is %llu)",
             (unsigned long long)files.rlim_cur);
    assert_int_equal(errno, EMFILE);
    assert_int_equal(error_seen.subcode, RTC_CPC_RESOURCE_UNAVAIL);
    assert_string_equal(error_seen.text, words);
}

/* Whenever descriptors run out, no wrong result is returned: the name is known, or it is not. */
static void names_without_descriptors(void **state)
{
    (void)state;
    static const char *const event[] = {
        "cpu/cache-misses/",    "cpu/edge/",          "cpu/event=0x2e,umask=65/",
        "uncore/reads,port=3/", "sched:sched_switch", "gpu/x/",
        "cpu/nothing/",         "cpu/none=1/",        "sched:nothing"};
    const rtc_cpc_attr_t umask = {"umask", 1};
    for (size_t i = 0; i < countof(event); i++)
        for (unsigned n = 1; looks_left = n, true; n++) {
            rtc_cpc_set_t *set = rtc_cpc_set_create(cpc);
            int index = rtc_cpc_set_add_request(cpc, set, event[i], 0, BOTH, i == 2, &umask);
            rtc_cpc_set_destroy(cpc, set);
            if (looks_left > 0) {
                assert_true(n > 1 && (index == 0) == (i < 5));
                break;
            }
            assert_int_equal(index, -1);
            counts_descriptors();
        }
}

static void walk_all(unsigned which)
{
    static void (*const walk[])(rtc_cpc_t * cpc, void *arg,
                                void (*action)(void *arg, const char *name)) = {
        rtc_cpc_walk_events_all, rtc_cpc_walk_generic_events_all, rtc_cpc_walk_attrs};
    if (which < countof(walk))
        walk[which](cpc, &visited, visit_name);
    else if (which == countof(walk))
        rtc_cpc_walk_events_pic(cpc, 0, &visited, visit_counter);
    else
        rtc_cpc_walk_generic_events_pic(cpc, 0, &visited, visit_counter);
}

static void walks_without_descriptors(void **state)
{
    (void)state;
    machine.answer = open_if_may_look;
    for (unsigned which = 0; which < 5; which++)
        for (unsigned n = 1; looks_left = n, true; n++) {
            machine.made = 0;
            visited.count = error_seen.subcode = errno = 0;
            walk_all(which);
            if (looks_left > 0) {
                assert_true(n > 1 && !error_seen.subcode);
                break;
            }
            counts_descriptors();
        }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(events),
                                       TEST(not_events),
                                       TEST(attributes),
                                       TEST(walks),
                                       TEST(walks_of_attributes),
                                       TEST(names_without_descriptors),
                                       TEST(walks_without_descriptors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
