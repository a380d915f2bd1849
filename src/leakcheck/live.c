/*
 * live.c - live registers and live stack of a stopped thread.
 *
 *   outer frames | the innermost frame | red zone | frame of the stopping signal | our handler
 *                                      ^ sp       ^ sp - 128
 *
 * Stale words hide leaks (false negatives).  A frame reuses memory of functions that have returned:
 * its unwritten words cannot be distinguished from its own.  Below the stack pointer, and in
 * caller-saved registers, stale words can be recognised:
 *
 *   - Only a leaf function may keep values in the red zone.
 *   - A thread in a system call made by a libc function is at a call boundary.  The ABI allows such
 *     a function to change all but six registers, and libc's wrappers do not use a red zone.  Of
 *     the other registers the kernel may still read the arguments of the call.  The frame of such a
 *     wrapper is not scanned either.
 *
 * Code that makes system calls without libc may be inlined in a leaf function: all its registers
 * and its red zone count.
 */
#include "calls.h"
#include "instructions.h"
#include "leakcheck_priv.h"

#include <errno.h>

#define OUTER (PRESERVED_REGISTERS | REGISTER(DWARF_SP) | REGISTER(DWARF_PC)) /* of the unwinder */

/*
 * Is its pc at a system call in libc's code, or after one that was interrupted?  *call: address of
 * the syscall instruction.
 */
static bool is_in_call_of_libc(const struct caller *c, const uint8_t **call)
{
    struct object code, libc;
    uintptr_t pc = c->value[DWARF_PC];
    if (!(c->known >> DWARF_PC & 1) || !loader_find(pc, &code) ||
        !loader_find((uintptr_t)__errno_location, &libc) || code.start != libc.start ||
        pc - code.start < 16)
        return false;
    for (*call = (const uint8_t *)pc; (uintptr_t)*call >= pc - CODE_CALL_BYTES;
         *call -= CODE_CALL_BYTES)
        if (code_is_system_call(*call))
            return true;
    return false;
}

/*
 * Is it a system call that only a wrapper makes?  *arguments: how many the kernel reads, 6 if
 * unknown.
 */
static bool is_blocking(const uint8_t *call, uint32_t *arguments)
{
    static const struct {
        uint16_t number;
        uint16_t arguments;
    } blocking[] = {
        {SYS_pause, 0},
        {SYS_nanosleep, 2},
        {SYS_rt_sigsuspend, 2},
        {SYS_flock, 2},
        {SYS_read, 3},
        {SYS_write, 3},
        {SYS_poll, 3},
        {SYS_accept, 3},
        {SYS_connect, 3},
        {SYS_recvmsg, 3},
        {SYS_sendmsg, 3},
        {SYS_fcntl, 3},
        {SYS_readv, 3},
        {SYS_writev, 3},
        {SYS_wait4, 4},
        {SYS_clock_nanosleep, 4},
        {SYS_accept4, 4},
        {SYS_epoll_wait, 4},
        {SYS_rt_sigtimedwait, 4},
    };
    uint32_t number = UINT32_MAX;
    bool known = code_call_number(call, &number);
    for (size_t i = 0; known && i < sizeof blocking / sizeof blocking[0]; i++)
        if (blocking[i].number == number) {
            *arguments = blocking[i].arguments;
            return true;
        }
    *arguments = 6;
    return false;
}

/*
 * Unwind out of a libc wrapper: the thread counts as at the call of the wrapper.  A wrapper's small
 * frame holds only saved registers.  A larger frame belongs to a function that does more than one
 * system call.
 */
static void skip_wrapper(struct stopped_thread *t)
{
    struct caller *c = &t->caller, outer;
    if (!unwind_out(c, c->value[DWARF_SP] + LIBC_WRAPPER_BYTES, &outer))
        return;
    for (uint32_t i = 0; i < DWARF_REGISTERS; i++)
        if (OUTER >> i & 1)
            c->value[i] = outer.value[i];
    t->live &= outer.known | ~PRESERVED_REGISTERS;
}

static void determine(struct stopped_thread *t)
{
    static const uint8_t argument[] = CALL_ARGUMENT_REGISTERS;
    const uint8_t *call;
    uint32_t arguments;
    if (t->live)
        return; /* a repeated scan */
    t->live = t->caller.known & (LIVE_VECTORS - 1);
    if (!t->caller.context)
        return; /* at a call */
    if (!is_in_call_of_libc(&t->caller, &call)) {
        t->live |= LIVE_VECTORS;
        return;
    }
    t->live = PRESERVED_REGISTERS;
    bool is_wrapper = is_blocking(call, &arguments);
    for (uint32_t i = 0; i < arguments; i++)
        t->live |= REGISTER(argument[i]);
    if (is_wrapper)
        skip_wrapper(t);
    t->caller.context = NULL;
}

void live_determine(struct stopped_world *w)
{
    for (uint32_t i = 0; i < w->count; i++)
        if (is_answered(&w->thread[i]))
            determine(&w->thread[i]);
}

uintptr_t live_stack(const struct stopped_thread *t)
{
    const uint8_t *call;
    uintptr_t sp = t->caller.value[DWARF_SP];
    bool is_at_call = is_answered(t) && !t->caller.context;
    return is_at_call || is_in_call_of_libc(&t->caller, &call) ? sp : sp - RED_ZONE_BYTES;
}
