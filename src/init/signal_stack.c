/*
 * signal_stack.c - an alternate signal stack of ours for each thread that has none.
 *
 * The kernel cannot call a handler on a stack that has overflowed: it ends the program.  So the
 * handlers of fatal.c need an alternate stack.  A thread gets one when it is registered, and keeps
 * it in its struct, for the next thread of that struct. Under a limit of address space no thread
 * gets one: the program may need every page that the limit allows.
 *
 *     map (PROT_NONE, not in core dumps)
 *     | guard | stack | guard | stack | ... | guard |
 *
 * The program must not notice it.  sigaltstack (intercept/signals.c) reports none.  A handler of the
 * program with SA_ONSTACK has to run on the stack of its thread, as natively.  So SA_ONSTACK is
 * removed from the program's actions until the program sets its first alternate stack
 * (signal_stack_withdraw).  From then on new threads get no stack of ours.  Threads that have one
 * keep it: their handlers may run on it.  When the program disables its own stack, ours is installed
 * again, but not if handlers would run on it.
 *
 * Go's runtime is the exception.  If C code is linked in, it installs its handlers by libc's
 * sigaction; but it makes and finds alternate stacks by raw system calls, and keeps the one that a
 * thread has.  So it takes ours for its own, and ends the program if a handler runs on another
 * stack.  Objects that Go's linker has made have an ELF note with the name "Go".
 *
 * Raw system calls of the program see our stack.
 *
 * Locks: none, as a fork may come at any time.  Maps are never unmapped.
 */
#include "init.h"

#include <signal.h>
#include <sys/resource.h>

#define STACK_BYTES 65536u /* with the guard page before it */
#define STACKS_PER_MAP 16u
#define MAP_BYTES (STACKS_PER_MAP * STACK_BYTES + PAGE_BYTES) /* the last guard page */
#define MAPS_MAX 256u
#define SIGNALS 64

static struct {
    _Atomic uintptr_t map[MAPS_MAX]; /* 0: not made yet */
    _Atomic uint32_t given;
    _Atomic bool ready;     /* our handlers are installed */
    _Atomic bool withdrawn; /* the program has set an alternate stack */
    _Atomic uint64_t
        wants_stack; /* bit n: the program gave signal n + 1 a handler with SA_ONSTACK */
} stacks;

/* ---- memory ---------------------------------------------------------------------------------- */

static uintptr_t map_of(uint32_t n)
{
    uintptr_t known = atomic_load(&stacks.map[n]);
    if (known)
        return known;
    void *made = os_reserve(NULL, MAP_BYTES, false);
    if (os_failed(made))
        return 0;
    if (atomic_compare_exchange_strong(&stacks.map[n], &known, (uintptr_t)made))
        return (uintptr_t)made;
    os_unmap(made, MAP_BYTES); /* another thread was faster */
    return known;
}

/* The start of a new stack; 0: no memory, which happens silently under a limit. */
static uintptr_t make(void)
{
    uint32_t n = atomic_fetch_add(&stacks.given, 1);
    uintptr_t map = n < MAPS_MAX * STACKS_PER_MAP ? map_of(n / STACKS_PER_MAP) : 0;
    uintptr_t start = map + n % STACKS_PER_MAP * STACK_BYTES + PAGE_BYTES;
    return map && os_allow((void *)start, STACK_BYTES - PAGE_BYTES) == 0 ? start : 0;
}

bool signal_stack_is_own(uintptr_t at)
{
    for (uint32_t i = 0; i < MAPS_MAX; i++) {
        uintptr_t map = atomic_load_explicit(&stacks.map[i], memory_order_relaxed);
        if (map && at - map < MAP_BYTES)
            return true;
    }
    return false;
}

/* ---- threads --------------------------------------------------------------------------------- */

/* Install it, unless the thread has one that the program has set by a raw system call. */
static void install(uintptr_t start)
{
    uintptr_t other, end;
    if (!os_alternate_stack(&other, &end))
        os_set_alternate_stack(start, STACK_BYTES - PAGE_BYTES);
}

void signal_stack_begin(struct thread *t)
{
    if (!atomic_load(&stacks.ready) || atomic_load(&stacks.withdrawn) || os_sandboxed() ||
        os_by_valgrind() || os_limit(RLIMIT_AS) != UINT64_MAX)
        return;
    if (!t->signal_stack)
        t->signal_stack = make();
    if (t->signal_stack)
        install(t->signal_stack);
}

void signal_stack_end(struct thread *t)
{
    uintptr_t start, end;
    if (!t->signal_stack || !os_alternate_stack(&start, &end) || start != t->signal_stack)
        return;
    if (os_set_alternate_stack(0, 0))
        t->signal_stack = 0; /* it ends in a handler that runs there: the stack is not reused */
}

void signal_stack_restore(void)
{
    if (self && self->signal_stack && !os_sandboxed() && !atomic_load(&stacks.wants_stack))
        install(self->signal_stack);
}

void signal_stack_start(void)
{
    atomic_store(&stacks.ready, true);
    if (self)
        signal_stack_begin(self);
}

/* ---- the program's actions ------------------------------------------------------------------- */

static uint64_t bit_of(int signal)
{
    return signal >= 1 && signal <= SIGNALS ? 1ull << (signal - 1) : 0;
}

bool signal_stack_hides(int signal)
{
    return !atomic_load(&stacks.withdrawn) && atomic_load(&stacks.wants_stack) & bit_of(signal);
}

#define GO_BUILD_ID 4u /* the type of the note of Go's linker */

static bool is_of_go(uintptr_t pc)
{
    struct object o;
    size_t bytes;
    return loader_find(pc, &o) && libc_object_note(&o, GO_BUILD_ID, "Go\0", &bytes);
}

bool signal_stack_removes(uintptr_t caller)
{
    return atomic_load(&stacks.ready) && !atomic_load(&stacks.withdrawn) && !is_of_go(caller);
}

void signal_stack_note(int signal, bool wants)
{
    if (wants)
        atomic_fetch_or(&stacks.wants_stack, bit_of(signal));
    else if (atomic_load(&stacks.wants_stack) & bit_of(signal))
        atomic_fetch_and(&stacks.wants_stack, ~bit_of(signal));
}

void signal_stack_withdraw(void)
{
    if (atomic_exchange(&stacks.withdrawn, true))
        return;
    uint64_t wants = atomic_load(&stacks.wants_stack);
    for (int signal = 1; signal <= SIGNALS; signal++) {
        struct os_action now;
        if (!(wants & bit_of(signal)) || os_action_of(signal, &now) || !os_handler_of(&now))
            continue;
        now.flags |= SA_ONSTACK;
        os_restore_action(signal, &now);
    }
}
