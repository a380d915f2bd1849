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
#include "leakcheck_priv.h"

#include <cpuid.h>
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>

#define CALL_BYTES 2u /* size of the instruction "syscall" */

#define R(n) (1u << (n))
#define PRESERVED \
    (R(3) | R(6) | R(12) | R(13) | R(14) | R(15))       /* callee-saved: rbx, rbp, r12 to r15 */
#define OUTER (PRESERVED | R(CALLER_SP) | R(CALLER_PC)) /* registers that the unwinder recovers */
#define WRAPPER_BYTES 64u                               /* maximum frame size of a wrapper */

/*
 * Is its pc at a system call in libc's code, or after one that was interrupted?  *call: address of
 * the syscall instruction.
 */
static bool is_in_call_of_libc(const struct caller *c, const uint8_t **call)
{
    struct object code, libc;
    uintptr_t pc = c->value[CALLER_PC];
    if (!(c->known >> CALLER_PC & 1) || !loader_find(pc, &code) ||
        !loader_find((uintptr_t)__errno_location, &libc) || code.start != libc.start ||
        pc - code.start < 16)
        return false;
    for (*call = (const uint8_t *)pc; (uintptr_t)*call >= pc - CALL_BYTES; *call -= CALL_BYTES)
        if ((*call)[0] == 0x0f && (*call)[1] == 0x05)
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
    if (call[-5] == 0xb8) /* mov $number, %eax */
        number = call[-4] | (uint32_t)call[-3] << 8;
    else if (call[-2] == 0x31 && call[-1] == 0xc0) /* xor %eax, %eax */
        number = SYS_read;
    for (size_t i = 0; i < sizeof blocking / sizeof blocking[0]; i++)
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
    if (!unwind_out(c, c->value[CALLER_SP] + WRAPPER_BYTES, &outer))
        return;
    for (uint32_t i = 0; i < CALLER_REGISTERS; i++)
        if (OUTER >> i & 1)
            c->value[i] = outer.value[i];
    t->live &= outer.known | ~PRESERVED;
}

static void determine(struct stopped_thread *t)
{
    static const uint8_t argument[] = {5, 4, 1, 10, 8, 9}; /* rdi, rsi, rdx, r10, r8, r9 */
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
    t->live = PRESERVED;
    bool is_wrapper = is_blocking(call, &arguments);
    for (uint32_t i = 0; i < arguments; i++)
        t->live |= R(argument[i]);
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
    uintptr_t sp = t->caller.value[CALLER_SP];
    bool is_at_call = is_answered(t) && !t->caller.context;
    return is_at_call || is_in_call_of_libc(&t->caller, &call) ? sp : sp - BELOW_SP_BYTES;
}

/* ---- vector registers ------------------------------------------------------------------------ */

#define XSAVE_LEAF 0xdu /* of cpuid: offset of each component of the saved state */
#define FROM_X87 32u    /* bytes; x87 and SSE registers are adjacent */
#define SSE_END 416u
#define SOFTWARE_BYTES 464u /* offset of the kernel's description of the extended area */
#define HEADER_BYTES 512u   /* offset of the mask of saved components */
#define COMPONENT_AVX 2u

static void add_piece(struct saved_vectors *s, uint32_t from, uint32_t bytes)
{
    s->piece[s->pieces].start = from / sizeof *s->word;
    s->piece[s->pieces++].end = (from + bytes) / sizeof *s->word;
}

/*
 * Vector registers beyond SSE. cpuid runs once for each component: it is slow in a virtual machine.
 */
static void add_extended(struct saved_vectors *s, uint64_t saved, uint32_t area_bytes)
{
    static struct {
        uint32_t bytes, from;
    } component[sizeof s->piece / sizeof s->piece[0] - 1];
    unsigned unused, also_unused;
    for (uint32_t i = COMPONENT_AVX; i < sizeof component / sizeof component[0]; i++) {
        if (!(saved >> i & 1))
            continue;
        if (!component[i].bytes)
            __cpuid_count(XSAVE_LEAF, i, component[i].bytes, component[i].from, unused,
                          also_unused);
        if (component[i].from >= HEADER_BYTES && component[i].bytes <= area_bytes &&
            component[i].from <= area_bytes - component[i].bytes)
            add_piece(s, component[i].from, component[i].bytes);
    }
}

bool live_vectors(const void *context, struct saved_vectors *out)
{
    const ucontext_t *interrupted = context;
    const char *area = (const void *)interrupted->uc_mcontext.fpregs;
    if (!area)
        return false;
    const struct _fpx_sw_bytes *more = (const void *)(area + SOFTWARE_BYTES);
    *out = (struct saved_vectors){.word = (const void *)area};
    add_piece(out, FROM_X87, SSE_END - FROM_X87);
    if (more->magic1 == FP_XSTATE_MAGIC1)
        add_extended(out, *(const uint64_t *)(const void *)(area + HEADER_BYTES),
                     more->extended_size);
    return true;
}
