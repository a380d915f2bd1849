/*
 * reach.c - which blocks the program can still get at: the order in which that is found out.
 *
 * Blocks point to blocks; what points from outside are roots and registers.  Each live block gets
 * one class, and none depends on the order of roots, registers or addresses:
 *
 *   HELD      a chain of pointers to starts leads to it from a root, or from a block that is ROOT
 *   INTERIOR  else: a root or a HELD block has a pointer to its inside
 *   BEHIND    else: a chain of any pointers leads to it from an INTERIOR one
 *   REGISTER  else: a register has a pointer to it
 *   BEHIND    else: a chain of any pointers leads to it from a REGISTER one
 *   LOST      else: no other of those that are left points to it
 *   CIRCLE    else: the lowest of a circle to which nothing leads that is not of it
 *   LOST_BEHIND  else: then a LOST or CIRCLE one leads to it
 *
 * So a block to whose inside a HELD one points is INTERIOR also when another INTERIOR one leads to
 * it: it has a pointer of its own to be explained.  INTERIOR, REGISTER, LOST and CIRCLE are owners:
 * what is BEHIND is counted behind one that leads to it, of several of a kind the one at the highest
 * address; LOST come before CIRCLE.
 *
 * What is lost takes four walks, each of which reads a block once or twice.  (1) Count: of whom does
 * another lost block know?  Of whom none does is LOST.  (2) What they lead to is LOST_BEHIND.  Of
 * the rest everyone is led to, so somebody in a circle leads to each.  (3) In the order of addresses,
 * walk from each that was not met yet: it is a candidate, which one of a later walk may lead to, but
 * none of an earlier.  (4) The other way round: a candidate that no later one has led to is led to
 * by nobody but what it leads to itself.  Walk (3) began at the lowest of each such circle, as
 * nothing outside it could have met it before.
 *
 * Inherited blocks are walked through as all others and counted nowhere; an owner of that kind
 * gives its group no block, only what was found behind it.
 *
 * Three bits for each block say all: open (live, no class yet), inside and waiting (reach_flood.c).
 * What inside means changes: pointed to inside; in a register; led to by another lost one; not met
 * by walk (3), then: candidate.  Owners are those whose bit is set when own_all begins.
 */
#include "reach_priv.h"

#include <string.h>

/* ---- scratch ---------------------------------------------------------------------------------------- */

/* The parts of the scratch: offsets from its start. */
struct layout {
    uint64_t open;
    uint64_t inside;
    uint64_t waiting;
    uint64_t trail;
    uint64_t group_of;
    uint64_t group;
    uint64_t stack; /* and from here on what there is */
    uint64_t bits;
    uint64_t places;
    uint64_t groups;
};

static struct layout layout_of(const struct reach_heap *h)
{
    struct layout l;
    uint64_t groups = ((uint64_t)h->stacks + 1) * REACH_COUNT;
    if (groups > h->slots)
        groups = h->slots;
    l.groups = groups + 2 * REACH_COUNT; /* those of the stack that is not known fit always */
    l.places = 2ull << log2_floor(l.groups * 2);
    l.bits = align_up((h->bytes >> 4) + 1, 64);
    l.open = align_up(sizeof(struct reach_scan), 64);
    l.inside = l.open + l.bits / 8;
    l.waiting = l.inside + l.bits / 8;
    l.trail = align_up(l.waiting + l.bits / 8, 64);
    l.group_of = l.trail + (uint64_t)h->slots * sizeof(struct reach_trail);
    l.group = l.group_of + l.places * sizeof(uint32_t);
    l.stack = align_up(l.group + l.groups * sizeof(struct leak_group), 64);
    return l;
}

uint64_t reach_room(const struct reach_heap *h, bool least)
{
    uint64_t depth = least ? 0 : h->slots / 16 + 4096;
    return layout_of(h).stack + depth * sizeof(struct reach_found);
}

static void place_parts(struct reach_scan *r, const struct layout *l, uint64_t bytes)
{
    char *base = (char *)r;
    r->open = (uint64_t *)(void *)(base + l->open);
    r->inside = (uint64_t *)(void *)(base + l->inside);
    r->waiting = (uint64_t *)(void *)(base + l->waiting);
    r->bits = l->bits;
    r->trail = (struct reach_trail *)(void *)(base + l->trail);
    r->group_of = (uint32_t *)(void *)(base + l->group_of);
    r->group = (struct leak_group *)(void *)(base + l->group);
    r->stack = (struct reach_found *)(void *)(base + l->stack);
    r->group_mask = (uint32_t)(l->places - 1);
    r->groups_max = (uint32_t)l->groups;
    r->depth_max = (bytes - l->stack) / sizeof(struct reach_found);
}

/* ---- bits in the order of addresses, and the other way round -------------------------------------- */

/* The first bit that is set in [*at, end); end is that of a word. */
static bool next_bit(const uint64_t *bits, uint64_t end, uint64_t *at)
{
    for (uint64_t n = *at; n < end; n = (n | 63) + 1) {
        uint64_t word = bits[n / 64] >> n % 64;
        if (word) {
            *at = n + (uint64_t)__builtin_ctzll(word);
            return true;
        }
    }
    return false;
}

/* The last bit that is set in [0, *at). */
static bool previous_bit(const uint64_t *bits, uint64_t *at)
{
    for (uint64_t n = *at; n > 0; n = (n - 1) & ~63ull) {
        uint64_t word = bits[(n - 1) / 64] << (63 - (n - 1) % 64);
        if (word) {
            *at = n - 1 - (uint64_t)__builtin_clzll(word);
            return true;
        }
    }
    return false;
}

/* The block whose bit is set. */
static struct reach_spot spot_of(const struct reach_scan *r, uint64_t bit)
{
    struct reach_spot s = {0};
    (void)reach_locate(&r->heap, r->heap.base + (bit << 4), &s);
    return s;
}

/* ---- roots ------------------------------------------------------------------------------------------ */

static void open_slab(struct reach_scan *r, uint32_t number)
{
    const struct reach_slab *slab = &r->heap.slab[number];
    uint64_t bit = (slab->start - r->heap.base) >> 4;
    for (uint32_t slot = 0; slot < slab->slots; slot++, bit += slab->slot_bytes >> 4) {
        uint64_t word, stacks;
        (void)block_read(reach_record(slab, slot), &word, &stacks);
        if (word_state(word) != BLOCK_LIVE && word_state(word) != BLOCK_INHERITED)
            continue;
        if (word_flags(word) & BLOCK_FLAG_ROOT) {
            struct reach_block b = reach_look(r, number, slot);
            reach_count(r, &b, REACH_HELD, (struct reach_trail){WITNESS_SELF, 0});
            reach_wait(r, bit);
        } else {
            bit_set(r->open, bit);
        }
    }
}

struct reach_scan *reach_begin(void *scratch, uint64_t bytes, const struct reach_heap *h,
                               const struct reach_rules *rules)
{
    struct layout l = layout_of(h);
    struct reach_scan *r = scratch;
    if (bytes < l.stack)
        return NULL;
    r->heap = *h;
    r->rules = *rules;
    place_parts(r, &l, bytes);
    if (r->rules.mark_since > BLOCK_MARK_MASK)
        r->rules.mark_since = BLOCK_MARK_MASK; /* marks stop there */
    for (uint32_t i = 0; i < h->slabs; i++)
        open_slab(r, i);
    r->step = STEP_HELD;
    r->as = REACH_HELD;
    reach_flood(r);
    return r;
}

void reach_root(struct reach_scan *r, const uint64_t *words, uint64_t count, uint64_t at,
                uint32_t root)
{
    const uint64_t piece = 512; /* so that the stack need not hold all that a large root finds */
    r->words = words;
    r->words_at = at;
    r->root = root;
    for (uint64_t i = 0; i < count; i += piece) {
        uint64_t n = count - i < piece ? count - i : piece;
        reach_read(r, words + i, n, (at + i * 8) | WITNESS_ROOT);
        reach_flood(r);
    }
}

/* ---- owners ----------------------------------------------------------------------------------------- */

/* Counts an owner, and what is found behind it. */
static void own(struct reach_scan *r, uint64_t bit, enum reach as)
{
    struct reach_spot s = spot_of(r, bit);
    struct reach_block b = reach_look(r, s.slab, s.slot);
    struct reach_trail t = {WITNESS_NOBODY, 0};
    if (as != REACH_LOST)
        t = *reach_trail_of(r, s.slab, s.slot);
    bit_clear(r->open, bit);
    bit_clear(r->inside, bit);
    reach_count(r, &b, as, t);
    r->behind_blocks = 0;
    r->behind_bytes = 0;
    reach_push(r, (struct reach_found){0, s.slab, s.slot});
    reach_flood(r);
    reach_count_behind(r, &b, as, t);
}

/* All whose bit in r->inside is set; found behind another one, they lose it. */
static void own_all(struct reach_scan *r, enum reach as, enum reach behind)
{
    r->step = STEP_BEHIND;
    r->as = behind;
    for (uint64_t bit = r->bits; previous_bit(r->inside, &bit);)
        own(r, bit, as);
}

void reach_inside(struct reach_scan *r)
{
    for (uint64_t i = 0; i < r->bits / 64; i++) {
        r->inside[i] &= r->open[i];
        r->open[i] &= ~r->inside[i]; /* has its class: not to be found behind another one */
    }
    own_all(r, REACH_INTERIOR, REACH_BEHIND);
}

void reach_register(struct reach_scan *r, uint64_t value, uint32_t number, uint32_t thread)
{
    struct reach_spot s;
    if (!reach_locate(&r->heap, value, &s) || !bit_is_set(r->open, s.bit) || !reach_is_into(r, &s))
        return;
    bit_clear(r->open, s.bit);
    bit_set(r->inside, s.bit);
    *reach_trail_of(r, s.slab, s.slot) = (struct reach_trail){
        (uint64_t)number << 3 | WITNESS_REGISTER, trail_pointer(s.inside, thread)};
}

/* ---- what is lost ------------------------------------------------------------------------------------ */

/* (1): inside = another lost block points to it. */
static void count_led_to(struct reach_scan *r)
{
    r->step = STEP_COUNT;
    for (uint64_t bit = 0; next_bit(r->open, r->bits, &bit); bit++) {
        struct reach_spot s = spot_of(r, bit);
        struct reach_block b = reach_look(r, s.slab, s.slot);
        r->origin = bit;
        reach_read(r, reach_memory(b.start), b.request / 8, b.start | WITNESS_BLOCK);
        reach_see_all(r);
    }
}

/* (3): inside = not met; behind it, = candidate. */
static void find_candidates(struct reach_scan *r)
{
    r->step = STEP_CIRCLE;
    memcpy(r->inside, r->open, r->bits / 8);
    for (uint64_t bit = 0; next_bit(r->inside, r->bits, &bit); bit++) {
        struct reach_spot s = spot_of(r, bit);
        bit_clear(r->inside, bit);
        r->origin = bit;
        reach_push(r, (struct reach_found){0, s.slab, s.slot});
        reach_flood(r);
        bit_set(r->inside, bit); /* a later one that leads to it takes it away again */
    }
}

void reach_lost(struct reach_scan *r)
{
    own_all(r, REACH_REGISTER, REACH_BEHIND);
    count_led_to(r);
    for (uint64_t i = 0; i < r->bits / 64; i++) {
        r->inside[i] = r->open[i] & ~r->inside[i];
        r->open[i] &= ~r->inside[i];
    }
    own_all(r, REACH_LOST, REACH_LOST_BEHIND);
    find_candidates(r);
    own_all(r, REACH_CIRCLE, REACH_LOST_BEHIND);
}
