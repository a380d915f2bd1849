/*
 * faults_handlers.c - ways to handle a fault, and what the handlers observe.
 *
 * Handlers use less than 2 KiB of the stack: functions are bound at start-up.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "faults.h"

#define LARGE_STACK 65536
#define SMALL_STACK_MORE 2048 /* than the kernel's part of it */

/* ---- heap errors without effect ---------------------------------------------------------------- */

bool touches;
static volatile long sum;

static void touch(void)
{
    for (int i = 0; touches && i < 2; i++) {    /* guards at the start and at the end, in turn */
        volatile char *volatile p = malloc(64); /* its size is not known to the compiler */
        must(p != NULL);
        sum += p[64] + p[-1];
        free((void *)(uintptr_t)p);
        sum += p[8];
    }
}

/* Allocated before the fault: a handler must not call malloc. */
static volatile char *freed[4], *live[4];

void prepare_touches(void)
{
    for (int i = 0; i < 4; i++) {
        freed[i] = malloc(64);
        live[i] = malloc(64);
    }
    for (int i = 0; i < 4; i++)
        free((void *)(uintptr_t)freed[i]);
}

static bool is_stack_small; /* too small for another signal frame, that of the guard's fault */

static void touch_in_handler(void)
{
    for (int i = 0; touches && !is_stack_small && i < 4; i++)
        sum += freed[i][8] + live[i][64] + live[i][-1];
}

/* ---- what a handler observes ------------------------------------------------------------------- */

static int calls;

static void put_mask(void)
{
    sigset_t now;
    int64_t bits = 0;
    must(pthread_sigmask(SIG_SETMASK, NULL, &now) == 0);
    for (int i = 1; i < 32; i++)
        bits |= (int64_t)sigismember(&now, i) << i;
    put_number("mask", bits);
}

static void put_distance(const char *name, uint64_t at, uint64_t stack)
{
    uint64_t after = at - next_pc, below = at - stack;
    if (at < PAGE)
        put_number(name, (int64_t)at);
    else if (next_pc && after + 64 < 128)
        put_number(name, (int64_t)after);
    else if (below + 64 < 128)
        put_number("from_sp", (int64_t)below);
    else
        put_number("from_base", (int64_t)(at - (uintptr_t)base));
}

static void put_registers(const siginfo_t *info, const greg_t *registers)
{
    uint64_t stack = (uint64_t)registers[REG_RSP];
    if (info->si_code <= 0) {
        put_number("self", info->si_pid == getpid());
        return;
    }
    put_distance("address", (uintptr_t)info->si_addr, stack);
    put_distance("pc", (uint64_t)registers[REG_RIP], stack);
    put_number("trap", registers[REG_TRAPNO]);
    put_number("error", registers[REG_ERR]);
    put_number("rax", registers[REG_RAX]);
    put_number("rcx", registers[REG_RCX]);
}

static void put_context(const ucontext_t *context)
{
    int64_t bits = 0;
    stack_t stack;
    for (int i = 1; i < 32; i++)
        bits |= (int64_t)sigismember(&context->uc_sigmask, i) << i;
    put_number("mask_before", bits);
    must(sigaltstack(NULL, &stack) == 0);
    put_number("on_stack", stack.ss_flags);
}

static void observe(int number, const siginfo_t *info, const ucontext_t *context)
{
    put("handler");
    put_number("call", ++calls);
    put_number("signal", number);
    put_number("signo", info->si_signo);
    put_number("code", info->si_code);
    put_registers(info, context->uc_mcontext.gregs);
    put_context(context);
    put_mask();
    put("\n");
}

/* ---- handlers ---------------------------------------------------------------------------------- */

static sigjmp_buf back;

static void skip(ucontext_t *context)
{
    greg_t *registers = context->uc_mcontext.gregs;
    if (kind->access == access_raise)
        return;
    registers[REG_RIP] = (greg_t)next_pc;
    registers[REG_RSP] = (greg_t)sp;
    registers[REG_RAX] = 77;
}

static void by_jump(int number, siginfo_t *info, void *context)
{
    observe(number, info, context);
    touch_in_handler();
    siglongjmp(back, 1);
}

static void by_skip(int number, siginfo_t *info, void *context)
{
    observe(number, info, context);
    touch_in_handler();
    skip(context);
}

static void by_repair(int number, siginfo_t *info, void *context)
{
    observe(number, info, context);
    touch_in_handler();
    if (kind->repair)
        kind->repair();
    else
        skip(context);
}

static void by_fault(int number, siginfo_t *info, void *context)
{
    uint64_t outer_pc = next_pc, outer_sp = sp;
    observe(number, info, context);
    touch_in_handler();
    if (calls == 1)
        kind->access();
    else
        skip(context);
    if (calls == 2 && sp != outer_sp) {
        next_pc = outer_pc;
        sp = outer_sp;
        skip(context);
        calls++;
    }
}

static void by_default(int number, siginfo_t *info, void *context)
{
    observe(number, info, context);
    touch_in_handler();
    must(signal(number, SIG_DFL) == (sighandler_t)(uintptr_t)by_default);
}

static void by_number(int number)
{
    put("handler");
    put_number("signal", number);
    put_mask();
    put("\n");
    touch_in_handler();
    siglongjmp(back, 1);
}

static void put_action(void)
{
    struct sigaction now;
    must(sigaction(kind->signal, NULL, &now) == 0);
    put("action");
    put_number("default", now.sa_handler == SIG_DFL);
    put_number("skip", now.sa_sigaction == by_skip);
    put_number("flags", now.sa_flags);
    put_number("blocks_own", sigismember(&now.sa_mask, SIGSEGV));
    put_number("blocks", sigismember(&now.sa_mask, SIGUSR1));
    put("\n");
}

static void by_query(int number, siginfo_t *info, void *context)
{
    put_action();
    by_skip(number, info, context);
}

static void set(void (*handler)(int, siginfo_t *, void *), int flags, bool is_full)
{
    struct sigaction act = {.sa_sigaction = handler, .sa_flags = flags | SA_SIGINFO}, old;
    sigaddset(&act.sa_mask, SIGUSR1);
    if (is_full)
        sigfillset(&act.sa_mask);
    if (kind->signal != SIGSEGV) /* guards remove it from these masks */
        sigdelset(&act.sa_mask, SIGSEGV);
    must(sigaction(kind->signal, &act, &old) == 0);
    put_number("old", old.sa_handler != SIG_DFL);
    put_number("flags", old.sa_flags);
    put("\n");
}

/* ---- ways -------------------------------------------------------------------------------------- */

static void fault(void)
{
    put("before");
    put_mask();
    put("\n");
    touch();
    if (!sigsetjmp(back, 1))
        kind->access();
    put("after");
    put_number("value", (int64_t)value);
    put_mask();
    put("\n");
    touch();
}

static void way_none(void)
{
    fault();
}

static void way_jump(void)
{
    set(by_jump, 0, false);
    fault();
    fault();
}

static void way_repair(void)
{
    set(by_repair, 0, false);
    fault();
}

static void way_skip(void)
{
    set(by_skip, SA_RESTART, false);
    fault();
    fault();
}

static void way_mask(void)
{
    set(by_jump, 0, true);
    fault();
    put_action();
    fault();
}

static void way_number(void)
{
    must(signal(kind->signal, by_number) == SIG_DFL);
    fault();
    fault();
}

static void use_stack(size_t bytes)
{
    size_t pages = (bytes + PAGE - 1) / PAGE;
    char *room = map(pages + 2, PROT_NONE);
    stack_t stack = {.ss_sp = room + (pages + 1) * PAGE - bytes / 16 * 16,
                     .ss_size = bytes / 16 * 16};
    must(mprotect(room + PAGE, pages * PAGE, PROT_READ | PROT_WRITE) == 0);
    must(sigaltstack(&stack, NULL) == 0);
}

static void way_large_stack(void)
{
    use_stack(LARGE_STACK);
    set(by_skip, SA_ONSTACK, false);
    fault();
    fault();
}

static void way_large_stack_jump(void)
{
    set(by_jump, SA_ONSTACK, false);
    use_stack(LARGE_STACK);
    fault();
    fault();
}

static void use_small_stack(void)
{
    use_stack(getauxval(AT_MINSIGSTKSZ) + SMALL_STACK_MORE);
    is_stack_small = true;
}

static void way_small_stack(void)
{
    use_small_stack();
    set(by_skip, SA_ONSTACK, false);
    fault();
    fault();
}

static void way_small_stack_jump(void)
{
    use_small_stack();
    set(by_jump, SA_ONSTACK, false);
    fault();
    fault();
}

static void *fault_there(void *about)
{
    (void)about;
    fault();
    return NULL;
}

static void run_thread(void)
{
    pthread_t thread;
    must(pthread_create(&thread, NULL, fault_there, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

static void way_thread(void)
{
    set(by_jump, 0, false);
    run_thread();
    fault();
}

static void *set_there(void *about)
{
    set(by_skip, 0, false);
    return about;
}

static void way_set_by_thread(void)
{
    pthread_t thread;
    must(pthread_create(&thread, NULL, set_there, NULL) == 0 && pthread_join(thread, NULL) == 0);
    fault();
}

static void way_nested(void)
{
    set(by_fault, SA_NODEFER, false);
    fault();
}

static void way_nested_masked(void)
{
    set(by_fault, 0, false);
    fault();
}

static void way_ignored(void)
{
    signal(kind->signal, SIG_IGN);
    fault();
}

static void block(int how)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, kind->signal);
    must(pthread_sigmask(how, &signals, NULL) == 0);
}

static void way_blocked(void)
{
    set(by_jump, 0, false);
    block(SIG_BLOCK);
    fault();
    sigset_t waiting;
    must(sigpending(&waiting) == 0);
    put_number("pending", sigismember(&waiting, kind->signal));
    if (!sigsetjmp(back, 1))
        block(SIG_UNBLOCK);
    put("unblocked\n");
}

static void way_blocked_default(void)
{
    block(SIG_BLOCK);
    fault();
}

/* The handler leaves its mask in place, so the signal stays blocked. */
static void way_masked_jump(void)
{
    set(by_jump, 0, false);
    if (!sigsetjmp(back, 0))
        kind->access();
    put("first");
    put_mask();
    put("\n");
    fault();
}

static void way_unblocked_jump(void)
{
    set(by_jump, 0, false);
    if (!sigsetjmp(back, 0))
        kind->access();
    block(SIG_UNBLOCK);
    fault();
    fault();
}

/* siglongjmp restores a mask without the signal. */
static void way_restored(void)
{
    set(by_jump, 0, false);
    if (!sigsetjmp(back, 1)) {
        block(SIG_BLOCK);
        siglongjmp(back, 1);
    }
    fault();
}

static void way_reset(void)
{
    set(by_query, (int)SA_RESETHAND, false);
    fault();
    put_action();
    fault();
}

static void way_default(void)
{
    set(by_default, 0, false);
    fault();
}

static void way_query(void)
{
    put_action();
    set(by_query, SA_NODEFER, false);
    put_action();
    fault();
    fault();
}

const struct way ways[] = {
#define WAY(name)         \
    {                     \
#name, way_##name \
    }
    WAY(none),
    WAY(jump),
    WAY(repair),
    WAY(skip),
    WAY(mask),
    WAY(number),
    WAY(large_stack),
    WAY(large_stack_jump),
    WAY(small_stack),
    WAY(thread),
    WAY(small_stack_jump),
    WAY(set_by_thread),
    WAY(nested),
    WAY(ignored),
    WAY(nested_masked),
    WAY(blocked),
    WAY(masked_jump),
    WAY(restored),
    WAY(blocked_default),
    WAY(unblocked_jump),
    WAY(reset),
    WAY(default),
    WAY(query),
    {NULL, NULL},
};
