/* translate_priv.h - the tables that the stages of translate pass to each other. */
#ifndef TRANSLATE_PRIV_H
#define TRANSLATE_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "translate.h"

#define NONE UINT32_MAX

/* ---- memory.c: allocation that does not fail --------------------------------------------------- */

void *zeroed(size_t count, size_t item);               /* zeroed */
void *grown(void *array, uint32_t count, size_t item); /* room for one more; doubles */

/* ---- object.c -------------------------------------------------------------------------------- */

/* A loaded range of the file that is not executable: data, and the words in it. */
struct data_range {
    uint64_t address, bytes;
    const uint8_t *content;
};

/*
 * The text is from the first executable byte to the last; offsets are relative to text_address.
 * `content` has it whole, with zeros between segments.
 */
struct object {
    const char *path;
    int fd;
    void *elf; /* Elf * */
    uint64_t text_address;
    uint32_t text_bytes;
    uint8_t *content;
    uint64_t entry;
    bool is_fixed; /* ET_EXEC: addresses may be 32-bit immediates */
    struct data_range *data;
    uint32_t data_count;
    uint8_t build_id[PLAN_BUILD_ID_MOST];
    uint32_t build_id_bytes;
    struct data_range linkage[8]; /* .plt and its like: their addresses */
    uint32_t linkage_count;
};

int object_open(struct object *o, const char *path, char err[TOOLS_ERROR_BYTES]);
/* Only what is in headers and notes: it has no text. */
int object_identify(struct object *o, const char *path, char err[TOOLS_ERROR_BYTES]);
void object_close(struct object *o);
/*
 * Slots of addresses of functions that look at their caller: `room` at most.  Returns their number.
 */
uint32_t object_caller_slots(const struct object *o, uint64_t *out, uint32_t room);
/* Does it contain an unwinder that finds frame descriptions by dl_iterate_phdr alone? */
bool object_has_unwinder(const struct object *o);
/* Is the address in the text? Then *offset is its offset. */
bool object_text_at(const struct object *o, uint64_t address, uint32_t *offset);

/* ---- frames.c -------------------------------------------------------------------------------- */

/* Of a CIE: what its FDEs have in common. */
struct frame_cie {
    uint64_t place; /* in the section */
    uint64_t code_alignment;
    int64_t data_alignment;
    uint8_t return_register;
    bool is_signal;
    const uint8_t *at, *end; /* initial instructions */
};

/* Instructions for the unwinder, of one function. */
struct frame {
    const uint8_t *at, *end;
    uint32_t cie; /* NONE: unknown */
};

struct functions {
    struct plan_function *at; /* sorted, disjoint */
    uint32_t count;
    struct frame *frames; /* one for each function; valid until object_close */
    struct frame_cie *cies;
    uint32_t cie_count;
};

void functions_read(struct functions *f, const struct object *o);
void functions_free_frames(struct functions *f);
/* The function that contains an offset, or NONE. */
uint32_t function_at(const struct functions *f, uint32_t offset);

/* ---- decode.c -------------------------------------------------------------------------------- */

/* Sets of registers: bit n is the general register with the number n in instructions. */
enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, REGISTERS = 16, NO_REGISTER = -1 };
#define BIT(r) (1u << (r))
#define FLAGS BIT(REGISTERS) /* the status flags */
#define REGISTERS_ALL (BIT(REGISTERS) - 1)
#define LIVE_ALL (REGISTERS_ALL | FLAGS)

enum flow {
    FLOW_NEXT,
    FLOW_JUMP,    /* to `target` */
    FLOW_BRANCH,  /* to `target` or the next */
    FLOW_CALL,    /* of `target` */
    FLOW_JUMP_BY, /* through a register or memory */
    FLOW_CALL_BY,
    FLOW_RETURN,
    FLOW_KERNEL, /* system calls, traps: another program may read all registers, then the next */
    FLOW_STOP,   /* does not continue */
    FLOW_BAD,    /* no instruction */
};

/* What is special about an instruction: bits. */
enum {
    INSN_BY_COUNT = 1, /* jrcxz, loop: a branch with a displacement of 8 bits only */
    INSN_BY_PC = 2,    /* its operand is relative to rip, at `displacement` bytes */
    INSN_LEA = 4,      /* it takes an address and does not access it */
    INSN_UNMOVABLE = 8,
    INSN_MAY_TRAP = 16, /* a division */
    INSN_STOPS = 32,    /* repeated until a comparison: the last element is not known */
    INSN_BACKWARDS = 64 /* string instructions after it may go downwards */
};

/* How its explicit memory operand is treated. */
enum access {
    ACCESS_NONE,
    ACCESS_CHECKED,
    ACCESS_STACK,
    ACCESS_PC,
    ACCESS_SEGMENT,
    ACCESS_STRING,
    ACCESS_UNCHECKABLE,
};

struct operand {
    int32_t displacement;
    int8_t base, index; /* NO_REGISTER */
    uint8_t scale;
    uint8_t kind;   /* enum plan_kind */
    uint16_t bytes; /* of the access */
};

struct instruction {
    uint32_t offset;
    uint32_t target;   /* of direct branches: offset, also outside of the text; see has_target */
    uint32_t use, set; /* registers and flags: read, and written whatever they were */
    uint32_t changed;  /* registers that are written in part, or perhaps, too */
    uint32_t function; /* or NONE */
    uint8_t bytes;
    uint8_t flow;         /* enum flow */
    uint8_t special;      /* INSN_ */
    uint8_t access;       /* enum access */
    uint8_t condition;    /* of FLOW_BRANCH: the low 4 bits of its opcode */
    uint8_t displacement; /* of INSN_BY_PC: the position of its 4 bytes */
    bool is_nop;
    uint8_t string; /* of ACCESS_STRING: enum plan_kind; 0: it is not checked */
    struct operand operand;
};

/* All text, decoded from the start of each function, and of each range between functions. */
struct code {
    struct instruction *at; /* by offset */
    uint32_t count;
    uint32_t *index; /* of each offset of the text: the instruction that begins there, or NONE */
};

int zydis_load(char err[TOOLS_ERROR_BYTES]);
void code_decode(struct code *c, const struct object *o, const struct functions *f);
/* The instruction that is executed first from an offset on, nops between functions left out; or NONE. */
uint32_t code_at(const struct code *c, const struct object *o, uint32_t offset);
/* The instruction after another, nops between functions left out; or NONE. */
uint32_t code_after(const struct code *c, uint32_t n);
/* Is it a direct branch or call? */
bool has_target(const struct instruction *i);
/* The offset of the memory operand of an instruction with INSN_BY_PC, relative to the text. */
int64_t pc_operand(const struct instruction *i);

/* ---- select.c -------------------------------------------------------------------------------- */

/* Set the states of functions. */
void functions_select(struct functions *f, const struct code *c, const struct object *o);
bool is_translated(const struct functions *f, const struct instruction *i);

/* ---- skip.c ---------------------------------------------------------------------------------- */

/*
 * Set the states of translated functions that patterns of --access-skip match.  Returns bits: which patterns
 * match a function, whatever its state.
 */
uint64_t functions_skip(struct functions *f, const struct object *o, const char *patterns);

/* ---- targets.c ------------------------------------------------------------------------------- */

/* For each instruction: may an indirect branch, or native code, reach it? */
bool *targets_find(const struct code *c, const struct object *o, const struct functions *f);

/* ---- liveness.c ------------------------------------------------------------------------------ */

/* For each instruction: the registers and flags that are live before it. */
uint32_t *liveness_of(const struct code *c, const struct object *o, const struct functions *f,
                      const bool *is_target);

/* ---- groups.c -------------------------------------------------------------------------------- */

#define GROUP_MOST 16

/* Accesses that one check serves. */
struct group {
    uint32_t at[GROUP_MOST]; /* instructions */
    uint32_t count;
    struct operand operand; /* all of them, or that of the first */
    bool is_wide;           /* whole granules, from an aligned address on */
};

struct emission;
/* The group that begins with an access. */
void group_find(const struct emission *e, uint32_t n, struct group *g);
/* For each instruction: is it the target of a branch? */
bool *labels_find(const struct code *c, const struct object *o, const bool *is_target);

/* ---- checks.c -------------------------------------------------------------------------------- */

/* An access with the code in the cold part that examines it. */
struct site {
    uint32_t instruction;
    uint32_t cold;
    struct operand operand;
};

/* How a group of accesses is checked. */
struct check {
    uint32_t first, count; /* sites */
    int8_t scratch;
    bool spills, saves_flags, saves_rax;
    uint8_t window; /* shadow bytes that must be 0 */
    uint8_t mask;   /* of an address that is not aligned; 0: any is */
    uint32_t miss;  /* the displacement of the branch to the cold part */
    uint32_t back;  /* where the cold part returns to */
};

void check_plan(struct check *k, const struct operand *o, uint32_t live);

/* ---- encode.c -------------------------------------------------------------------------------- */

/* Code that grows. */
struct buffer {
    uint8_t *at;
    uint32_t bytes;
    bool is_far; /* a value did not fit into its 4 bytes */
};

void put(struct buffer *b, unsigned count, ...); /* that many bytes, as ints */
void put_bytes(struct buffer *b, const void *from, uint32_t bytes);
void put_i32(struct buffer *b, int64_t value);
void put_uleb128(struct buffer *b, uint64_t value);
void put_sleb128(struct buffer *b, int64_t value);
void patch_i32(struct buffer *b, uint32_t at, int64_t value);
void put_lea(struct buffer *b, int to, const struct operand *o);
void put_move(struct buffer *b, int to, int from);
void put_shift_3(struct buffer *b, int r);
void put_test(struct buffer *b, int r, uint8_t mask); /* of its lowest byte */
/* Compare `window` bytes of shadow with 0, from the byte `more` at r >> 3 on. */
void put_compare_shadow(struct buffer *b, int r, unsigned more, unsigned window);
void put_load_shadow(struct buffer *b, int to, int r); /* one byte, sign-extended to 32 bits */
void put_store_fs(struct buffer *b, int r, int32_t offset);
void put_load_fs(struct buffer *b, int r, int32_t offset);
void put_jump(struct buffer *b, uint32_t to); /* e9 */

/* ---- emit.c, check_code.c, cold.c ------------------------------------------------------------ */

struct emission {
    const struct object *object;
    const struct functions *functions;
    const struct code *code;
    const uint32_t *live;
    const bool *is_target;
    const struct translation *how;
    struct buffer out, unwind;
    uint32_t *copy_of; /* of each instruction: its offset in the copy, or NONE */
    bool *is_short;    /* of each branch: with 8 bits */
    bool *is_label;    /* of each instruction */
    bool *is_served;   /* of each: it is in a group, but not the first */
    bool is_backwards; /* some string instructions may go downwards */
    struct check *checks;
    uint32_t check_count;
    struct site *sites;
    uint32_t site_count;
    uint32_t body_bytes;
    struct fixup *fixups;
    uint32_t fixup_count;
};

void emit(struct emission *e);
void emit_check(struct emission *e, uint32_t instruction);
/* The check of a group, before the first of its instructions. */
void emit_group(struct emission *e, const struct group *g);
void emit_string_checks(struct emission *e, uint32_t instruction); /* strings.c */
void emit_cold(struct emission *e);
void emission_free(struct emission *e);
int32_t spill_at(const struct emission *e, enum plan_spill word);

/* ---- patches.c ------------------------------------------------------------------------------- */

struct patches {
    struct plan_patch *at; /* sorted */
    uint32_t count;
    uint64_t jumps, short_jumps, traps;
    bool is_far;
};

void patches_make(struct patches *p, const struct emission *e, const bool *is_target);

/* ---- unwind_table.c -------------------------------------------------------------------------- */

/* Set the states of functions whose frame description cannot be moved. */
void unwind_select(struct functions *f, const struct code *c);
/* plan_header.unwind, after emit. */
void unwind_make(struct buffer *out, const struct emission *e);

/* ---- plan_write.c ---------------------------------------------------------------------------- */

struct plan {
    struct plan_header header;
    struct buffer copy, unwind;
    struct plan_function *functions;
    struct plan_block *blocks;
    struct plan_step *steps;
    struct plan_site *sites;
    struct plan_patch *patches;
};

/* Does a displacement of the copy not fit, or would it overlap the text? */
bool plan_is_far(const struct plan *p);
/* Take the tables of a finished emission. */
struct plan *plan_make(struct emission *e, struct patches *p, const struct plan_statistics *s);

#endif
