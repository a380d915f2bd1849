/*
 * plan.h - the file format of a plan: the relocated and checked copy of an object's code.
 *
 *   offset 0             PLAN_COPY_OFFSET
 *   | plan_header        | copy: bodies, cold part | unwind | arrays: functions, blocks, steps, sites, patches |
 *
 * `rtcheck translate` writes it, and a process that runs the copy maps it: the first page with the
 * header privately, since plan_header.handler is filled in there, the copy read-only and shared.
 * The copy must be `distance` bytes after the original text: it contains displacements to it.
 *
 * `unwind` has the frame descriptions of the copy's bodies: an .eh_frame_hdr with its search table, then
 * an .eh_frame.  Its addresses are relative to their own place or to the .eh_frame_hdr.  It begins at the
 * first page after the copy, in the file and in memory.
 *
 * Offsets of original code are relative to text_address, an address as in the object's own
 * headers.  Offsets in the copy are relative to its first byte.  All numbers are little-endian.
 *
 * A check reads the shadow byte of each granule of 8 bytes, at (address >> 3) + PLAN_SHADOW: 0 if
 * the granule is accessible, 1 to 7 if only so many of its first bytes are, negative if none is.
 */
#ifndef RTCHECK_PLAN_H
#define RTCHECK_PLAN_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PLAN_MAGIC 0x4e414c5043545200ull /* "\0RTCPLAN" */
#define PLAN_VERSION 5u
#define PLAN_COPY_OFFSET 4096u
#define PLAN_BUILD_ID_MOST 32u
#define PLAN_SHADOW 0x7fff8000
#define PLAN_WINDOW_MOST 8u            /* shadow bytes that a check reads */
#define PLAN_DISTANCE_MOST (1ll << 31) /* of copy and object: displacements have 32 bits */

/*
 * Words of the thread at plan_header.spill of the fs register, where checks save registers that are
 * live: the check's own register, rax if flags are live, and the address of a failed check.  A signal
 * may arrive within a check: around its handler these words must be saved and restored.
 */
enum plan_spill { SPILL_SCRATCH, SPILL_RAX, SPILL_ADDRESS, SPILL_COUNT };
#define PLAN_SPILL_BYTES (8u * SPILL_COUNT)

/* Items in the file: `count` of them, at `offset`. */
struct plan_array {
    uint64_t offset;
    uint64_t count;
};

/* Why a function stays native, PLAN_TRANSLATED if it does not. */
enum plan_state {
    PLAN_TRANSLATED,
    PLAN_LSDA,        /* it has cleanups or handlers of exceptions */
    PLAN_LINKAGE,     /* the table of calls to other objects (.plt) */
    PLAN_UNDECODABLE, /* bytes that are no instruction */
    PLAN_SPLIT,       /* a branch into an instruction, from it or to it */
    PLAN_DATA,        /* bytes that instructions read, or whose address they take as data */
    PLAN_UNMOVABLE,   /* an instruction that cannot be relocated */
    PLAN_OVERLAP,     /* it shares bytes with another function */
    PLAN_CALLER,      /* it calls dlsym or dlopen, which look at the address of their caller */
    PLAN_FRAME,       /* its frame description cannot be moved */
    PLAN_SKIPPED,     /* --access-skip has its name */
    PLAN_STATE_COUNT
};

/* A function as its FDE describes it; sorted by `start`, disjoint. */
struct plan_function {
    uint32_t start;
    uint32_t bytes;
    uint32_t state; /* enum plan_state */
};

/*
 * The map of code addresses: a block is a run of instructions whose originals are adjacent, and so
 * are their copies.  Its steps are items of the array `steps`.  Sorted by both offsets.
 */
struct plan_block {
    uint32_t original;
    uint32_t copy;
    uint32_t first; /* step */
    uint32_t count;
};

/* The lengths of one instruction and of its copy, which begins with its check. */
struct plan_step {
    uint8_t original;
    uint8_t copy;
};

#define PLAN_STEPS_MOST 64u /* of a block */

/*
 * Bits.  A string instruction accesses elements of plan_site.bytes at rsi or rdi, rcx of them if it is
 * repeated.  Its checks examine the first and the last one.
 */
enum plan_kind {
    PLAN_READ = 1,
    PLAN_WRITE = 2,
    PLAN_READS_RSI = 4,
    PLAN_READS_RDI = 8,
    PLAN_WRITES_RDI = 16,
    PLAN_REPEATED = 32,
    PLAN_OF_LAST = 64, /* the check examines the last element */
    PLAN_KINDS = 127
};
#define PLAN_STRING (PLAN_READS_RSI | PLAN_READS_RDI | PLAN_WRITES_RDI)

/*
 * A check whose code in the cold part begins at `cold` and ends where that of the next begins.  The
 * handler is called from there.  Sorted by `cold`.
 */
struct plan_site {
    uint32_t cold;
    uint32_t original; /* the instruction */
    uint16_t bytes;    /* of the access */
    uint16_t kind;     /* enum plan_kind */
};

/* Bytes to write over the original text, before it runs: jumps to the copy. Sorted, disjoint. */
#define PLAN_PATCH_MOST 5u
struct plan_patch {
    uint32_t original;
    uint8_t bytes; /* 1, 2 or 5 */
    uint8_t code[PLAN_PATCH_MOST];
    uint8_t unused[2]; /* 0 */
};

struct plan_statistics {
    uint64_t function_bytes[PLAN_STATE_COUNT]; /* by state */
    uint64_t outside_bytes;                    /* of executable ranges that no FDE describes */
    uint64_t instructions;                     /* translated */
    uint64_t accesses;                         /* of them by explicit operands */
    uint64_t by_stack, by_pc, by_segment;      /* not checked: rsp, rip, fs and gs */
    uint64_t string, uncheckable;              /* not checked: string instructions, other */
    uint64_t checks, register_spills, flag_saves;
    uint64_t targets, jumps, short_jumps, traps; /* entries, and the forms of their patches */
    uint64_t body_bytes;                         /* the copy without its cold part */
};

/*
 * The first page.  `handler` is 0 in the file.  It is called as `call *handler` with the address of
 * the access in SPILL_ADDRESS and a return address in the site's cold part; it preserves all
 * registers but flags, and returns if the program is to continue.
 */
struct plan_header {
    uint64_t magic;
    uint32_t version;
    uint32_t header_bytes;
    uint64_t file_bytes;
    uint64_t handler;
    uint64_t checksum;                 /* plan_checksum of the file, with 0 here */
    uint64_t text_address, text_bytes; /* from the first executable byte to the last */
    int64_t distance;                  /* from the first byte of the text to that of the copy */
    int32_t spill;
    uint32_t build_id_bytes;
    uint8_t build_id[PLAN_BUILD_ID_MOST];
    uint64_t own_unwinder; /* 1: exceptions find no descriptions but those of loaded objects */
    uint64_t skip_matched; /* bit n: pattern n of --access-skip matches a function */
    struct plan_array copy, unwind, functions, blocks, steps, sites, patches;
    struct plan_statistics statistics;
};
static_assert(sizeof(struct plan_header) <= PLAN_COPY_OFFSET, "the header is one page");

/* The first bytes of `unwind`: an .eh_frame_hdr, as the LSB defines it, in its only form here. */
#define PLAN_UNWIND_FORM 0x3b031b01u /* version 1; pcrel sdata4, udata4, datarel sdata4 */
struct plan_unwind_header {
    uint32_t form;
    int32_t frames; /* the .eh_frame, from this field */
    uint32_t count;
};
/* After it, sorted by `start`: both are relative to the .eh_frame_hdr. */
struct plan_unwind_entry {
    int32_t start;
    int32_t description;
};
/* Where `unwind` begins, from the first byte of the copy. */
static inline uint64_t plan_unwind_at(const struct plan_header *h)
{
    return h->unwind.offset - PLAN_COPY_OFFSET;
}
/* What is mapped: the copy, and behind it `unwind`. */
static inline uint64_t plan_mapped_bytes(const struct plan_header *h)
{
    return plan_unwind_at(h) + h->unwind.count;
}

/*
 * Against damage, not against forgery: the code of the copy is not verified otherwise.  Four lanes, so that
 * 10 MB take a few milliseconds.
 */
static inline uint64_t plan_checksum(const void *file, uint64_t bytes)
{
    const uint64_t factor = 0x9e3779b97f4a7c15ull;
    uint64_t lane[4] = {1, 2, 3, 4}, sum = bytes;
    for (uint64_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t word = 0, left = bytes - at;
        memcpy(&word, (const uint8_t *)file + at, left < sizeof word ? left : sizeof word);
        word = at == offsetof(struct plan_header, checksum) ? 0 : word;
        lane[at / sizeof word % 4] = (lane[at / sizeof word % 4] ^ word) * factor;
        lane[at / sizeof word % 4] ^= lane[at / sizeof word % 4] >> 32;
    }
    for (unsigned i = 0; i < 4; i++)
        sum = (sum ^ lane[i]) * factor;
    return sum ^ sum >> 32;
}

static_assert(sizeof(struct plan_site) == 12 && sizeof(struct plan_patch) == 12, "file layout");
static_assert(sizeof(struct plan_block) == 16 && sizeof(struct plan_step) == 2, "file layout");

#endif
