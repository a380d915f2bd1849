/*
 * guard_fault.c - a bad access to a guarded block, which the kernel reports as SIGSEGV.
 *
 * Natively the access would not have faulted.  So it is recorded with its stack, the guards around the
 * address are removed, and the instruction is repeated: the program continues as without them.  A load
 * gets zero bytes or, from a freed block, the fill.  Of a block only the first bad access is found, on
 * each side while it is in use, and once after its free.  A read by libc near a block in use is not recorded (accesses.c).
 *
 * --catch may align a block less than malloc promises.  Moves of vector registers that need the
 * alignment are carried out here.
 *
 * The handler of the fault runs on the stack that is in use, and may have interrupted the program
 * anywhere.  The runtime itself reads blocks that another thread may free meanwhile, in its sweep at the
 * end.  Such a fault, and one in a vfork child, is not recorded.
 */
#include "accesses.h"
#include "aligned_move.h"
#include "context.h"
#include "fault.h"
#include "init.h"

#include <errno.h>

#define WRAPPED_FRAMES 4u /* from a function of libc to ours that has called it */

struct fault_stack {
    uint32_t id;
    bool may_be_wrapped;
    bool is_wrapped; /* in a call that src/boundary checks when libc returns */
};

static bool is_in_object_of(uintptr_t pc, uintptr_t other)
{
    struct object at, of;
    return loader_find(pc, &at) && loader_find(other, &of) && at.start == of.start;
}

static void put_stack(const struct walk *w, void *about)
{
    struct fault_stack *s = about;
    for (uint32_t i = 0; s->may_be_wrapped && i < w->count && i < WRAPPED_FRAMES; i++)
        s->is_wrapped |= is_in_object_of(depot_address(w->word[i]), (uintptr_t)&guard_fault);
    if (w->count && !s->is_wrapped)
        s->id = depot_put(w->word, w->count, w->end, true);
}

/*
 * The kernel reports the first byte in the guard page.  The access may begin before it, by less than
 * its size.
 */
static struct access access_of(const siginfo_t *info, const void *context)
{
    struct fault_access f = fault_access_of(info, context, -1);
    struct access a = {.at = info->si_addr,
                       .bytes = f.bytes ? f.bytes : 1,
                       .is_write = f.access == ACCESS_WRITE,
                       .pc = f.pc,
                       .is_size_unknown = !f.bytes};
    struct fault_code code = fault_code_of(context);
    uintptr_t at = (uintptr_t)info->si_addr;
    if (f.bytes && code.operand.memory && at - code.address < f.bytes)
        a.at = (const void *)code.address;
    return a;
}

/* Has the runtime itself made the access?  Else a signal handler that interrupted it. */
static bool is_own(const void *context)
{
    return is_in_object_of(context_pc(context), (uintptr_t)&guard_fault);
}

void fault_record(struct access *given, const struct caller *from, bool may_be_libcs,
                  const void *context)
{
    struct section s;
    struct access a = *given;
    if (fork_shares_memory())
        return;
    if (!section_begin(&s)) {
        if (s.kind == SECTION_HANDLER && !is_own(context))
            image_count(&image()->errors_unrecorded); /* recording the error would take a lock */
        return;
    }
    struct fault_stack stack = {.may_be_wrapped = may_be_libcs};
    unwind_from(from, put_stack, &stack);
    a.stack = rt.options.frames ? stack.id : 0;
    a.is_by_libc = is_in_object_of(a.pc, (uintptr_t)next.free);
    if (!stack.is_wrapped)
        access_faulted(&a, &s);
    section_end(&s);
}

static void record(struct access a, const void *context)
{
    struct caller from;
    unwind_interrupted(context, &from);
    fault_record(&a, &from, true, context);
}

/* ---- misaligned moves ------------------------------------------------------------------------ */

/* The first closed byte of [at, at + bytes), which is less than a page; 0: none. */
static uintptr_t closed_byte(uintptr_t at, size_t bytes)
{
    uintptr_t last = at + bytes - 1;
    return guard_state_of(at) == GUARD_CLOSED     ? at
           : guard_state_of(last) == GUARD_CLOSED ? align_down(last, PAGE_BYTES)
                                                  : 0;
}

/*
 * A block that --catch aligns less than malloc promises: carry out the move that needs the alignment.
 * The kernel reports it as a protection fault without an address.
 */
static bool move_misaligned(void *context)
{
    struct aligned_move move;
    struct fault_code code = fault_code_of(context);
    uintptr_t closed;
    if (!code.at || !code.operand.memory || !guard_is_misaligned(code.address) ||
        code.address % ALIGNED_MOVE_BYTES == 0 || !aligned_move_at(code.at, code.room, &move))
        return false;
    while ((closed = closed_byte(code.address, ALIGNED_MOVE_BYTES)) != 0) {
        record((struct access){.at = (const void *)code.address,
                               .bytes = ALIGNED_MOVE_BYTES,
                               .is_write = move.is_store,
                               .pc = context_pc(context)},
               context);
        guarded_open(closed);
        if (guard_state_of(closed) == GUARD_CLOSED)
            return false; /* no memory for the page tables */
    }
    aligned_move_do(context, &move, (void *)code.address);
    context_set_pc(context, context_pc(context) + code.operand.bytes);
    return true;
}

bool guard_fault(const void *given, void *context)
{
    const siginfo_t *info = given;
    uintptr_t at = (uintptr_t)info->si_addr;
    int saved = errno;
    enum guard_state state = info->si_code > 0 ? guard_state_of(at) : GUARD_NONE;
    if (info->si_code == SI_KERNEL && move_misaligned(context)) {
        errno = saved;
        return true;
    }
    if (state == GUARD_NONE || (state == GUARD_OPENED && !os_is_readable(at)))
        return false;
    if (state == GUARD_CLOSED) {
        record(access_of(info, context), context);
        guarded_open(at);
    }
    errno = saved;
    return true;
}
