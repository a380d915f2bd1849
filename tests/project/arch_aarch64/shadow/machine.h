/*
 * machine.h - facts about the machine: AArch64, with pages of 4 KiB and addresses of 47 bits.
 *
 * (A kernel with 48 bits needs another layout of depot nodes: see the assertion in src/unwind.)
 */
#ifndef MACHINE_H
#define MACHINE_H

#include <elf.h>
#include <stdint.h>

#define PAGE_BYTES 4096u
#define HUGE_PAGE_BYTES (2ull << 20)
#define HUGEST_PAGE_BYTES (1ull << 30)
#define ADDRESSES_END (1ull << 47)
#define POINTER_BITS 48u
#define RED_ZONE_BYTES 0u

#define ELF_MACHINE EM_AARCH64
#define ELF_JUMP_SLOT R_AARCH64_JUMP_SLOT
#define ELF_GLOBAL_SLOT R_AARCH64_GLOB_DAT
#define ELF_LOADER "ld-linux-aarch64.so.1"

#define DWARF_REGISTERS 33u
#define DWARF_FP 29u
#define DWARF_SP 31u
#define DWARF_PC 32u
#define DWARF_RETURN 30u
#define DWARF_VECTORS 32u

typedef uint64_t register_mask;
#define REGISTER(n) ((register_mask)1 << (n))

#define DWARF_NAMES                                                                                \
    "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", \
        "x15", "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", \
        "x28", "x29", "x30", "sp"
#define PC_NAME "pc"
#define FLAGS_NAME "pstate"

#define PRESERVED_REGISTERS (REGISTER(30) - REGISTER(19))
#define CALL_ARGUMENT_REGISTERS \
    {                           \
        0, 1, 2, 3, 4, 5        \
    }

#endif
