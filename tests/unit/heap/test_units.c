/*
 * test_units.c - the heap's address space against a model: an array with the owner of each unit.
 *
 * 40,000 random steps (in 4 heaps, one after another; --full: 20) take, extend, shrink and give runs of
 * units.  Checks after each step: no runs overlap, units reported as zero are zero, owned units are
 * unchanged, an address leads to its owner, and the heap grows only if no free run suffices.  Every
 * free run of the model must be one run in the table, with its length at both ends and no run in
 * between: so missing or late merges are detected.
 *
 * The same steps run under a limit on the address space and in a heap of fixed size in a file,
 * where some requests must fail and the steps continue.
 *
 * rtc-test: unit/heap/test_units-full full 360 --full
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "heap_alone.h"
#include "heap_priv.h"
#include "../chance.h"

#include <cmocka.h>

#ifdef RTC_SANITIZED
#define STEPS 2000u /* fewer: a sanitizer is slow */
#else
#define STEPS 10000u
#endif
#define SEED 20261120u
#define UNITS_MAX 16384u
#define BLOCKS_MAX 1024u
#define TRIES_PER_LIST 64u /* as in units.c: number of runs of one length class that it examines */

struct block {
    struct unit *first;
    uint32_t units; /* 0 = not in use */
    bool written;
};

static struct {
    uint64_t random;
    uint32_t owner[UNITS_MAX]; /* block number + 1, 0 = free */
    bool dirty[UNITS_MAX];     /* may be nonzero */
    struct block block[BLOCKS_MAX];
    uint32_t used; /* number of units with an owner */
    uint32_t most; /* maximum of used */
    bool may_refuse;
    uint32_t refused;
} model;

static uint32_t chance(uint32_t n)
{
    return chance_of(&model.random, n);
}

static uint32_t heap_end(void)
{
    uint64_t end = heap.bytes >> RTC_UNIT_SHIFT;
    MUST(end <= UNITS_MAX);
    return (uint32_t)end;
}

static uint32_t number_of(const struct unit *u)
{
    return (uint32_t)(u - heap.unit);
}

/* Number of free units from `at` on, up to `end`; unit 0 is reserved and never free. */
static uint32_t free_from(uint32_t at, uint32_t end)
{
    uint32_t n = 0;
    while (at + n < end && at + n > 0 && !model.owner[at + n])
        n++;
    return n;
}

static uint32_t trailing_run(uint32_t end)
{
    uint32_t n = 0;
    while (end > n + 1 && !model.owner[end - n - 1])
        n++;
    return n;
}

static uint32_t skip_at(uint32_t at, uint32_t align)
{
    uint64_t address = heap.base + ((uint64_t)at << RTC_UNIT_SHIFT);
    return (uint32_t)((align_up(address, align * UNIT_BYTES) - address) >> RTC_UNIT_SHIFT);
}

/* Is there a free run that the search must find?  It examines only the first runs of a list. */
static bool must_fit(uint32_t n, uint32_t align)
{
    uint32_t end = heap_end(), count[32] = {0};
    bool fits[32] = {false};
    for (uint32_t at = 1, run; at < end; at += run ? run : 1) {
        run = free_from(at, end);
        if (run < n)
            continue;
        unsigned list = log2_floor(run);
        count[list]++;
        fits[list] |= skip_at(at, align) + n <= run;
    }
    unsigned own = log2_floor(n);
    for (unsigned list = own; list < 32; list++)
        if (fits[list] && (count[list] <= TRIES_PER_LIST || (align == 1 && list > own)))
            return true;
    return false;
}

/* ---- contents of units ---------------------------------------------------------------------- */

static uint64_t *first_word(const struct unit *u)
{
    return (uint64_t *)unit_address(u);
}

static uint64_t *last_word(const struct unit *u)
{
    return (uint64_t *)(unit_address(u) + UNIT_BYTES) - 1;
}

static void write_unit(struct unit *u, uint64_t stamp)
{
    *first_word(u) = *last_word(u) = stamp;
    model.dirty[number_of(u)] = true;
}

static void own_units(uint32_t b, struct unit *first, uint32_t n, bool clean)
{
    for (uint32_t i = 0; i < n; i++) {
        struct unit *u = first + i;
        MUST(number_of(u) > 0 && number_of(u) < heap_end());
        MUST(!model.owner[number_of(u)]);
        MUST(owner_kind(u->owner) != UNIT_FREE || (i > 0 && i < n - 1)); /* the ends are taken */
        model.owner[number_of(u)] = b + 1;
        if (clean)
            MUST(*first_word(u) == 0 && *last_word(u) == 0);
        model.dirty[number_of(u)] = !clean;
        if (model.block[b].written)
            write_unit(u, b + 1);
    }
    model.used += n;
}

/* Required of the owner of units: the head has the kind, the other units refer to the head. */
static void mark_units(const struct block *block)
{
    for (uint32_t i = 0; i < block->units; i++) {
        block->first[i].back = i;
        block->first[i].owner = i ? 0 : owner_of(UNIT_LARGE, (uintptr_t)block);
    }
}

static bool disown_units(uint32_t b, struct unit *first, uint32_t n)
{
    bool dirty = false;
    for (uint32_t i = 0; i < n; i++) {
        struct unit *u = first + i;
        MUST(model.owner[number_of(u)] == b + 1);
        if (model.block[b].written)
            MUST(*first_word(u) == b + 1 && *last_word(u) == b + 1);
        model.owner[number_of(u)] = 0;
        dirty |= model.dirty[number_of(u)];
    }
    model.used -= n;
    return dirty;
}

/* ---- steps ---------------------------------------------------------------------------------- */

static void take(uint32_t b)
{
    static const uint32_t usual[] = {1, 1, 1, 4, 4, 8};
    uint32_t n = chance(4) ? usual[chance(countof(usual))] : 1 + chance(60);
    uint32_t align = chance(8) ? 1 : 2u << chance(5);
    uint32_t end = heap_end(), last = trailing_run(end);
    bool clean = false, fits = must_fit(n, align);
    struct unit *first = units_take(n, align, &clean);
    if (!first) {
        MUST(model.may_refuse && !fits);
        MUST(heap_end() == end);
        model.refused++;
        return;
    }
    MUST(heap_end() == end || !fits); /* no unnecessary growth */
    MUST(heap_end() <= (end ? end : 1) + n + align - 1 - (align == 1 && last < n ? last : 0));
    MUST(unit_address(first) % (align * UNIT_BYTES) == 0);
    model.block[b] = (struct block){first, n, chance(2)};
    own_units(b, first, n, clean);
    mark_units(&model.block[b]);
}

static void give(uint32_t b, uint32_t keep)
{
    struct block *block = &model.block[b];
    struct unit *from = block->first + keep;
    bool dirty = disown_units(b, from, block->units - keep);
    give_units(from, block->units - keep, dirty);
    block->units = keep;
}

static void extend(uint32_t b)
{
    struct block *block = &model.block[b];
    struct unit *at = block->first + block->units;
    uint32_t n = 1 + chance(20), end = heap_end(), run = free_from(number_of(at), end);
    bool at_end = number_of(at) + run == end, clean = false;
    bool done = units_take_at(at, n, &clean);
    uint32_t grown = heap_end() - end;
    if (done) {
        MUST(run >= n ? grown == 0 : at_end && grown == n - run);
        own_units(b, at, n, clean);
        block->units += n;
        mark_units(block);
        return;
    }
    MUST(run < n && grown == 0);
    MUST(!at_end || model.may_refuse);
    model.refused += at_end;
}

static void probe(void)
{
    uint64_t at = (uint64_t)chance(heap_end() + 2) << RTC_UNIT_SHIFT | chance(UNIT_BYTES);
    struct found f = pool_find((void *)(heap.base + at));
    uint32_t unit = (uint32_t)(at >> RTC_UNIT_SHIFT);
    if (unit >= heap_end()) {
        MUST(f.verdict == PTR_FOREIGN);
    } else if (!model.owner[unit]) {
        MUST(f.verdict == PTR_UNUSED);
    } else {
        const struct block *block = &model.block[model.owner[unit] - 1];
        uint64_t inside = heap.base + at - unit_address(block->first);
        MUST(f.head == block->first && f.kind == UNIT_LARGE);
        MUST(f.verdict == (inside ? PTR_INSIDE : PTR_START) && f.offset == inside);
    }
}

/* Each free run of the model is one run of the table. */
static void check_table(void)
{
    uint32_t end = heap_end(), units = 0;
    for (uint32_t at = 1, run; at < end; at += run ? run : 1) {
        run = free_from(at, end);
        units += run;
        if (!run)
            continue;
        struct unit *first = heap.unit + at, *last = first + run - 1;
        MUST(first->owner == owner_of(UNIT_FREE, run) && last->owner == first->owner);
        MUST(first->back == 0 && last->back == run - 1);
        for (struct unit *u = first + 1; u < last; u++)
            MUST(u->owner == 0 && u->back == 0); /* no stale run end */
    }
    uint64_t total, unused;
    heap_totals(&total, &unused);
    MUST(total == heap.bytes && unused == units * UNIT_BYTES);
    MUST(end == 0 || units + model.used == end - 1);
}

static void step(void)
{
    static bool shrinking; /* alternating phases, so that the heap gets full and nearly empty */
    if (model.used > model.most || (model.refused && model.refused % 1000 == 0))
        shrinking = true;
    else if (model.used < model.most / 8)
        shrinking = false;
    uint32_t b = chance(BLOCKS_MAX);
    if (!model.block[b].units && (!shrinking || !chance(4)))
        take(b);
    else if (model.block[b].units && chance(4) == 0)
        extend(b);
    else if (model.block[b].units && (shrinking || !chance(3)))
        give(b, chance(3) ? 0 : chance(model.block[b].units));
    probe();
}

static uint64_t seed = SEED;
static uint32_t walks = 4;

static void walk(void)
{
    model.random = seed;
    for (uint32_t i = 0; i < STEPS; i++) {
        step();
        if (i % 32 == 0)
            check_table();
    }
    check_table();
    for (uint32_t b = 0; b < BLOCKS_MAX; b++)
        if (model.block[b].units)
            give(b, 0);
    check_table(); /* one run: the whole heap */
    uint32_t end = heap_end();
    bool clean;
    struct unit *all = units_take(end - 1, 1, &clean);
    MUST(all == heap.unit + 1 && heap_end() == end);
    give_units(all, end - 1, true);
    check_table();
}

/* ---- heaps ---------------------------------------------------------------------------------- */

static void plain(void)
{
    heap_alone();
    model.most = 2000;
    walk();
    MUST(model.refused == 0);
}

static void of_fixed_size(void)
{
    const uint64_t bytes = 32 * MIB;
    const struct run_request request = {.pool_dir = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp",
                                        .has_heap = true,
                                        .heap_bytes = bytes};
    MUST(run_start(&request) == 0);
    MUST(os_unlink(run_path()) == 0);
    MUST(heap_start(true) == 0);
    MUST(heap_in_file() && heap_is_shared() && heap_file_used() == 1);
    model.may_refuse = true;
    model.most = 600;
    walk();
    MUST(model.refused > 100);
    bool clean;
    MUST(units_take(bytes / UNIT_BYTES - 1, 1, &clean)); /* all of it can be allocated */
    MUST(!units_take(1, 1, &clean));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define LIMITABLE 1 /* sanitizers need unlimited address space */
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#undef LIMITABLE
#endif
#endif

#ifdef LIMITABLE
static uint64_t address_space(void)
{
    uint64_t pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    MUST(f && fscanf(f, "%lu", &pages) == 1 && fclose(f) == 0);
    return pages * PAGE_BYTES;
}

static void under_a_limit(void)
{
    uint64_t limit = address_space() + 128 * MIB;
    MUST(setrlimit(RLIMIT_AS, &(struct rlimit){limit, limit}) == 0);
    heap_alone();
    MUST(address_space() < limit - 100 * MIB); /* nothing is reserved in advance */
    model.may_refuse = true;
    model.most = 2400;
    walk();
    MUST(model.refused > 100);
    MUST(heap.bytes > 100 * MIB); /* and all of it can be allocated */
}
#endif

/* Nearly all freed memory is returned to the kernel. */
static void gives_back(void)
{
    static unsigned char in_core[256 * MIB / PAGE_BYTES];
    static struct unit *run[64];
    uint64_t resident = 0;
    bool clean;
    heap_alone();
    for (size_t i = 0; i < countof(run); i++) {
        run[i] = units_take(32, 1, &clean);
        MUST(run[i] && clean);
        memset((void *)unit_address(run[i]), 1, 32 * UNIT_BYTES);
    }
    for (size_t i = 0; i < countof(run); i += 2)
        give_units(run[i], 32, true);
    for (size_t i = 1; i < countof(run); i += 2)
        give_units(run[i], 32, true);
    MUST(heap.bytes <= 256 * MIB);
    MUST(mincore((void *)heap.base, heap.bytes, in_core) == 0);
    for (uint64_t page = 0; page < heap.bytes / PAGE_BYTES; page++)
        resident += (in_core[page] & 1) * PAGE_BYTES;
    MUST(resident <= 8 * MIB);
    struct unit *warm = units_take(8, 1, &clean); /* units freed and taken at once stay resident */
    memset((void *)unit_address(warm), 1, 8 * UNIT_BYTES);
    struct unit *next = units_take(8, 1, &clean); /* so that its neighbour is not merged */
    MUST(next == warm + 8);
    give_units(warm, 8, true);
    MUST(units_take(8, 1, &clean) == warm && !clean && *(char *)unit_address(warm) == 1);
}

/* One dirty unit must not make a long clean run dirty: calloc would clear all of it. */
static void dirt_stays_small(void)
{
    const uint32_t n = 1001;
    bool clean;
    heap_alone();
    for (int i = 0; i < 4; i++) {
        bool in_front = i & 1, freed_first = i & 2;
        struct unit *all = units_take(n, 1, &clean);
        MUST(all && clean);
        model.block[0] = (struct block){all, n, false};
        mark_units(&model.block[0]);
        struct unit *one = in_front ? all : all + n - 1, *others = in_front ? all + 1 : all;
        memset((void *)unit_address(one), 1, UNIT_BYTES);
        if (freed_first)
            give_units(one, 1, true);
        give_units(others, n - 1, false);
        if (!freed_first)
            give_units(one, 1, true);
        MUST(*(char *)unit_address(one) == 0);
    }
    MUST(units_take(n, 1, &clean) && clean && heap_end() == n + 1);
}

static uint32_t mappings(void)
{
    FILE *f = fopen("/proc/self/maps", "r");
    uint32_t n = 0;
    MUST(f);
    for (int c; (c = getc(f)) != EOF;)
        n += c == '\n';
    MUST(fclose(f) == 0);
    return n;
}

#define HUGE_PAGE (2 * MIB)

/*
 * Dense slabs and large blocks alternate: no huge page holds both kinds once there are many, and
 * advice splits the heap into few mappings.
 */
static void dense_lie_together(void)
{
    enum { ROUNDS = 2000, FEW = 128 };
    static struct unit *dense[ROUNDS], *plain[ROUNDS];
    static uint8_t has_dense[ROUNDS];
    bool clean;
    heap_alone();
    uint32_t before = mappings();
    for (int i = 0; i < ROUNDS; i++) {
        dense[i] = units_take_dense(1, &clean);
        plain[i] = units_take(5, 1, &clean);
        MUST(dense[i] && plain[i] && clean);
    }
    MUST(heap.bytes < ROUNDS * 8 * UNIT_BYTES);
    for (int i = FEW; i < ROUNDS; i++)
        has_dense[(unit_address(dense[i]) - heap.base) / HUGE_PAGE] = 1;
    for (int i = 0; i < ROUNDS; i++)
        MUST(!has_dense[(unit_address(plain[i]) - heap.base) / HUGE_PAGE] &&
             !has_dense[(unit_address(plain[i] + 4) - heap.base) / HUGE_PAGE]);
    MUST(mappings() - before < 100);
    for (int i = 0; i < ROUNDS; i++) {
        units_give_dense(dense[i], 1, true);
        units_give(plain[i], 5, false);
    }
    uint32_t end = heap_end();
    for (int i = 0; i < ROUNDS; i++)
        MUST(units_take_dense(1, &clean) && units_take(5, 1, &clean));
    MUST(heap_end() < end + end / 16); /* freed units are found again */
}

static void watched_gives_back(void)
{
    heap_watched = true;
    gives_back();
}

static void watched_dirt_stays_small(void)
{
    heap_watched = true;
    dirt_stays_small();
}

/* Possible requests succeed; impossible ones are refused without damage. */
static void extremes(void)
{
    bool clean = false;
    heap_alone();
    MUST(!units_take(UINT64_MAX, 1, &clean));
    MUST(!units_take(1ull << 47, 1, &clean));
    MUST(!units_take(1ull << 24, 1, &clean)); /* all of 1 TiB, but unit 0 is reserved */
    MUST(!units_take(1, 1ull << 46, &clean));
    struct unit *first = units_take(1, 1, &clean);
    MUST(first == heap.unit + 1 && clean);
    MUST(!units_take_at(first + 1, 1ull << 47, &clean));
    MUST(!units_take_at(first, 1, &clean)); /* in use */
    MUST(units_take_at(first + 1, 1, &clean) && clean);
    struct unit *aligned = units_take(3, 1024, &clean);
    MUST(aligned && unit_address(aligned) % (64 * MIB) == 0);
    uint32_t end = heap_end();
    MUST(units_take(1, 1, &clean) && heap_end() == end); /* the gaps around it are used */
}

/* ---- mappings of the program over the heap --------------------------------------------------- */

#define FOREIGN (BLOCKS_MAX + 1)

/* Make n units from `at` on foreign, unless a block has one of them. */
static void make_foreign(uint32_t at, uint32_t n)
{
    for (uint32_t i = at; i < at + n; i++)
        if (model.owner[i] && model.owner[i] != FOREIGN)
            return;
    for (uint32_t i = at; i < at + n; i++)
        model.owner[i] = FOREIGN;
    units_make_foreign(at, at + n);
}

/* Parts of [first, end) that are foreign or not, below and above the heap's end, as the model has them. */
static void check_borders(uint64_t first, uint64_t end)
{
    for (uint64_t next; first < end; first = next) {
        bool foreign = model.owner[first] == FOREIGN;
        next = space_same_until(first, end);
        MUST(next > first && next <= end && space_is_foreign(first) == foreign);
        for (uint64_t i = first; i < next; i++)
            MUST((model.owner[i] == FOREIGN) == foreign);
        MUST(next == end || (model.owner[next] == FOREIGN) != foreign);
    }
}

static void check_foreign(void)
{
    uint32_t end = heap_end(), units = 0;
    for (uint32_t i = 1; i < end; i++) {
        MUST((owner_kind(heap.unit[i].owner) == UNIT_FOREIGN) == (model.owner[i] == FOREIGN));
        units += !model.owner[i];
    }
    uint64_t total, unused;
    heap_totals(&total, &unused);
    MUST(total == heap.bytes && unused == units * UNIT_BYTES);
    check_borders(1 + chance(end + 200), end + 200 + chance(100));
}

/* Foreign units lie between free ones and above the end: no block ever gets one. */
static void never_used_again(void)
{
    bool clean;
    heap_alone();
    model.random = SEED;
    for (uint32_t i = 0; i < STEPS; i++) {
        uint32_t b = chance(256), n = 1 + chance(40);
        struct block *block = &model.block[b];
        if (block->units) {
            bool dirty = disown_units(b, block->first, block->units);
            give_units(block->first, block->units, dirty);
            block->units = 0;
        } else {
            struct unit *first = units_take(n, chance(8) ? 1 : 8, &clean);
            MUST(first);
            *block = (struct block){first, n, true};
            own_units(b, first, n, clean);
            mark_units(block);
        }
        if (i % 16 == 0 && heap_end() < UNITS_MAX / 2)
            make_foreign(1 + chance(heap_end() + 200), 1 + chance(20));
        if (i % 64 == 0)
            check_foreign();
    }
    check_foreign();
}

/* More holes than the list above the end holds: the heap ends before the last of them. */
static void too_many_holes(void)
{
    uint32_t taken = 0;
    bool clean;
    heap_alone();
    for (uint32_t at = 100; at < 100 + 2 * 33; at += 2)
        units_make_foreign(at, at + 1);
    for (struct unit *u; (u = units_take(1, 1, &clean)); taken++)
        MUST(number_of(u) < 100 || (number_of(u) < 164 && number_of(u) % 2 == 1));
    MUST(taken == 163 - 32);
}

static void test_plain(void **state)
{
    (void)state;
    for (seed = SEED; seed < SEED + walks; seed++)
        if (in_child(plain) != 0)
            fail_msg("with seed %lu", seed);
}

static void test_watched(void **state)
{
    heap_watched = true; /* also in its children */
    test_plain(state);
    heap_watched = false;
}

IN_CHILD(of_fixed_size)
IN_CHILD(gives_back)
IN_CHILD(dirt_stays_small)
IN_CHILD(dense_lie_together)
IN_CHILD(extremes)
IN_CHILD(never_used_again)
IN_CHILD(too_many_holes)
IN_CHILD(watched_gives_back)
IN_CHILD(watched_dirt_stays_small)
#ifdef LIMITABLE
IN_CHILD(under_a_limit)
#endif

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--full") == 0)
        walks = 20;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_of_fixed_size),
        cmocka_unit_test(test_gives_back),
        cmocka_unit_test(test_dirt_stays_small),
        cmocka_unit_test(test_dense_lie_together),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_watched),
        cmocka_unit_test(test_never_used_again),
        cmocka_unit_test(test_too_many_holes),
        cmocka_unit_test(test_watched_gives_back),
        cmocka_unit_test(test_watched_dirt_stays_small),
#ifdef LIMITABLE
        cmocka_unit_test(test_under_a_limit),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
