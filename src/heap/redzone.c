/*
 * redzone.c - detection of writes outside of blocks and to freed blocks: the rare paths of
 * redzone.h.
 *
 * Attribution: bytes that changed from the block's end on are a write past its end.  Bytes that
 * changed at the end of the slack, but not at its start, are a write before the right neighbour.
 * If the slack is a few bytes, this is a guess in favour of a write past the end, by far the more
 * frequent.
 *
 * Slack of a live block is not repaired: the program may read again what it wrote there.  A table
 * of reported blocks prevents that the same damage is reported twice.
 */
#include "mutant.h"
#include "heap_priv.h"

#include <string.h>

/* entries for live blocks with reported damage; a collision causes a second report */
#define REPORTED_SLOTS 256u

struct span {
    const char *first, *end; /* first == NULL: empty */
};

static _Atomic uint64_t reported[REPORTED_SLOTS];

static _Atomic uint64_t *reported_slot(const void *block)
{
    return &reported[((uintptr_t)block >> 4) * 0x9e3779b97f4a7c15ull >> 56];
}

static uint64_t reported_word(const void *block, uint64_t word)
{
    return (uintptr_t)block << 6 | word_generation(word);
}

/* Mark the block's damage as reported; true: it was not yet. */
static bool mark_reported(const void *block, uint64_t word)
{
    uint64_t subject = reported_word(block, word);
    return atomic_exchange_explicit(reported_slot(block), subject, memory_order_relaxed) != subject;
}

/* The damage was repaired: later damage is new. */
static void clear_reported(const void *block)
{
    atomic_store_explicit(reported_slot(block), 0, memory_order_relaxed);
}

/* ---- patterns -------------------------------------------------------------------------------- */

#define BYTE_REPEATED 0x0101010101010101ull
#define REDZONE_WORD (REDZONE_BYTE * BYTE_REPEATED)

/* The word that is read at `offset` from where `word` is repeated. */
static uint64_t word_at(uint64_t word, uint64_t offset)
{
    unsigned bits = (unsigned)offset * 8;
    return word >> (bits & 63) | word << (-bits & 63);
}

/* Length of the prefix in which `word` is repeated, in whole steps of 16 bytes. */
static ptrdiff_t whole_bytes(const char *from, const char *to, uint64_t word)
{
    const char *p = from;
    vector wanted = vector_of_word(word);
    for (; to - p >= 16; p += 16) {
        vector same = vector_same(vector_at(p), wanted);
        if (!vector_is_all(same))
            break;
    }
    return p - from;
}

/* From the first to the last byte that differs from `word`, which is repeated from `from`. */
static struct span differ(const char *from, const char *to, uint64_t word)
{
    struct span s = {0};
    for (const char *p = from + whole_bytes(from, to, word); p < to; p++)
        if ((uint8_t)*p != (uint8_t)word_at(word, (uint64_t)(p - from))) {
            s.first = s.first ? s.first : p;
            s.end = p + 1;
        }
    return s;
}

static vector same_at(const char *p, uint64_t at, vector wanted)
{
    return vector_same(vector_at(p + at), wanted);
}

static vector same_at_four(const char *p, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                           vector wanted)
{
    return vector_and(vector_and(same_at(p, a, wanted), same_at(p, b, wanted)),
                      vector_and(same_at(p, c, wanted), same_at(p, d, wanted)));
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Do all n bytes (n > 15) match `wanted`?  In steps of 64 bytes, backwards from the end. */
static bool are_all(const char *p, uint64_t n, vector wanted)
{
    uint64_t last = n - 16;
    vector same = same_at_four(p, 0, least(last, 16), least(last, 32), least(last, 48), wanted);
    for (const char *end = p + n; end - p > 64; end -= 64)
        same = vector_and(same, same_at_four(end - 64, 0, 16, 32, 48, wanted));
    return vector_is_all(same);
}

static struct span join(struct span a, struct span b)
{
    if (!a.first || !b.first)
        return a.first ? a : b;
    return (struct span){a.first, b.end};
}

/* Bytes that redzone_put writes besides the tail. */
static uint64_t more_bytes(uint32_t slot_bytes, uint64_t request)
{
    uint64_t slack = slot_bytes - request;
    return slack <= REDZONE_TAIL ? 0 : least(slack - REDZONE_TAIL, pool_knobs.redzone_reach);
}

void redzone_put_more(void *slot, uint32_t slot_bytes, uint64_t request)
{
    memset((char *)slot + request, REDZONE_BYTE, more_bytes(slot_bytes, request));
}

/* The slack is larger than the tail. */
bool redzone_is_intact_wide(const void *slot, uint32_t slot_bytes, uint64_t request)
{
    const char *p = slot;
    uint64_t slack = slot_bytes - request;
    if (slack > pool_knobs.redzone_reach &&
        !are_all(p + slot_bytes - REDZONE_TAIL, REDZONE_TAIL, redzone_pattern()))
        return false;
    return are_all(p + request, least(slack, pool_knobs.redzone_reach), redzone_pattern());
}

static struct span slack_damage(const char *slot, uint32_t slot_bytes, uint64_t request)
{
    const char *tail = slot + slot_bytes - REDZONE_TAIL, *end = slot + request;
    return join(differ(end, end + more_bytes(slot_bytes, request), REDZONE_WORD),
                differ(end > tail ? end : tail, slot + slot_bytes, REDZONE_WORD));
}

static void slack_repair(char *slot, uint32_t slot_bytes, uint64_t request)
{
    uint64_t slack = slot_bytes - request, tail = slack < REDZONE_TAIL ? slack : REDZONE_TAIL;
    redzone_put_more(slot, slot_bytes, request);
    memset(slot + slot_bytes - tail, REDZONE_BYTE, tail);
}

void redzone_width(uint32_t bytes)
{
    pool_knobs.redzone_bytes = bytes;
    pool_knobs.redzone_reach = SLOT_BYTES_MAX;
    pool_knobs.redzone_tail = bytes > REDZONE_TAIL ? bytes : REDZONE_TAIL;
}

void redzone_put_border(void *slot)
{
    memset((char *)slot - pool_knobs.redzone_tail, REDZONE_BYTE, pool_knobs.redzone_tail);
}

static struct span border_damage(const char *slot)
{
    return differ(slot - pool_knobs.redzone_tail, slot, REDZONE_WORD);
}

bool redzone_border_is_intact(const void *slot)
{
    return !border_damage(slot).first;
}

/* ---- large blocks ---------------------------------------------------------------------------- */

static uint64_t large_width(void)
{
    return pool_knobs.redzone_bytes > LARGE_REACH ? pool_knobs.redzone_bytes : LARGE_REACH;
}

static uint64_t large_reach(const struct found *f, uint64_t request)
{
    return least(large_end_byte(f->head) - note_of(f->head)->lead - request, large_width());
}

static uint64_t before_large_bytes(const struct unit *head)
{
    return least(note_of(head)->lead - large_first_byte(head), large_width());
}

void redzone_put_before_large(const struct unit *head)
{
    uint64_t bytes = before_large_bytes(head);
    memset((char *)large_start_of(head) - bytes, REDZONE_BYTE, bytes);
}

void redzone_put_large(const struct found *f, void *block, uint64_t request)
{
    memset((char *)block + request, REDZONE_BYTE, large_reach(f, request));
}

void redzone_move(void *slot, uint32_t class, uint64_t request)
{
    slack_repair(slot, size_class[class].slot_bytes, request);
}

/* ---- neighbours ------------------------------------------------------------------------------ */

struct neighbour {
    bool exists;
    char *block;
    uint64_t request, word, stacks;
};

static struct neighbour neighbour_of(const struct found *f, void *block, int step,
                                     uint32_t write_epoch)
{
    const struct size_class *c = &size_class[f->kind - 1];
    struct neighbour n = {.exists = step < 0 ? f->slot > 0 : f->slot + 1u < c->slots};
    if (!n.exists)
        return n;
    struct found g = *f;
    g.slot = (uint32_t)((int)f->slot + step);
    n.block = (char *)block + (ptrdiff_t)step * (ptrdiff_t)c->slot_bytes;
    n.exists = block_read(pool_look(&g, write_epoch), &n.word, &n.stacks);
    n.request = word_size(n.word);
    return n;
}

static void describe_damage(struct damage *out, enum error_damage where, const struct neighbour *of,
                            struct span span)
{
    uint64_t bytes = (uint64_t)(span.end - span.first);
    *out = (struct damage){.where = where,
                           .first = span.first,
                           .bytes = bytes,
                           .block = of->block,
                           .request = of->request,
                           .word = of->word,
                           .stacks = of->stacks};
    memcpy(out->found, span.first, bytes < sizeof out->found ? bytes : sizeof out->found);
}

/* ---- slabs ----------------------------------------------------------------------------------- */

/*
 * The bytes between two blocks have changed. Which of them was meant is a guess: the other one's
 * allocation is kept, too.
 */
static void describe_between(struct damage *out, bool from_right, const struct neighbour *left,
                             const struct neighbour *right, struct span span)
{
    const struct neighbour *other = from_right ? left : right;
    describe_damage(out, from_right ? DAMAGE_BEFORE : DAMAGE_AFTER, from_right ? right : left,
                    span);
    if (other->exists && word_is_known(other->word))
        out->other_stacks = other->stacks;
}

/*
 * The slack of `subject` has changed: was the write past its end, or before the right neighbour? The
 * nearer block is meant.
 */
static void check_slack(const struct found *f, const struct neighbour *subject, struct span span,
                        uint32_t write_epoch, struct damage *out)
{
    const char *slot_end = subject->block + size_class[f->kind - 1].slot_bytes;
    struct neighbour right = neighbour_of(f, subject->block, 1, write_epoch);
    const char *end = subject->block + subject->request;
    bool from_right =
        slot_end - span.end < span.first - end && right.exists && word_is_known(right.word);
    describe_between(out, from_right, subject, &right, span);
}

/* Repair the byte before `subject`.  It is redzone in every state of the slot that contains it. */
static void repair_before(const struct neighbour *subject)
{
    subject->block[-1] = (char)REDZONE_BYTE;
}

/* The byte before `subject` has changed: attribute it to `subject` or to the left neighbour. */
static bool check_left(const struct found *f, const struct neighbour *subject, uint32_t write_epoch,
                       bool repair, struct damage *out)
{
    uint32_t slot_bytes = size_class[f->kind - 1].slot_bytes;
    if (f->slot == 1) {
        struct span span = border_damage(subject->block);
        describe_damage(out, DAMAGE_BEFORE, subject, span);
        redzone_put_border(subject->block);
        return true;
    }
    struct neighbour left = neighbour_of(f, subject->block, -1, write_epoch);
    if (!left.exists || word_state(left.word) == BLOCK_INHERITED)
        return false;
    if (word_is_known(left.word)) {
        struct span span = slack_damage(left.block, slot_bytes, left.request);
        bool from_left = span.first == left.block + left.request;
        if (!span.first || !mark_reported(left.block, left.word))
            return false;
        describe_between(out, !from_left, &left, subject, span);
        if (repair && word_state(left.word) == BLOCK_FREED && span.end - span.first == 1) {
            repair_before(subject);
            clear_reported(left.block);
        }
        return true;
    }
    struct span span = differ(subject->block - REDZONE_TAIL, subject->block, REDZONE_WORD);
    /* the bytes before the last one may not be redzone */
    if (span.end - span.first != 1)
        span.first = subject->block - 1;
    describe_damage(out, DAMAGE_BEFORE, subject, span);
    repair_before(subject);
    return true;
}

static bool look(const struct found *f, const struct neighbour *subject, uint32_t write_epoch,
                 bool repair, struct damage *out)
{
    uint32_t slot_bytes = size_class[f->kind - 1].slot_bytes;
    struct span span =
        slack_damage(subject->block, slot_bytes, MUTANT(NO_AFTER) ? slot_bytes : subject->request);
    bool fresh = span.first && mark_reported(subject->block, subject->word);
    if (fresh)
        check_slack(f, subject, span, write_epoch, out);
    if (span.first && repair) {
        slack_repair(subject->block, slot_bytes, subject->request);
        clear_reported(subject->block);
    }
    if (fresh)
        return true;
    bool left_is_whole = f->slot == 1 ? redzone_border_is_intact(subject->block)
                                      : (uint8_t)subject->block[-1] == REDZONE_BYTE;
    return !left_is_whole && !MUTANT(NO_BEFORE) && check_left(f, subject, write_epoch, repair, out);
}

COLD bool slot_damage(const struct found *f, void *block, uint64_t request, uint64_t word,
                      uint64_t stacks, uint32_t write_epoch, struct damage *out)
{
    struct neighbour subject = {true, block, request, word, stacks};
    return look(f, &subject, write_epoch, false, out);
}

COLD bool redzone_damage(const struct found *f, void *block, uint64_t request, uint64_t was,
                         uint32_t write_epoch, struct damage *out)
{
    struct neighbour subject = {true, block, request, was, 0};
    uint64_t now;
    if (!block_read(pool_look(f, write_epoch), &now, &subject.stacks))
        subject.stacks = 0;
    return look(f, &subject, write_epoch, true, out);
}

static bool damage_after_large(const struct found *f, void *block, uint64_t request, uint64_t was,
                               struct damage *out)
{
    const char *end = (char *)block + request;
    struct span span = differ(end, end + large_reach(f, request), REDZONE_WORD);
    struct neighbour subject = {true, block, request, was, 0};
    uint64_t now;
    if (!span.first || MUTANT(NO_AFTER))
        return false;
    block_read(pool_look(f, 0), &now, &subject.stacks);
    describe_damage(out, DAMAGE_AFTER, &subject, span);
    return true;
}

static bool damage_before_large(const struct found *f, void *block, uint64_t request, uint64_t was,
                                struct damage *out)
{
    const char *start = block;
    struct span span = differ(start - before_large_bytes(f->head), start, REDZONE_WORD);
    struct neighbour subject = {true, block, request, was, 0};
    uint64_t now;
    if (!span.first || MUTANT(NO_BEFORE))
        return false;
    block_read(pool_look(f, 0), &now, &subject.stacks);
    describe_damage(out, DAMAGE_BEFORE, &subject, span);
    return true;
}

COLD bool redzone_damage_large(const struct found *f, void *block, uint64_t request, uint64_t was,
                               struct damage *out)
{
    if (damage_after_large(f, block, request, was, out)) {
        redzone_put_large(f, block, request);
        return true;
    }
    if (!damage_before_large(f, block, request, was, out))
        return false;
    redzone_put_before_large(f->head);
    return true;
}

/* ---- freed blocks ---------------------------------------------------------------------------- */

static void put_up_to_16(char *p, uint64_t n, uint64_t word)
{
    uint64_t last = word_at(word, n);
    if (n >= 8) {
        memcpy(p, &word, 8);
        memcpy(p + n - 8, &last, 8);
        return;
    }
    for (; n; word >>= 8, n--)
        *p++ = (char)word;
}

/* Repeat the word from `p` on; n > 15. */
ALWAYS_INLINE void put_vectors(char *p, uint64_t n, uint64_t word)
{
    vector words = vector_of_word(word), last = vector_of_word(word_at(word, n));
    char *end = p + n - 16;
    for (; end - p > 48; p += 64) {
        vector_put(p, words);
        vector_put(p + 16, words);
        vector_put(p + 32, words);
        vector_put(p + 48, words);
    }
    if (p < end)
        vector_put(p, words);
    if (end - p > 16) {
        vector_put(p + 16, words);
        vector_put(end - 16, last);
    }
    vector_put(end, last);
}

static void put_words(char *p, uint64_t n, uint64_t word)
{
    if (n < 16)
        put_up_to_16(p, n, word);
    else
        put_vectors(p, n, word);
}

/* Is the word repeated in all n bytes (n > 15)?  In steps of 64 bytes, backwards from the end. */
static bool are_words(const char *p, uint64_t n, uint64_t word)
{
    vector words = vector_of_word(word), last = vector_of_word(word_at(word, n));
    if (n < 64) {
        vector same = same_at(p, n - 16, last);
        for (uint64_t at = 0; at + 16 < n; at += 16)
            same = vector_and(same, same_at(p, at, words));
        return vector_is_all(same);
    }
    vector same = same_at_four(p, 0, 16, 32, 48, words);
    for (const char *end = p + n; end - p > 64; end -= 64)
        same = vector_and(same, same_at_four(end - 64, 0, 16, 32, 48, last));
    return vector_is_all(same);
}

void fill_put_new(void *block, uint64_t request)
{
    if (pool_knobs.malloc_fill == FILL_OF_BLOCK)
        put_words(block, request, fill_word_of(FILL_TAG_NEW, (uintptr_t)block));
    else
        memset(block, pool_knobs.malloc_fill, request);
}

void fill_put_grown(void *block, uint64_t from, uint64_t request)
{
    uint64_t word = pool_knobs.malloc_fill == FILL_OF_BLOCK
                        ? fill_word_of(FILL_TAG_NEW, (uintptr_t)block)
                        : (uint8_t)pool_knobs.malloc_fill * BYTE_REPEATED;
    for (uint64_t at = from; at < request; at++)
        ((uint8_t *)block)[at] = (uint8_t)(word >> at % sizeof word * 8);
}

void fill_put(void *block, uint64_t request)
{
    uint64_t word = fill_word(block);
    if (pool_knobs.free_fill < 0)
        return;
    if (request <= FILL_WHOLE) {
        put_words(block, request, word);
        return;
    }
    put_words(block, FILL_ENDS, word);
    put_words((char *)block + request - FILL_ENDS, FILL_ENDS, word_at(word, request));
}

bool fill_is_intact(const void *block, uint64_t request)
{
    const char *p = block;
    uint64_t word = fill_word(block);
    if (pool_knobs.free_fill < 0)
        return true;
    if (request < 16)
        return !differ(p, p + request, word).first;
    if (request <= FILL_WHOLE)
        return are_words(p, request, word);
    return are_words(p, FILL_ENDS, word) &&
           are_words(p + request - FILL_ENDS, FILL_ENDS, word_at(word, request));
}

struct freed_pattern freed_pattern;

void freed_pattern_start(void)
{
    struct freed_pattern *f = &freed_pattern;
    bool of_block = pool_knobs.free_fill == FILL_OF_BLOCK;
    memset(f->select, 0xff, REDZONE_TAIL);
    f->word =
        of_block ? fill_word_of(FILL_TAG_FREED, 0) : (uint8_t)pool_knobs.free_fill * BYTE_REPEATED;
    f->of_block = of_block ? UINT64_MAX : 0;
    f->slot_max = pool_knobs.free_fill < 0 ? 0 : FREED_SLOT_MAX;
}

/* `same`, less the bytes that differ in a vector of [at, end). */
ALWAYS_INLINE vector add_same(vector same, const char *slot, uint64_t at, uint64_t end,
                              vector wanted)
{
    for (; end - at >= 64; at += 64)
        same = vector_and(same, freed_same_four(slot, wanted, at, at + 16, at + 32, at + 48));
    for (; at < end; at += 16)
        same = vector_and(same, freed_same(slot, at, wanted));
    return same;
}

/* With more than one vector of redzone. */
static bool freed_is_intact_wide(const char *slot, uint32_t slot_bytes, uint64_t request)
{
    vector fill = vector_of_word(fill_word(slot));
    uint64_t border = request & ~15ull;
    vector same = freed_same_last(slot, border, request, fill);
    same = add_same(same, slot, 0, border, fill);
    return vector_is_all(add_same(same, slot, border + 16, slot_bytes, redzone_pattern()));
}

bool freed_is_intact_slow(const void *slot, uint32_t slot_bytes, uint64_t request)
{
    if (slot_bytes <= freed_pattern.slot_max)
        return freed_is_intact_wide(slot, slot_bytes, request);
    return redzone_is_intact_after(slot, slot_bytes, request) && fill_is_intact(slot, request);
}

COLD bool fill_damage(const void *block, uint64_t request, uint64_t word, uint64_t stacks,
                      struct damage *out)
{
    uint64_t ends = request <= FILL_WHOLE ? request : FILL_ENDS, fill = fill_word(block);
    const char *p = block;
    struct span span = differ(p, p + ends, fill);
    struct neighbour subject = {true, (char *)(uintptr_t)block, request, word, stacks};
    if (request > FILL_WHOLE)
        span = join(span, differ(p + request - FILL_ENDS, p + request, word_at(fill, request)));
    if (!span.first || MUTANT(NO_FILL))
        return false;
    describe_damage(out, DAMAGE_INSIDE, &subject, span);
    return true;
}

/* Check a large block that is live or still filled. */
COLD bool large_damage(struct unit *head, uint64_t request, uint64_t word, uint64_t stacks,
                       struct damage *out)
{
    struct found f = {PTR_START, head, UNIT_LARGE, 0, 0};
    void *block = (void *)large_start_of(head);
    if (damage_after_large(&f, block, request, word, out) ||
        damage_before_large(&f, block, request, word, out))
        return true;
    return word_state(word) == BLOCK_FREED && !fill_is_intact(block, request) &&
           fill_damage(block, request, word, stacks, out);
}

/* ---- slots that were never allocated --------------------------------------------------------- */

/* Attribute the damage to the nearest block to the left: probably its end was passed. */
static bool blame_left(const struct found *f, const char *slot, struct span span,
                       struct damage *out)
{
    uint32_t slot_bytes = size_class[f->kind - 1].slot_bytes;
    for (struct found g = *f; g.slot-- > 1;) {
        slot -= slot_bytes;
        struct neighbour left = {.block = (char *)(uintptr_t)slot};
        left.exists = block_read(pool_look(&g, 0), &left.word, &left.stacks);
        if (!left.exists || !word_is_known(left.word))
            continue;
        left.request = word_size(left.word);
        describe_damage(out, DAMAGE_AFTER, &left, span);
        return !MUTANT(NO_AFTER) && mark_reported(left.block, left.word);
    }
    return false;
}

bool never_damage(const struct found *f, const void *slot, struct damage *out)
{
    uint32_t slot_bytes = size_class[f->kind - 1].slot_bytes, from = f->slot * slot_bytes;
    uint32_t filled = atomic_load_explicit(&note_of(f->head)->filled, memory_order_acquire);
    if (filled < from + 16 || filled == NEVER_FORGOTTEN)
        return false;
    uint64_t bytes = least(filled - from, slot_bytes);
    if (likely(are_all(slot, bytes, redzone_pattern())))
        return false;
    return blame_left(f, slot, differ(slot, (const char *)slot + bytes, REDZONE_WORD), out);
}
