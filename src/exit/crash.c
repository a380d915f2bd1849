/*
 * crash.c - record a crash: a signal by which the kernel, or the program itself (abort), ends the
 * program.
 *
 * Called in the handler of fatal.c, first of all that it does.  The stack begins at
 * the interrupted instruction.  The record is an error like others, so it is lost without harm if
 * the signal interrupted the runtime itself (no section can be entered then).
 *
 * A stack overflow is recorded only in threads that have an alternate signal stack, the program's or
 * ours (init/signal_stack.c): without one the kernel cannot call any handler.
 */
#include "exit_priv.h"
#include "context.h"
#include "fault.h"
#include "translated.h"

#include <string.h>

#define BELOW_BYTES 65536u      /* accesses below the stack pointer are so near to it */
#define FRAME_BYTES (16u << 20) /* largest frame: its accesses are so far above the stack pointer */

static bool is_crash(int signal)
{
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
           signal == SIGABRT || signal == SIGSYS;
}

/*
 * The stack pointer is in the stack, and the address below it; or a large frame has moved the stack
 * pointer out of the stack.  The address may be in a guard page.
 */
static bool is_stack_overflow(uint64_t address, uintptr_t sp)
{
    struct mapping m;
    uint64_t offset = address - (sp - BELOW_BYTES);
    if (offset > BELOW_BYTES + FRAME_BYTES)
        return false;
    if (os_mapping_of(sp, &m) != 1 || !m.writable)
        return os_mapping_of(address, &m) != 1 || !m.writable;
    return offset <= 2 * BELOW_BYTES && (address < m.start || !m.writable);
}

static struct crash crash_of(const struct fatal_signal *s)
{
    const siginfo_t *info = s->info;
    const void *context = s->context;
    struct crash c = {.signal = s->signal, .code = info->si_code, .context = context};
    bool is_access = s->signal == SIGSEGV || s->signal == SIGBUS;
    struct fault_access a = fault_access_of(info, context, pool_knobs.free_fill);
    c.pc = translated_original(a.pc);
    if (info->si_code <= 0)
        c.sender = (uint32_t)info->si_pid;
    if (!is_access)
        return c;
    c.address = a.address;
    c.access = a.access;
    c.access_bytes = a.bytes;
    c.flags = a.flags;
    c.source = a.source;
    if (!(c.flags & CRASH_OF_FILL) && pool_knobs.malloc_fill == FILL_OF_BLOCK &&
        fault_is_of_fill(info, context, FILL_OF_NEW_BLOCK, &c.source))
        c.flags |= CRASH_OF_NEW_FILL;
    if (a.flags & CRASH_HAS_ADDRESS && !(a.flags & CRASH_NON_CANONICAL) &&
        is_stack_overflow(a.address, context_sp(context)))
        c.flags |= CRASH_OF_STACK;
    return c;
}

/* The frame of the crash.  After a call to an address without code: the frame of the caller. */
static void find_frame(const struct fatal_signal *s, const struct crash *c, struct caller *from)
{
    uintptr_t sp = context_sp(s->context);
    unwind_interrupted(s->context, from);
    if (c->access != ACCESS_EXECUTE || c->flags & CRASH_NON_CANONICAL || sp % sizeof sp ||
        !os_is_readable(sp))
        return;
    memcpy(&from->value[DWARF_PC], (const void *)sp, sizeof sp);
    from->value[DWARF_SP] = sp + sizeof sp;
    from->context = NULL;
}

/* ---- the exception of std::terminate --------------------------------------------------------- */

#define TERMINATE_FRAMES \
    12u /* from abort to the function of the C++ library that ends the program */

/* A function of the C++ library: the std::type_info of the exception that this thread handles. */
typedef const void *current_exception(void);

struct crash_stack {
    uint32_t id;
    current_exception *exception_type; /* NULL: no such library among the innermost frames */
};

/* The library is found by the stack: other libraries need no lookup, and no lock of the loader. */
static current_exception *exception_function(const struct walk *w)
{
    struct object o;
    uintptr_t at = 0;
    for (uint32_t i = 0; i < w->count && i < TERMINATE_FRAMES && !at; i++)
        if (loader_find(depot_address(w->word[i]), &o))
            at = loader_symbol(&o, "__cxa_current_exception_type");
    return (current_exception *)at;
}

static void put_stack(const struct walk *w, void *about)
{
    struct crash_stack *s = about;
    if (!w->count)
        return;
    s->id = depot_put(w->word, w->count, w->end, true);
    s->exception_type = exception_function(w);
}

/* Copy the mangled name of a type; a name that does not fit is left out. */
static void copy_type_name(const void *type_info, char to[CRASH_EXCEPTION_BYTES])
{
    const char *words[2]; /* the type's virtual functions, and its name */
    if (!type_info || os_copy(words, type_info, sizeof words) != sizeof words)
        return;
    bool is_unique = os_is_readable((uintptr_t)words[1]) && *words[1] == '*';
    size_t bytes = os_copy(to, words[1] + is_unique, CRASH_EXCEPTION_BYTES);
    if (!memchr(to, '\0', bytes))
        to[0] = '\0';
}

/* Ask the C++ library, outside of sections: only if this thread has called abort. */
static void find_exception(const struct fatal_signal *s, const struct crash_stack *stack,
                           struct crash *c)
{
    const siginfo_t *info = s->info;
    if (s->signal == SIGABRT && info->si_code <= 0 && c->sender == os_pid() &&
        stack->exception_type)
        copy_type_name(stack->exception_type(), c->exception);
}

/* ---- the record ------------------------------------------------------------------------------ */

static bool find_stack(const struct fatal_signal *s, struct crash *c, struct crash_stack *stack)
{
    struct section in;
    struct caller from;
    if (!section_begin(&in))
        return false;
    *c = crash_of(s);
    find_frame(s, c, &from);
    if (rt.options.frames)
        unwind_from(&from, put_stack, stack);
    section_end(&in);
    return true;
}

void crash_record(const struct fatal_signal *s)
{
    struct section in;
    struct crash_stack stack = {0};
    struct crash c;
    if (!is_crash(s->signal) || !find_stack(s, &c, &stack))
        return;
    find_exception(s, &stack, &c);
    if (!section_begin(&in))
        return;
    struct error_call call = {
        .t = self, .write_epoch = in.write_epoch, .op = OP(NONE, MALLOC), .stack = stack.id};
    error_crash(&call, &c);
    section_end(&in);
}
