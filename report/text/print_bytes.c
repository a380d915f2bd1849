/*
 * print_bytes.c - `rtcheck show --bytes`: a block of the heap in the run file (heap=file), with its
 * bytes, its redzones, its stacks, and the words of the heap that point to it.
 *
 * Rows have the form of hexdump -C; offsets are from the start of the block.  Equal rows are printed
 * once.  Below a row, carets mark the bytes that differ from what the runtime wrote there.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/pattern.h"
#include "heap.h"
#include "text.h"

#define ROW 16
#define FIRST_BYTES 256u /* of a long block */
#define LAST_BYTES 64u
#define POINTERS_MAX 8u /* printed, unless all are */
#define OTHERS_MAX 5u
#define LABEL 14
#define CHAIN_FUNCTIONS 3u

/* ---- the block that is meant ----------------------------------------------------------------- */

struct meant {
    uint64_t address;
    uint32_t image; /* 0: any */
    char id[REPORT_ID_BYTES];
};

static void meant_leak(const struct leak *leak, struct meant *m)
{
    m->address = leak->class == CLASS_MAPPED ? 0 : leak->block;
    m->image = leak->image;
}

/* The example of blocks in use from one site is that of their leak record. */
static void meant_record(struct report *r, struct meant *m)
{
    uint32_t count;
    struct record *records = records_make(r, UINT32_MAX, &count);

    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < r->leak_count && strcmp(records[i].id, m->id) == 0; k++)
            if (r->leaks[k].class == CLASS_REACHABLE && r->leaks[k].site == records[i].site)
                meant_leak(&r->leaks[k], m);
    records_free(records, count);
}

static void meant_finding(struct report *r, struct meant *m)
{
    for (uint32_t i = 0; i < r->error_count; i++)
        if (strcmp(r->errors[i].id, m->id) == 0) {
            m->address = r->errors[i].block;
            m->image = r->errors[i].image;
            return;
        }
    for (uint32_t i = 0; i < r->leak_count; i++)
        if (r->leaks[i].class != CLASS_REACHABLE && strcmp(r->leaks[i].id, m->id) == 0) {
            meant_leak(&r->leaks[i], m);
            return;
        }
    meant_record(r, m);
}

bool report_is_address(const char *given)
{
    return strncmp(given, "0x", 2) == 0 || strncmp(given, "0X", 2) == 0;
}

static int meant_of(struct report *r, const char *given, struct meant *m, char *err, size_t room)
{
    char *end;
    int bad;

    *m = (struct meant){0};
    if (report_is_address(given)) {
        errno = 0;
        m->address = strtoull(given + 2, &end, 16);
        if (errno == 0 && end > given + 2 && !*end)
            return 0;
        snprintf(err, room, "%.40s is not an address", given);
        return -EINVAL;
    }
    bad = report_find_id(r, given, m->id, err, room);
    if (bad)
        return bad;
    meant_finding(r, m);
    if (m->address != 0)
        return 0;
    snprintf(err, room, "no block of %.40s is known", m->id);
    return -ENOENT;
}

/* The heap of an image, opened; with the block at an address. */
static bool find_in(struct report *r, uint32_t number, uint64_t address, struct heap *h,
                    struct heap_block *b)
{
    char unused[REPORT_ERROR_BYTES];

    if (heap_open(r, h, number, unused, sizeof unused) != 0)
        return false;
    if (heap_find(h, address, b) && !b->is_lost)
        return true;
    heap_close(h);
    return false;
}

static int refuse_lost(struct heap *h, char *err, size_t room)
{
    snprintf(
        err, room,
        "process %u has allocated or freed the block after a fork made its heap private memory: "
        "its bytes are not in the file (--fork=copy keeps them)",
        h->image->pid);
    heap_close(h);
    return -ENODATA;
}

/* In the heap of the finding's process; an address in the first heap that has a block there. */
static int find(struct report *r, const struct meant *m, struct heap *h, struct heap_block *b,
                char *err, size_t room)
{
    int bad = heap_open(r, h, m->image, err, room);

    if (bad)
        return bad;
    if (heap_find(h, m->address, b))
        return b->is_lost ? refuse_lost(h, err, room) : 0;
    heap_close(h);
    for (const struct image *image = r->images; image && m->image == 0; image = image->hh.next)
        if (find_in(r, image->number, m->address, h, b))
            return 0;
    snprintf(err, room, "there is no block at 0x%" PRIx64, m->address);
    return -ENOENT;
}

/* ---- rows ------------------------------------------------------------------------------------ */

struct rows_of {
    struct heap *heap;
    const struct heap_block *block;
    const struct page *page;
    uint8_t last[ROW]; /* of the row printed last */
    bool has_last, is_skipping;
};

static bool is_changed(const struct heap_block *b, int64_t offset, uint8_t byte)
{
    int expected = heap_expected(b, offset);

    return expected >= 0 && byte != expected;
}

static void row_put(const struct rows_of *rows, const uint8_t bytes[ROW], int64_t offset,
                    int64_t from, int64_t to)
{
    FILE *out = rows->page->out;

    fprintf(out, "%s%07" PRIx64 " ", offset < 0 ? "-" : " ",
            (uint64_t)(offset < 0 ? -offset : offset));
    for (int i = 0; i < ROW; i++) {
        fputs(i == ROW / 2 ? "  " : " ", out);
        if (offset + i >= from && offset + i < to)
            fprintf(out, "%02x", bytes[i]);
        else
            fputs("  ", out);
    }
    fputs("  |", out);
    for (int i = 0; i < ROW && offset + i < to; i++)
        fputc(offset + i < from ? ' ' : byte_is_plain(bytes[i]) ? bytes[i] : '.', out);
    fputs("|\n", out);
}

/* Carets below the changed bytes. */
static void marks_put(const struct rows_of *rows, const bool changed[ROW])
{
    int last = ROW;

    while (last > 0 && !changed[last - 1])
        last--;
    spaces_put(rows->page->out, ROW / 2 + 1);
    set_colour(rows->page, COLOUR_ERROR);
    for (int i = 0; i < last; i++)
        fprintf(rows->page->out, "%s%s", i == ROW / 2 ? "  " : " ", changed[i] ? "^^" : "  ");
    set_colour(rows->page, COLOUR_NONE);
    fputc('\n', rows->page->out);
}

/* Print the part [from, to) of the row at `offset`, unless it equals the one before. */
static void row_print(struct rows_of *rows, int64_t offset, int64_t from, int64_t to)
{
    bool changed[ROW] = {false}, any = false, is_whole = from <= offset && offset + ROW
    <= to;
    uint8_t bytes[ROW];

    heap_read(rows->heap, rows->block->address + (uint64_t)offset, bytes, ROW);
    for (int i = 0; i < ROW; i++)
        any |= changed[i] =
            offset + i >= from && offset + i < to && is_changed(rows->block, offset + i, bytes[i]);
    if (is_whole && !any && rows->has_last && memcmp(bytes, rows->last, ROW) == 0 &&
        !rows->page->how->all) {
        if (!rows->is_skipping)
            fputs("*\n", rows->page->out);
        rows->is_skipping = true;
        return;
    }
    row_put(rows, bytes, offset, from, to);
    if (any)
        marks_put(rows, changed);
    rows->has_last = is_whole && !any;
    rows->is_skipping = false;
    memcpy(rows->last, bytes, ROW);
}

/* Print the bytes [from, to). */
static void range_print(struct rows_of *rows, const char *title, int64_t from, int64_t to)
{
    int64_t offset = from >= 0 ? from - from % ROW : -((-from + ROW - 1) / ROW * ROW);

    if (from >= to)
        return;
    rows->has_last = rows->is_skipping = false;
    if (title) {
        set_colour(rows->page, COLOUR_FAINT);
        fprintf(rows->page->out, "%s\n", title);
        set_colour(rows->page, COLOUR_NONE);
    }
    for (; offset < to; offset += ROW)
        row_print(rows, offset, from, to);
}

static void bytes_print(struct heap *h, const struct heap_block *b, const struct page *page)
{
    struct rows_of rows = {.heap = h, .block = b, .page = page};
    int64_t bytes = (int64_t)b->bytes, room = (int64_t)b->room,
            reach = (int64_t)(b->bytes + b->after), tail = (int64_t)b->tail;

    range_print(&rows, "redzone before the block", -(int64_t)b->before, 0);
    if (bytes <= (int64_t)(FIRST_BYTES + LAST_BYTES) || page->how->all) {
        range_print(&rows, "the block", 0, bytes);
    } else {
        int64_t last = (bytes - (int64_t)LAST_BYTES) & ~(int64_t)(ROW - 1);
        range_print(&rows, "the block", 0, FIRST_BYTES);
        fprintf(page->out, "... %" PRId64 " bytes, shown by --all ...\n",
                last - (int64_t)FIRST_BYTES);
        range_print(&rows, NULL, last, bytes);
    }
    if (reach >= tail) {
        range_print(&rows, "redzone after the block", bytes, room);
    } else {
        range_print(&rows, "redzone after the block", bytes, reach);
        range_print(&rows, "redzone at the end of its slot", tail, room);
    }
}

/* ---- facts ----------------------------------------------------------------------------------- */

static void label_put(const char *label, const struct page *page)
{
    fprintf(page->out, "  %-*s", LABEL, label);
}

static const char *state_text(uint64_t word)
{
    static const char *const texts[] = {
        [BLOCK_NEVER] = "never allocated",
        [BLOCK_LIVE] = "in use",
        [BLOCK_FREED] = "freed, in quarantine",
        [BLOCK_FREE] = "freed, has left quarantine",
        [BLOCK_INHERITED] = "inherited at a fork, perhaps freed",
    };
    uint32_t state = word_state(word);

    return state < countof(texts) && texts[state] ? texts[state] : "of an unknown state";
}

struct changes {
    uint64_t count;
    int64_t first, last;
};

/* The bytes in [from, to) that differ from what the runtime wrote. */
static struct changes changes_in(struct heap *h, const struct heap_block *b, int64_t from,
                                 int64_t to)
{
    struct changes c = {0};
    uint8_t byte;

    for (int64_t at = from; at < to; at++) {
        if (heap_expected(b, at) < 0)
            continue;
        heap_read(h, b->address + (uint64_t)at, &byte, 1);
        if (!is_changed(b, at, byte))
            continue;
        c.first = c.count == 0 ? at : c.first;
        c.last = at;
        c.count++;
    }
    return c;
}

static void changes_put(const char *label, const struct changes *c, const struct page *page)
{
    label_put(label, page);
    if (c->count == 0)
        fputs("intact\n", page->out);
    else if (c->first == c->last)
        fprintf(page->out, "1 byte changed, at offset %" PRId64 "\n", c->first);
    else
        fprintf(page->out, "%" PRIu64 " bytes changed, at offsets %" PRId64 " to %" PRId64 "\n",
                c->count, c->first, c->last);
}

static void redzones_put(struct heap *h, const struct heap_block *b, const struct page *page)
{
    int64_t bytes = (int64_t)b->bytes, room = (int64_t)b->room;
    uint32_t state = word_state(b->word);
    struct changes before, after, fill = {0};

    if (state != BLOCK_LIVE && state != BLOCK_FREED) {
        label_put("redzones", page);
        fputs("not compared: the slot is free\n", page->out);
        return;
    }
    before = changes_in(h, b, -(int64_t)b->before, 0);
    after = changes_in(h, b, bytes, room);
    if (before.count > 0) {
        changes_put("before it", &before, page);
        changes_put("after it", &after, page);
    } else {
        changes_put(after.count ? "after it" : "redzones", &after, page);
    }
    if (!b->has_fill)
        return;
    /* only both ends of a large block are filled */
    fill = changes_in(h, b, 0, bytes < (int64_t)FILL_WHOLE ? bytes : (int64_t)FILL_WHOLE);
    if (bytes > (int64_t)FILL_WHOLE && fill.count == 0)
        fill = changes_in(h, b, bytes - (int64_t)FILL_ENDS, bytes);
    changes_put("fill", &fill, page);
}

static void process_put(const struct image *image, const struct page *page)
{
    label_put("process", page);
    if (!page->how->deterministic)
        fprintf(page->out, "%u ", image->pid);
    text_put(page->out, program_name(image));
    fputc('\n', page->out);
}

/* Other processes with a block at the address: their contents may differ. */
static void others_put(struct report *r, const struct heap *h, const struct meant *m,
                       const struct page *page)
{
    struct heap_block block;
    struct heap other;
    uint32_t count = 0;

    for (const struct image *image = r->images; image; image = image->hh.next) {
        if (image == h->image || !find_in(r, image->number, m->address, &other, &block))
            continue;
        if (count == 0)
            label_put("also in", page);
        if (!page->how->deterministic && count < OTHERS_MAX)
            fprintf(page->out, "%s%u", count ? ", " : "process ", image->pid);
        count++;
        heap_close(&other);
    }
    if (count > 0 && page->how->deterministic)
        fprintf(page->out, "%u processes", count);
    else if (count > OTHERS_MAX)
        fprintf(page->out, " and %u more", count - OTHERS_MAX);
    if (count > 0)
        fputc('\n', page->out);
}

static void address_put(const char *before, uint64_t address, const struct page *page)
{
    if (!page->how->deterministic)
        fprintf(page->out, "%s0x%" PRIx64, before, address);
}

/* "block of 24 bytes at 0x7f0000001010, in use" */
static void head_print(const struct meant *m, const struct heap_block *b, const struct page *page)
{
    set_colour(page, COLOUR_HEADING);
    fprintf(page->out, "%s%sblock", m->id, *m->id ? "  " : "");
    set_colour(page, COLOUR_NONE);
    fprintf(page->out, " of %" PRIu64 " byte%s", b->bytes, b->bytes == 1 ? "" : "s");
    address_put(" at ", b->address, page);
    fprintf(page->out, ", %s%s\n", state_text(b->word),
            b->is_inherited ? " at a fork, perhaps freed since" : "");
}

static void asked_put(const struct meant *m, const struct heap_block *b, const struct page *page)
{
    if (m->address == b->address || *m->id)
        return;
    label_put("address", page);
    fprintf(page->out, "offset %" PRId64 "%s\n", (int64_t)(m->address - b->address),
            m->address - b->address < b->bytes ? "" : ", outside of the block");
}

static void thread_put(struct report *r, const struct heap *h, const struct heap_block *b,
                       const struct page *page)
{
    struct thread thread = heap_thread(h, word_thread(b->word));
    char *words;

    if (thread.number == 0)
        return;
    words = format_thread(r, h->image->number, &thread);
    label_put(word_state(b->word) == BLOCK_LIVE ? "allocated by" : "freed by", page);
    text_put(page->out, words);
    fputc('\n', page->out);
    free(words);
}

static void stack_put(struct report *r, const struct heap *h, const char *label, uint32_t stack,
                      const struct page *page)
{
    uint32_t site;

    if (stack == 0)
        return;
    site = heap_site(h, stack);
    symbolize_site(r, site);
    fprintf(page->out, "  %s\n", label);
    stack_print(r, "", site, page);
}

/* ---- pointers to the block ------------------------------------------------------------------- */

struct pointer {
    uint64_t value;
    uint64_t offset;         /* in the block that contains it */
    struct heap_block block; /* that contains it */
};

struct pointers {
    struct heap *heap;
    const struct heap_block *block;
    struct pointer *at;
    uint32_t count, most;
    uint64_t all;
};

/* Only words of blocks in use count: other bytes of the heap are stale. */
static void pointer_found(void *pointers, uint64_t address, uint64_t value)
{
    struct pointers *p = pointers;
    struct pointer new = {.value = value};

    if (!heap_find(p->heap, address, &new.block) || word_state(new.block.word) != BLOCK_LIVE)
        return;
    new.offset = address - new.block.address; /* wraps before the block */
    if (new.offset >= new.block.bytes || new.block.bytes - new.offset < sizeof value)
        return;
    p->all++;
    if (p->count == p->most)
        return;
    p->at = grow(p->at, p->count, sizeof new);
    p->at[p->count++] = new;
}

static void pointer_print(struct report *r, const struct pointers *p, const struct pointer *one,
                          const struct page *page)
{
    bool is_own = one->block.address == p->block->address;
    uint64_t inside = one->value - p->block->address;

    fprintf(page->out, "   at offset %" PRIu64 " of %s %" PRIu64 "-byte block", one->offset,
            is_own ? "this" : "a", one->block.bytes);
    if (!is_own)
        address_put(" ", one->block.address, page);
    if (inside > 0)
        fprintf(page->out, ", to offset %" PRIu64, inside);
    fputc('\n', page->out);
    if (!is_own && one->block.alloc_stack) {
        struct chain chain = {.site = heap_site(p->heap, one->block.alloc_stack),
                              .most = CHAIN_FUNCTIONS,
                              .indent = 6};
        symbolize_site(r, chain.site);
        spaces_put(page->out, chain.indent);
        chain_print(r, &chain, page);
    }
}

static void pointers_print(struct report *r, struct heap *h, const struct heap_block *b,
                           const struct page *page)
{
    uint64_t bytes = b->bytes ? b->bytes : 1;
    struct pointers p = {.heap = h, .block = b, .most = page->how->all ? UINT32_MAX : POINTERS_MAX};

    heap_search(h, b->address, b->address + bytes, pointer_found, &p);
    fprintf(page->out, "  pointers to it in blocks in use: %" PRIu64 "\n", p.all);
    for (uint32_t i = 0; i < p.count; i++)
        pointer_print(r, &p, &p.at[i], page);
    if (p.all > p.count)
        fprintf(page->out, "   ... %" PRIu64 " more, shown by --all\n", p.all - p.count);
    fputs("   stacks, registers and global data are not in the run file\n", page->out);
    free(p.at);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void block_print(struct report *r, struct heap *h, const struct meant *m,
                        const struct heap_block *b, const struct page *page)
{
    head_print(m, b, page);
    asked_put(m, b, page);
    process_put(h->image, page);
    others_put(r, h, m, page);
    label_put("family", page);
    fprintf(page->out, "%s\n", family_name(word_family(b->word)));
    thread_put(r, h, b, page);
    if (h->is_left) {
        label_put("contents", page);
        fputs("those before a fork, which has made the heap private memory\n", page->out);
    }
    redzones_put(h, b, page);
    bytes_print(h, b, page);
    stack_put(r, h, "allocated", b->alloc_stack, page);
    stack_put(r, h, "freed", b->free_stack, page);
    pointers_print(r, h, b, page);
}

int report_print_bytes(struct report *r, const char *given, uint32_t pid, FILE *out,
                       const struct print_options *how, char *err, size_t room)
{
    struct page page = page_of(out, how, "");
    struct heap_block b;
    struct meant m;
    struct heap h;
    int bad = meant_of(r, given, &m, err, room);

    if (!bad && pid != 0)
        bad = heap_image_of(r, pid, &m.image, err, room);
    if (!bad)
        bad = find(r, &m, &h, &b, err, room);
    if (bad)
        return bad;
    page.frames = UINT32_MAX;
    page.program = program_path(r, h.image->number);
    block_print(r, &h, &m, &b, &page);
    heap_close(&h);
    return 0;
}
