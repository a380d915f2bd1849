/* zydis_priv.h - the functions of Zydis that are used, and the table of loaded ones. */
#ifndef ZYDIS_PRIV_H
#define ZYDIS_PRIV_H

#include <Zydis/Zydis.h>

#include "translate_priv.h"

#define ZYDIS_FUNCTIONS(DO)    \
    DO(ZydisDecoderInit)       \
    DO(ZydisDecoderDecodeFull) \
    DO(ZydisRegisterGetLargestEnclosing)

struct zydis {
    bool is_loaded;
#define POINTER(f) __typeof__(f) *f;
    ZYDIS_FUNCTIONS(POINTER)
#undef POINTER
};

extern struct zydis zydis;

/* An instruction as Zydis decodes it. */
struct decoded {
    ZydisDecodedInstruction z;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

/* ---- operand.c: what an instruction does with registers, flags and memory --------------------- */

void read_registers(struct instruction *i, const struct decoded *d);
void read_flags(struct instruction *i, const struct decoded *d);
void read_memory(struct instruction *i, const struct decoded *d);

#endif
