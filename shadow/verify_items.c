/*
 * verify_items.c - validation of segment items: a rule for each kind, as specified in records.h.
 *
 * An item is valid if a kill has left it marked as unfinished: readers skip it.
 */
#include "verify_priv.h"

#include <stdatomic.h>

/* Upper limit of unit numbers in a heap below 2^47. */
#define UNIT_LIMIT (1ull << (47 - RTC_UNIT_SHIFT))

#define BUILD_ID_MAX sizeof(((struct module_record *)0)->build_id)

static const void *item_at(const struct segment *s, uint32_t i)
{
    return (const char *)s + sizeof *s + (uint64_t)i * s->item_bytes;
}

static bool state_holds_block(enum block_state state)
{
    return state == BLOCK_LIVE || state == BLOCK_FREED;
}

static bool word_is_good(uint64_t word)
{
    return word_state(word) <= BLOCK_INHERITED && word_family(word) < FAMILY_COUNT;
}

static bool slab_is_good(const struct look *l, const struct segment *s)
{
    uint64_t used, end;

    if (s->slot_bytes == 0 || s->units == 0)
        return bad(l, s, "slab without slots or units");
    if (!checked_add(s->index, s->units, &end) || end > UNIT_LIMIT)
        return bad(l, s, "slab outside any heap");
    if (!checked_mul(s->capacity, s->slot_bytes, &used) || used > (uint64_t)s->units
                                                                      << RTC_UNIT_SHIFT)
        return bad(l, s, "slots do not fit the slab");
    if (atomic_load_explicit(&s->count, memory_order_relaxed) != s->capacity)
        return bad(l, s, "slab with missing records");
    return true;
}

static bool block_is_good(const struct look *l, const struct segment *s, uint32_t i)
{
    const struct block_record *b = item_at(s, i);
    uint64_t word = atomic_load_explicit(&b->word, memory_order_relaxed);

    if (!word_is_good(word))
        return bad(l, b, "block in an unknown state or family");
    if (state_holds_block(word_state(word)) && word_size(word) >= s->slot_bytes)
        return bad(l, b, "block leaves no redzone in its slot");
    return true;
}

static bool large_fits(const struct large_record *r)
{
    uint64_t request = atomic_load_explicit(&r->request, memory_order_relaxed);
    uint64_t end, bytes;

    return checked_add(r->unit, r->units, &end) && end <= UNIT_LIMIT &&
           checked_add(r->lead, request, &bytes) && bytes < r->units << RTC_UNIT_SHIFT;
}

static bool large_is_good(const struct look *l, const struct segment *s, uint32_t i)
{
    const struct large_record *r = item_at(s, i);
    uint64_t word = atomic_load_explicit(&r->block.word, memory_order_relaxed);

    if (!word_is_good(word))
        return bad(l, r, "large block in an unknown state or family");
    if (state_holds_block(word_state(word)) && !large_fits(r))
        return bad(l, r, "large block leaves no redzone in its units");
    return true;
}

static bool client_block_is_good(const struct look *l, const struct segment *s, uint32_t i)
{
    const struct client_block_record *r = item_at(s, i);
    uint64_t start = atomic_load_explicit(&r->start, memory_order_relaxed), end;

    if (!word_is_good(atomic_load_explicit(&r->block.word, memory_order_relaxed)))
        return bad(l, r, "recorded block in an unknown state or family");
    if (!checked_add(start, atomic_load_explicit(&r->bytes, memory_order_relaxed), &end))
        return bad(l, r, "recorded block beyond all memory");
    return true;
}

static bool chunk_is_good(const struct look *l, const struct segment *s)
{
    if (s->capacity > DEPOT_CHUNK_NODES || s->index >= 1ull << (32 - DEPOT_CHUNK_SHIFT))
        return bad(l, s, "depot chunk that no stack id can name");
    return true;
}

/* Parents have lower ids.  So every stack terminates, and readers need no cycle detection. */
static bool node_is_good(const struct look *l, const struct segment *s, uint32_t i)
{
    const struct depot_node *n = item_at(s, i);

    if (atomic_load_explicit(&n->pc, memory_order_relaxed) == 0 || depot_is_root(n->parent))
        return true;
    if (depot_index_of(n->parent) >= DEPOT_CHUNK_NODES)
        return bad(l, n, "depot node with an impossible parent");
    if (n->parent >= depot_id((uint32_t)s->index, i))
        return bad(l, n, "depot node older than its parent");
    return true;
}

static bool thread_is_good(const struct look *l, const struct segment *s, uint32_t i)
{
    const struct thread_record *t = item_at(s, i);

    if (!is_text(t->name, sizeof t->name))
        return bad(l, t, "thread name has no end");
    if (t->number > BLOCK_THREAD_MASK)
        return bad(l, t, "thread number that no block can name");
    return true;
}

static bool module_is_good(const struct look *l, const struct segment *s, uint32_t i)
{
    const struct module_record *m = item_at(s, i);

    if (m->start >= m->end)
        return bad(l, m, "module of no length");
    if (m->build_id_bytes > BUILD_ID_MAX)
        return bad(l, m, "build-id too long");
    if (!is_text(m->path, sizeof m->path))
        return bad(l, m, "module path has no end");
    return true;
}

static bool error_is_good(const struct look *l, const struct segment *s, uint32_t i)
{
    const struct error_record *e = item_at(s, i);

    if (atomic_load_explicit(&e->kind, memory_order_relaxed) == ERROR_NONE)
        return true; /* the writer was killed before it finished */
    if (e->block_state > BLOCK_INHERITED || e->block_family >= FAMILY_COUNT)
        return bad(l, e, "error about a block in an unknown state or family");
    if (e->found_bytes > ERROR_BYTES_FOUND)
        return bad(l, e, "error with more bytes than it has room for");
    if (!is_text(e->region_path, sizeof e->region_path))
        return bad(l, e, "path of an error's region has no end");
    return true;
}

/* No block can have this size; sums of groups cannot overflow. */
#define HEAP_BYTES_MAX (1ull << 47)

static bool lies_in_block(uint64_t address, uint64_t block, uint64_t bytes)
{
    return address >= block && address - block <= bytes; /* a pointer may be one past the end */
}

static bool witness_is_good(const struct leak_group *g)
{
    switch (g->witness) {
    case WITNESS_NONE:
    case WITNESS_SELF:
        return true;
    case WITNESS_ROOT:
        return g->root != 0 && lies_in_block(g->value, g->block, g->block_bytes);
    case WITNESS_BLOCK:
        return lies_in_block(g->at, g->from, g->from_bytes) &&
               lies_in_block(g->value, g->block, g->block_bytes);
    default:
        return g->witness < WITNESS_COUNT && lies_in_block(g->value, g->block, g->block_bytes);
    }
}

static bool sums_are_good(const struct leak_group *g)
{
    return g->bytes < HEAP_BYTES_MAX && g->blocks < HEAP_BYTES_MAX &&
           g->indirect_bytes < HEAP_BYTES_MAX && g->indirect_blocks < HEAP_BYTES_MAX &&
           g->new_blocks <= g->blocks && g->new_bytes <= g->bytes;
}

static bool leak_is_good(const struct look *l, const struct segment *s, uint32_t i)
{
    const struct leak_group *g = item_at(s, i);
    uint32_t reach = atomic_load_explicit(&g->reach, memory_order_relaxed);

    if (reach == REACH_NONE)
        return true; /* the writer was killed before it finished */
    if (reach >= REACH_COUNT)
        return bad(l, g, "blocks that are reached in an unknown way");
    if (!sums_are_good(g))
        return bad(l, g, "leak group with impossible sums");
    if (g->block_bytes >= HEAP_BYTES_MAX || g->from_bytes >= HEAP_BYTES_MAX)
        return bad(l, g, "leaked block larger than any");
    if (!witness_is_good(g))
        return bad(l, g, "leak group with an impossible witness");
    return true;
}

static bool root_is_good(const struct look *l, const struct segment *s, uint32_t i)
{
    const struct root_record *root = item_at(s, i);
    uint32_t kind = root->kind;

    if (kind == ROOT_NONE)
        return true;
    if (kind >= ROOT_KIND_COUNT)
        return bad(l, root, "root of an unknown kind");
    if (root->start >= root->end)
        return bad(l, root, "root of no length");
    if (!is_text(root->path, sizeof root->path))
        return bad(l, root, "path of a root has no end");
    return true;
}

static bool crash_is_good(const struct look *l, const struct segment *s, uint32_t i)
{
    const struct crash_record *c = item_at(s, i);

    if (c->registers > CRASH_REGISTERS)
        return bad(l, c, "crash with more registers than it has room for");
    if (!is_text(c->exception, sizeof c->exception))
        return bad(l, c, "exception of a crash has no end");
    return true;
}

static bool leak_check_is_good(const struct look *l, const struct segment *s, uint32_t i)
{
    const struct leak_check_record *check = item_at(s, i);
    uint32_t number = atomic_load_explicit(&check->number, memory_order_relaxed);

    if (number != 0 && number != s->index)
        return bad(l, check, "leak check with another's number");
    return true;
}

static bool text_is_good(const struct look *l, const struct segment *s, uint32_t i)
{
    const struct text_record *text = item_at(s, i);

    if (!is_text(text->text, sizeof text->text))
        return bad(l, text, "text has no end");
    return true;
}

static bool object_is_good(const struct look *l, const struct segment *s, uint32_t i)
{
    const struct object_record *o = item_at(s, i);

    if (!is_text(o->path, sizeof o->path))
        return bad(l, o, "object's path has no end");
    if (o->build_id_bytes > sizeof o->build_id)
        return bad(l, o, "object's build-id is too long");
    return true;
}

/*
 * Marks and costs may have any values.  A kill may leave half-written ranges, which readers skip.
 */
static const struct item_rule {
    uint16_t least; /* least item size; a later minor version may have longer items */
    bool (*item_is_good)(const struct look *l, const struct segment *s,
                         uint32_t i);                                       /* NULL: any is valid */
    bool (*segment_is_good)(const struct look *l, const struct segment *s); /* NULL: any is valid */
} item_rules[] = {
    [SEGMENT_SLAB] = {sizeof(struct block_record), block_is_good, slab_is_good},
    [SEGMENT_LARGE] = {sizeof(struct large_record), large_is_good, NULL},
    [SEGMENT_DEPOT] = {sizeof(struct depot_node), node_is_good, chunk_is_good},
    [SEGMENT_THREADS] = {sizeof(struct thread_record), thread_is_good, NULL},
    [SEGMENT_MODULES] = {sizeof(struct module_record), module_is_good, NULL},
    [SEGMENT_ERRORS] = {sizeof(struct error_record), error_is_good, NULL},
    [SEGMENT_LEAKS] = {sizeof(struct leak_group), leak_is_good, NULL},
    [SEGMENT_ROOTS] = {sizeof(struct root_record), root_is_good, NULL},
    [SEGMENT_LEAK_CHECKS] = {sizeof(struct leak_check_record), leak_check_is_good, NULL},
    [SEGMENT_CHECK_LEAKS] = {sizeof(struct leak_group), leak_is_good, NULL},
    [SEGMENT_CHECK_ROOTS] = {sizeof(struct root_record), root_is_good, NULL},
    [SEGMENT_TEXTS] = {sizeof(struct text_record), text_is_good, NULL},
    [SEGMENT_CLIENT_BLOCKS] = {sizeof(struct client_block_record), client_block_is_good, NULL},
    [SEGMENT_MAPPINGS] = {sizeof(struct map_region), NULL, NULL},
    [SEGMENT_MAP_SUM] = {sizeof(struct map_sum), NULL, NULL},
    [SEGMENT_MARKS] = {sizeof(struct mark_record), NULL, NULL},
    [SEGMENT_DISPATCHED] = {sizeof(struct dispatch_record), NULL, NULL},
    [SEGMENT_COSTS] = {sizeof(struct cost_record), NULL, NULL},
    [SEGMENT_CRASHES] = {sizeof(struct crash_record), crash_is_good, NULL},
    [SEGMENT_OBJECTS] = {sizeof(struct object_record), object_is_good, NULL},
};
static_assert(countof(item_rules) == SEGMENT_KIND_COUNT, "a rule for each");

static bool items_fit(const struct look *l, const struct segment *s, uint32_t count)
{
    uint64_t items, end;

    if (s->item_bytes < item_rules[s->kind].least || s->item_bytes % 8 != 0)
        return bad(l, s, "items of a strange size");
    if (!checked_mul(s->capacity, s->item_bytes, &items) || !checked_add(items, sizeof *s, &end) ||
        end > s->bytes)
        return bad(l, s, "items do not fit the segment");
    if (count > s->capacity)
        return bad(l, s, "more items than fit");
    return true;
}

bool verify_items(const struct look *l, const struct segment *s)
{
    const struct item_rule *rule = &item_rules[s->kind];
    uint32_t count = atomic_load_explicit(&s->count, memory_order_relaxed);

    if (s->image != l->image)
        return bad(l, s, "segment of another image");
    if (!items_fit(l, s, count) || (rule->segment_is_good && !rule->segment_is_good(l, s)))
        return false;
    for (uint32_t i = 0; rule->item_is_good && i < count; i++)
        if (!rule->item_is_good(l, s, i))
            return false;
    return true;
}
