/*
 * fault.c - does a fault come from freed memory? Freed blocks are filled with one byte value, so a
 * pointer read from one is that byte, repeated (use-after-free).
 *
 * The kernel reports the address of a fault only if it is canonical, and such a pointer is not:
 * bits 47 to 63 differ. So the memory operand of the faulting instruction is decoded, and the
 * registers that form its address are compared with the fill. Other registers prove nothing: they
 * may hold data read from freed memory that was never used as an address.
 *
 * The decoder distinguishes only opcodes with and without a ModRM byte (Intel SDM volume 2, chapter
 * 2 and appendix A). It reads code only from readable pages, and its tables need no relocation.
 */
#include "fault.h"

#include "context.h"
#include "instructions.h"

#include <string.h>

/*
 * Is the value a pointer of this fill, or near one? Near: a member of the object that it points to,
 * or memory before it (container_of, as in the kernel's lists). Programs also keep data in the
 * upper 16 bits of pointers, and pointers in 32 bits. Fill 0 is NULL to every program; values near
 * -1 are numbers or errors.
 */
#define NEAR_BEFORE 4096u
#define NEAR_AFTER 65536u

static bool is_near(uint64_t value, uint64_t fill, uint64_t mask)
{
    return ((value - fill + NEAR_BEFORE) & mask) < NEAR_BEFORE + NEAR_AFTER;
}

bool fault_has_fill(uint64_t value, int fill)
{
    const uint64_t low_bits = (1ull << POINTER_BITS) - 1, low32 = UINT32_MAX;
    uint64_t pattern = (uint64_t)fill * 0x0101010101010101ull;
    if (fill <= 0)
        return false;
    if (fill == 0xff)
        return value == pattern;
    uint64_t upper = value >> POINTER_BITS,
             sign = value >> (POINTER_BITS - 1) & 1 ? UINT64_MAX >> POINTER_BITS : 0;
    if (upper == pattern >> POINTER_BITS || upper == 0 || upper == sign)
        if (is_near(value, pattern, low_bits))
            return true;
    return value <= low32 && is_near(value, pattern, low32);
}

/* ---- the fault ------------------------------------------------------------------------------- */

static uintptr_t address_of(const struct operand *o, const void *context, uintptr_t pc)
{
    uintptr_t at = (uintptr_t)(intptr_t)(int32_t)o->displacement + (o->by_pc ? pc + o->bytes : 0);
    at += o->base != NO_REGISTER ? context_register(context, o->base) : 0;
    return at + (o->index != NO_REGISTER ? context_register(context, o->index) << o->scale : 0);
}

static bool has_register_fill(const struct operand *o, const void *context, int fill)
{
    for (unsigned i = 0; i < CODE_REGISTERS; i++)
        if ((o->base == i || o->index == i || o->implied >> i & 1) &&
            fault_has_fill(context_register(context, i), fill))
            return true;
    return false;
}

/* A call through a function pointer in memory: no register holds its target. */
static bool has_target_fill(const struct operand *o, const void *context, uintptr_t pc, int fill)
{
    uintptr_t at = address_of(o, context, pc), target;
    if (!o->branch || !o->memory || !os_is_readable(at) || !os_is_readable(at + sizeof target - 1))
        return false;
    memcpy(&target, (const void *)at, sizeof target);
    return fault_has_fill(target, fill);
}

bool fault_is_of_fill(const siginfo_t *info, const void *context, int fill)
{
    uintptr_t pc = context_pc(context);
    if (info->si_code <= 0) /* sent by a process: not a fault */
        return false;
    if (fault_has_fill((uintptr_t)info->si_addr, fill) || fault_has_fill(pc, fill))
        return true;
    if (!os_is_readable(pc))
        return false;
    size_t room =
        os_is_readable(pc + CODE_BYTES_MAX) ? CODE_BYTES_MAX : PAGE_BYTES - pc % PAGE_BYTES;
    struct operand o = operand_of((const uint8_t *)pc, room);
    return has_register_fill(&o, context, fill) || has_target_fill(&o, context, pc, fill);
}
