/*
 * test_reach_model.c - thousands of small random heaps against a slow model of the same rules, with
 * little and with much scratch memory, and lists that are deeper than any stack.
 */
#include "reach_slab.h"

#define BLOCKS 20u
#define WORDS 6u
#define NO_HOLDER BLOCKS

enum edge { EDGE_NONE, EDGE_INSIDE, EDGE_START };

static struct {
    uint32_t slab[BLOCKS];
    uint32_t slot[BLOCKS];
    uint64_t start[BLOCKS];
    uint64_t request[BLOCKS];
    uint32_t stack[BLOCKS];
    bool node[BLOCKS];
    bool inherited[BLOCKS];
    bool self[BLOCKS]; /* BLOCK_FLAG_ROOT */
    enum edge edge[BLOCKS][BLOCKS];
    enum edge root[BLOCKS];
    bool in_register[BLOCKS];
    enum reach reach[BLOCKS];
    uint32_t owner[BLOCKS];
    uint32_t count;
} m;

static uint64_t seed;

static uint32_t dice(uint32_t sides)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(seed >> 33) % sides;
}

/* ---- a random heap --------------------------------------------------------------------------- */

static const uint32_t slots_used[SLABS] = {6, 5, 5, 3, 1, 1, 3};

static void make_block(uint32_t i)
{
    uint32_t j = 0;
    do { /* an unused slot */
        m.slab[i] = dice(SLABS);
        m.slot[i] = dice(slots_used[m.slab[i]]);
        for (j = 0; j < i && (m.slab[j] != m.slab[i] || m.slot[j] != m.slot[i]); j++)
            ;
    } while (j < i);
    uint32_t room = here.slab[m.slab[i]].slot_bytes ? here.slab[m.slab[i]].slot_bytes - 1 : 5000;
    m.request[i] = room > 60 && dice(4) ? dice(60) : dice(room + 1);
    m.start[i] = (uintptr_t)here_put(m.slab[i], m.slot[i], m.request[i]);
    m.stack[i] = dice(2) ? i + 1 : dice(4);
    m.self[i] = dice(20) == 0;
    static const enum block_state state[] = {BLOCK_LIVE, BLOCK_LIVE,      BLOCK_LIVE,  BLOCK_LIVE,
                                             BLOCK_LIVE, BLOCK_INHERITED, BLOCK_FREED, BLOCK_NEVER};
    enum block_state is = state[dice(8)];
    uint32_t mark = dice(4);
    bool large = !here.slab[m.slab[i]].slot_bytes;
    struct block_record *b = &here.record[m.slab[i]][m.slot[i]];
    atomic_init(&b->word,
                here_word(is, m.self[i] ? BLOCK_FLAG_ROOT : 0, mark, large ? 0 : m.request[i]));
    atomic_init(&b->stacks, (uint64_t)m.stack[i] << 32);
    if (is == BLOCK_INHERITED && !large)
        m.request[i] = room;
    m.node[i] = is == BLOCK_LIVE || is == BLOCK_INHERITED;
    m.inherited[i] = mark == 0 || is == BLOCK_INHERITED || m.slab[i] == PARENTS;
}

/* A pointer into or near a block. */
static uint64_t any_pointer(void)
{
    uint32_t to = dice(m.count), kind = dice(8);
    uint64_t inside = kind < 4                    ? 0
                      : kind < 6 && m.request[to] ? dice((uint32_t)m.request[to])
                                                  : dice(80);
    return kind == 7 ? dice(1000) : m.start[to] + inside;
}

static enum edge edge_of(uint64_t pointer, uint32_t to)
{
    if (!m.node[to] || pointer < m.start[to])
        return EDGE_NONE;
    if (pointer == m.start[to])
        return EDGE_START;
    return pointer < m.start[to] + m.request[to] ? EDGE_INSIDE : EDGE_NONE;
}

/* Words past the requested size are written, too, and must not count. */
static void make_words(uint32_t from, uint32_t of_ten)
{
    uint64_t room = here.slab[m.slab[from]].slot_bytes ? here.slab[m.slab[from]].slot_bytes : 5000;
    for (uint32_t w = 0; w < WORDS && w * 8 + 8 <= room; w++) {
        uint64_t value = dice(10) < of_ten ? any_pointer() : 0;
        ((uint64_t *)(uintptr_t)m.start[from])[w] = value;
        for (uint32_t to = 0; to < m.count && w * 8 + 8 <= m.request[from] && m.node[from]; to++) {
            if (edge_of(value, to) > m.edge[from][to])
                m.edge[from][to] = edge_of(value, to);
        }
    }
}

static void make_heap(void)
{
    here_begin();
    memset(&m, 0, sizeof m);
    here.rules.mark_since = dice(4);
    here.rules.strict = true; /* random words may resemble interior pointers of C++ */
    m.count = 1 + dice(BLOCKS);
    uint32_t density = 1 + dice(6);
    for (uint32_t i = 0; i < m.count; i++)
        make_block(i);
    for (uint32_t i = 0; i < m.count; i++)
        make_words(i, density);
    here.roots = dice(3);
    here.regs = dice(3);
    for (uint32_t i = 0; i < here.roots + here.regs; i++) {
        uint64_t value = any_pointer();
        if (i < here.roots)
            here.root[i] = value;
        else
            here.reg[i - here.roots] = value;
        for (uint32_t to = 0; to < m.count; to++) {
            enum edge e = edge_of(value, to);
            if (i < here.roots && e > m.root[to])
                m.root[to] = e;
            m.in_register[to] |= i >= here.roots && e;
        }
    }
}

/* ---- the model ------------------------------------------------------------------------------- */

static bool is_left(uint32_t i)
{
    return m.node[i] && m.reach[i] == REACH_NONE;
}

/*
 * Give a class to all remaining blocks that a path of edges of at least `least` reaches from
 * `from`.
 */
static void flow(uint32_t from, enum edge least, enum reach class, uint32_t owner)
{
    for (uint32_t to = 0; to < m.count; to++) {
        if (is_left(to) && m.edge[from][to] >= least) {
            m.reach[to] = class;
            m.owner[to] = owner;
            flow(to, least, class, owner);
        }
    }
}

/* The blocks that owners of a class own indirectly, highest owner first. */
static void flow_indirect(enum reach owners, enum reach class)
{
    bool done[BLOCKS] = {false};
    for (uint32_t n = 0; n < m.count; n++) {
        uint32_t highest = NO_HOLDER;
        for (uint32_t i = 0; i < m.count; i++) {
            if (!done[i] && m.reach[i] == owners &&
                (highest == NO_HOLDER || m.start[i] > m.start[highest]))
                highest = i;
        }
        if (highest == NO_HOLDER)
            return;
        done[highest] = true;
        flow(highest, EDGE_INSIDE, class, highest);
    }
}

static void model_reachable(void)
{
    for (uint32_t i = 0; i < m.count; i++) {
        if (is_left(i) && (m.self[i] || m.root[i] == EDGE_START)) {
            m.reach[i] = REACH_REACHABLE;
            flow(i, EDGE_START, REACH_REACHABLE, NO_HOLDER);
        }
    }
}

static void model_inside(void)
{
    bool inside[BLOCKS] = {false};
    for (uint32_t i = 0; i < m.count; i++) {
        inside[i] = m.root[i] == EDGE_INSIDE;
        for (uint32_t from = 0; from < m.count; from++)
            inside[i] |= m.reach[from] == REACH_REACHABLE && m.edge[from][i] == EDGE_INSIDE;
    }
    for (uint32_t i = 0; i < m.count; i++) {
        if (is_left(i) && inside[i])
            m.reach[i] = REACH_INTERIOR;
    }
    flow_indirect(REACH_INTERIOR, REACH_INDIRECT);
    for (uint32_t i = 0; i < m.count; i++) {
        if (is_left(i) && m.in_register[i])
            m.reach[i] = REACH_REGISTER;
    }
    flow_indirect(REACH_REGISTER, REACH_INDIRECT);
}

static void model_lost(void)
{
    bool lost[BLOCKS], leads[BLOCKS][BLOCKS] = {{false}};
    for (uint32_t i = 0; i < m.count; i++) {
        lost[i] = is_left(i);
        for (uint32_t j = 0; j < m.count && lost[i]; j++)
            lost[i] = j == i || !is_left(j) || !m.edge[j][i];
    }
    for (uint32_t i = 0; i < m.count; i++) {
        if (lost[i])
            m.reach[i] = REACH_LOST;
    }
    flow_indirect(REACH_LOST, REACH_LOST_INDIRECT);
    for (uint32_t k = 0; k <= m.count; k++) {
        for (uint32_t i = 0; i < m.count; i++) {
            for (uint32_t j = 0; j < m.count; j++)
                leads[i][j] |= k == 0 ? is_left(i) && is_left(j) && m.edge[i][j]
                                      : leads[i][k - 1] && leads[k - 1][j];
        }
    }
    for (uint32_t i = 0; i < m.count; i++) {
        lost[i] = is_left(i);
        for (uint32_t j = 0; j < m.count; j++) {
            if (leads[j][i] && (!leads[i][j] || m.start[j] < m.start[i]))
                lost[i] = false;
        }
    }
    for (uint32_t i = 0; i < m.count; i++) {
        if (lost[i])
            m.reach[i] = REACH_CYCLE;
    }
    flow_indirect(REACH_CYCLE, REACH_LOST_INDIRECT);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static uint32_t block_at(uint64_t address)
{
    uint32_t i = 0;
    while (i < m.count && !(address >= m.start[i] && address - m.start[i] < m.request[i]))
        i++;
    return i;
}

static uint32_t block_of(const struct leak_group *g)
{
    uint32_t i = 0;
    while (i < m.count && m.start[i] != g->block)
        i++;
    return i;
}

/* Does the holder of the pointer to block i have a class that allows block i's class? */
static bool holder_fits(uint32_t i, uint32_t holder)
{
    enum reach by = m.reach[holder];
    switch (m.reach[i]) {
    case REACH_REACHABLE:
    case REACH_INTERIOR:
        return by == REACH_REACHABLE;
    case REACH_INDIRECT:
        return by == REACH_INTERIOR || by == REACH_REGISTER || by == REACH_INDIRECT;
    case REACH_CYCLE:
        return by == REACH_LOST_INDIRECT && m.owner[holder] == i;
    default:
        return by == REACH_LOST || by == REACH_CYCLE || by == REACH_LOST_INDIRECT;
    }
}

static void check_witness(const struct leak_group *g)
{
    uint32_t i = block_of(g), holder = block_at(g->at);
    assert_true(i < m.count && m.reach[i] == g->reach);
    assert_int_equal(g->block_bytes, m.request[i]);
    assert_int_equal(g->witness == WITNESS_NONE, g->reach == REACH_LOST);
    assert_int_equal(g->witness == WITNESS_REGISTER, g->reach == REACH_REGISTER);
    assert_int_equal(g->witness == WITNESS_SELF, m.self[i]);
    if (g->witness == WITNESS_NONE || g->witness == WITNESS_SELF)
        return;
    assert_int_equal(edge_of(g->value, i) == EDGE_NONE, false);
    if (g->reach == REACH_REACHABLE || g->reach == REACH_INTERIOR)
        assert_int_equal(edge_of(g->value, i),
                         g->reach == REACH_REACHABLE ? EDGE_START : EDGE_INSIDE);
    if (g->witness == WITNESS_ROOT) {
        assert_true((g->at - ROOT_AT) / 8 < here.roots);
        assert_true(here.root[(g->at - ROOT_AT) / 8] == g->value);
        assert_int_equal(g->root, ROOT_NUMBER);
    } else if (g->witness == WITNESS_REGISTER) {
        assert_true(g->at < here.regs && here.reg[g->at] == g->value);
        assert_int_equal(g->thread, g->at + 100);
    } else {
        assert_int_equal(g->witness, WITNESS_BLOCK);
        assert_true(holder < m.count && holder_fits(i, holder));
        assert_true(*(uint64_t *)(uintptr_t)g->at == g->value);
        assert_true(g->from == m.start[holder] && g->from_bytes == m.request[holder]);
        assert_int_equal(g->from_stack, m.stack[holder]);
    }
}

/* Compute one group by the model; return its number of blocks. */
static void check_group(const struct leak_group *g)
{
    struct leak_group want = {0};
    for (uint32_t i = 0; i < m.count; i++) {
        if (!m.node[i] || m.inherited[i])
            continue;
        bool is_new = word_mark(here.record[m.slab[i]][m.slot[i]].word) >= here.rules.mark_since;
        bool indirect = m.reach[i] == REACH_INDIRECT || m.reach[i] == REACH_LOST_INDIRECT;
        if (m.stack[i] == g->stack && m.reach[i] == g->reach) {
            want.blocks++;
            want.bytes += m.request[i];
            want.new_blocks += is_new;
            want.new_bytes += is_new ? m.request[i] : 0;
        }
        if (indirect && m.stack[m.owner[i]] == g->stack && m.reach[m.owner[i]] == g->reach) {
            want.indirect_blocks++;
            want.indirect_bytes += m.request[i];
        }
    }
    assert_int_equal(g->blocks, want.blocks);
    assert_int_equal(g->bytes, want.bytes);
    assert_int_equal(g->new_blocks, want.new_blocks);
    assert_int_equal(g->new_bytes, want.new_bytes);
    assert_int_equal(g->indirect_blocks, want.indirect_blocks);
    assert_int_equal(g->indirect_bytes, want.indirect_bytes);
    assert_true(g->blocks || g->indirect_blocks);
}

static void compare(void)
{
    uint64_t blocks = 0, want = 0;
    for (uint32_t i = 0; i < here.groups; i++) {
        blocks += here.group[i].blocks;
        check_group(&here.group[i]);
        check_witness(&here.group[i]);
        for (uint32_t j = 0; j < i; j++)
            assert_false(here.group[i].stack == here.group[j].stack &&
                         here.group[i].reach == here.group[j].reach);
    }
    for (uint32_t i = 0; i < m.count; i++)
        want += m.node[i] && !m.inherited[i];
    assert_int_equal(blocks, want); /* each exactly once */
}

static void random_heaps(void **state)
{
    (void)state;
    uint32_t seen[REACH_COUNT] = {0}, ownerless = 0;
    for (seed = 1; seed <= 8000; seed++) {
        uint64_t number = seed;
        make_heap();
        model_reachable();
        model_inside();
        model_lost();
        here.extra = dice(2) ? 16 * dice(4) : 4096;
        here_run();
        compare();
        for (uint32_t i = 0; i < here.groups; i++) {
            seen[here.group[i].reach]++;
            ownerless += !here.group[i].blocks;
        }
        seed = number;
    }
    for (uint32_t i = REACH_REACHABLE; i < REACH_COUNT; i++)
        assert_true(seen[i] > 300);
    assert_true(ownerless > 100);
    here_end();
}

/* ---- deep ------------------------------------------------------------------------------------ */

static struct {
    struct slab_heap in;
    uint64_t *last; /* a node of the list */
} deep;

#define NODE_BYTES 32u

/*
 * `count` nodes in no order of addresses: word 0 is a block of its own, word 1 the next node.
 * `behind` bytes of memory follow them.
 */
static void make_deep(uint32_t count, uint64_t indirect)
{
    slab_heap_begin(&deep.in, count * 2, NODE_BYTES, 1, indirect);
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t next = (uint32_t)((at + 7919ull * 613) % count); /* prime, and not a divisor */
        uint64_t *node = deep.in.memory + (uint64_t)at * 2 * NODE_BYTES / 8;
        node[0] = (uintptr_t)node + NODE_BYTES;
        node[1] = i + 1 < count ? deep.in.slab.start + (uint64_t)next * 2 * NODE_BYTES : 0;
        deep.last = node;
        node[4] = 0;
        node[5] = 0;
        for (uint32_t j = 0; j < 2; j++) {
            atomic_init(&deep.in.record[at * 2 + j].word, here_word(BLOCK_LIVE, 0, 1, 16));
            atomic_init(&deep.in.record[at * 2 + j].stacks, 1ull << 32);
        }
        at = next;
    }
}

/* All of them must be found, in one class each. */
static void run_deep(uint64_t extra, uint64_t root, enum reach first, enum reach indirect)
{
    const struct reach_rules rules = {0};
    uint64_t bytes = reach_room(&deep.in.heap, true) + extra;
    void *scratch = calloc(1, bytes);
    uint32_t count;
    struct reach_scan *r = reach_begin(scratch, bytes, &deep.in.heap, &rules);
    reach_root(r, &root, 1, ROOT_AT, 1);
    reach_inside(r);
    reach_lost(r);
    const struct leak_group *g = reach_groups(r, &count);
    assert_int_equal(count, first == indirect ? 1 : 2);
    for (uint32_t i = 0; i < count; i++) {
        bool is_indirect = g[i].reach != first;
        assert_int_equal(g[i].reach, is_indirect ? indirect : first);
        assert_int_equal(g[i].blocks, count == 1    ? deep.in.heap.slots
                                      : is_indirect ? deep.in.heap.slots - 1
                                                    : 1);
        assert_int_equal(g[i].indirect_blocks,
                         count == 1 || is_indirect ? 0 : deep.in.heap.slots - 1);
    }
    free(scratch);
}

static void run_all_deep(uint32_t count, uint64_t extra)
{
    make_deep(count, 0);
    uint64_t first = deep.in.slab.start;
    run_deep(extra, first, REACH_REACHABLE, REACH_REACHABLE);
    run_deep(extra, first + 1, REACH_INTERIOR, REACH_INDIRECT);
    run_deep(extra, 0, REACH_LOST, REACH_LOST_INDIRECT);
    deep.last[1] = first; /* a cycle */
    run_deep(extra, 0, REACH_CYCLE, REACH_LOST_INDIRECT);
    slab_heap_end(&deep.in);
}

static void deep_lists(void **state)
{
    (void)state;
    run_all_deep(1000000, 1 << 20);
    run_all_deep(1000000, 64 << 20);
}

static void deep_without_stack(void **state)
{
    (void)state;
    run_all_deep(20000, 0);
    run_all_deep(20000, 16);
    run_all_deep(20000, 100 * 16);
}

/* One block that points to all others, which would fill any explicit stack at once. */
static void wide(void **state)
{
    (void)state;
    const uint32_t count = 2000000;
    const uint64_t table_bytes = align_up(count * 8, UNIT);
    make_deep(count / 2, table_bytes);
    memset(deep.in.memory, 0, (uint64_t)count * NODE_BYTES);
    uint64_t units = deep.in.heap.bytes / UNIT;
    uint64_t *table = deep.in.memory + deep.in.heap.bytes / 8;
    for (uint64_t i = 0; i < count; i++)
        table[i] = deep.in.heap.base + i * NODE_BYTES;
    struct block_record record;
    atomic_init(&record.word, here_word(BLOCK_LIVE, 0, 1, 0));
    atomic_init(&record.stacks, 1ull << 32);
    struct reach_slab slabs[2] = {deep.in.slab,
                                  {.start = (uintptr_t)table,
                                   .records = &record,
                                   .request = count * 8,
                                   .stride = sizeof record,
                                   .slots = 1,
                                   .first = deep.in.slab.slots}};
    uint32_t *map = calloc(units + table_bytes / UNIT, sizeof *map);
    for (uint64_t i = 0; i < units + table_bytes / UNIT; i++)
        map[i] = i < units ? 1 : 2;
    deep.in.heap.bytes += table_bytes;
    deep.in.heap.slab_of_unit = map;
    deep.in.heap.slab = slabs;
    deep.in.heap.slabs = 2;
    deep.in.heap.slots++;
    run_deep(64 * 1024, (uintptr_t)table, REACH_REACHABLE, REACH_REACHABLE);
    run_deep(16, (uintptr_t)table, REACH_REACHABLE, REACH_REACHABLE);
    run_deep(64 * 1024, (uintptr_t)table + 1, REACH_INTERIOR, REACH_INDIRECT);
    free(map);
    slab_heap_end(&deep.in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_heaps),
        cmocka_unit_test(deep_lists),
        cmocka_unit_test(deep_without_stack),
        cmocka_unit_test(wide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
