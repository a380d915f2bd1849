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

#include <string.h>

#define CODE_MAX 15u /* bytes of one instruction */

/* Register numbers of the machine encoding. */
enum { RSP = 4, RBP = 5, RSI = 6, RDI = 7, RBX = 3 };

/* ---- the instruction ------------------------------------------------------------------------- */

struct code {
    const uint8_t *at, *end;
    uint8_t rex; /* W, R, X, B: bits 1 and 0 extend the index and the base */
};

/* Returns 0 past the end: no instruction with an operand begins with 0 and ends there. */
static uint8_t take(struct code *c)
{
    return c->at < c->end ? *c->at++ : 0;
}

static bool is_prefix(uint8_t byte)
{
    return (byte & 0xe7) == 0x26 || (byte & 0xfc) == 0x64 || (byte & 0xfd) == 0xf0 || byte == 0xf3;
}

/* One bit for each opcode: does a ModRM byte follow it? */
static const uint32_t one_byte[8] = {0x0f0f0f0f, 0x0f0f0f0f, 0x00000000, 0x00000a08,
                                     0x0000ffff, 0x00000000, 0xff0f00c3, 0xc0c00000};
static const uint32_t two_bytes[8] = {0xffffa00f, 0x0500ff0f, 0xffffffff, 0xff7fffff,
                                      0xffff0000, 0xfffff838, 0xffff00ff, 0xffffffff};

static bool has_modrm(const uint32_t *table, uint8_t opcode)
{
    return table[opcode / 32] >> opcode % 32 & 1;
}

static uint32_t string_registers(uint8_t opcode)
{
    if (opcode == 0xd7) /* xlat */
        return 1u << RBX;
    bool string =
        (opcode & 0xfc) == 0xa4 || (opcode >= 0xaa && opcode <= 0xaf) || (opcode & 0xfc) == 0x6c;
    return string ? 1u << RSI | 1u << RDI : 0;
}

/*
 * VEX and EVEX store the extensions inverted. All their opcodes have a ModRM byte but vzeroupper.
 */
static void take_vector(struct code *c, uint8_t opcode)
{
    uint8_t first = take(c);
    c->rex = opcode == 0xc5 ? 0 : (uint8_t)(~first >> 5 & 3);
    for (int more = opcode == 0xc5 ? 0 : opcode == 0xc4 ? 1 : 2; more > 0; more--)
        take(c);
    take(c); /* the opcode */
}

static void take_prefixes(struct code *c)
{
    while (c->at < c->end && is_prefix(*c->at))
        c->at++;
    if (c->at < c->end && (*c->at & 0xf0) == 0x40)
        c->rex = *c->at++;
}

/* Decode the operand after `modrm`; its displacement ends the instruction. */
static void take_memory(struct code *c, uint8_t modrm, struct operand *o)
{
    uint8_t mod = modrm >> 6, rm = modrm & 7, sib = rm == RSP ? take(c) : 0;
    uint8_t base = rm == RSP ? sib & 7 : rm, index = (uint8_t)((sib >> 3 & 7) | (c->rex & 2) << 2);
    bool absolute = mod == 0 && base == RBP;
    o->memory = true;
    o->by_pc = absolute && rm != RSP;
    o->scale = sib >> 6;
    o->base = absolute ? NO_REGISTER : (uint8_t)(base | (c->rex & 1) << 3);
    o->index = rm == RSP && index != RSP ? index : NO_REGISTER;
    unsigned bytes = absolute || mod == 2 ? 4 : mod;
    for (unsigned i = 0; i < bytes; i++)
        o->displacement |= (uint32_t)take(c) << 8 * i;
    if (bytes == 1)
        o->displacement = (uint32_t)(int8_t)o->displacement;
}

struct operand operand_of(const uint8_t *code, size_t room)
{
    struct code c = {code, code + (room < CODE_MAX ? room : CODE_MAX), 0};
    struct operand o = {.base = NO_REGISTER, .index = NO_REGISTER};
    take_prefixes(&c);
    uint8_t opcode = take(&c);
    bool vector = opcode == 0xc4 || opcode == 0xc5 || opcode == 0x62;
    const uint32_t *table = one_byte;
    if (vector) {
        take_vector(&c, opcode);
    } else if (opcode == 0x0f) {
        table = two_bytes;
        opcode = take(&c);
        if (opcode == 0x38 || opcode == 0x3a)
            take(&c);
    } else {
        o.implied = string_registers(opcode);
    }
    if (!vector && !has_modrm(table, opcode))
        return o;
    uint8_t modrm = take(&c);
    o.branch = table == one_byte && !vector && opcode == 0xff && (modrm >> 3 & 7) >= 2 &&
               (modrm >> 3 & 7) <= 5;
    if (modrm >> 6 != 3)
        take_memory(&c, modrm, &o);
    else if (o.branch)
        o.base = (uint8_t)((modrm & 7) | (c.rex & 1) << 3);
    o.bytes = (uint8_t)(c.at - code);
    return o;
}

/* ---- the registers --------------------------------------------------------------------------- */

static uintptr_t register_of(const ucontext_t *context, unsigned number)
{
    static const uint8_t saved_index[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                            REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                            REG_R12, REG_R13, REG_R14, REG_R15};
    return (uintptr_t)context->uc_mcontext.gregs[saved_index[number]];
}

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
    const uint64_t low48 = (1ull << 48) - 1, low32 = UINT32_MAX;
    uint64_t pattern = (uint64_t)fill * 0x0101010101010101ull;
    if (fill <= 0)
        return false;
    if (fill == 0xff)
        return value == pattern;
    uint64_t upper = value >> 48, sign = value & 1ull << 47 ? 0xffff : 0;
    if (upper == pattern >> 48 || upper == 0 || upper == sign)
        if (is_near(value, pattern, low48))
            return true;
    return value <= low32 && is_near(value, pattern, low32);
}

/* ---- the fault ------------------------------------------------------------------------------- */

static uintptr_t address_of(const struct operand *o, const ucontext_t *context, uintptr_t pc)
{
    uintptr_t at = (uintptr_t)(intptr_t)(int32_t)o->displacement + (o->by_pc ? pc + o->bytes : 0);
    at += o->base != NO_REGISTER ? register_of(context, o->base) : 0;
    return at + (o->index != NO_REGISTER ? register_of(context, o->index) << o->scale : 0);
}

static bool has_register_fill(const struct operand *o, const ucontext_t *context, int fill)
{
    for (unsigned i = 0; i < 16; i++)
        if ((o->base == i || o->index == i || o->implied >> i & 1) &&
            fault_has_fill(register_of(context, i), fill))
            return true;
    return false;
}

/* A call through a function pointer in memory: no register holds its target. */
static bool has_target_fill(const struct operand *o, const ucontext_t *context, uintptr_t pc,
                            int fill)
{
    uintptr_t at = address_of(o, context, pc), target;
    if (!o->branch || !o->memory || !os_is_readable(at) || !os_is_readable(at + sizeof target - 1))
        return false;
    memcpy(&target, (const void *)at, sizeof target);
    return fault_has_fill(target, fill);
}

bool fault_is_of_fill(const siginfo_t *info, const ucontext_t *context, int fill)
{
    uintptr_t pc = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
    if (info->si_code <= 0) /* sent by a process: not a fault */
        return false;
    if (fault_has_fill((uintptr_t)info->si_addr, fill) || fault_has_fill(pc, fill))
        return true;
    if (!os_is_readable(pc))
        return false;
    size_t room = os_is_readable(pc + CODE_MAX) ? CODE_MAX : PAGE_BYTES - pc % PAGE_BYTES;
    struct operand o = operand_of((const uint8_t *)pc, room);
    return has_register_fill(&o, context, fill) || has_target_fill(&o, context, pc, fill);
}
