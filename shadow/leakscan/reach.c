/*
 * reach.c - classify blocks by reachability (mark phase): the steps and their order.
 *
 * Each live block gets one class.  The result does not depend on the order of roots, registers or
 * addresses:
 *
 *   REACHABLE      a chain of pointers to starts leads to it from a root or a BLOCK_FLAG_ROOT block
 *   INTERIOR       else: a root or a REACHABLE block has a pointer to its inside
 *   INDIRECT       else: a chain of any pointers leads to it from an INTERIOR block
 *   REGISTER       else: a register has a pointer to it
 *   INDIRECT       else: a chain of any pointers leads to it from a REGISTER block
 *   LOST           else: no other unclassified block points to it
 *   CYCLE          else: the lowest address of a cycle (SCC) without a pointer from outside of it
 *   LOST_INDIRECT  else (indirectly lost): a LOST or CYCLE block leads to it
 *
 * So a block with an interior pointer from a REACHABLE block is INTERIOR even if another INTERIOR
 * block leads to it: its own pointer has to be reported.  INTERIOR, REGISTER, LOST and CYCLE blocks
 * are owners.  An indirect block is counted for one owner that leads to it: among several of a
 * class for the one at the highest address, and for LOST before CYCLE.
 *
 * Classifying lost blocks takes four walks, each of which reads a block once or twice.
 *
 *   - (1) Find the blocks that another lost block points to.  All others are LOST.
 *   - (2) Blocks reachable from LOST blocks are LOST_INDIRECT.  Each remaining block has a
 *     predecessor, so each is reachable from a cycle.
 *   - (3) In ascending order of addresses, walk from each block not visited yet.  It becomes a
 *     candidate: only later walks can reach it.
 *   - (4) In descending order, a candidate that no later candidate has reached is reached only by
 *     blocks that it reaches itself.  Such a set is a source SCC.  Walk (3) started at its lowest
 *     block, because no walk from outside can have visited it before.
 *
 * Inherited blocks are traversed like others but not counted.  The group of an inherited owner has
 * no own block, only the indirect blocks.
 *
 * Three bits for each block hold the state: open (live, not classified), inside, and waiting
 * (mark.c).  `inside` has a different meaning in each step: has an interior pointer; in a
 * register; pointed to by another lost block; not visited by walk (3), then candidate.  Blocks with
 * this bit set at the start of own_all are the owners.
 */
#include "leakscan_priv.h"

#include <string.h>

/* ---- scratch --------------------------------------------------------------------------------- */

/* Offsets of the parts of the scratch memory. */
struct layout {
    uint64_t unit;
    uint64_t kind;
    uint64_t kind_at;
    uint64_t kind_of;
    uint64_t open;
    uint64_t inside;
    uint64_t waiting;
    uint64_t trail;
    uint64_t group_of;
    uint64_t group;
    uint64_t queue; /* takes all remaining bytes */
    uint64_t bits;
    uint64_t group_slots;
    uint64_t groups;
    uint64_t kinds;
    uint64_t kind_slots;
};

static struct layout layout_of(const struct reach_heap *h)
{
    struct layout l;
    uint64_t groups = ((uint64_t)h->stacks + 1) * REACH_COUNT;
    if (groups > h->slots)
        groups = h->slots;
    l.groups = groups + 2 * REACH_COUNT; /* groups of stack 0 always fit */
    l.group_slots = 2ull << log2_floor(l.groups * 2);
    l.kinds = reach_kinds_most(h);
    l.kind_slots = 2ull << log2_floor(l.kinds);
    l.bits = align_up((uint64_t)h->slots + 1, 64);
    l.unit = align_up(sizeof(struct reach_scan), 64);
    l.kind = align_up(l.unit + (h->bytes >> RTC_UNIT_SHIFT) * sizeof(struct reach_unit), 64);
    l.kind_at = l.kind + l.kinds * sizeof(struct reach_kind);
    l.kind_of = l.kind_at + l.kind_slots * sizeof(uint16_t);
    l.open = align_up(l.kind_of + (uint64_t)h->slots * sizeof(uint16_t), 64);
    l.inside = l.open + l.bits / 8;
    l.waiting = l.inside + l.bits / 8;
    l.trail = align_up(l.waiting + l.bits / 8, 64);
    l.group_of = l.trail + (uint64_t)h->slots * sizeof(struct reach_trail);
    l.group = l.group_of + l.group_slots * sizeof(uint32_t);
    l.queue = align_up(l.group + l.groups * sizeof(struct leak_group), 64);
    return l;
}

/* Capacity of the queue.  With more blocks, reading in address order is faster. */
static uint64_t queue_enough(const struct reach_heap *h)
{
    return 1ull << log2_floor(h->slots / 1024 + 2048);
}

uint64_t reach_room(const struct reach_heap *h, bool least)
{
    return layout_of(h).queue + (least ? 1 : queue_enough(h)) * sizeof(struct reach_found);
}

static void lay_out_parts(struct reach_scan *r, const struct layout *l, uint64_t bytes)
{
    char *base = (char *)r;
    r->unit = (struct reach_unit *)(void *)(base + l->unit);
    r->kind = (struct reach_kind *)(void *)(base + l->kind);
    r->kind_at = (uint16_t *)(void *)(base + l->kind_at);
    r->kind_mask = (uint32_t)(l->kind_slots - 1);
    r->kinds_max = (uint32_t)(l->kinds - 1);
    r->kind_of = (uint16_t *)(void *)(base + l->kind_of);
    r->open = (uint64_t *)(void *)(base + l->open);
    r->inside = (uint64_t *)(void *)(base + l->inside);
    r->waiting = (uint64_t *)(void *)(base + l->waiting);
    r->bits = l->bits;
    r->trail = (struct reach_trail *)(void *)(base + l->trail);
    r->group_of = (uint32_t *)(void *)(base + l->group_of);
    r->group = (struct leak_group *)(void *)(base + l->group);
    r->queue = (struct reach_found *)(void *)(base + l->queue);
    uint64_t queue = (bytes - l->queue) / sizeof *r->queue;
    r->queue_mask =
        (queue < queue_enough(&r->heap) ? 1ull << log2_floor(queue) : queue_enough(&r->heap)) - 1;
    r->many = l->bits / 256 + 1;
    r->group_mask = (uint32_t)(l->group_slots - 1);
    r->groups_max = (uint32_t)l->groups;
}

/* ---- bits in ascending and descending order -------------------------------------------------- */

/* The first bit set in [*at, end); `end` is a multiple of 64. */
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

/* The last bit set in [0, *at). */
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

/* ---- slots ----------------------------------------------------------------------------------- */

static bool is_in(const struct reach_slab *slab, uint64_t slot)
{
    return slot - slab->first < slab->slots;
}

/* The last slab whose first slot is at most this one. */
static uint32_t search_slab(const struct reach_heap *h, uint64_t slot)
{
    uint32_t low = 0, high = h->slabs;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (h->slab[middle].first <= slot)
            low = middle;
        else
            high = middle;
    }
    return low;
}

const struct reach_slab *reach_slab_of(struct reach_scan *r, uint64_t slot)
{
    const struct reach_slab *all = r->heap.slab;
    if (r->slab + 1 < r->heap.slabs && is_in(&all[r->slab + 1], slot))
        r->slab++;
    else if (!is_in(&all[r->slab], slot))
        r->slab = search_slab(&r->heap, slot);
    return &all[r->slab];
}

/* The start of the block in this slot. */
static struct reach_spot spot_of(struct reach_scan *r, uint64_t slot)
{
    const struct reach_slab *slab = reach_slab_of(r, slot);
    return (struct reach_spot){slot, slab->start + (slot - slab->first) * slab->slot_bytes, 0};
}

bool reach_locate_by_unit(const struct reach_heap *h, uint64_t address, struct reach_spot *s)
{
    uint32_t number = h->slab_of_unit[(address - h->base) >> RTC_UNIT_SHIFT];
    if (!number)
        return false;
    const struct reach_slab *slab = h->slab + (number - 1);
    if (address < slab->start) /* the left redzone of a large block */
        return false;
    uint64_t in_slab = address - slab->start;
    uint64_t slot = slab->slot_bytes ? (in_slab >> 4) * slab->magic >> 32 : 0;
    if (slot >= slab->slots)
        return false;
    s->slot = slab->first + slot;
    s->inside = in_slab - slot * slab->slot_bytes;
    s->start = address - s->inside;
    return true;
}

bool reach_locate_slow(const struct reach_heap *h, uint64_t address, struct reach_spot *s)
{
    return (h->client_slabs && reach_client_at(h, address, s)) ||
           reach_locate_by_unit(h, address, s);
}

/* Index in the table of shapes; 0: a large block, or the table is full. */
static uint16_t shape_of(struct reach_scan *r, const struct reach_slab *slab)
{
    for (uint16_t i = 1; i < SHAPES && slab->slot_bytes; i++) {
        struct reach_shape *s = &r->shape[i];
        if (!s->slots)
            *s = (struct reach_shape){slab->magic, slab->slot_bytes, slab->slots};
        if (s->slot_bytes == slab->slot_bytes && s->slots == slab->slots)
            return i;
    }
    return 0;
}

static void note_units(struct reach_scan *r)
{
    for (uint64_t i = 0; i < r->heap.bytes >> RTC_UNIT_SHIFT; i++) {
        uint32_t number = r->heap.slab_of_unit[i];
        if (!number)
            continue;
        const struct reach_slab *slab = &r->heap.slab[number - 1];
        uint64_t back = i - ((slab->start - r->heap.base) >> RTC_UNIT_SHIFT);
        if (back <= UINT16_MAX)
            r->unit[i] = (struct reach_unit){slab->first, (uint16_t)back, shape_of(r, slab)};
    }
}

#define FIELD(NAME) ((uint64_t)BLOCK_##NAME##_MASK << BLOCK_##NAME##_SHIFT)
#define NOTED (FIELD(STATE) | FIELD(MARK) | FIELD(SIZE)) /* fields of a record's word */

void reach_mark_reachable(struct reach_scan *r, uint64_t slot, uint64_t start)
{
    struct reach_spot s = {slot, start, 0};
    (void)reach_count(r, &s, COUNT_FOUND, (struct reach_trail){WITNESS_SELF, 0});
    reach_wait(r, slot);
}

static void open_slab(struct reach_scan *r, const struct reach_slab *slab)
{
    uint64_t word, stacks, last_word = 0, stack = 0; /* of the previous record: most are equal */
    uint16_t kind = 0;
    for (uint64_t slot = slab->first; slot < slab->first + slab->slots; slot++) {
        (void)block_read(reach_record_of(slab, slot), &word, &stacks);
        if (word_state(word) != BLOCK_LIVE && word_state(word) != BLOCK_INHERITED)
            continue;
        if ((word & NOTED) != last_word || stacks >> 32 != stack)
            kind = reach_kind(r, reach_note(r, slab, word, stacks));
        last_word = word & NOTED;
        stack = stacks >> 32;
        r->kind_of[slot] = kind;
        if (word_flags(word) & BLOCK_FLAG_ROOT)
            reach_mark_reachable(r, slot, slab->start + (slot - slab->first) * slab->slot_bytes);
        else
            bit_set(r->open, slot);
    }
}

struct reach_scan *reach_begin(void *scratch, uint64_t bytes, const struct reach_heap *h,
                               const struct reach_rules *rules)
{
    struct layout l = layout_of(h);
    struct reach_scan *r = scratch;
    if (bytes < reach_room(h, true))
        return NULL;
    r->heap = *h;
    r->rules = *rules;
    lay_out_parts(r, &l, bytes);
    if (r->rules.mark_since > BLOCK_MARK_MASK)
        r->rules.mark_since = BLOCK_MARK_MASK; /* marks saturate there */
    note_units(r);
    r->step = STEP_REACHABLE;
    r->as[COUNT_FOUND] = REACH_REACHABLE;
    for (uint32_t i = 0; i < h->slabs; i++)
        open_slab(r, &h->slab[i]);
    r->slow_bytes = h->client_slabs || h->hidden_count ? 0
                    : !r->rules.next_piece             ? UINT64_MAX
                    : r->rules.has_gaps                ? 1
                                                       : REACH_SPARSE_BYTES;
    if (!r->slow_bytes)
        reach_client_begin(r);
    return r;
}

void reach_root(struct reach_scan *r, const uint64_t *words, uint64_t count, uint64_t at,
                uint32_t root)
{
    uint64_t where = root ? at | WITNESS_ROOT : WITNESS_SELF;
    r->root = root;
    if (r->slow_bytes)
        reach_read(r, words, count, where);
    else
        reach_client_read(r, words, count, where);
    reach_locate_all(r);
    reach_flood(r);
}

void reach_live_register(struct reach_scan *r, uint64_t value, uint32_t number, uint32_t thread)
{
    r->root = thread;
    reach_enter(r, value, (uint64_t)number << 3 | WITNESS_REGISTER);
    reach_locate_all(r);
    reach_flood(r);
}

/* ---- owners ---------------------------------------------------------------------------------- */

/* Count an owner, and the blocks found from it. */
static void own(struct reach_scan *r, uint64_t bit)
{
    struct reach_spot s = spot_of(r, bit);
    struct reach_trail t = {WITNESS_NONE, 0};
    if (r->as[COUNT_OWNER] != REACH_LOST)
        t = r->trail[s.slot];
    bit_clear(r->open, bit);
    bit_clear(r->inside, bit);
    reach_push(r, &s, reach_count(r, &s, COUNT_OWNER, t));
    r->indirect_blocks = 0;
    r->indirect_bytes = 0;
    reach_flood(r);
    if (r->indirect_blocks)
        reach_count_indirect(r, &s, t);
}

/*
 * Process all blocks with their `inside` bit set as owners; a block found from another owner is
 * cleared.
 */
static void own_all(struct reach_scan *r, enum reach as, enum reach indirect)
{
    reach_settle(r);
    r->step = STEP_INDIRECT;
    r->as[COUNT_OWNER] = as;
    r->as[COUNT_FOUND] = indirect;
    for (uint64_t bit = r->bits; previous_bit(r->inside, &bit);)
        own(r, bit);
}

void reach_inside(struct reach_scan *r)
{
    reach_flood(r); /* without a root, blocks with BLOCK_FLAG_ROOT still wait */
    for (uint64_t i = 0; i < r->bits / 64; i++) {
        r->inside[i] &= r->open[i];
        r->open[i] &= ~r->inside[i]; /* classified: must not be found from another owner */
    }
    own_all(r, REACH_INTERIOR, REACH_INDIRECT);
}

void reach_register(struct reach_scan *r, uint64_t value, uint32_t number, uint32_t thread)
{
    struct reach_spot s;
    if (!reach_locate_anywhere(r, value, &s) || !bit_is_set(r->open, s.slot) ||
        !reach_is_into(r, &s))
        return;
    bit_clear(r->open, s.slot);
    bit_set(r->inside, s.slot);
    r->trail[s.slot] = (struct reach_trail){(uint64_t)number << 3 | WITNESS_REGISTER,
                                            trail_pointer(s.inside, thread)};
}

/* ---- lost blocks ----------------------------------------------------------------------------- */

/* (1): inside = another lost block points to it. */
static void count_led_to(struct reach_scan *r)
{
    r->step = STEP_COUNT;
    for (uint64_t bit = 0; next_bit(r->open, r->bits, &bit); bit++) {
        struct reach_spot s = spot_of(r, bit);
        struct reach_block b = reach_look(r, s.slot, s.start);
        reach_read_block(r, &b);
    }
    reach_flood(r); /* read the rest of the batch; no block is pushed */
}

/* (3): inside = not visited; below the current block: candidate. */
static void find_candidates(struct reach_scan *r)
{
    r->step = STEP_CYCLE;
    memcpy(r->inside, r->open, r->bits / 8);
    for (uint64_t bit = 0; next_bit(r->inside, r->bits, &bit); bit++) {
        struct reach_spot s = spot_of(r, bit);
        bit_clear(r->inside, bit);
        r->origin = bit;
        reach_push(r, &s, reach_look(r, s.slot, s.start).request);
        reach_flood(r);
        bit_set(r->inside, bit); /* a later walk that reaches it clears the bit */
    }
}

void reach_lost(struct reach_scan *r)
{
    own_all(r, REACH_REGISTER, REACH_INDIRECT);
    count_led_to(r);
    for (uint64_t i = 0; i < r->bits / 64; i++) {
        r->inside[i] = r->open[i] & ~r->inside[i];
        r->open[i] &= ~r->inside[i];
    }
    own_all(r, REACH_LOST, REACH_LOST_INDIRECT);
    find_candidates(r);
    own_all(r, REACH_CYCLE, REACH_LOST_INDIRECT);
    reach_settle(r);
}
