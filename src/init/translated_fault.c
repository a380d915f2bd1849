/*
 * translated_fault.c - SIGSEGV in relocated code: a check that has found a bad access, or that could not
 * read the shadow.
 *
 * A check that fails calls translated_bad, which faults.  The access is recorded with the original
 * instruction and its stack, and the program continues behind the check, with the access.
 *
 * Shadow that no check has read before may be inaccessible; it is opened (byte_shadow.c).  The shadow of
 * an address that is not canonical, or that is in the shadow itself, cannot be read.  Then the comparison
 * is taken to have found no error, and the access itself faults.
 */
#include "context.h"
#include "fault.h"
#include "format/plan.h"
#include "accesses.h"
#include "byte_shadow.h"
#include "init.h"
#include "translated.h"
#include "translated_trap.h"

#include <errno.h>

struct bad_access {
    struct translated_site site;
    uintptr_t at;
    uint64_t bytes;
};

/*
 * The whole range of a repeated string instruction.  Of its two checks, the first one that fails has it; the
 * other one adds nothing: false.
 */
static bool find_elements(struct bad_access *bad, const void *context)
{
    uint32_t kind = bad->site.kind;
    uint64_t count = context_register(context, CODE_COUNT);
    if (!(kind & PLAN_REPEATED) || kind & PLAN_READS_RDI) /* one element, or until a comparison */
        return true;
    bad->at = context_register(context, kind & PLAN_WRITE ? CODE_COPY_TO : CODE_COPY_FROM);
    uintptr_t last = bad->at + (count - 1) * bad->bytes;
    if (!(kind & PLAN_OF_LAST) && access_allowed(last, bad->bytes) < bad->bytes)
        return false;
    bad->bytes *= count;
    return true;
}

static bool is_bad_access(void *context)
{
    struct bad_access bad;
    struct caller from;
    uintptr_t sp = context_sp(context);
    if (context_pc(context) != (uintptr_t)&translated_bad)
        return false; /* nothing is read at sp: it may be beyond the end of the stack */
    if (translated_site(*(const uintptr_t *)sp, &bad.site)) {
        bad.at = translated_bad_address();
        bad.bytes = bad.site.bytes;
        unwind_interrupted(context, &from);
        from.value[DWARF_PC] = bad.site.pc;
        from.value[DWARF_SP] = sp + TRANSLATED_STACK_BYTES;
        if (find_elements(&bad, context))
            fault_record(&(struct access){.at = (const void *)bad.at,
                                          .bytes = bad.bytes,
                                          .is_write = bad.site.kind & PLAN_WRITE,
                                          .pc = bad.site.pc},
                         &from, false, context);
    }
    context_set_pc(context, context_pc(context) + TRANSLATED_BAD_BYTES);
    return true;
}

/*
 * An instruction of a check that reads the shadow is skipped, as if it had read 0: a comparison with a
 * constant of one byte, which follows the operand, or a load.
 */
static bool is_unreadable_shadow(void *context)
{
    struct shadow_read read;
    struct fault_code code;
    if (!translated_has(context_pc(context)))
        return false;
    code = fault_code_of(context);
    if (!code.at || !code.operand.memory ||
        (uint64_t)code.operand.displacement - PLAN_SHADOW >= PLAN_WINDOW_MOST ||
        !shadow_read_at(code.at, code.room, &read))
        return false;
    if (byte_shadow_open(code.address))
        return true;
    if (read.is_load)
        context_clear(context, read.to);
    context_set_equal(context);
    context_set_pc(context, context_pc(context) + code.operand.bytes + read.constant_bytes);
    return true;
}

/* The kernel reports memory without access rights, which the program does not have there. */
static void hide_shadow(siginfo_t *info)
{
    if (info->si_code == SEGV_ACCERR && byte_shadow_contains((uintptr_t)info->si_addr))
        info->si_code = SEGV_MAPERR;
}

bool translated_fault(void *info, void *context)
{
    int saved = errno;
    hide_shadow(info);
    bool is_of_check =
        byte_shadow_is_on && (is_bad_access(context) || is_unreadable_shadow(context));
    errno = saved;
    return is_of_check;
}
