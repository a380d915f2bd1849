/*
 * patches.c - jumps to the copy, at each target in the original text of translated functions.
 *
 * That text is never executed but at targets, so the bytes after a target are free up to the next.
 * Three forms: a jump of 5 bytes; one of 2 bytes to a jump of 5 in free bytes nearby; a trap.
 */
#include <stdlib.h>

#include "translate_priv.h"

#define JUMP_BYTES 5u
#define SHORT_BYTES 2u
#define REACH 120u /* of a short jump, with a margin for both lengths */
#define TRAP 0xcc

/* Of each byte of the text. */
enum { BYTE_NATIVE, BYTE_FREE, BYTE_TARGET, BYTE_USED };

struct work {
    const struct emission *e;
    const bool *is_target;
    uint8_t *bytes;
    struct patches *out;
};

static void set_bytes(struct work *w, uint32_t at, uint32_t count, uint8_t value)
{
    while (count-- > 0)
        w->bytes[at++] = value;
}

/* Between functions: only nops and traps, and nothing reaches them? */
static bool is_padding(const struct work *w, uint32_t first, uint32_t end)
{
    for (uint32_t n = first; n < end; n++) {
        const struct instruction *i = &w->e->code->at[n];
        bool is_trap = w->e->object->content[i->offset] == TRAP;
        if ((!i->is_nop && !is_trap) || w->is_target[n])
            return false;
    }
    return true;
}

static void find_free(struct work *w)
{
    const struct code *c = w->e->code;

    for (uint32_t n = 0, end; n < c->count; n = end) {
        bool is_free = is_translated(w->e->functions, &c->at[n]);
        end = n + 1;
        if (c->at[n].function == NONE) {
            while (end < c->count && c->at[end].function == NONE)
                end++;
            is_free = is_padding(w, n, end);
        }
        for (uint32_t k = n; k < end && is_free; k++)
            set_bytes(w, c->at[k].offset, c->at[k].bytes, BYTE_FREE);
    }
}

static bool are_free(const struct work *w, uint32_t at, uint32_t count)
{
    if (at > w->e->object->text_bytes || count > w->e->object->text_bytes - at)
        return false;
    while (count-- > 0)
        if (w->bytes[at++] != BYTE_FREE)
            return false;
    return true;
}

static struct plan_patch *add(struct work *w, uint32_t at, uint32_t count)
{
    struct patches *p = w->out;

    p->at = grown(p->at, p->count, sizeof *p->at);
    p->at[p->count] = (struct plan_patch){.original = at, .bytes = (uint8_t)count};
    set_bytes(w, at, count, BYTE_USED);
    return &p->at[p->count++];
}

static void add_jump(struct work *w, uint32_t at, uint32_t n)
{
    struct plan_patch *p = add(w, at, JUMP_BYTES);
    int64_t distance = w->e->how->distance + w->e->copy_of[n] - (at + JUMP_BYTES);
    struct buffer code = {0};

    put(&code, 1, 0xe9);
    put_i32(&code, distance);
    for (unsigned k = 0; k < JUMP_BYTES; k++)
        p->code[k] = code.at[k];
    w->out->is_far |= code.is_far;
    free(code.at);
}

/* A place for a jump of 5 bytes near a target; NONE. */
static uint32_t find_place(const struct work *w, uint32_t at)
{
    for (uint32_t d = SHORT_BYTES; d < REACH; d++) {
        if (are_free(w, at + d, JUMP_BYTES))
            return at + d;
        if (at >= d + JUMP_BYTES && are_free(w, at - d - JUMP_BYTES, JUMP_BYTES))
            return at - d - JUMP_BYTES;
    }
    return NONE;
}

static bool add_short(struct work *w, uint32_t at, uint32_t n)
{
    uint32_t place = are_free(w, at + 1, SHORT_BYTES - 1) ? find_place(w, at) : NONE;

    if (place == NONE)
        return false;
    struct plan_patch *p = add(w, at, SHORT_BYTES);
    p->code[0] = 0xeb;
    p->code[1] = (uint8_t)(place - (at + SHORT_BYTES));
    add_jump(w, place, n);
    return true;
}

static bool is_entry(const struct work *w, uint32_t n)
{
    return w->is_target[n] && w->e->copy_of[n] != NONE;
}

static void add_patches(struct work *w)
{
    const struct code *c = w->e->code;

    for (uint32_t n = 0; n < c->count; n++)
        if (is_entry(w, n) && are_free(w, c->at[n].offset + 1, JUMP_BYTES - 1)) {
            add_jump(w, c->at[n].offset, n);
            w->out->jumps++;
        }
    for (uint32_t n = 0; n < c->count; n++) {
        if (!is_entry(w, n) || w->bytes[c->at[n].offset] != BYTE_TARGET)
            continue;
        if (add_short(w, c->at[n].offset, n)) {
            w->out->short_jumps++;
        } else {
            add(w, c->at[n].offset, 1)->code[0] = TRAP;
            w->out->traps++;
        }
    }
}

static int by_offset(const void *a_, const void *b_)
{
    const struct plan_patch *a = a_, *b = b_;
    return a->original < b->original ? -1 : a->original > b->original;
}

void patches_make(struct patches *p, const struct emission *e, const bool *is_target)
{
    struct work w = {.e = e, .is_target = is_target, .out = p};

    *p = (struct patches){0};
    w.bytes = zeroed(e->object->text_bytes, 1);
    find_free(&w);
    for (uint32_t n = 0; n < e->code->count; n++)
        if (is_entry(&w, n))
            w.bytes[e->code->at[n].offset] = BYTE_TARGET;
    add_patches(&w);
    if (p->count > 0)
        qsort(p->at, p->count, sizeof *p->at, by_offset);
    free(w.bytes);
}
