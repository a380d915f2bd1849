/*
 * make_run.c - writes a run file with records of every kind: make_run PATH [WORD...]
 *
 *   version=N  of that major version        pid=N      of the root (else unused)
 *   hand       made by hand                 open       the root has not ended
 *   start=N    seconds later                child=N    pid of the forked child, still open
 *   damaged    in its second area           options=TEXT
 *   clean      without errors               limit=N    errors that were not recorded
 *   leaks      of each class, and a witness of each kind; the child was not checked
 *   odd        the root's damage lies before its block, and its first free was at another site
 *
 * The files in tests/files were made by it, so nothing here may depend on the machine.
 */
/* rtc-build: shadow */
#define BUILD_AREAS 6u

#include "../unit/report/build_run.h"

#define LIB 0x7f0000000000ull
#define NOBODYS_PID 2000000000u

static uint32_t add_map(struct build *b, uint32_t area, uint64_t bias)
{
    struct segment *m = build_records(b, area, SEGMENT_MODULES, 4);
    struct module_record *prog = build_module(m, "/opt/demo/prog", bias, 0x10000);
    struct segment *d = build_depot(b, area, 0);

    prog->build_id_bytes = 20;
    for (uint8_t i = 0; i < 20; i++)
        prog->build_id[i] = (uint8_t)(i * 7);
    build_module(m, "/opt/demo/libé.so", LIB, 0x10000);
    build_node(d, bias + 0x1010, 0);
    build_node(d, LIB + 0x2020, 1);
    build_node(d, 0x4242, 0);
    build_node(d, bias + 0x3030, 0);
    return area;
}

static void add_threads(const struct build *b, uint32_t area, uint64_t allocs, uint64_t frees)
{
    build_thread(build_records(b, area, SEGMENT_THREADS, 4), 1, allocs, frees);
}

/* A double free, in `area` as in others, at the stacks that the root's depot has. */
static struct segment *add_errors(const struct build *b, uint32_t area)
{
    struct segment *s = build_records(b, area, SEGMENT_ERRORS, 16);
    struct error_record *e = build_error(s, ERROR_DUF, ENTRY_FREE, 2);

    e->address = e->block = 0x700000010040;
    e->block_bytes = 40;
    e->block_state = BLOCK_FREED;
    e->block_thread = 1;
    e->alloc_stack = 1;
    e->free_stack = 2;
    return s;
}

/* One of each other kind. */
static void add_other_errors(struct segment *s)
{
    struct error_record *e = build_error(s, ERROR_BAF, ENTRY_DELETE, 1);

    e->address = 0x56000000c010;
    e->region = REGION_MODULE;
    e->region_bias = e->region_start = 0x560000000000;
    e->region_end = 0x560000010000;
    e->count = 3;
    e = build_error(s, ERROR_MAF, ENTRY_REALLOC, 1);
    e->block = 0x700000010080;
    e->address = e->block + 8;
    e->block_bytes = 16;
    e->block_state = BLOCK_LIVE;
    e->alloc_stack = 2;
    e = build_error(s, ERROR_MIS, ENTRY_FREE, 3);
    e->address = e->block = 0x7000000100c0;
    e->block_bytes = 24;
    e->block_state = BLOCK_LIVE;
    e->block_family = FAMILY_NEW_ARRAY;
    e->alloc_stack = 1;
    e = build_error(s, ERROR_WUA, ENTRY_EXIT, 0);
    e->block = 0x700000010100;
    e->address = e->block + 16;
    e->bytes = 3;
    e->block_bytes = 16;
    e->block_state = BLOCK_LIVE;
    e->alloc_stack = 2;
    e->damage = DAMAGE_AFTER;
    e->found_bytes = 3;
    memcpy(e->found, "abc", 3);
    build_error(s, ERROR_OOM, ENTRY_CALLOC, 1)->bytes = 1ull << 62;
    e = build_error(s, ERROR_FOREIGN, ENTRY_FREE, 1);
    e->address = 0x561000000010;
    e->region = REGION_LIBC;
}

static uint32_t add_root(struct build *b)
{
    uint32_t area = add_map(b, build_image(b, 1, 0, NOBODYS_PID, IMAGE_ROOT), 0x560000000000ull);
    struct segment *s = build_slab(b, area, 1, 64, 32), *old = build_slab(b, area, 2, 256, 8);
    struct segment *l = build_records(b, area, SEGMENT_LARGE, 4);

    for (uint32_t i = 0; i < 5; i++)
        build_block(s, i, BLOCK_LIVE, 16, 1);
    build_block(s, 5, BLOCK_FREED, 16, 1);
    build_block(old, 0, BLOCK_LIVE, 200, 2);
    old->state = SEGMENT_SUPERSEDED;
    build_large(l, 10, 2, 100000, 2);
    add_threads(b, area, 40, 33);
    add_other_errors(add_errors(b, area));
    build_costs(build_image_header(b, area), COST_CLOCK | COST_RUSAGE);
    build_image_header(b, area)->peak_bytes = 123456;
    build_image_header(b, area)->bad_frees[BAD_FREE_DUPLICATE] = 1;
    build_image_header(b, area)->bad_frees[BAD_FREE_MISALIGNED] = 1;
    build_image_header(b, area)->bad_frees[BAD_FREE_BAD] = 3;
    build_image_header(b, area)->bad_frees[BAD_FREE_FOREIGN] = 1;
    build_image_header(b, area)->end_status = 3;
    return area;
}

/* Forked: a block in the child, from a site that only the parent's depot contains. */
static uint32_t add_child(struct build *b)
{
    uint32_t area = build_image(b, 2, 1, NOBODYS_PID + 1, IMAGE_FORK);
    struct segment *s = build_slab(b, area, 1, 64, 32);

    build_image_header(b, area)->ppid = NOBODYS_PID;
    build_image_header(b, area)->first_depot_chunk = 1;
    build_block(s, 6, BLOCK_LIVE, 20, 1);
    ((struct block_record *)build_item(s, 0))->word = build_word(BLOCK_LIVE, MARK_INHERITED, 16);
    build_block(build_slab(b, build_more(b, area), 7, 32, 16), 0, BLOCK_LIVE, 9, 3);
    add_threads(b, area, 2, 0);
    add_errors(b, area);
    build_image_header(b, area)->bad_frees[BAD_FREE_DUPLICATE] = 1;
    return area;
}

/* Forked, then exec'd: two images of one process. */
static void add_successor(struct build *b)
{
    uint32_t old = build_image(b, 3, 1, NOBODYS_PID + 2, IMAGE_FORK), new;
    char *argv;

    build_image_header(b, old)->ppid = NOBODYS_PID;
    build_image_header(b, old)->end_how = END_EXEC;
    build_block(build_slab(b, old, 1, 64, 32), 7, BLOCK_LIVE, 50, 1);
    add_threads(b, old, 1, 0);
    new = add_map(b, build_image(b, 4, 3, NOBODYS_PID + 2, IMAGE_EXEC), 0x570000000000ull);
    argv = build_image_header(b, new)->argv;
    memcpy(argv, "ls\0--\"q\"\0\x1b\xff", 12);
    build_image_header(b, new)->argv_bytes = 12;
    build_image_header(b, new)->argc = 3;
    build_block(build_slab(b, new, 1, 64, 32), 0, BLOCK_LIVE, 4, 1);
    add_threads(b, new, 7, 6);
}

static struct segment *errors_of(const struct build *b, uint32_t area)
{
    uint64_t at = RTC_AREA_HEAD_BYTES + build_image_header(b, area)->header_bytes;
    struct segment *s = (void *)(build_area_at(b, area) + at);

    while (s->kind != SEGMENT_ERRORS)
        s = (void *)((char *)s + s->bytes);
    return s;
}

static void make_odd(const struct build *b, uint32_t area)
{
    const struct segment *s = errors_of(b, area);
    struct error_record *e = build_item(s, 0);

    e->free_stack = 4;
    while (e->kind != ERROR_WUA)
        e++;
    e->damage = DAMAGE_BEFORE;
    e->address = e->block - 8;
}

static struct leak_group *add_leak(struct segment *s, enum reach reach, enum witness witness,
                                   uint64_t at)
{
    struct leak_group *g = build_leak(s, reach, s->count % 3 + 1, 2, 20 + 2 * s->count);

    g->witness = witness;
    g->value = g->block + (reach == REACH_INTERIOR ? 4 : 0);
    g->at = at;
    g->root = 1 + s->count % 4;
    return g;
}

static void add_leaks(const struct build *b, uint32_t root, uint32_t child)
{
    struct segment *s = build_records(b, root, SEGMENT_LEAKS, 16);
    struct segment *roots = build_records(b, root, SEGMENT_ROOTS, 4);
    struct image_header *h = build_image_header(b, root);
    struct leak_group *g = add_leak(s, REACH_LOST, WITNESS_NONE, 0);

    for (uint32_t kind = ROOT_STACK; kind <= ROOT_GIVEN; kind++)
        build_root(roots, kind, 0x560000000000ull + 0x1000 * kind, 0x1000)->bias = 0x560000000000;
    ((struct root_record *)build_item(roots, 0))->thread = 1;
    strcpy(((struct root_record *)build_item(roots, 2))->path, "/dev/shm/\x1b");
    g->indirect_blocks = 2;
    g->indirect_bytes = 26;
    if (h->marks > 0) /* "check" came before */
        g->new_blocks = 1;
    add_leak(s, REACH_CYCLE, WITNESS_NONE, 0);
    add_leak(s, REACH_INTERIOR, WITNESS_ROOT, 0x560000003008)->root = 3;
    g = add_leak(s, REACH_LOST_INDIRECT, WITNESS_BLOCK, 0x700000010108);
    g->from = 0x700000010100;
    g->from_bytes = 10;
    g->from_stack = 1;
    add_leak(s, REACH_REGISTER, WITNESS_REGISTER, 3);
    add_leak(s, REACH_INDIRECT, WITNESS_ROOT, 0x1);
    g = add_leak(s, REACH_REACHABLE, WITNESS_ROOT, 0x560000001008);
    g->root = 1;
    g->frame_pc = 0x560000001010;
    g = add_leak(s, REACH_REACHABLE, WITNESS_ROOT, 0x560000002008);
    g->root = 2;
    g->stack = 4;
    add_leak(s, REACH_REACHABLE, WITNESS_SELF, 0)->stack = 0;
    h->leak_check = LEAKS_FOUND;
    h->leak_ns = 3100000;
    h->root_bytes = 1 << 20;
    h->root_bytes_skipped = 4096;
    build_image_header(b, child)->leak_check = LEAKS_BUSY;
}

/* The root has made marks, and a check that was not reported, with one block found. */
static void add_check(const struct build *b, uint32_t root)
{
    struct segment *checks =
        build_segment(b, root, SEGMENT_LEAK_CHECKS, sizeof(struct leak_check_record), 1, 3);
    struct segment *leaks = build_records(b, root, SEGMENT_CHECK_LEAKS, 4);
    struct segment *roots = build_records(b, root, SEGMENT_CHECK_ROOTS, 4);
    struct leak_check_record *check = build_item(checks, checks->count++);

    build_image_header(b, root)->marks = 2;
    build_image_header(b, root)->leak_checks = check->number = 3;
    check->result = LEAKS_FOUND;
    check->thread = check->threads_not_stopped = 1;
    add_leak(leaks, REACH_LOST, WITNESS_NONE, 0)->new_blocks = 1;
    build_root(roots, ROOT_STACK, 0x560000001000, 0x1000);
}

/* Remove all errors. */
static void make_clean(const struct build *b, uint32_t area)
{
    errors_of(b, area)->count = 0;
    memset(build_image_header(b, area)->bad_frees, 0,
           sizeof build_image_header(b, area)->bad_frees);
}

static const char *value_of(const char *word, const char *name)
{
    size_t n = strlen(name);
    return strncmp(word, name, n) == 0 && word[n] == '=' ? word + n + 1 : NULL;
}

static uint32_t number_of(const char *value)
{
    return (uint32_t)strtoul(value, NULL, 10);
}

static void apply(struct build *b, uint32_t root, uint32_t child, const char *word)
{
    struct run_header *run = build_run(b);
    const char *value;

    if ((value = value_of(word, "version")))
        run->version_major = number_of(value);
    else if ((value = value_of(word, "pid")))
        build_image_header(b, root)->pid = number_of(value);
    else if ((value = value_of(word, "child"))) {
        build_image_header(b, child)->pid = number_of(value);
        build_image_header(b, child)->state = IMAGE_OPEN;
    } else if ((value = value_of(word, "start")))
        run->start_ns += 1000000000ull * number_of(value);
    else if ((value = value_of(word, "options")))
        snprintf(run->options, sizeof run->options, "%s", value);
    else if (strcmp(word, "hand") == 0)
        run->mode = RUN_BY_HAND;
    else if (strcmp(word, "open") == 0)
        build_image_header(b, root)->state = IMAGE_OPEN;
    else if ((value = value_of(word, "lost")))
        build_image_header(b, child)->missing_features = strtoull(value, NULL, 0);
    else if ((value = value_of(word, "limit")))
        build_image_header(b, root)->errors_unrecorded = number_of(value);
    else if (strcmp(word, "leaks") == 0)
        add_leaks(b, root, child);
    else if (strcmp(word, "check") == 0)
        add_check(b, root);
    else if (strcmp(word, "odd") == 0)
        make_odd(b, root);
    else if (strcmp(word, "clean") == 0) {
        make_clean(b, root);
        make_clean(b, child);
    } else if (strcmp(word, "damaged") == 0)
        build_head(b, child)->used_bytes -= 64;
    else
        abort();
}

int main(int argc, char **argv)
{
    struct build b = build_begin();
    uint32_t root = add_root(&b), child = add_child(&b);

    build_run(&b)->options[0] = '\0';
    add_successor(&b);
    for (int i = 2; i < argc; i++)
        apply(&b, root, child, argv[i]);
    if (argc < 2)
        return 1;
    build_file(&b, argv[1]);
    build_end(&b);
    return 0;
}
