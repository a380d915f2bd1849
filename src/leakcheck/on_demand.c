/*
 * on_demand.c - leak checks on demand, requested by the program in mid-run.
 *
 *   stop the others, scan (leaks.c) -> resume all -> report the results -> set a new mark
 *
 * The report is printed before the call returns: by the launcher, which is woken, or in a run
 * without a launcher by a reporter process, as at the end.  The calling thread waits for the report
 * while other threads run.  The wait is bounded.  With RTC_QUIET there is no report and no wait.
 */
#include "leakcheck_priv.h"
#include "rtcheck/check.h"

#include <string.h>

#define REPORT_WAIT_NS 10000000000ull
#define LOOK_NS 50000000ull

/* ---- reporting ------------------------------------------------------------------------------- */

static void wait_for_launcher(const struct leaks_now *now)
{
    struct run_header *run = run_header();
    uint64_t begin = os_clock_ns();
    uint32_t seen = atomic_load(&run->checks_reported);
    while (!atomic_load_explicit(&now->record->reported, memory_order_acquire)) {
        if (os_clock_ns() - begin > REPORT_WAIT_NS || os_process_gone(run->launcher_pid))
            return;
        os_wait(&run->checks_reported, seen, LOOK_NS, true);
        seen = atomic_load(&run->checks_reported);
    }
}

/*
 * Request a report by the process that reads the suppression rules.  Return
 * leak_check_record.reported.
 */
static uint32_t request_report(const struct leaks_now *now)
{
    if (!now->record)
        return 0;
    if (rt.by_launcher) {
        atomic_fetch_add(&run_header()->checks_requested, 1);
        run_ring();
        wait_for_launcher(now);
    } else {
        report_check_by_hand(now);
    }
    return atomic_load_explicit(&now->record->reported, memory_order_acquire);
}

static void notify_leak_sum(const struct leaks_now *now)
{
    uint32_t checks_seen = request_report(now);
    if (checks_seen)
        scan_note_hidden(checks_seen - 1);
    if (now->record)
        (void)marks_next();
}

bool leaks_any_unsuppressed(void)
{
    struct leaks_now now = {.flags = LEAK_CHECK_AT_END, .result = LEAKS_FOUND};
    struct os_signals signals;
    uint32_t checks_seen = 0;
    if (!run_header())
        return true;
    if (leaks_begin(&signals)) {
        leaks_put_end(&now);
        checks_seen = request_report(&now);
        leaks_reported(&now);
        leaks_done();
    }
    os_restore_signals(&signals);
    return checks_seen != 1;
}

/* ---- checking -------------------------------------------------------------------------------- */

/* Find the innermost frame of the program. */
static bool find_caller(struct caller *out)
{
    struct object own_code;
    return loader_find((uintptr_t)&find_caller, &own_code) &&
           unwind_caller_of(own_code.start, own_code.end - own_code.start, out);
}

/*
 * Another thread may make a check before this notification: then the handlers receive that one's
 * sums.
 */
void leaks_notify(bool at_end)
{
    struct notification h = {.event = NOTIFY_SCAN_DONE};
    if (notify_is_wanted(NOTIFY_SCAN_DONE) && scan_last(&h.scan) && h.scan.at_end == at_end)
        notify_program(&h);
}

/*
 * Signals are blocked: a handler that leaves by longjmp would leave the other threads stopped for
 * ever.
 */
static bool check_serialized(const struct caller *caller, struct leaks_now *now)
{
    struct os_signals signals;
    struct cost_part since = cost_part_begin();
    mapped_compare();
    bool is_checker = leaks_begin(&signals);
    if (is_checker) {
        leaks_check_now(caller, now);
        cost_part_end(COST_SCAN, since);
        if (now->is_reported)
            notify_leak_sum(now);
        leaks_reported(now);
        leaks_done();
    }
    os_restore_signals(&signals);
    return is_checker;
}

bool leaks_on_demand(struct leaks_now *now)
{
    struct caller caller;
    if (!init_is_started() || !wants_leaks() || fork_shares_memory() || !find_caller(&caller))
        return false;
    if (fork_is_child())
        fork_begin_child();
    if (lsan_is_turned_off())
        return false;
    now->is_reported = now->is_reported && run_header();
    if (!check_serialized(&caller, now))
        return false;
    if (leak_check_was_made(now->result))
        leaks_notify(false);
    if (now->is_reported)
        notify_program(&(struct notification){.event = NOTIFY_REPORT});
    return true;
}

/* ---- forks ----------------------------------------------------------------------------------- */

static struct {
    bool is_serialized, has_writers, is_stopped;
    struct os_signals signals;
    struct stopped_world world;
} others;

/* Also threads that never allocated.  First writers of records: none is then opening or closing guard pages. */
bool leaks_stop_others(void)
{
    static const struct caller unknown; /* registers are not needed */
    struct os_signals signals;
    if (!leaks_begin(&signals)) {
        os_restore_signals(&signals);
        return false;
    }
    others.is_serialized = true;
    others.signals = signals;
    others.has_writers = fork_stop_writers();
    others.is_stopped =
        others.has_writers && world_stop(&others.world, &unknown, STOP_RUNNING) == 0;
    return others.is_stopped && others.world.not_stopped == others.world.waiting;
}

void leaks_resume_others(void)
{
    if (!others.is_serialized)
        return;
    struct os_signals signals = others.signals;
    others.is_serialized = false;
    if (others.is_stopped)
        world_resume(&others.world);
    if (others.has_writers)
        fork_resume_writers();
    leaks_done();
    os_restore_signals(&signals);
}

/* ---- rtcheck/check.h ------------------------------------------------------------------------- */

static struct rtc_leak_sum sum_of(const struct leaks_now *now, enum reach first, enum reach last)
{
    struct rtc_leak_sum to = {0};
    for (enum reach i = first; i <= last; i++) {
        to.blocks += now->sum[i].blocks;
        to.bytes += now->sum[i].bytes;
        to.new_blocks += now->sum[i].new_blocks;
        to.new_bytes += now->sum[i].new_bytes;
    }
    return to;
}

static int refusal(enum leak_check result)
{
    return result == LEAKS_NO_MEMORY ? RTC_NO_MEMORY
           : result == LEAKS_SANDBOX ? RTC_SANDBOX
           : result == LEAKS_NO_PROC ? RTC_NO_PROC
                                     : RTC_BUSY;
}

EXPORT long __rtc_check_leaks(unsigned how, struct rtc_leaks *out, size_t room);
EXPORT long __rtc_check_leaks(unsigned how, struct rtc_leaks *out, size_t room)
{
    struct leaks_now now = {.is_reported = !(how & RTC_QUIET),
                            .flags = how & RTC_NEW ? LEAK_CHECK_NEW : 0};
    struct rtc_leaks all;
    if (!leaks_on_demand(&now))
        return RTC_NOT_CHECKED;
    if (!leak_check_was_made(now.result))
        return refusal(now.result);
    bool sure = !now.not_stopped; /* else a register of a thread that did not stop may hold them */
    all.definite = sum_of(&now, sure ? REACH_LOST : REACH_COUNT, REACH_CYCLE);
    all.indirect = sum_of(&now, sure ? REACH_LOST_INDIRECT : REACH_COUNT, REACH_LOST_INDIRECT);
    all.possible = sum_of(&now, REACH_INTERIOR, sure ? REACH_INDIRECT : REACH_LOST_INDIRECT);
    all.reachable = sum_of(&now, REACH_REACHABLE, REACH_REACHABLE);
    if (out)
        memcpy(out, &all, room < sizeof all ? room : sizeof all);
    uint64_t leaked = all.definite.blocks + all.indirect.blocks;
    uint64_t since = all.definite.new_blocks + all.indirect.new_blocks;
    return (long)(how & RTC_NEW ? since : leaked);
}

EXPORT int __rtc_mark(void);
EXPORT int __rtc_mark(void)
{
    return marks_next();
}
