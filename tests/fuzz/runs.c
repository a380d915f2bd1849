/*
 * runs.c - run files with records of every kind that a reader handles: images by every way of
 * starting and ending, leases, segments of every kind and state, copies of one slab, deep stacks.
 */
#include "runs.h"

#include "../unit/report/build_run.h"

/* Process ids that no kernel gives: their images have ended.  The first process never has. */
#define GONE 0x7f000000u
#define ALIVE 1u

/* Files that are everywhere, with symbols and without, and one that is nowhere. */
#define WITH_SYMBOLS "/lib64/ld-linux-x86-64.so.2"
#define WITHOUT_SYMBOLS "/bin/true"
#define NO_SUCH_PATH "/nowhere/prog"
#define STRANGE_PATH "/nowhere/lib\x1b[31m\xff.so"

static void add_modules(const struct build *b, uint32_t area, const char *program)
{
    struct segment *s = build_records(b, area, SEGMENT_MODULES, 2);

    build_module(s, program, 0x555555554000, 0x8000);
    build_module(s, STRANGE_PATH, 0x7f0000000000, 0x10000)->build_id_bytes = 20;
}

/* Stacks of three frames: in each module, and in none. */
static uint32_t add_depot(const struct build *b, uint32_t area, uint32_t chunk, uint32_t parent)
{
    struct segment *s = build_depot(b, area, chunk);
    uint32_t id = build_node(s, 0x1000, parent);

    id = build_node(s, 0x7f0000000123, id);
    build_node(s, 0x555555556345, id);
    return build_node(s, 0x555555556789, id);
}

static void add_slab(const struct build *b, uint32_t area, uint64_t unit, uint32_t epoch,
                     uint32_t stack)
{
    struct segment *s = build_slab(b, area, unit, 64, 8);

    s->epoch = epoch;
    for (uint32_t i = 0; i < 8; i++)
        build_block(s, i, i % (BLOCK_INHERITED + 1), i, stack - i % 2);
    ((struct block_record *)build_item(s, 6))->word = build_word(BLOCK_LIVE, MARK_INHERITED, 6);
}

static void add_large(const struct build *b, uint32_t area, uint32_t stack)
{
    struct segment *s = build_records(b, area, SEGMENT_LARGE, 4);

    build_large(s, 20, 4, 200000, stack);
    build_large(s, 20, 4, 200001, stack)->epoch = 2;
    build_large(s, 24, 1, 1, stack)->superseded = 1;
}

static void add_threads(const struct build *b, uint32_t area)
{
    struct segment *s = build_records(b, area, SEGMENT_THREADS, 3);

    strcpy(build_thread(s, 1, 1000, 900)->name, "worker\x01\xc3\xa9");
    build_thread(s, 2, 5, 5)->gone = 1;
}

/* One of each kind and, as far as they go, of each region. */
static void add_errors(const struct build *b, uint32_t area, uint32_t stack)
{
    struct segment *s = build_records(b, area, SEGMENT_ERRORS, REGION_COUNT);

    for (uint32_t i = 0; i < REGION_COUNT; i++) {
        struct error_record *e = build_error(s, 1 + i % ERROR_KIND_COUNT, i, stack);
        e->address = 0x555555556345;
        e->region = i;
        e->region_bias = 0x555555554000;
        e->block = 0x700000000040;
        e->block_bytes = i;
        e->block_state = i % (BLOCK_INHERITED + 1);
        e->alloc_stack = stack;
        e->damage = i % DAMAGE_COUNT;
        e->found_bytes = i;
        strcpy(e->region_path, "/dev/shm/\x1b]0;\xff");
        e->signal = 6;
    }
    s = build_records(b, area, SEGMENT_CRASHES, 1);
    struct crash_record *c = build_item(s, s->count++);
    c->thread = 1; /* as build_error */
    c->registers = 18;
    strcpy(c->exception, "St13runtime_error");
}

/* One of each reason to be native, and one of a later version. */
static void add_objects(const struct build *b, uint32_t area)
{
    struct segment *s = build_records(b, area, SEGMENT_OBJECTS, NATIVE_COUNT + 1);

    for (uint32_t i = 0; i <= NATIVE_COUNT; i++) {
        struct object_record *o = build_item(s, s->count++);
        o->native = i;
        o->text_bytes = o->function_bytes[0] = 1000;
        o->function_bytes[i % OBJECT_STATES] += i;
        strcpy(o->path, "/lib/\x1b]0;\xff.so");
    }
}

/* Reached in every way, by every witness, out of every kind of root. */
static void add_leaks(const struct build *b, uint32_t area, uint32_t stack)
{
    struct segment *s = build_records(b, area, SEGMENT_LEAKS, REACH_COUNT);
    struct segment *roots = build_records(b, area, SEGMENT_ROOTS, ROOT_KIND_COUNT);

    build_image_header(b, area)->leak_check = LEAKS_FOUND;
    for (uint32_t i = 1; i < ROOT_KIND_COUNT; i++)
        strcpy(build_root(roots, i, 0x555555556000, 0x2000)->path, "/dev/shm/\x1b]0;\xff");
    for (uint32_t i = 1; i < REACH_COUNT; i++) {
        struct leak_group *g = build_leak(s, i, stack, i, 64 * i);
        g->witness = i % WITNESS_COUNT;
        g->value = g->block + i;
        g->root = 1 + i % ROOT_KIND_COUNT;
        g->at = g->from = 0x555555556345;
        g->from_stack = stack;
        g->frame_pc = 0x555555556345;
        g->indirect_blocks = i;
    }
}

/* A check that was not reported. */
static void add_check(const struct build *b, uint32_t area, uint32_t stack)
{
    struct segment *checks =
        build_segment(b, area, SEGMENT_LEAK_CHECKS, sizeof(struct leak_check_record), 1, 1);
    struct segment *leaks = build_records(b, area, SEGMENT_CHECK_LEAKS, 1);
    struct leak_check_record *check = build_item(checks, checks->count++);

    check->number = 1;
    check->result = LEAKS_FOUND;
    build_leak(leaks, REACH_LOST, stack, 1, 16);
    build_image_header(b, area)->marks = 1;
}

/* Everything that a separate image can have. */
static uint32_t add_image(struct build *b, uint32_t number, uint32_t parent, uint32_t pid,
                          enum image_how how, const char *program)
{
    uint32_t area = build_image(b, number, parent, pid, how);
    uint32_t stack;

    add_modules(b, area, program);
    stack = add_depot(b, area, 0, 0);
    add_slab(b, area, 0, 1, stack);
    add_large(b, area, stack);
    add_threads(b, area);
    add_errors(b, area, stack);
    add_leaks(b, area, stack);
    add_objects(b, area);
    add_check(b, area, stack);
    return area;
}

/* ---- the files ---------------------------------------------------------------------------- */

static struct build run_of_one(const char *program)
{
    struct build b = build_begin();
    uint32_t area = add_image(&b, 1, 0, GONE, IMAGE_ROOT, program);

    build_image_header(&b, area)->flags |= IMAGE_HEAP_IN_FILE;
    build_run(&b)->heap_taken = GONE;
    return b;
}

/* A second area; a slab in three copies, one of them begun; a segment of a kind to come. */
static void grow_root(struct build *b, uint32_t area)
{
    uint32_t more = build_more(b, area);
    uint32_t stack = add_depot(b, more, 1, depot_id(0, 3));

    add_slab(b, more, 0, 2, stack);
    add_slab(b, more, 0, 3, stack);
    build_slab(b, more, 0, 64, 8)->state = SEGMENT_BUILDING;
    build_slab(b, more, 1, 32, 4)->state = SEGMENT_SUPERSEDED;
    build_segment(b, more, 99, 24, 2, 0);
    build_slab(b, more, 2, 48, 2)->state = SEGMENT_VACANT;
}

/* A forked child reads its parent's depot and modules, and its slabs by a lease. */
static uint32_t add_child(struct build *b, uint32_t number, uint32_t parent, uint32_t pid,
                          uint32_t ppid)
{
    uint32_t area = build_image(b, number, parent, pid, IMAGE_FORK);
    struct image_header *h = build_image_header(b, area);
    struct lease *lease = build_lease(b, number);

    h->ppid = ppid;
    h->first_depot_chunk = number;
    h->lease = number + 1;
    h->flags |= IMAGE_INHERITED_UNSURE | IMAGE_RECORD_WIDE;
    lease->state = LEASE_HELD;
    lease->pid = pid;
    lease->parent = parent;
    lease->child = number;
    add_slab(b, area, 7, 4, add_depot(b, area, number, depot_id(number - 1, 2)));
    return area;
}

/* After exec: the same process, another program. */
static void add_successor(struct build *b, uint32_t number, uint32_t before, uint32_t pid)
{
    uint32_t area = add_image(b, number, before, pid, IMAGE_EXEC, NO_SUCH_PATH);
    struct image_header *h = build_image_header(b, area);

    h->flags |= IMAGE_HEAP_IN_FILE | IMAGE_METADATA_PRIVATE | IMAGE_SANDBOXED;
    h->argv_bytes = 8;
    h->argc = 4;
    memcpy(h->argv, "a\0\xff\0\0\nb", 8);
    for (int i = 0; i < BAD_FREE_COUNT; i++)
        h->bad_frees[i] = (uint64_t)i + 1;
}

static struct build run_of_family(uint32_t root_pid)
{
    struct build b = build_begin();
    uint32_t root = add_image(&b, 1, 0, root_pid, IMAGE_ROOT, NO_SUCH_PATH);
    uint32_t exec_pid = root_pid == ALIVE ? ALIVE : GONE + 3;
    uint32_t before, orphan;

    build_image_header(&b, root)->state = IMAGE_OPEN;
    grow_root(&b, root);
    add_child(&b, 2, 1, GONE + 2, root_pid);
    before = add_child(&b, 3, 2, exec_pid, GONE + 2);
    build_image_header(&b, before)->end_how = END_EXEC;
    add_successor(&b, 4, 3, exec_pid);
    orphan = build_image(&b, 5, 1, GONE + 5, IMAGE_FORK_UNSEEN);
    build_image_header(&b, orphan)->flags = IMAGE_OWN_MALLOC;
    build_image_header(&b, orphan)->unchecked_children = 2;
    build_lease(&b, 9)->state = LEASE_FORKING;
    build_claim(&b, 6); /* claimed, not begun */
    build_entry(&b, build_claim(&b, 7))->owner = area_owner(AREA_RECLAIMING, 7);
    build_run(&b)->reclaimed.images = 3;
    build_run(&b)->unrecorded_images = 1;
    return b;
}

/* ---- small --------------------------------------------------------------------------------- */

#define PACKED_AREA_BYTES (32u << 10)
#define PACKED_AREAS 12u
#define PACKED_LEASES 10u
#define PACKED_HEAP_BYTES (2u << RTC_UNIT_SHIFT) /* a hole; in it a slab's unit */

static char *area_of(const struct run_base *base, uint32_t area)
{
    return (char *)(uintptr_t)base->file + area * PACKED_AREA_BYTES;
}

/* Areas do not contain their position in the file. */
static void pack_areas(const struct run_base *base, const struct build *b)
{
    for (uint32_t i = 0; i < PACKED_AREAS; i++) {
        assert(i == 0 || build_head(b, i)->used_bytes <= PACKED_AREA_BYTES);
        memcpy(area_of(base, i), build_area_at(b, i), PACKED_AREA_BYTES);
    }
    assert(b->next_area <= PACKED_AREAS);
}

/*
 * The same run with little unused space: every input reads all of the head more than once, which
 * takes most of the time.
 */
static struct run_base pack(const struct build *b)
{
    struct run_base base = {.bytes = PACKED_AREAS * PACKED_AREA_BYTES};
    struct run_header *run;

    base.file = calloc(1, base.bytes + PACKED_HEAP_BYTES);
    assert(base.file);
    pack_areas(&base, b);
    run = (struct run_header *)(void *)area_of(&base, 0);
    run->heap_offset = base.bytes;
    run->heap_bytes = PACKED_HEAP_BYTES;
    base.bytes = run->file_bytes = base.bytes + PACKED_HEAP_BYTES;
    run->area_bytes = PACKED_AREA_BYTES;
    run->area_count = PACKED_AREAS;
    run->lease_count = PACKED_LEASES;
    run->lease_table_offset = run->area_table_offset + PACKED_AREAS * sizeof(struct area_entry);
    run->unchecked_offset = 0; /* packed: there is no table */
    memcpy(area_of(&base, 0) + run->lease_table_offset, build_lease(b, 0),
           PACKED_LEASES * sizeof(struct lease));
    assert(run->lease_table_offset + PACKED_LEASES * sizeof(struct lease) <= PACKED_AREA_BYTES);
    return base;
}

/* ---- where their structures are ------------------------------------------------------------ */

static void add_anchor(struct run_base *base, uint64_t offset)
{
    assert(base->anchor_count < RUN_ANCHORS_MAX);
    base->anchors[base->anchor_count++] = (uint32_t)offset;
}

static void find_head_anchors(struct run_base *base)
{
    const struct run_header *run = (const void *)base->file;

    add_anchor(base, 0);
    add_anchor(base, offsetof(struct run_header, launcher_pid));
    add_anchor(base, offsetof(struct run_header, folder));
    add_anchor(base, offsetof(struct run_header, host));
    for (uint32_t i = 0; i < run->next_area; i++)
        add_anchor(base, run->area_table_offset + i * sizeof(struct area_entry));
    for (uint32_t i = 0; i < run->lease_count; i++)
        add_anchor(base, run->lease_table_offset + i * sizeof(struct lease));
}

static void find_image_anchors(struct run_base *base, uint64_t at)
{
    add_anchor(base, at);
    add_anchor(base, at + offsetof(struct image_header, exe));
    add_anchor(base, at + offsetof(struct image_header, argv_bytes));
}

static void find_area_anchors(struct run_base *base, uint32_t area)
{
    const char *start = area_of(base, area);
    const struct area_head *head = (const void *)start;
    const struct image_header *h = (const void *)(start + RTC_AREA_HEAD_BYTES);
    uint64_t offset = area * PACKED_AREA_BYTES, at = RTC_AREA_HEAD_BYTES;

    add_anchor(base, offset);
    if (head->magic != 0 && head->ordinal == 0) {
        find_image_anchors(base, offset + at);
        at += h->header_bytes;
    }
    while (at < head->used_bytes) {
        const struct segment *s = (const void *)(start + at);
        add_anchor(base, offset + at);
        add_anchor(base, offset + at + sizeof *s);
        at += s->bytes;
    }
}

static void find_pages(struct run_base *base)
{
    static const char zero[4096];

    for (uint64_t at = 0; at < base->bytes; at += sizeof zero) {
        if (memcmp(base->file + at, zero, sizeof zero) == 0)
            continue;
        assert(base->page_count < RUN_PAGES_MAX);
        base->pages[base->page_count++] = (uint32_t)at;
    }
}

static struct run_base base_of(struct build b)
{
    struct run_base base = pack(&b);

    find_head_anchors(&base);
    for (uint32_t area = 1; area < b.next_area; area++)
        find_area_anchors(&base, area);
    find_pages(&base);
    build_end(&b);
    return base;
}

/* Looking up symbols takes ten times as long as everything else: few inputs do it. */
#define CHOICE_SYMBOLS 0xff

const struct run_base *run_base_choose(unsigned choice)
{
    static struct run_base with_symbols, bases[4];

    if (!bases[0].file) {
        with_symbols = base_of(run_of_one(WITH_SYMBOLS));
        bases[0] = base_of(run_of_one(WITHOUT_SYMBOLS));
        bases[1] = base_of(run_of_family(ALIVE));
        bases[2] = base_of(run_of_family(GONE + 1));
        bases[3] = base_of(build_begin());
    }
    return choice == CHOICE_SYMBOLS ? &with_symbols : &bases[choice % countof(bases)];
}
