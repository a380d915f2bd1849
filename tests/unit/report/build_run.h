/*
 * build_run.h - run files built by tests: small, valid, and easily corrupted.
 *
 * A file is built in memory, area by area, in the order of the calls; build_fd copies it to a
 * memfd, build_file writes it to a path.
 */
#ifndef BUILD_RUN_H
#define BUILD_RUN_H

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shadow.h"

#define BUILD_AREA_BYTES (256u << 10)
#define BUILD_DEPOT_NODES 400u /* of a chunk */
#ifndef BUILD_AREAS
#define BUILD_AREAS 24u
#endif

struct build {
    char *file;
    uint64_t bytes;
    uint32_t next_area;
};

static inline struct run_header *build_run(const struct build *b)
{
    return (struct run_header *)(void *)b->file;
}

static inline char *build_area_at(const struct build *b, uint32_t area)
{
    return b->file + (uint64_t)area * BUILD_AREA_BYTES;
}

static inline struct area_head *build_head(const struct build *b, uint32_t area)
{
    return (struct area_head *)(void *)build_area_at(b, area);
}

static inline struct image_header *build_image_header(const struct build *b, uint32_t area)
{
    return (struct image_header *)(void *)(build_area_at(b, area) + RTC_AREA_HEAD_BYTES);
}

static inline struct area_entry *build_entry(const struct build *b, uint32_t area)
{
    return (struct area_entry *)(void *)(b->file + build_run(b)->area_table_offset) + area;
}

static inline struct lease *build_lease(const struct build *b, uint32_t index)
{
    return (struct lease *)(void *)(b->file + build_run(b)->lease_table_offset) + index;
}

static inline struct build build_begin(void)
{
    struct run_shape shape = {
        .area_bytes = BUILD_AREA_BYTES,
        .area_count = BUILD_AREAS,
        .start_ns = 1700000000000000000ull,
        .mode = RUN_BY_LAUNCHER,
        .uid = 1000,
        .host = "testhost",
        .options = "memuse=yes",
    };
    struct build b = {.bytes = (uint64_t)BUILD_AREA_BYTES * BUILD_AREAS, .next_area = 1};

    b.file = mmap(NULL, b.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert(b.file != MAP_FAILED);
    assert(run_header_init(build_run(&b), &shape) == 0);
    return b;
}

static inline void build_end(struct build *b)
{
    munmap(b->file, b->bytes);
}

static inline uint32_t build_claim(struct build *b, uint32_t image)
{
    uint32_t area = b->next_area++;

    assert(area < BUILD_AREAS);
    build_entry(b, area)->owner = area_owner(AREA_CLAIMED, image);
    build_run(b)->next_area = b->next_area;
    if (build_run(b)->next_image < image)
        build_run(b)->next_image = image;
    return area;
}

/* The first area of an image; it ended by exit(0) unless the test changes that. */
static inline uint32_t build_image(struct build *b, uint32_t number, uint32_t parent, uint32_t pid,
                                   enum image_how how)
{
    uint32_t area = build_claim(b, number);
    struct area_head *head = build_head(b, area);
    struct image_header *h = build_image_header(b, area);

    *head = (struct area_head){.magic = RTC_AREA_MAGIC, .image = number, .area = area};
    h->image = number;
    h->parent = parent;
    h->pid = pid;
    h->ppid = 1;
    h->how = how;
    h->state = IMAGE_ENDING;
    h->end_how = END_EXIT;
    h->flags = IMAGE_IN_CONTROL;
    h->header_bytes = (uint32_t)align_up(sizeof *h, RTC_SEGMENT_ALIGN);
    h->start_ns = 1700000000000000000ull;
    h->end_ns = h->start_ns + 500;
    h->heap_base = 0x700000000000ull;
    h->heap_bytes = 64u << RTC_UNIT_SHIFT;
    snprintf(h->exe, sizeof h->exe, "/usr/bin/prog%u", number);
    snprintf(h->name, sizeof h->name, "prog%u", number);
    h->argv_bytes = (uint32_t)snprintf(h->argv, sizeof h->argv, "prog%u", number) + 1;
    h->argc = 1;
    h->checks = CHECK_MADE | CHECK_REDZONES | CHECK_FREED;
    h->error_limit = 1000;
    h->magic = RTC_IMAGE_MAGIC;
    head->used_bytes = RTC_AREA_HEAD_BYTES + h->header_bytes;
    return area;
}

/* The costs of an image; `known` of COST_CLOCK, COST_RUSAGE. */
static inline void build_costs(struct image_header *h, uint32_t known)
{
    h->costs_known = known;
    h->task_clock_ns = 12345678;
    h->minor_faults = 412;
    h->major_faults = 1;
    h->voluntary_switches = 3;
    h->involuntary_switches = 2;
    h->max_rss_bytes = 8 << 20;
    h->segment_bytes = 98304;
}

/* A further area of the image to which `previous` belongs. */
static inline uint32_t build_more(struct build *b, uint32_t previous)
{
    uint32_t number = build_head(b, previous)->image;
    uint32_t area = build_claim(b, number);

    *build_head(b, area) = (struct area_head){.magic = RTC_AREA_MAGIC,
                                              .image = number,
                                              .ordinal = build_head(b, previous)->ordinal + 1,
                                              .area = area,
                                              .previous = previous,
                                              .used_bytes = RTC_AREA_HEAD_BYTES};
    return area;
}

static inline struct segment *build_segment(const struct build *b, uint32_t area,
                                            enum segment_kind kind, uint16_t item_bytes,
                                            uint32_t capacity, uint64_t index)
{
    struct area_head *head = build_head(b, area);
    struct segment *s = (struct segment *)(void *)(build_area_at(b, area) + head->used_bytes);

    s->magic = RTC_SEGMENT_MAGIC;
    s->kind = (uint16_t)kind;
    s->item_bytes = item_bytes;
    s->state = SEGMENT_CURRENT;
    s->image = head->image;
    s->bytes = (uint32_t)segment_bytes(capacity, item_bytes);
    s->capacity = capacity;
    s->index = index;
    head->used_bytes += s->bytes;
    assert(head->used_bytes <= BUILD_AREA_BYTES);
    return s;
}

/* Room for `capacity` records of a kind, of that kind's record size. */
static inline struct segment *build_records(const struct build *b, uint32_t area,
                                            enum segment_kind kind, uint32_t capacity)
{
    static const uint16_t bytes[SEGMENT_KIND_COUNT] = {
        [SEGMENT_LARGE] = sizeof(struct large_record),
        [SEGMENT_DEPOT] = sizeof(struct depot_node),
        [SEGMENT_THREADS] = sizeof(struct thread_record),
        [SEGMENT_MODULES] = sizeof(struct module_record),
        [SEGMENT_ERRORS] = sizeof(struct error_record),
        [SEGMENT_LEAKS] = sizeof(struct leak_group),
        [SEGMENT_ROOTS] = sizeof(struct root_record),
        [SEGMENT_LEAK_CHECKS] = sizeof(struct leak_check_record),
        [SEGMENT_CHECK_LEAKS] = sizeof(struct leak_group),
        [SEGMENT_CHECK_ROOTS] = sizeof(struct root_record),
        [SEGMENT_TEXTS] = sizeof(struct text_record),
        [SEGMENT_COSTS] = sizeof(struct cost_record),
        [SEGMENT_CRASHES] = sizeof(struct crash_record),
        [SEGMENT_OBJECTS] = sizeof(struct object_record),
    };

    assert(bytes[kind]);
    return build_segment(b, area, kind, bytes[kind], capacity, 0);
}

static inline void *build_item(const struct segment *s, uint32_t i)
{
    return (char *)segment_items(s) + (uint64_t)i * s->item_bytes;
}

static inline struct segment *build_slab(const struct build *b, uint32_t area, uint64_t unit,
                                         uint32_t slot_bytes, uint32_t slots)
{
    struct segment *s =
        build_segment(b, area, SEGMENT_SLAB, sizeof(struct block_record), slots, unit);

    s->count = slots;
    s->slot_bytes = slot_bytes;
    s->units = 1;
    return s;
}

static inline uint64_t build_word(enum block_state state, uint32_t mark, uint32_t size)
{
    return (uint64_t)state << BLOCK_STATE_SHIFT | (uint64_t)mark << BLOCK_MARK_SHIFT |
           (uint64_t)size << BLOCK_SIZE_SHIFT;
}

static inline void build_block(const struct segment *s, uint32_t slot, enum block_state state,
                               uint32_t size, uint32_t stack)
{
    struct block_record *r = build_item(s, slot);
    r->word = build_word(state, MARK_FIRST, size);
    r->stacks = (uint64_t)stack << 32;
}

/*
 * An empty depot chunk, with all nodes counted as in the runtime; build_node adds nodes and returns
 * ids.
 */
static inline struct segment *build_depot(const struct build *b, uint32_t area, uint32_t chunk)
{
    struct segment *s =
        build_segment(b, area, SEGMENT_DEPOT, sizeof(struct depot_node), BUILD_DEPOT_NODES, chunk);
    s->count = s->capacity;
    return s;
}

static inline uint32_t build_node(struct segment *s, uint64_t pc, uint32_t parent)
{
    uint32_t place = 0;
    while (((struct depot_node *)build_item(s, place))->pc)
        place++;
    struct depot_node *n = build_item(s, place);
    n->pc = pc;
    n->parent = parent;
    return depot_id((uint32_t)s->index, place);
}

static inline struct large_record *build_large(struct segment *s, uint64_t unit, uint64_t units,
                                               uint64_t request, uint32_t stack)
{
    struct large_record *l = build_item(s, s->count++);
    l->block.word = build_word(BLOCK_LIVE, MARK_FIRST, 0);
    l->block.stacks = (uint64_t)stack << 32;
    l->request = request;
    l->unit = unit;
    l->units = units;
    return l;
}

static inline struct thread_record *build_thread(struct segment *s, uint32_t number,
                                                 uint64_t allocs, uint64_t frees)
{
    struct thread_record *t = build_item(s, s->count++);
    t->tid = 100 + number;
    t->number = number;
    t->allocs = allocs;
    t->frees = frees;
    return t;
}

/* An error at the call `stack`, with count 1; the test sets all other fields. */
static inline struct error_record *build_error(struct segment *s, enum error_kind kind,
                                               enum error_entry entry, uint32_t stack)
{
    struct error_record *e = build_item(s, s->count++);
    e->kind = kind;
    e->entry = entry;
    e->count = 1;
    e->time_ns = 1700000000000000000ull + s->count;
    e->stack = stack;
    e->thread = 1;
    return e;
}

/*
 * `blocks` of `bytes` in all.  No pointer refers to the first one; the test sets all other fields.
 */
static inline struct leak_group *build_leak(struct segment *s, enum reach reach, uint32_t stack,
                                            uint64_t blocks, uint64_t bytes)
{
    struct leak_group *g = build_item(s, s->count++);
    g->stack = stack;
    g->reach = reach;
    g->blocks = g->new_blocks = blocks;
    g->bytes = g->new_bytes = bytes;
    g->block = 0x700000010000ull + 0x100 * s->count;
    g->block_bytes = blocks ? bytes / blocks : bytes;
    g->thread = 1;
    return g;
}

static inline struct root_record *build_root(struct segment *s, enum root_kind kind, uint64_t start,
                                             uint64_t bytes)
{
    struct root_record *root = build_item(s, s->count++);
    root->start = start;
    root->end = start + bytes;
    root->kind = kind;
    return root;
}

static inline struct module_record *build_module(struct segment *s, const char *path, uint64_t bias,
                                                 uint64_t bytes)
{
    struct module_record *m = build_item(s, s->count++);
    m->bias = bias;
    m->start = bias;
    m->end = bias + bytes;
    snprintf(m->path, sizeof m->path, "%s", path);
    return m;
}

static inline void build_write(const struct build *b, int fd)
{
    assert(ftruncate(fd, (off_t)b->bytes) == 0);
    for (uint64_t at = 0; at < b->bytes; at += 4096) {
        static const char zero[4096];
        if (memcmp(b->file + at, zero, 4096) != 0)
            assert(pwrite(fd, b->file + at, 4096, (off_t)at) == 4096);
    }
}

static inline int build_fd(const struct build *b)
{
    int fd = memfd_create("run", MFD_CLOEXEC);
    assert(fd >= 0);
    build_write(b, fd);
    return fd;
}

static inline void build_file(const struct build *b, const char *path)
{
    FILE *f = fopen(path, "we");
    assert(f);
    build_write(b, fileno(f));
    assert(fclose(f) == 0);
}

#endif
