/*
 * test_reach_client.c - client blocks at any address: thousands of random graphs, each once with
 * all blocks in slots of their own and once with some of them in other blocks or outside of the
 * heap.  The result must be the same.  Hidden memory around them is full of pointers.
 */
#include "reach_here.h"

#define NODES 14u
#define WORDS 5u
#define PLACE_BYTES 1024u /* room of one node */
#define CONTAINERS 40u    /* slots of WIDE from here on hold one node each */

static struct {
    uint32_t bytes[NODES];
    uint32_t text[NODES];
    struct {
        uint32_t to; /* NODES: none */
        uint32_t inside;
    } edge[NODES][WORDS], root[3], reg[2];
} graph;

static struct {
    uint64_t start[NODES];
    struct block_record record[NODES];
    struct reach_slab slab[SLABS + NODES];
    struct reach_range hidden[2];
    uint32_t client_slabs, in_large, in_slots;
    bool hides;
} put;

static _Alignas(64) unsigned char outside[NODES * PLACE_BYTES];
static uint64_t seed;

static uint32_t dice(uint32_t sides)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(seed >> 33) % sides;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static void make_pointer(uint32_t *to, uint32_t *inside, uint32_t density)
{
    *to = dice(10) < density ? dice(NODES) : NODES;
    *inside = *to < NODES && dice(3) == 0 ? dice(graph.bytes[*to]) : 0;
}

static void make_graph(void)
{
    uint32_t density = 1 + dice(5);
    for (uint32_t i = 0; i < NODES; i++) {
        graph.text[i] = dice(WORDS + 1);
        graph.bytes[i] = graph.text[i] * 8 + 7 + dice(60);
    }
    for (uint32_t i = 0; i < NODES; i++)
        for (uint32_t w = 0; w < WORDS; w++)
            make_pointer(&graph.edge[i][w].to, &graph.edge[i][w].inside, density);
    for (uint32_t i = 0; i < countof(graph.root); i++)
        make_pointer(&graph.root[i].to, &graph.root[i].inside, 6);
    for (uint32_t i = 0; i < countof(graph.reg); i++)
        make_pointer(&graph.reg[i].to, &graph.reg[i].inside, 3);
}

static uint64_t pointer_to(uint32_t to, uint32_t inside)
{
    return to < NODES ? put.start[to] + inside : 0;
}

/* ---- the same graph at other addresses ------------------------------------------------------- */

static void put_client(uint32_t i)
{
    uint32_t where = dice(3), off = dice(4) ? 8 * dice(90) : dice(700);
    uint64_t base[] = {(uintptr_t)outside + i * PLACE_BYTES,
                       here.slab[LARGE].start + 64 + i * PLACE_BYTES,
                       here.slab[WIDE].start + (uint64_t)(CONTAINERS + i) * 2560};
    put.start[i] = base[where] + (dice(5) ? off : 0);
    put.in_large |= where == 1;
    if (where == 2) {
        put.in_slots |= 1u << i;
        here_put(WIDE, CONTAINERS + i, 2560 - 16);
    }
}

/* Sorted by address. */
static void list_client(const bool *is_client)
{
    memcpy(put.slab, here.slab, sizeof here.slab);
    for (uint32_t i = 0; i < NODES; i++) {
        if (!is_client[i])
            continue;
        struct reach_slab *s = put.slab + SLABS + put.client_slabs++;
        for (; s > put.slab + SLABS && s[-1].start > put.start[i]; s--)
            *s = s[-1];
        *s = (struct reach_slab){.start = put.start[i],
                                 .records = &put.record[i],
                                 .request = graph.bytes[i],
                                 .slots = 1};
        atomic_init(&put.record[i].word, here_word(BLOCK_LIVE, 0, MARK_FIRST, 0));
        atomic_init(&put.record[i].stacks, (uint64_t)(i + 1) << 32);
    }
    for (struct reach_slab *s = put.slab + SLABS; s < put.slab + SLABS + put.client_slabs; s++)
        s->first = here.heap.slots++;
    here.heap.slab = put.slab;
    here.heap.slabs += put.client_slabs;
    here.heap.client_slabs = put.client_slabs;
}

/* Fill memory that the scan must not read with pointers. */
static void hide(void)
{
    put.hidden[0] = (struct reach_range){(uintptr_t)outside, (uintptr_t)outside + sizeof outside};
    put.hidden[1] = (struct reach_range){here.slab[LARGE].start, here.slab[LARGE].start + 2 * UNIT};
    for (uint32_t i = 0; i < 2; i++)
        for (uint64_t at = put.hidden[i].start; at + 8 <= put.hidden[i].end; at += 8)
            *(uint64_t *)(uintptr_t)at = pointer_to(dice(NODES), 0);
    here.heap.hidden = put.hidden;
    here.heap.hidden_count = 2;
}

static void write_words(void)
{
    for (uint32_t i = 0; i < NODES; i++) {
        unsigned char *at = (unsigned char *)(uintptr_t)put.start[i];
        memset(at, 0, graph.bytes[i]);
        for (uint32_t w = 0; w < graph.text[i]; w++)
            *(uint64_t *)(uintptr_t)(align_up(put.start[i], 8) + 8 * w) =
                pointer_to(graph.edge[i][w].to, graph.edge[i][w].inside);
    }
    for (uint32_t i = 0; i < countof(graph.root); i++)
        here.root[here.roots++] = pointer_to(graph.root[i].to, graph.root[i].inside);
    for (uint32_t i = 0; i < countof(graph.reg); i++)
        here.reg[here.regs++] = pointer_to(graph.reg[i].to, graph.reg[i].inside);
}

static void put_graph(bool somewhere)
{
    bool is_client[NODES] = {false};
    here_begin();
    memset(&put, 0, sizeof put);
    memset(outside, 0, sizeof outside);
    here.rules.strict = true;
    put.hides = somewhere && dice(2);
    for (uint32_t i = 0; i < NODES; i++)
        put.start[i] = (uintptr_t)here_put(WIDE, i, graph.bytes[i]);
    for (uint32_t i = 0; i < NODES && somewhere; i++) {
        is_client[i] = dice(4) != 0;
        if (!is_client[i])
            continue;
        atomic_init(&here.record[WIDE][i].word, 0);
        put_client(i);
    }
    here_put(LARGE, 0, 2 * UNIT - 1);
    list_client(is_client);
    here.memory_too = outside;
    here.memory_words = sizeof outside / 8;
    if (put.hides)
        hide();
    write_words();
}

/* ---- required results ------------------------------------------------------------------------ */

/* The representative of a cycle depends on addresses. */
static enum reach class_of(uint32_t node)
{
    const struct leak_group *g = here_group(node + 1);
    if (!g)
        return REACH_NONE; /* the lookup has failed the test already */
    enum reach as = (enum reach)g->reach;
    assert_int_equal(g->blocks, 1);
    assert_int_equal(g->bytes, graph.bytes[node]);
    assert_true(g->block == put.start[node]);
    return as == REACH_CYCLE ? REACH_LOST_INDIRECT : as;
}

static uint32_t cycles(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < here.groups; i++)
        if (here.group[i].reach == REACH_CYCLE) {
            assert_int_equal(here.group[i].witness, WITNESS_BLOCK);
            count++;
        }
    return count;
}

/* Blocks of the heap that contain others: the large one and slots. */
static void look_at_containers(void)
{
    uint32_t held = 0, lost = 0;
    for (uint32_t i = 0; i < here.groups; i++)
        if (here.group[i].stack > NODES) {
            held += here.group[i].reach == REACH_REACHABLE && here.group[i].witness == WITNESS_SELF;
            lost += here.group[i].reach == REACH_LOST;
        }
    assert_int_equal(held,
                     (uint32_t)__builtin_popcount(put.in_slots) + (put.in_large && !put.hides));
    assert_int_equal(lost, !put.in_large && !put.hides);
}

static void test_placement(void **state)
{
    (void)state;
    for (seed = 1; seed <= 4000; seed++) {
        enum reach plain[NODES];
        uint64_t kept = seed;
        make_graph();
        put_graph(false);
        here_run();
        for (uint32_t i = 0; i < NODES; i++)
            plain[i] = class_of(i);
        uint32_t count = cycles();
        put_graph(true);
        here_run();
        for (uint32_t i = 0; i < NODES; i++)
            if (class_of(i) != plain[i])
                fail_msg("graph %u: node %u is %u, not %u", (unsigned)kept, i, class_of(i),
                         plain[i]);
        assert_int_equal(cycles(), count);
        look_at_containers();
        seed = kept;
    }
    here_end();
}

/* A client block that fills its heap block replaces it. */
static void test_whole(void **state)
{
    (void)state;
    here_begin();
    memset(&put, 0, sizeof put);
    uint64_t *block = here_put(WIDE, 3, 500), *next = here_put(SMALL, 2, 40);
    block[2] = (uintptr_t)next;
    put.start[0] = (uintptr_t)block;
    graph.bytes[0] = 500;
    here.blocks += NODES; /* the node's stack is the first; it is reported for the node */
    list_client((bool[NODES]){true});
    here_run();
    assert_int_equal(here_group(1)->reach, REACH_LOST);
    assert_int_equal(here_group(1)->blocks, 1);
    assert_int_equal(here_group(2)->reach, REACH_LOST_INDIRECT);
    assert_int_equal(here_group(1)->indirect_bytes, 40);
    here_end();
}

/* If it is unknown whether memory exists there, the callback is called, whatever the size. */
static bool half(void *about, uint64_t *at, uint64_t end, uint64_t *piece_end)
{
    uint32_t *asked = about;
    *piece_end = end;
    return ++*asked == 1 && *at == put.start[0];
}

static void test_doubtful(void **state)
{
    (void)state;
    uint32_t asked = 0;
    here_begin();
    memset(&put, 0, sizeof put);
    put.start[0] = (uintptr_t)outside + 16;
    graph.bytes[0] = 64;
    uint64_t *held = here_put(SMALL, 1, 40);
    atomic_init(&here.record[SMALL][1].stacks, 9ull << 32);
    here.blocks = 9;
    *(uint64_t *)(uintptr_t)(put.start[0] + 24) = (uintptr_t)held;
    here_root((void *)(uintptr_t)put.start[0]);
    list_client((bool[NODES]){true});
    here.rules.next_piece = half;
    here.rules.about = &asked;
    here_run();
    assert_int_equal(here_group(9)->reach, REACH_REACHABLE);
    assert_int_equal(here_group(9)->witness, WITNESS_BLOCK);
    assert_true(here_group(9)->from == put.start[0] && here_group(9)->from_bytes == 64);
    assert_true(asked >= 1);
    here_end();
}

/* Any number of pointers to client blocks is resolved in one batch. */
static void test_many(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= 400; count++) {
        here_begin();
        memset(&put, 0, sizeof put);
        memset(outside, 0, sizeof outside);
        put.start[0] = (uintptr_t)outside;
        put.start[1] = (uintptr_t)outside + 8192;
        graph.bytes[0] = 8 * (count + 1);
        graph.bytes[1] = 64;
        uint64_t *held = here_put(TINY, 0, 8), *words = (uint64_t *)(void *)outside;
        atomic_init(&here.record[TINY][0].stacks, 9ull << 32);
        here.blocks = 9;
        for (uint32_t i = 0; i < count; i++)
            words[i] = put.start[1];
        words[count] = (uintptr_t)held;
        here_root(outside);
        list_client((bool[NODES]){true, true});
        here_run();
        assert_int_equal(here_group(1)->reach, REACH_REACHABLE);
        assert_int_equal(here_group(2)->reach, REACH_REACHABLE);
        assert_int_equal(here_group(9)->reach, REACH_REACHABLE);
    }
    here_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_placement),
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_doubtful),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
