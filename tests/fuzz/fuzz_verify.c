/*
 * fuzz_verify.c - verify.c alone, on a run's head, on an area, on a whole file.
 *
 * rtc-build: shadow +runs.c +spoil.c
 *
 * A head or an area is made of the input's own bytes.  The input leaves out long unused parts: the
 * gap behind an area's head, the texts of an image header.  Half of the inputs get correct magics
 * and lengths of segments, so that the code behind those checks is reached; the other half stay as
 * they are.  A whole file is a good one (runs.c) with edits (spoil.c).
 *
 * Required: verify.c touches nothing outside of its input (the memory is exactly that long), an
 * error has a place in the file, and in verified data every item can be touched, every text and
 * every stack ends.
 */
#include <unistd.h>

#include "shadow.h"
#include "spoil.h"

#define INPUT_MAX 8192

static void check_answer(bool good, const struct verify_error *err)
{
    must(good == (err->what == NULL), "an error has words, and nothing else has");
}

/* ---- the head ------------------------------------------------------------------------------ */

/* Zeros, exactly as long as verify_run may read; the same memory every time. */
static struct run_header *head_begin(void)
{
    static struct run_header *run;

    run = run ? run : malloc(RTC_RUN_HEAD_BYTES);
    must(run != NULL, "there is memory");
    return memset(run, 0, RTC_RUN_HEAD_BYTES);
}

static const struct run_shape shape = {
    .area_bytes = 1u << 20,
    .area_count = 16,
    .mode = RUN_BY_LAUNCHER,
    .host = "host",
    .options = "",
};

static void touch_tables(const struct run_header *run)
{
    const struct area_entry *areas = (const void *)((const char *)run + run->area_table_offset);
    const struct lease *leases = (const void *)((const char *)run + run->lease_table_offset);

    must((const char *)(areas + run->area_count) <= (const char *)run + run->area_bytes &&
             (const char *)(leases + run->lease_count) <= (const char *)run + run->area_bytes,
         "tables lie in area 0");
    for (uint32_t i = 0; i < run->area_count; i++)
        must(area_owner_state(areas[i].owner) <= AREA_RECLAIMING, "areas are in known states");
    for (uint32_t i = 0; i < run->lease_count; i++)
        must(leases[i].state <= LEASE_EXECED, "leases are in known states");
    must(strlen(run->folder) < sizeof run->folder, "the folder ends");
    must(strlen(run->host) < sizeof run->host, "the host's name ends");
    must(strlen(run->options) < sizeof run->options, "the options end");
    must(run->area_bytes <= run->file_bytes / run->area_count, "areas fit the file");
    must(run->heap_offset <= run->file_bytes &&
             run->heap_bytes <= run->file_bytes - run->heap_offset,
         "the heap fits the file");
}

/* The header's numbers, then bytes of the tables, which begin at some offset behind it. */
static void fuzz_head(struct input *in, bool fix)
{
    struct run_header *run = head_begin();
    uint64_t file_bytes = 16u << 20, table;
    struct verify_error err;

    must(run_header_init(run, &shape) == 0, "a header can be made");
    if (input_number(in, 1) & 1)
        file_bytes = input_number(in, 8);
    table = RTC_AREA_TABLE_OFFSET +
            input_number(in, 2) * 8 % (RTC_RUN_HEAD_BYTES - RTC_AREA_TABLE_OFFSET);
    input_copy(in, run, offsetof(struct run_header, reserved));
    input_copy(in, (char *)run + table, RTC_RUN_HEAD_BYTES - table);
    if (fix) {
        run->magic = RTC_RUN_MAGIC;
        run->version_major = RTC_VERSION_MAJOR;
        file_bytes = run->file_bytes;
    }
    check_answer(verify_run(run, file_bytes, &err), &err);
    if (!err.what)
        touch_tables(run);
}

/* The launcher's record: counters and words cut short, or invalid numbers. */
static void fuzz_launcher(struct input *in)
{
    static struct launcher_record launcher;
    struct verify_error err;

    memset(&launcher, 0, sizeof launcher);
    input_copy(in, &launcher, offsetof(struct launcher_record, counter));
    for (uint32_t i = 0; i < LAUNCHER_COUNTERS_MAX && in->left > 0; i++) {
        struct launcher_counter *c = &launcher.counter[i];
        input_copy(in, c, offsetof(struct launcher_counter, name));
        memset(c->name, (int)input_number(in, 1), input_number(in, 1) % (sizeof c->name + 1));
        memset(c->text, (int)input_number(in, 1), 2 * input_number(in, 1) % (sizeof c->text + 1));
    }
    check_answer(verify_launcher(&launcher, 0, &err), &err);
    for (uint32_t i = 0; !err.what && i < launcher.counters; i++)
        must(strlen(launcher.counter[i].name) < sizeof launcher.counter[i].name &&
                 strlen(launcher.counter[i].text) < sizeof launcher.counter[i].text,
             "words end");
}

/* ---- an area ------------------------------------------------------------------------------- */

struct area {
    char *at;
    uint64_t bytes;
};

static struct area_head *head_of(const struct area *a)
{
    return (struct area_head *)(void *)a->at;
}

static struct image_header *image_of(const struct area *a)
{
    return (struct image_header *)(void *)(a->at + RTC_AREA_HEAD_BYTES);
}

/* The header's numbers, and equal letters for its long texts. */
static void take_image(struct input *in, struct image_header *h)
{
    input_copy(in, h, offsetof(struct image_header, private_kinds));
    memset(h->exe, (int)input_number(in, 1), sizeof h->exe);
    memset(h->argv, (int)input_number(in, 1), sizeof h->argv);
    input_copy(in, &h->argv_bytes, sizeof *h - offsetof(struct image_header, argv_bytes));
}

/* head, image header if it is an image's first area, segments: as long as the input. */
static struct area take_area(struct input *in)
{
    struct area_head head = {0};
    struct image_header image = {0};
    struct area a;

    input_copy(in, &head, sizeof head);
    if (head.ordinal == 0)
        take_image(in, &image);
    a.bytes = RTC_AREA_HEAD_BYTES + (head.ordinal == 0 ? sizeof image : 0) + in->left;
    a.at = calloc(1, a.bytes);
    must(a.at != NULL, "there is memory");
    memcpy(a.at, &head, sizeof head);
    if (head.ordinal == 0)
        memcpy(image_of(&a), &image, sizeof image);
    input_copy(in, a.at + a.bytes - in->left, in->left);
    return a;
}

/* Segments follow each other to the end, each as long as its length, or the remaining bytes, allow. */
static void fix_chain(const struct area *a, uint64_t off, uint64_t used)
{
    while (off < used) {
        struct segment *s = (struct segment *)(void *)(a->at + off);
        s->magic = RTC_SEGMENT_MAGIC;
        s->image = head_of(a)->image;
        s->bytes = (uint32_t)align_up(s->bytes % (1u << 20), RTC_SEGMENT_ALIGN);
        if (s->bytes < sizeof *s || s->bytes > used - off)
            s->bytes = (uint32_t)(used - off);
        if (s->kind == SEGMENT_SLAB)
            s->count = s->capacity;
        off += s->bytes;
    }
}

static void fix_area(const struct area *a, uint32_t index)
{
    struct area_head *head = head_of(a);
    uint64_t first = RTC_AREA_HEAD_BYTES;

    head->magic = RTC_AREA_MAGIC;
    head->area = index;
    head->image |= 1;
    head->used_bytes = align_down(a->bytes, RTC_SEGMENT_ALIGN);
    if (head->ordinal == 0) {
        struct image_header *h = image_of(a);
        head->previous = 0;
        h->magic = RTC_IMAGE_MAGIC;
        h->image = head->image;
        h->header_bytes = (uint32_t)align_up(sizeof *h, RTC_SEGMENT_ALIGN);
        first += h->header_bytes;
    }
    fix_chain(a, first, head->used_bytes);
    head->used_bytes += head->pad % 4 * RTC_SEGMENT_ALIGN; /* or more than there is */
}

/* ---- verified data -------------------------------------------------------------------------- */

static unsigned touch_bytes(const void *at, size_t bytes)
{
    const volatile unsigned char *p = at;
    unsigned sum = 0;

    for (size_t i = 0; i < bytes; i++)
        sum += p[i];
    return sum;
}

/* A parent comes before its child: so a walk ends.  No node refers to an unwritten one. */
static void touch_stack(const struct segment *s, uint32_t i)
{
    const struct depot_node *n = (const void *)((char *)segment_items(s) + i * s->item_bytes);
    uint32_t chunk = depot_chunk_of(n->parent), place = depot_index_of(n->parent);

    must(n->pc == 0 || depot_is_root(n->parent) || chunk < s->index ||
             (chunk == s->index && place < i),
         "a stack ends");
}

static void touch_item(const struct segment *s, uint32_t i)
{
    const void *item = (char *)segment_items(s) + (uint64_t)i * s->item_bytes;

    touch_bytes(item, s->item_bytes);
    if (s->kind == SEGMENT_DEPOT)
        touch_stack(s, i);
    if (s->kind == SEGMENT_THREADS)
        must(strlen(((const struct thread_record *)item)->name) < 16, "a thread's name ends");
    if (s->kind == SEGMENT_MODULES) {
        const struct module_record *m = item;
        must(strlen(m->path) < sizeof m->path, "a module's path ends");
        must(m->build_id_bytes <= sizeof m->build_id, "a build-id fits");
    }
    if (s->kind == SEGMENT_ERRORS) {
        const struct error_record *e = item;
        must(e->kind == ERROR_NONE || strlen(e->region_path) < sizeof e->region_path,
             "its path ends");
        must(e->kind == ERROR_NONE || e->found_bytes <= sizeof e->found, "found bytes fit");
    }
    if (s->kind == SEGMENT_LEAKS || s->kind == SEGMENT_CHECK_LEAKS)
        must(((const struct leak_group *)item)->reach < REACH_COUNT,
             "it is known how they are reached");
    if (s->kind == SEGMENT_OBJECTS) {
        const struct object_record *o = item;
        must(strlen(o->path) < sizeof o->path, "an object's path ends");
        must(o->build_id_bytes <= sizeof o->build_id, "its build-id fits");
    }
    if (s->kind == SEGMENT_TEXTS)
        must(strlen(((const struct text_record *)item)->text) < 120, "a text ends");
    if (s->kind == SEGMENT_CLIENT_BLOCKS) {
        const struct client_block_record *r = item;
        must(r->start + r->bytes >= r->start, "a recorded block ends behind its start");
    }
    if (s->kind == SEGMENT_ROOTS || s->kind == SEGMENT_CHECK_ROOTS) {
        const struct root_record *root = item;
        must(root->kind == ROOT_NONE || strlen(root->path) < sizeof root->path,
             "a root's path ends");
    }
}

static void touch_area(const struct area *a)
{
    const struct area_head *head = head_of(a);
    const struct image_header *h = image_of(a);
    uint64_t off = RTC_AREA_HEAD_BYTES;

    if (head->magic == 0 || (head->ordinal == 0 && h->magic == 0))
        return;
    if (head->ordinal == 0) {
        must(strlen(h->exe) < sizeof h->exe && strlen(h->name) < sizeof h->name, "texts end");
        must(h->argv_bytes == 0 || h->argv[h->argv_bytes - 1] == '\0', "arguments end");
        off += h->header_bytes;
    }
    while (off < head->used_bytes) {
        const struct segment *s = (const void *)(a->at + off);
        if (s->state == SEGMENT_CURRENT && s->kind >= SEGMENT_SLAB &&
            (s->kind <= SEGMENT_CLIENT_BLOCKS || s->kind == SEGMENT_OBJECTS))
            for (uint32_t i = 0; i < s->count; i++)
                touch_item(s, i);
        off += s->bytes;
    }
}

static void fuzz_area(struct input *in, bool fix)
{
    static struct run_header run;
    uint32_t index = (uint32_t)input_number(in, 1) % (shape.area_count + 1);
    struct area a = take_area(in);
    struct verify_error err;

    run_header_init(&run, &shape);
    if (fix)
        fix_area(&a, index);
    check_answer(verify_area(a.at, a.bytes, &run, index, &err), &err);
    if (!err.what)
        touch_area(&a);
    free(a.at);
}

/* ---- a whole file --------------------------------------------------------------------------- */

/* The used bytes, by the area's head: the part that readers map. */
static struct area read_area(int fd, const struct run_header *run, uint32_t index)
{
    off_t offset = (off_t)area_offset(run, index);
    struct area_head head = {0};
    struct area a = {NULL, RTC_AREA_HEAD_BYTES};

    must(pread(fd, &head, sizeof head, offset) >= 0, "the file can be read");
    if (head.used_bytes > a.bytes)
        a.bytes = head.used_bytes < run->area_bytes ? head.used_bytes : run->area_bytes;
    a.at = calloc(1, a.bytes);
    must(a.at && pread(fd, a.at, a.bytes, offset) >= 0, "the file can be read");
    return a;
}

static void verify_areas(int fd, const struct run_header *run)
{
    struct verify_error err;

    for (uint32_t i = 1; i < run->area_count && i < run->next_area; i++) {
        struct area a = read_area(fd, run, i);
        check_answer(verify_area(a.at, a.bytes, run, i, &err), &err);
        if (!err.what)
            touch_area(&a);
        free(a.at);
    }
}

static void fuzz_file(struct input *in)
{
    const struct run_base *base = run_base_choose((unsigned)input_number(in, 1));
    struct run_header *run = head_begin();
    int fd = run_file_begin(base);
    struct verify_error err;

    run_file_spoil(fd, in, base);
    must(pread(fd, run, RTC_RUN_HEAD_BYTES, 0) >= 0, "the file can be read");
    check_answer(verify_run(run, (uint64_t)lseek(fd, 0, SEEK_END), &err), &err);
    if (!err.what) {
        touch_tables(run);
        verify_areas(fd, run);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size < INPUT_MAX ? size : INPUT_MAX};
    unsigned how = (unsigned)input_number(&in, 1);

    if (how == 0xf3) /* a value, not bits, so that the meaning of earlier inputs does not change */
        fuzz_launcher(&in);
    else if (how & 4)
        fuzz_file(&in);
    else if (how & 2)
        fuzz_head(&in, how & 1);
    else
        fuzz_area(&in, how & 1);
    return 0;
}
