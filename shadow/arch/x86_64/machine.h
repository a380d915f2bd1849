/*
 * machine.h - facts about the machine that need no code: x86-64.
 *
 * A port to another architecture writes two folders, named as CMAKE_SYSTEM_PROCESSOR names it:
 *
 *   shadow/arch/X   what shadow, report and tools need too: this header, vectors.h,
 *                   instructions.h/.c, system_call.h.  Nothing in it runs the machine for an
 *                   effect but system_call.h.
 *   src/arch/X      what only runs in the checked process (arch.h lists it).
 *
 * They are two because report and tools never include src.  CMake puts the folders of one machine on
 * the include path, so no other file tests for an architecture.  tests/project/seams compiles
 * all other files against headers of another machine.
 *
 * The folder has to provide everything below.  The file format depends on two of the facts: depot
 * nodes have 47 bits for an address of code, and witnesses hold DWARF register numbers.  A run file
 * is read on the machine that wrote it.
 */
#ifndef MACHINE_H
#define MACHINE_H

#include <elf.h>
#include <stdint.h>

/* ---- memory ---------------------------------------------------------------------------------- */

#define PAGE_BYTES 4096u
#define HUGE_PAGE_BYTES (2ull << 20) /* of the page table, and the default of MAP_HUGETLB */
#define HUGEST_PAGE_BYTES (1ull << 30)
#define ADDRESSES_END (1ull << 47) /* addresses above are the kernel's */
/*
 * Bits of an address that the processor translates; the bits above repeat the highest of them, and
 * some programs keep data there.
 */
#define POINTER_BITS 48u
/* Bytes below the stack pointer that a function may use without reserving them (System V ABI). */
#define RED_ZONE_BYTES 128u

/* ---- ELF ------------------------------------------------------------------------------------- */

#define ELF_MACHINE EM_X86_64
/* Relocations that fill in the address of a function: in a PLT's slot, and in any other. */
#define ELF_JUMP_SLOT R_X86_64_JUMP_SLOT
#define ELF_GLOBAL_SLOT R_X86_64_GLOB_DAT
/* glibc's dynamic loader: the ABI fixes its name, not its directory. */
#define ELF_LOADER "ld-linux-x86-64.so.2"

/* ---- registers, by their DWARF numbers (System V ABI for AMD64) ------------------------------ */

#define DWARF_REGISTERS 17u
#define DWARF_FP 6u
#define DWARF_SP 7u
#define DWARF_PC 16u
/* The column of call frame information that describes the return address. */
#define DWARF_RETURN 16u
/* In a witness: this number and those above are words of vector registers. */
#define DWARF_VECTORS 16u

/* A set of registers: bit n is register n. */
typedef uint32_t register_mask;
#define REGISTER(n) ((register_mask)1 << (n))

/* Names in reports, of the numbers below DWARF_VECTORS. */
#define DWARF_NAMES                                                                          \
    "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", \
        "r13", "r14", "r15"
/* The instruction pointer, and the flags, which have no number here. */
#define PC_NAME "rip"
#define FLAGS_NAME "eflags"

/* Registers that a function must preserve, and those with the arguments of a system call. */
#define PRESERVED_REGISTERS \
    (REGISTER(3) | REGISTER(6) | REGISTER(12) | REGISTER(13) | REGISTER(14) | REGISTER(15))
#define CALL_ARGUMENT_REGISTERS                            \
    {                                                      \
        5, 4, 1, 10, 8, 9 /* rdi, rsi, rdx, r10, r8, r9 */ \
    }

#endif
