/*
 * fault.c - does a fault come from freed memory? Freed blocks are filled, so a pointer read from one
 * is the fill (use-after-free): a tag and the address of the block, or one byte, repeated.
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
    if (fill >= FILL_OF_BLOCK)
        return fill_word_is_near(value, fill == FILL_OF_BLOCK ? FILL_TAG_FREED : FILL_TAG_NEW);
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

static bool has_register_fill(const struct operand *o, const void *context, int fill,
                              uint64_t *source)
{
    for (unsigned i = 0; i < CODE_REGISTERS; i++) {
        *source = context_register(context, i);
        if ((o->base == i || o->index == i || o->implied >> i & 1) && fault_has_fill(*source, fill))
            return true;
    }
    return false;
}

/* A call through a function pointer in memory: no register holds its target. */
static bool has_target_fill(const struct operand *o, const void *context, uintptr_t pc, int fill,
                            uint64_t *source)
{
    uintptr_t at = address_of(o, context, pc);
    if (!o->branch || !o->memory || !os_is_readable(at) || !os_is_readable(at + sizeof *source - 1))
        return false;
    memcpy(source, (const void *)at, sizeof *source);
    return fault_has_fill(*source, fill);
}

static size_t readable_code(uintptr_t pc)
{
    if (!os_is_readable(pc))
        return 0;
    return os_is_readable(pc + CODE_BYTES_MAX) ? CODE_BYTES_MAX : PAGE_BYTES - pc % PAGE_BYTES;
}

bool fault_is_of_fill(const siginfo_t *info, const void *context, int fill, uint64_t *source)
{
    uintptr_t pc = context_pc(context);
    if (info->si_code <= 0) /* sent by a process: not a fault */
        return false;
    *source = fault_has_fill(pc, fill) ? pc : (uintptr_t)info->si_addr;
    if (fault_has_fill(*source, fill))
        return true;
    size_t room = readable_code(pc);
    if (!room)
        return false;
    struct operand o = operand_of((const uint8_t *)pc, room);
    return has_register_fill(&o, context, fill, source) ||
           has_target_fill(&o, context, pc, fill, source);
}

/* ---- the access ------------------------------------------------------------------------------ */

#define ADDRESS_BITS_SIGNED 48u /* of a pointer; the others repeat the highest of them */

static bool is_canonical(uintptr_t at)
{
    return (uintptr_t)((intptr_t)(at << (64 - ADDRESS_BITS_SIGNED)) >>
                       (64 - ADDRESS_BITS_SIGNED)) == at;
}

static void describe_page_fault(const siginfo_t *info, const struct context_fault *fault,
                                struct fault_access *a)
{
    a->address = (uintptr_t)info->si_addr;
    a->flags |= CRASH_HAS_ADDRESS;
    if (fault->is_mapped || info->si_code == SEGV_ACCERR)
        a->flags |= CRASH_IS_MAPPED;
    a->access = fault->is_fetch || a->address == a->pc ? ACCESS_EXECUTE
                : fault->is_write                      ? ACCESS_WRITE
                                                       : ACCESS_READ;
}

/* The register of a string instruction with a non-canonical address; NO_REGISTER: none. */
static unsigned bad_implied_register(const struct operand *o, const void *context)
{
    for (unsigned i = 0; i < CODE_REGISTERS; i++)
        if (o->implied >> i & 1 && !is_canonical(context_register(context, i)))
            return i;
    return NO_REGISTER;
}

static bool read_word(uintptr_t at, uintptr_t *word)
{
    return is_canonical(at) && os_copy(word, (const void *)at, sizeof *word) == sizeof *word;
}

/* The target of a branch through memory, or of a return. */
static bool find_target(const void *context, const struct operand *o, uintptr_t pc,
                        uintptr_t *target)
{
    const uint8_t *code = (const uint8_t *)pc;
    if (o->branch && o->memory)
        return read_word(address_of(o, context, pc), target);
    if (o->branch)
        *target = context_register(context, o->base);
    return o->branch || (code_is_return(code, code + readable_code(pc)) &&
                         read_word(context_sp(context), target));
}

static enum crash_access access_of(const struct operand *o, unsigned implied)
{
    static const uint8_t known[] = {ACCESS_UNKNOWN, ACCESS_READ, ACCESS_WRITE};
    if (o->access == OPERAND_UNKNOWN && implied != NO_REGISTER) /* a copy: from one to the other */
        return implied == CODE_COPY_TO ? ACCESS_WRITE : ACCESS_READ;
    return known[o->access];
}

static void set_address(struct fault_access *a, uintptr_t at, enum crash_access access)
{
    a->address = at;
    a->access = access;
    a->flags |= CRASH_HAS_ADDRESS | CRASH_NON_CANONICAL;
}

/*
 * The kernel does not report a non-canonical address, nor the access: they are taken from the
 * instruction.
 */
static void describe_operand(const void *context, const struct operand *o, struct fault_access *a)
{
    unsigned implied = bad_implied_register(o, context);
    uintptr_t at = o->memory                ? address_of(o, context, a->pc)
                   : implied != NO_REGISTER ? context_register(context, implied)
                                            : 0;
    uintptr_t target;
    if (!is_canonical(at))
        set_address(a, at, access_of(o, implied));
    else if (find_target(context, o, a->pc, &target) && !is_canonical(target))
        set_address(a, target, ACCESS_EXECUTE);
}

struct fault_access fault_access_of(const siginfo_t *info, const void *context, int fill)
{
    struct fault_access a = {.pc = context_pc(context)};
    struct context_fault fault = context_fault(context);
    size_t room = readable_code(a.pc);
    struct operand o = room ? operand_of((const uint8_t *)a.pc, room) : (struct operand){0};
    if (info->si_code <= 0)
        return a;
    if (fault.is_page_fault)
        describe_page_fault(info, &fault, &a);
    else if (room)
        describe_operand(context, &o, &a);
    if (a.access != ACCESS_EXECUTE)
        a.bytes = o.access_bytes;
    if (fault_is_of_fill(info, context, fill, &a.source))
        a.flags |= CRASH_OF_FILL;
    return a;
}

struct fault_code fault_code_of(const void *context)
{
    uintptr_t pc = context_pc(context);
    struct fault_code c = {.room = readable_code(pc)};
    if (!c.room)
        return c;
    c.at = (const uint8_t *)pc;
    c.operand = operand_of(c.at, c.room);
    c.address = address_of(&c.operand, context, pc);
    return c;
}
