/*
 * instructions.c - decode x86-64 code (Intel SDM volume 2, chapter 2 and appendix A).
 *
 * Of most instructions only their length matters, and of their operands only whether it is in
 * memory.  So the decoder of operands distinguishes only opcodes with and without a ModRM byte.  Its
 * tables need no relocation: the runtime uses them in signal handlers.
 */
#include "instructions.h"

#include <string.h>

static bool begins(const uint8_t *at, const uint8_t *end, const char *bytes, size_t n)
{
    return (size_t)(end - at) >= n && memcmp(at, bytes, n) == 0;
}
#define BEGINS(at, end, bytes) begins(at, end, bytes, sizeof(bytes) - 1)

static int32_t displacement(const uint8_t *at)
{
    int32_t d;
    memcpy(&d, at, sizeof d);
    return d;
}

static uintptr_t relative(uintptr_t next_instruction, int32_t distance)
{
    return next_instruction + (uintptr_t)(intptr_t)distance;
}

/* ---- jumps and calls ------------------------------------------------------------------------- */

struct code_jump code_jump_at(const uint8_t *code, const uint8_t *end, uintptr_t address)
{
    unsigned prefix =
        BEGINS(code, end, "\xf2\xff") || BEGINS(code, end, "\x3e\xff"); /* bnd, notrack */
    if (end - code >= 5 && code[0] == 0xe9)
        return (struct code_jump){5, relative(address + 5, displacement(code + 1)), false};
    if (end - code >= 2 && code[0] == 0xeb)
        return (struct code_jump){2, relative(address + 2, (int8_t)code[1]), false};
    if (!begins(code + prefix, end, "\xff\x25", 2) || end - code < (int)prefix + 6)
        return (struct code_jump){0};
    unsigned bytes = prefix + 6;
    return (struct code_jump){bytes, relative(address + bytes, displacement(code + prefix + 2)),
                              true};
}

/* A short jump in the middle of a function is one byte of evidence, which is too weak. */
struct code_jump code_jump_out(const uint8_t *code, const uint8_t *end, uintptr_t address)
{
    if (code[0] == 0xe9 || code[0] == 0xff || (code[0] == 0xeb && code + 2 == end))
        return code_jump_at(code, end, address);
    if (code[0] != 0x0f || end - code < 6 || (code[1] & 0xf0) != 0x80)
        return (struct code_jump){0};
    return (struct code_jump){6, relative(address + 6, displacement(code + 2)), false};
}

struct code_jump code_branch_at(const uint8_t *code, const uint8_t *end, uintptr_t address,
                                bool *if_zero)
{
    bool near = end - code >= 6 && code[0] == 0x0f && (code[1] & 0xfe) == 0x84;
    if (!near && (end - code < 2 || (code[0] & 0xfe) != 0x74))
        return (struct code_jump){0};
    *if_zero = (code[near] & 1) == 0;
    return near ? (struct code_jump){6, relative(address + 6, displacement(code + 2)), false}
                : (struct code_jump){2, relative(address + 2, (int8_t)code[1]), false};
}

struct code_jump code_call_before(const uint8_t *after, size_t room, uintptr_t address)
{
    if (room >= 5 && after[-5] == 0xe8)
        return (struct code_jump){5, relative(address, displacement(after - 4)), false};
    if (room >= 6 && after[-6] == 0xff && after[-5] == 0x15)
        return (struct code_jump){6, relative(address, displacement(after - 4)), true};
    return (struct code_jump){0};
}

bool code_is_call_before(const uint8_t *after, size_t room)
{
    if (room >= 5 && after[-5] == 0xe8) /* call rel32 */
        return true;
    for (size_t n = 2; n <= 7 && n <= room; n++) /* call *operand */
        if (*(after - n) == 0xff && (*(after - n + 1) & 0x38) == 0x10)
            return true;
    return false;
}

bool code_virtual_call_before(const uint8_t *after, size_t room, uintptr_t *slot)
{
    if (room >= 6 && after[-6] == 0xff && (after[-5] & 0xf8) == 0x90 && after[-5] != 0x94)
        *slot = (uintptr_t)(intptr_t)displacement(after - 4);
    else if (room >= 3 && after[-3] == 0xff && (after[-2] & 0xf8) == 0x50 && after[-2] != 0x54)
        *slot = (uintptr_t)(intptr_t)(int8_t)after[-1];
    else if (room >= 2 && after[-2] == 0xff && (after[-1] & 0xf8) == 0x10 && after[-1] != 0x14 &&
             after[-1] != 0x15)
        *slot = 0;
    else
        return false;
    return true;
}

bool code_calls_register(const uint8_t *code, const uint8_t *end)
{
    return end - code > 1 && code[0] == 0xff && (code[1] & 0xf8) == 0xd0;
}

uintptr_t code_plt_slot(const uint8_t code[CODE_PLT_BYTES], uintptr_t address)
{
    unsigned from = code_landing(code, code + CODE_PLT_BYTES); /* jmp *slot, after bnd */
    if (code[from] == 0xf2)
        from++;
    return code[from] == 0xff && code[from + 1] == 0x25
               ? relative(address + from + 6, displacement(code + from + 2))
               : 0;
}

/* ---- other instructions ---------------------------------------------------------------------- */

unsigned code_landing(const uint8_t *code, const uint8_t *end)
{
    return BEGINS(code, end, "\xf3\x0f\x1e\xfa") ? 4 : 0; /* endbr64 */
}

/* All but the listed ones have a ModRM byte with a register operand. */
unsigned code_trivial(const uint8_t *code, const uint8_t *end)
{
    uint8_t at[8] = {0}; /* zero-filled: the function may end sooner */
    memcpy(at, code, end - code < (int)sizeof at ? (size_t)(end - code) : sizeof at);
    if (code_landing(code, end))
        return 4;
    if (at[0] == 0x90 || at[0] == 0x55 || at[0] == 0x5d) /* nop, push and pop %rbp */
        return 1;
    if (at[0] == 0x66 && at[1] == 0x90)
        return 2;
    if (at[0] >= 0xb8 && at[0] <= 0xbf) /* mov $n,%reg */
        return 5;
    unsigned rex = (at[0] & 0xf0) == 0x40, wide = rex + (at[rex] == 0x0f);
    uint8_t opcode = at[wide], modrm = at[wide + 1];
    if (modrm < 0xc0)
        return 0;
    if (wide > rex)
        return (opcode & 0xf0) == 0x40 ? wide + 2 : 0; /* cmov */
    if (opcode == 0x83)                                /* add, adc, cmp.. $n,%reg */
        return rex + 3;
    bool moves =
        opcode == 0x89 || opcode == 0x8b || opcode == 0x85 || opcode == 0x31 || opcode == 0x33;
    return moves ? rex + 2 : 0; /* mov, test, xor */
}

unsigned code_epilogue(const uint8_t *at, const uint8_t *end)
{
    if (end - at < 1)
        return 0;
    if (at[0] == 0xc9 || (at[0] > 0x58 && at[0] <= 0x5f)) /* leave; pop, but not of %rax */
        return 1;
    if (end - at >= 2 && at[0] == 0x41 && (at[1] & 0xf8) == 0x58)
        return 2;
    if (BEGINS(at, end, "\x48\x83\xc4")) /* add $n,%rsp */
        return 4;
    if (BEGINS(at, end, "\x48\x81\xc4"))
        return 7;
    if (end - at >= 4 && (at[0] & 0xfb) == 0x48 && at[1] == 0x8b && (at[2] & 0xc7) == 0x45 &&
        at[2] != 0x45)
        return 4; /* mov n(%rbp),%reg: restores a saved register */
    bool wide = end - at >= 3 && (at[0] & 0xf8) == 0x48 && at[2] >= 0xc0;
    return wide && (at[1] == 0x85 || at[1] == 0x89 || at[1] == 0x8b) ? 3 : 0; /* test, mov */
}

bool code_is_return(const uint8_t *code, const uint8_t *end)
{
    return *code == 0xc3 || BEGINS(code, end, "\xf3\xc3") || BEGINS(code, end, "\xf2\xc3");
}

/* ---- system calls ---------------------------------------------------------------------------- */

#define MOV_EAX 0xb8 /* with a REX prefix: another register */
#define IS_REX(byte) (((byte)&0xf0) == 0x40)

bool code_call_number(const uint8_t *call, uint32_t *number)
{
    if (call[-5] == MOV_EAX) /* mov $number, %eax */
        *number = call[-4] | (uint32_t)call[-3] << 8;
    else if (call[-2] == 0x31 && call[-1] == 0xc0) /* xor %eax, %eax */
        *number = 0;
    else
        return false;
    return true;
}

bool code_loads_number(const uint8_t *code, uint32_t *number)
{
    memcpy(number, code + 2, sizeof *number);
    return code[1] == MOV_EAX && !IS_REX(code[0]);
}

/* Expected code: [endbr64] mov $number, %eax; syscall. */
bool code_is_stub(const uint8_t *function, uint32_t number)
{
    static const uint8_t landing[] = {0xf3, 0x0f, 0x1e, 0xfa}, enter[] = {0x0f, 0x05};
    const uint8_t *code = function;
    uint32_t called;
    if (memcmp(code, landing, sizeof landing) == 0)
        code += sizeof landing;
    memcpy(&called, code + 1, sizeof called);
    return *code == MOV_EAX && called == number && memcmp(code + 5, enter, sizeof enter) == 0;
}

/* mov $15, %rax; syscall */
bool code_is_signal_return(const uint8_t *code)
{
    static const uint8_t wanted[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
    return memcmp(code, wanted, sizeof wanted) == 0;
}

/* ---- operands -------------------------------------------------------------------------------- */

#define NO_OPCODE 0xffu /* of a table that this file does not decode */

/* Register numbers of the machine encoding. */
enum { RSP = 4, RBP = 5, RSI = 6, RDI = 7, RBX = 3 };

struct code {
    const uint8_t *at, *end;
    uint8_t rex;    /* W, R, X, B: bits 1 and 0 extend the index and the base */
    bool narrow;    /* prefix 66: 16-bit operands */
    uint8_t repeat; /* prefix f2 or f3: selects a scalar vector instruction; 0: none */
    uint8_t vector; /* bytes of a vector register, by VEX.L or EVEX.L'L */
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
 * Returns the opcode if it is one of the two-byte table.
 */
static uint8_t take_vector(struct code *c, uint8_t opcode)
{
    static const uint8_t repeat_of[4] = {0, 0, 0xf3, 0xf2}; /* pp replaces the prefix */
    uint8_t first = take(c), second = opcode == 0xc5 ? first : take(c);
    uint8_t third = opcode == 0x62 ? take(c) : 0;
    c->rex = opcode == 0xc5 ? 0 : (uint8_t)(~first >> 5 & 3);
    c->repeat = repeat_of[second & 3];
    c->vector = (uint8_t)(16u << (opcode == 0x62 ? third >> 5 & 3 : second >> 2 & 1));
    bool is_map_of_two = opcode == 0xc5 || (first & (opcode == 0xc4 ? 0x1f : 7)) == 1;
    uint8_t vector_opcode = take(c);
    return is_map_of_two ? vector_opcode : NO_OPCODE;
}

/* ---- the size of the operand ----------------------------------------------------------------- */

static uint8_t word_bytes(const struct code *c)
{
    return c->rex & 8 ? 8 : c->narrow ? 2 : 4;
}

static uint8_t bytes_of_one(const struct code *c, uint8_t opcode, uint8_t reg)
{
    bool even_is_byte = opcode < 0x40 || (opcode >= 0x84 && opcode <= 0x8b) ||
                        string_registers(opcode) || (opcode & 0xfe) == 0xc0 ||
                        (opcode & 0xfe) == 0xc6 || (opcode & 0xfc) == 0xd0 ||
                        (opcode & 0xfe) == 0xf6;
    if (even_is_byte && opcode != 0xd7)
        return opcode & 1 ? word_bytes(c) : 1;
    switch (opcode) {
    case 0x63: /* movsxd */
        return 4;
    case 0x69: /* imul */
    case 0x6b:
    case 0x81:
    case 0x83:
        return word_bytes(c);
    case 0x80:
    case 0xfe:
    case 0xd7: /* xlat */
        return 1;
    case 0x8f: /* pop */
        return 8;
    case 0xff: /* inc, dec; call, jmp, push: a pointer */
        return reg < 2 ? word_bytes(c) : 8;
    default:
        return 0;
    }
}

/* Moves and arithmetic of SSE and AVX: a scalar if there is a repeat prefix, else a register. */
static uint8_t bytes_of_vector(const struct code *c, uint8_t opcode)
{
    uint8_t whole = c->vector ? c->vector : 16, scalar = c->repeat == 0xf3 ? 4 : 8;
    if (opcode == 0x10 || opcode == 0x11 || (opcode >= 0x51 && opcode <= 0x5f))
        return c->repeat ? scalar : whole;
    if (opcode == 0x28 || opcode == 0x29 || opcode == 0x2b || opcode == 0x6f || opcode == 0x7f ||
        opcode == 0xe7)
        return whole;
    if ((opcode & 0xfa) == 0x12 || opcode == 0xd6) /* movlps, movhps, movq */
        return 8;
    return 0;
}

static uint8_t bytes_of_two(const struct code *c, uint8_t opcode)
{
    if ((opcode & 0xf7) == 0xb6 || (opcode & 0xf0) == 0x90 || opcode == 0xb0 || opcode == 0xc0)
        return 1;
    if ((opcode & 0xf7) == 0xb7)
        return 2;
    if ((opcode & 0xf0) == 0x40 || opcode == 0xa3 || opcode == 0xab || opcode == 0xaf ||
        opcode == 0xb1 || opcode == 0xc1)
        return word_bytes(c);
    return bytes_of_vector(c, opcode);
}

/* ---- does it read or write the operand? ------------------------------------------------------ */

static enum operand_access access_if(bool writes)
{
    return writes ? OPERAND_WRITE : OPERAND_READ;
}

/* `reg`: the register field of the ModRM byte, which extends some opcodes. */
static enum operand_access access_of_one(uint8_t opcode, uint8_t reg)
{
    if (opcode < 0x40)
        return access_if((opcode & 7) < 2 && opcode < 0x38); /* 38 to 3b: cmp */
    if (opcode >= 0x80 && opcode <= 0x83)
        return access_if(reg != 7); /* cmp */
    switch (opcode) {
    case 0x86: /* xchg, mov, pop */
    case 0x87:
    case 0x88:
    case 0x89:
    case 0x8c:
    case 0x8f:
    case 0xaa: /* stos */
    case 0xab:
    case 0xc0: /* shifts */
    case 0xc1:
    case 0xc6: /* mov */
    case 0xc7:
    case 0xd0: /* shifts */
    case 0xd1:
    case 0xd2:
    case 0xd3:
        return OPERAND_WRITE;
    case 0xf6: /* not, neg */
    case 0xf7:
        return access_if(reg == 2 || reg == 3);
    case 0xfe: /* inc, dec */
    case 0xff:
        return access_if(reg < 2);
    case 0xa4: /* movs: one operand is read, the other one written */
    case 0xa5:
    case 0x8d: /* lea */
        return OPERAND_UNKNOWN;
    default:
        return opcode >= 0xd8 && opcode <= 0xdf ? OPERAND_UNKNOWN : OPERAND_READ; /* x87 */
    }
}

static bool is_store(const struct code *c, uint8_t opcode)
{
    switch (opcode) {
    case 0x11: /* moves of vectors */
    case 0x13:
    case 0x17:
    case 0x29:
    case 0x2b:
    case 0x7f:
    case 0xd6:
    case 0xe7:
    case 0xc3: /* movnti */
    case 0xa4: /* shld, shrd, bts, btr, btc */
    case 0xa5:
    case 0xab:
    case 0xac:
    case 0xad:
    case 0xb3:
    case 0xbb:
    case 0xb0: /* cmpxchg, xadd */
    case 0xb1:
    case 0xc0:
    case 0xc1:
        return true;
    case 0x7e: /* movd, movq */
        return c->repeat != 0xf3;
    default:
        return (opcode & 0xf0) == 0x90; /* setcc */
    }
}

static bool is_load(const struct code *c, uint8_t opcode)
{
    if ((opcode & 0xf0) == 0x40 || (opcode >= 0x51 && opcode <= 0x6f)) /* cmov; arithmetic, moves */
        return true;
    switch (opcode) {
    case 0x10: /* moves of vectors */
    case 0x12:
    case 0x14:
    case 0x15:
    case 0x16:
    case 0x28:
    case 0x2a: /* conversions and comparisons */
    case 0x2c:
    case 0x2d:
    case 0x2e:
    case 0x2f:
    case 0x70:
    case 0x74:
    case 0x75:
    case 0x76:
    case 0xa3: /* bt, imul, popcnt, bsf, bsr */
    case 0xaf:
    case 0xb8:
    case 0xbc:
    case 0xbd:
    case 0xb6: /* movzx, movsx */
    case 0xb7:
    case 0xbe:
    case 0xbf:
    case 0xc2:
    case 0xc6:
        return true;
    case 0x7e:
        return c->repeat == 0xf3;
    default: /* arithmetic of vectors */
        return opcode >= 0xd1 && opcode <= 0xfe && opcode != 0xd6 && opcode != 0xe7;
    }
}

static enum operand_access access_of_two(const struct code *c, uint8_t opcode)
{
    return is_store(c, opcode)  ? OPERAND_WRITE
           : is_load(c, opcode) ? OPERAND_READ
                                : OPERAND_UNKNOWN;
}

static void take_prefixes(struct code *c)
{
    for (; c->at < c->end && is_prefix(*c->at); c->at++) {
        c->narrow |= *c->at == 0x66;
        c->repeat = *c->at == 0xf2 || *c->at == 0xf3 ? *c->at : c->repeat;
    }
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
    struct code c = {.at = code, .end = code + (room < CODE_BYTES_MAX ? room : CODE_BYTES_MAX)};
    struct operand o = {.base = NO_REGISTER, .index = NO_REGISTER};
    take_prefixes(&c);
    uint8_t opcode = take(&c);
    bool vector = opcode == 0xc4 || opcode == 0xc5 || opcode == 0x62;
    const uint32_t *table = one_byte;
    if (vector) {
        uint8_t vector_opcode = take_vector(&c, opcode);
        o.access_bytes = bytes_of_vector(&c, vector_opcode);
        o.access = (uint8_t)access_of_two(&c, vector_opcode);
    } else if (opcode == 0x0f) {
        table = two_bytes;
        opcode = take(&c);
        if (opcode == 0x38 || opcode == 0x3a)
            take(&c);
        o.access_bytes = bytes_of_two(&c, opcode);
        o.access = (uint8_t)access_of_two(&c, opcode);
    } else {
        o.implied = string_registers(opcode);
        uint8_t reg = c.at < c.end ? *c.at >> 3 & 7 : 0;
        o.access_bytes = bytes_of_one(&c, opcode, reg);
        o.access = (uint8_t)access_of_one(opcode, reg);
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
