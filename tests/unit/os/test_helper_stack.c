/*
 * test_helper_stack.c - work on the helper stack: its stack, its signal mask, and waiting for a
 * lock.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#include "os.h"

static struct thread first, second;
static struct lock lock = LOCK_INIT(RANK_META);

static bool is_in(const struct thread *t, uintptr_t at)
{
    return at - (uintptr_t)t->helper.room < sizeof t->helper.room;
}

static uintptr_t here(void)
{
    return (uintptr_t)__builtin_frame_address(0);
}

static sigset_t mask_now(void)
{
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    return mask;
}

/* ---- stack and signals ----------------------------------------------------------------------- */

struct seen {
    uintptr_t at, program_sp;
    bool here, blocked, faults_blocked;
    struct seen *nested;
};

static void look(void *about)
{
    struct seen *s = about;
    sigset_t mask = mask_now();
    s->at = here();
    s->program_sp = helper_program_sp();
    s->here = helper_is_here();
    s->blocked = sigismember(&mask, SIGUSR1) && sigismember(&mask, SIGALRM);
    s->faults_blocked = sigismember(&mask, SIGSEGV) || sigismember(&mask, SIGSYS);
    if (s->nested)
        helper_call(look, s->nested);
}

static void runs_there(void **state)
{
    (void)state;
    struct seen inner = {0}, s = {.nested = &inner};
    self = &first;
    sigset_t before = mask_now();
    helper_call(look, &s);
    sigset_t after = mask_now();
    assert_true(is_in(&first, s.at) && is_in(&first, inner.at) && inner.at < s.at);
    assert_true(s.here && !helper_is_here());
    assert_true(s.program_sp < here() && here() - s.program_sp < 1024);
    assert_true(inner.program_sp == s.program_sp);
    assert_true(s.blocked && inner.blocked && !s.faults_blocked);
    assert_memory_equal(&before, &after, sizeof(uint64_t));
    assert_false(sigismember(&after, SIGUSR1));
    self = NULL;
}

static void without_struct(void **state)
{
    (void)state;
    struct seen s = {0};
    helper_call(look, &s);
    assert_true(here() - s.at < 4096 && !s.here && !s.blocked);
}

/* In a sandbox the signal mask must not be changed. */
static void in_sandbox(void **state)
{
    (void)state;
    struct seen s = {0};
    self = &first;
    os_enter_sandbox();
    helper_call(look, &s);
    os_exit_sandbox();
    self = NULL;
    assert_true(here() - s.at < 4096 && !s.here && !s.blocked);
}

/* ---- unwinders ------------------------------------------------------------------------------- */

struct way {
    uintptr_t to;
    bool met;
};

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *about)
{
    struct way *w = about;
    w->met |= _Unwind_FindEnclosingFunction((void *)_Unwind_GetIP(context)) == (void *)w->to;
    return w->met ? _URC_END_OF_STACK : _URC_NO_REASON;
}

static void unwind(void *about)
{
    _Unwind_Backtrace(visit, about);
}

static void unwinders_come_through(void **state)
{
    struct way w = {.to = (uintptr_t)unwinders_come_through};
    (void)state;
    self = &first;
    helper_call(unwind, &w);
    self = NULL;
    assert_true(w.met);
}

/* ---- waiting for a lock ---------------------------------------------------------------------- */

static _Atomic bool held, handled;
static _Atomic uintptr_t handler_at;

static void on_signal(int signal)
{
    (void)signal;
    struct seen s = {0};
    atomic_store(&handler_at, here());
    helper_call(look, &s); /* the thread's helper stack is in use */
    if (!is_in(&first, s.at))
        atomic_store(&handled, true);
}

/* Hold the lock until the thread that waits for it has handled a signal. */
static void *hold(void *waiter)
{
    self = &second;
    second.tid = 2;
    lock_take(&lock);
    atomic_store(&held, true);
    while (!(atomic_load(&lock.word) & LOCK_CONTENDED))
        sched_yield();
    pthread_kill(*(pthread_t *)waiter, SIGUSR1);
    while (!atomic_load(&handled))
        sched_yield();
    lock_drop(&lock);
    self = NULL;
    return NULL;
}

static void take(void *about)
{
    struct seen *s = about;
    lock_take(&lock);
    look(s);
    lock_drop(&lock);
}

static void locks_are_awaited_outside(void **state)
{
    (void)state;
    pthread_t holder, waiter = pthread_self();
    struct sigaction action = {.sa_handler = on_signal};
    struct seen s = {0};
    sigaction(SIGUSR1, &action, NULL);
    self = &first;
    first.tid = 1;
    helper_start();
    assert_int_equal(pthread_create(&holder, NULL, hold, &waiter), 0);
    while (!atomic_load(&held))
        sched_yield();
    helper_call(take, &s);
    pthread_join(holder, NULL);
    self = NULL;
    assert_true(atomic_load(&handled));
    assert_true(here() - atomic_load(&handler_at) < 65536); /* this thread's stack */
    assert_true(is_in(&first, s.at) && s.blocked);
    assert_true(!first.helper.use);
}

/* ---- left by longjmp ------------------------------------------------------------------------- */

static sigjmp_buf out;

static void on_fault(int signal)
{
    (void)signal;
    helper_abandon(true); /* as core calls it */
    siglongjmp(out, 1);
}

static void fault(void *unused)
{
    (void)unused;
    raise(SIGSEGV);
}

static void exited_by_jump(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = on_fault};
    struct seen s = {0};
    sigaction(SIGSEGV, &action, NULL);
    self = &first;
    if (sigsetjmp(out, 0) == 0)
        helper_call(fault, NULL);
    sigset_t mask = mask_now();
    assert_false(sigismember(&mask, SIGUSR1));
    helper_call(look, &s);
    assert_true(is_in(&first, s.at));
    self = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_there),
        cmocka_unit_test(without_struct),
        cmocka_unit_test(in_sandbox),
        cmocka_unit_test(unwinders_come_through),
        cmocka_unit_test(locks_are_awaited_outside),
        cmocka_unit_test(exited_by_jump),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
