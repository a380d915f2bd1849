/*
 * instructions.h - decode the machine code of programs: AArch64.
 */
#ifndef INSTRUCTIONS_H
#define INSTRUCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CODE_BYTES_MAX 4u
#define CODE_ALIGN 4u

/* ---- jumps and calls ------------------------------------------------------------------------- */

struct code_jump {
    unsigned bytes; /* its length; 0: another instruction */
    uintptr_t to;   /* its target, or the address of the slot that contains it */
    bool slot;
};

/* An unconditional jump, direct or through a slot. */
struct code_jump code_jump_at(const uint8_t *code, const uint8_t *end, uintptr_t address);

/*
 * Evidence of a jump out of the function that ends at `end`: conditional jumps, too, and not those
 * that other data resembles easily.
 */
struct code_jump code_jump_out(const uint8_t *code, const uint8_t *end, uintptr_t address);

/* A conditional jump on zero or not zero, as code has it that tests for NULL. */
struct code_jump code_branch_at(const uint8_t *code, const uint8_t *end, uintptr_t address,
                                bool *if_zero);

/* The direct call that ends at `after`, or the call through a slot. */
struct code_jump code_call_before(const uint8_t *after, size_t room, uintptr_t address);

/* Does any call, also through a register, end at `after`? */
bool code_is_call_before(const uint8_t *after, size_t room);

/* Does a call of the function at *(register + displacement) end at `after`? */
bool code_virtual_call_before(const uint8_t *after, size_t room, uintptr_t *displacement);

/* Does a call through a register begin here? */
bool code_calls_register(const uint8_t *code, const uint8_t *end);

/* The slot of an entry of a procedure linkage table; 0: other code. */
#define CODE_PLT_BYTES 16u
uintptr_t code_plt_slot(const uint8_t code[CODE_PLT_BYTES], uintptr_t address);

/* ---- other instructions: their length, 0: another instruction -------------------------------- */

/* Marks a function as the target of indirect jumps. */
unsigned code_landing(const uint8_t *code, const uint8_t *end);

/*
 * Only moves or changes registers, as thunks do before their jump: set up a frame pointer, change a
 * size of 0 to 1, shuffle arguments.
 */
unsigned code_trivial(const uint8_t *code, const uint8_t *end);

/* Belongs to an epilogue, or copies a result. */
unsigned code_epilogue(const uint8_t *code, const uint8_t *end);

bool code_is_return(const uint8_t *code, const uint8_t *end);

/* ---- system calls ---------------------------------------------------------------------------- */

#define CODE_CALL_BYTES 4u   /* the instruction that enters the kernel */
#define CODE_NUMBER_BYTES 4u /* the one before it in libc's functions, which loads the number */
#define CODE_BEFORE_BYTES 8u /* that, and the byte before, which shows whether it is another one */

static inline bool code_is_system_call(const uint8_t *code)
{
    return code[0] == 0x01 && code[1] == 0 && code[2] == 0 && code[3] == 0xd4; /* svc #0 */
}

/* The number that is loaded just before the system call at `call`, in libc's code. */
bool code_call_number(const uint8_t *call, uint32_t *number);
/* The same for code that may be anything; `code` has CODE_BEFORE_BYTES before the system call. */
bool code_loads_number(const uint8_t *code, uint32_t *number);
/* Is this function of libc an unpatched stub of the system call `number`? */
bool code_is_stub(const uint8_t *function, uint32_t number);
/* Is this the code to which signal handlers return?  Unwinders recognise it by these bytes. */
bool code_is_signal_return(const uint8_t *code);

/* ---- operands -------------------------------------------------------------------------------- */

#define CODE_REGISTERS 32u
#define NO_REGISTER 0xffu
#define CODE_COPY_TO 0u
#define CODE_COPY_FROM 1u
#define CODE_COUNT 2u

/*
 * The memory operand of an instruction, or the target of its branch. Registers have the numbers of
 * the machine encoding.
 */
enum operand_access { OPERAND_UNKNOWN, OPERAND_READ, OPERAND_WRITE };

struct operand {
    uint32_t displacement;
    uint32_t implied;     /* mask of implicit address registers (string instructions) */
    uint8_t base, index;  /* NO_REGISTER: none */
    uint8_t scale;        /* left shift of the index */
    uint8_t bytes;        /* length of the instruction up to the end of the operand */
    uint8_t access_bytes; /* size of the operand; 0: unknown */
    uint8_t access;
    bool memory; /* it is in memory; else a branch jumps to the value of `base` */
    bool by_pc;  /* relative to the end of the instruction */
    bool branch; /* it is the target of a call or jump */
};

/* Decode the instruction at `code`, of which `room` bytes can be read. */
struct operand operand_of(const uint8_t *code, size_t room);

#endif
