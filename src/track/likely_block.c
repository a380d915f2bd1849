/*
 * likely_block.c - the freed block from which the address of a crash was read.
 *
 * Such an address is the fill of freed memory (init/fault.c).  A fill of words names the block, if the
 * word is known exactly: an instruction may have added the offset of a member, or aligned it down.
 *
 * A byte, repeated, is the same in all blocks.  But the code that has read it often still holds the pointer to the block: in a register, or in a local
 * variable.  So the general registers are searched for pointers to freed blocks, and then the frames
 * of the innermost functions, outwards.  The first of these places that has such pointers decides.  If
 * they point to more than one block, none is likely.
 */
#include "context.h"
#include "track_priv.h"

#include <string.h>

#define FRAMES_SEARCHED 4u
#define FRAME_WORDS_MAX 1024u /* larger frames: arrays, whose words may be old */
#define BELOW_SP 128u         /* locals of a function that calls nothing (x86-64 ABI) */

struct search {
    struct likely_block found;
    uint32_t write_epoch;
    bool several;
};

static bool is_freed(const struct found *f, uint32_t write_epoch)
{
    uint64_t word, stacks;
    if ((f->verdict != PTR_START && f->verdict != PTR_INSIDE) || slab_is_unrecorded(f))
        return false;
    return block_read(pool_look(f, write_epoch), &word, &stacks) && word_state(word) == BLOCK_FREED;
}

static void consider(struct search *s, uint64_t value)
{
    const char *p = (const char *)(uintptr_t)value;
    struct found f = pool_find(p);
    if (!is_freed(&f, s->write_epoch))
        return;
    const char *block = p - f.offset;
    s->several |= s->found.at && block != s->found.at;
    s->found = (struct likely_block){block, f};
}

static void search_registers(struct search *s, const void *context)
{
    for (unsigned i = 0; i < DWARF_REGISTERS; i++)
        if (i != DWARF_PC && i != DWARF_SP)
            consider(s, context_general(context, i));
}

static void search_words(struct search *s, uintptr_t start, uintptr_t end)
{
    uint64_t word;
    if (end - start > FRAME_WORDS_MAX * sizeof word)
        end = start + FRAME_WORDS_MAX * sizeof word;
    for (uintptr_t at = align_up(start, sizeof word); at + sizeof word <= end; at += sizeof word)
        if (os_copy(&word, (const void *)at, sizeof word) == sizeof word)
            consider(s, word);
}

static void search_frames(struct search *s, const void *context)
{
    struct mapping stack;
    struct caller frame, outer;
    uintptr_t start = context_sp(context) - BELOW_SP;
    unwind_interrupted(context, &frame);
    if (os_mapping_of(context_sp(context), &stack) != 1 || !stack.readable)
        return;
    for (unsigned i = 0; i < FRAMES_SEARCHED && !s->found.at; i++) {
        if (!unwind_out(&frame, stack.end, &outer))
            return;
        search_words(s, start, outer.value[DWARF_SP]);
        start = outer.value[DWARF_SP];
        frame = outer;
    }
}

struct likely_block likely_block(const void *context, uint32_t write_epoch)
{
    static const struct likely_block none;
    struct search s = {.write_epoch = write_epoch};
    search_registers(&s, context);
    if (!s.found.at)
        search_frames(&s, context);
    return s.several ? none : s.found;
}

/* ---- the block that a fill names ------------------------------------------------------------- */

#define NEAR_BEFORE 4096u /* as in init/fault.c */
#define NEAR_AFTER 65536u

static bool is_word_of_block(uint64_t word, struct likely_block *out)
{
    const void *p = (const void *)(uintptr_t)fill_word_address(word);
    *out = (struct likely_block){p, pool_find(p)};
    return out->found.verdict == PTR_START;
}

/* A register with the same tag holds the word from which `source` was computed. */
bool named_block(const void *context, uint64_t source, struct likely_block *out)
{
    if (is_word_of_block(source, out))
        return true;
    for (unsigned i = 0; i < DWARF_REGISTERS; i++) {
        uint64_t word = context_general(context, i);
        if (word >> FILL_TAG_SHIFT == source >> FILL_TAG_SHIFT &&
            source - word + NEAR_BEFORE < NEAR_BEFORE + NEAR_AFTER && is_word_of_block(word, out))
            return true;
    }
    return false;
}
