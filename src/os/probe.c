/*
 * probe.c - detects once which features this machine lacks; test switches simulate missing ones.
 *
 * | feature     | since        | without it                                                    |
 * | populate    | Linux 5.14   | a system call writes into each new page of the run file       |
 * | wipeonfork  | Linux 4.14   | only forks through libc are noticed                           |
 * | membarrier  | Linux 4.14   | a full fence at every entry of a critical section             |
 * | find_object | glibc 2.35   | only modules loaded at start-up are recognised                |
 * | noreplace   | Linux 4.17   | the returned address is compared with the requested one       |
 * | hugepage    | kernel config | small pages                                                  |
 * | dontdump    | Linux 3.4    | core dumps contain the runtime's metadata                     |
 * | user_dispatch | Linux 5.11 | events=all, its only user, is not available                   |
 * | guard_pages | Linux 6.13   | mprotect, for a limited number of guarded blocks              |
 * | run_file    | -            | records are private: the program runs without a report        |
 * | quiesce     | -            | (tests only) a fork does not wait for other threads           |
 */
#include "os.h"
#include "os_priv.h"

#include <sys/syscall.h>

#define MEMBARRIER_EXPEDITED 8
#define MEMBARRIER_REGISTER_EXPEDITED 16

static _Atomic uint64_t missing;
static _Atomic bool sandboxed;
static bool by_valgrind;
static uint64_t test_seed;

static const char *const feature_name[] = {
#define FEATURE(id, name) name,
#include "format/features.def"
#undef FEATURE
};
static_assert(countof(feature_name) == OS_FEATURE_COUNT, "one name each");

bool os_has(enum os_feature f)
{
    return !(atomic_load_explicit(&missing, memory_order_relaxed) >> f & 1);
}

void os_mark_missing(enum os_feature f)
{
    atomic_fetch_or_explicit(&missing, 1ull << f, memory_order_relaxed);
}

uint64_t os_missing_features(void)
{
    return atomic_load_explicit(&missing, memory_order_relaxed);
}

void os_enter_sandbox(void)
{
    atomic_store_explicit(&sandboxed, true, memory_order_relaxed);
}

void os_exit_sandbox(void)
{
    atomic_store_explicit(&sandboxed, false, memory_order_relaxed);
}

bool os_sandboxed(void)
{
    return atomic_load_explicit(&sandboxed, memory_order_relaxed) && !os_served();
}

uint64_t os_test_seed(void)
{
    return test_seed;
}

bool os_by_valgrind(void)
{
    return by_valgrind;
}

/* Is `name` one of the comma-separated words of `list`? */
static bool list_has(const char *list, const char *name)
{
    size_t n = text_length(name);
    for (const char *p = list; *p; p++)
        if ((p == list || p[-1] == ',') && text_starts(p, name) && (p[n] == ',' || !p[n]))
            return true;
    return false;
}

static void switch_off(const char *list)
{
    for (size_t f = 0; f < OS_FEATURE_COUNT; f++)
        if (list_has(list, feature_name[f]))
            os_mark_missing((enum os_feature)f);
}

void os_start(char *const *envp)
{
    static const char without[] = "RTCHECK_TEST_WITHOUT=", fail[] = "RTCHECK_TEST_FAIL=",
                      seed[] = "RTCHECK_TEST_SEED=";
    for (; envp && *envp; envp++) {
        if (text_starts(*envp, without))
            switch_off(*envp + sizeof without - 1);
        if (text_starts(*envp, seed)) {
            const char *digits = *envp + sizeof seed - 1;
            text_parse_decimal(&digits, &test_seed);
        }
        if (text_starts(*envp, fail)) {
            const char *digits = *envp + sizeof fail - 1;
            uint64_t n;
            if (text_parse_decimal(&digits, &n))
                os_fail_call(n);
        }
    }
    by_valgrind = processor_is_valgrind();
    helper_start();
    if (os_has(OS_MEMBARRIER) && CALL3(SYS_membarrier, MEMBARRIER_REGISTER_EXPEDITED, 0, 0) < 0)
        os_mark_missing(OS_MEMBARRIER);
}

bool os_barrier_ready(void)
{
    return os_has(OS_MEMBARRIER);
}

void os_barrier(void)
{
    /*
     * The call may be forbidden in a sandbox; entries of critical sections then have their own
     * fence.
     */
    if (os_has(OS_MEMBARRIER) && !os_sandboxed())
        CALL3(SYS_membarrier, MEMBARRIER_EXPEDITED, 0, 0);
}
