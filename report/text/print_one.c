/*
 * print_one.c - `rtcheck show ID`: all known details of one error, leak or record.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "machine.h"
#include "text.h"

#define LABEL 14

static void label_put(const char *label, const struct page *page)
{
    fprintf(page->out, "  %-*s", LABEL, label);
}

static void address_put(const char *label, uint64_t address, const struct page *page)
{
    if (page->how->deterministic)
        return;
    label_put(label, page);
    fprintf(page->out, "0x%llx\n", (unsigned long long)address);
}

static void time_put(const struct error *e, const struct page *page)
{
    time_t seconds = (time_t)(e->time_ns / 1000000000u);
    char text[64];
    struct tm tm;

    if (page->how->deterministic || !gmtime_r(&seconds, &tm))
        return;
    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm);
    label_put("first at", page);
    fprintf(page->out, "%s.%09u UTC\n", text, (unsigned)(e->time_ns % 1000000000u));
}

static void thread_put(const struct report *r, const char *label, const struct error *e,
                       const struct thread *t, const struct page *page)
{
    char *words;

    if (t->number == 0)
        return;
    words = format_thread(r, e->image, t);
    label_put(label, page);
    text_put(page->out, words);
    if (t->tid != 0 && !page->how->deterministic)
        fprintf(page->out, ", tid %u", t->tid);
    fputs(t->gone ? ", has ended\n" : "\n", page->out);
    free(words);
}

static void block_put(const struct report *r, const struct error *e, const struct page *page)
{
    static const char *const states[] = {"never given out", "in use", "freed, in quarantine",
                                         "freed, and left quarantine", "inherited at a fork"};

    if (e->block == 0)
        return;
    label_put("block", page);
    if (!page->how->deterministic)
        fprintf(page->out, "0x%llx, ", (unsigned long long)e->block);
    fprintf(page->out, "%llu bytes, %s, %s\n", (unsigned long long)e->block_bytes,
            family_name(e->block_family),
            e->block_state < countof(states) ? states[e->block_state] : "?");
    thread_put(r, e->block_state == BLOCK_LIVE ? "allocated by" : "freed by", e, &e->block_thread,
               page);
}

static void found_put(const struct error *e, const struct page *page)
{
    if (e->found_bytes == 0)
        return;
    label_put("found there", page);
    for (uint32_t i = 0; i < e->found_bytes; i++)
        fprintf(page->out, "%02x ", e->found[i]);
    for (uint32_t i = 0; i < e->found_bytes; i++)
        fputc(byte_is_plain(e->found[i]) ? e->found[i] : '.', page->out);
    if (e->bytes > e->found_bytes)
        fprintf(page->out, " ... %llu bytes in all", (unsigned long long)e->bytes);
    fputc('\n', page->out);
}

static void region_put(const struct error *e, const struct page *page)
{
    const struct region *region = &e->region;

    if (region->end <= region->start || page->how->deterministic)
        return;
    label_put("lies in", page);
    fprintf(page->out, "0x%llx-0x%llx", (unsigned long long)region->start,
            (unsigned long long)region->end);
    if (region->path[0]) {
        fputs("  ", page->out);
        text_put(page->out, region->path);
    }
    fputc('\n', page->out);
}

#define REGISTERS_PER_LINE 4u

/* Numbers of the registers as printed: the instruction pointer, the stack and the flags first. */
static uint32_t registers_order(uint32_t order[CRASH_REGISTERS])
{
    static const uint8_t first[] = {DWARF_PC, DWARF_SP, DWARF_FP, DWARF_REGISTERS};
    uint32_t count = 0;

    for (; count < countof(first); count++)
        order[count] = first[count];
    for (uint32_t i = 0; i < DWARF_PC; i++)
        if (i != DWARF_SP && i != DWARF_FP)
            order[count++] = i;
    return count;
}

static void registers_put(const struct report *r, const struct error *e, const struct page *page)
{
    static const char *const names[] = {DWARF_NAMES, PC_NAME, FLAGS_NAME};
    const struct crash_record *c = e->crash.record ? &r->crashes[e->crash.record - 1] : NULL;
    uint32_t order[CRASH_REGISTERS], count = registers_order(order), lines = 0;

    if (!c || c->registers < countof(names) || page->how->deterministic)
        return;
    for (uint32_t i = 0; i < count; i++) {
        if (i % REGISTERS_PER_LINE == 0)
            label_put(lines++ ? "" : "registers", page);
        fprintf(page->out, "%-6s 0x%016llx%s", names[order[i]],
                (unsigned long long)c->value[order[i]],
                (i + 1) % REGISTERS_PER_LINE == 0 || i + 1 == count ? "\n" : "  ");
    }
}

static void head_print(const char *id, const char *sentence, const struct page *page)
{
    set_colour(page, COLOUR_HEADING);
    fputs(id, page->out);
    set_colour(page, COLOUR_NONE);
    fputs("  ", page->out);
    text_put(page->out, sentence);
    fputc('\n', page->out);
}

static void processes_put(const struct report *r, const struct image_numbers *images,
                          const struct page *page)
{
    label_put(images->count == 1 ? "process" : "processes", page);
    for (uint32_t i = 0; i < images->count; i++) {
        const struct image *image = image_of(r, images->at[i]);
        if (!image)
            continue;
        fputs(i ? ", " : "", page->out);
        if (!page->how->deterministic)
            fprintf(page->out, "%u ", image->pid);
        text_put(page->out, program_name(image));
    }
    fputc('\n', page->out);
}

static void stack_put(struct report *r, const struct error_row *row, const struct page *page)
{
    char *label;

    symbolize_site(r, row->site);
    label = row_label(r, row);
    fprintf(page->out, "  %s\n", label);
    stack_print(r, "", row->site, page);
    free(label);
}

static void error_show(struct report *r, const struct error *e, struct page *page)
{
    char *sentence = error_sentence(r, e, page->how->deterministic);
    struct error_rows rows = error_rows(e);

    page->program = program_path(r, e->image);
    head_print(e->id, sentence, page);
    free(sentence);
    if (e->address != 0 && !error_is_of_descriptor(e))
        address_put("address", e->address, page);
    region_put(e, page);
    block_put(r, e, page);
    found_put(e, page);
    registers_put(r, e, page);
    if (e->kind != ERROR_FDL)
        thread_put(r, error_is_late(e) ? "detected by" : "called by", e, &e->thread, page);
    label_put("times", page);
    fprintf(page->out, "%llu\n", (unsigned long long)e->count);
    time_put(e, page);
    processes_put(r, &e->images, page);
    for (uint32_t i = 0; i < rows.count; i++)
        stack_put(r, &rows.at[i], page);
}

static void text_line_put(const char *label, char *text, const struct page *page)
{
    if (!text)
        return;
    label_put(label, page);
    text_put(page->out, text);
    fputc('\n', page->out);
    free(text);
}

static void leak_thread_put(const struct report *r, const struct leak *leak,
                            const struct page *page)
{
    char *words, label[LABEL + 1];

    if (leak->thread.number == 0)
        return;
    words = format_thread(r, leak->image, &leak->thread);
    snprintf(label, sizeof label, "%s by", made_label(leak));
    label_put(label, page);
    text_put(page->out, words);
    if (leak->thread.tid != 0 && !page->how->deterministic)
        fprintf(page->out, ", tid %u", leak->thread.tid);
    fputs(leak->thread.gone ? ", has ended\n" : "\n", page->out);
    free(words);
}

static void leak_show(struct report *r, const struct leak *leak, struct page *page)
{
    struct leak_row row = leak_row_of(leak);
    char *sentence;

    row.is_marked = leaks_are_marked(r);
    sentence = leak_sentence(&row, page->how->deterministic);
    page->program = program_path(r, leak->image);
    head_print(leak->id, sentence, page);
    free(sentence);
    text_line_put("and", format_indirect(&row), page);
    label_put("first", page);
    if (!page->how->deterministic)
        fprintf(page->out, "0x%llx, ", (unsigned long long)leak->block);
    fprintf(page->out, "%llu bytes\n", (unsigned long long)leak->block_bytes);
    leak_thread_put(r, leak, page);
    if (leak->class != CLASS_MAPPED)
        text_line_put("referrer", witness_sentence(r, leak, page->how->deterministic), page);
    processes_put(r, &leak->images, page);
    if (leak->site != NO_SITE)
        stack_put(r, &(struct error_row){.label = made_label(leak), .site = leak->site}, page);
}

/* Ids depend on the order within a kind, so all leaks of a kind are named. */
static bool leak_find(struct report *r, const char *id, struct page *page)
{
    for (uint32_t from = 0, end; from < r->leak_count; from = end) {
        uint32_t kind = leak_kind(r->leaks[from].class);
        for (end = from + 1; end < r->leak_count && leak_kind(r->leaks[end].class) == kind;)
            end++;
        if (kind == LEAK_REACHABLE) /* these are shown as records */
            continue;
        leaks_name(r, from, end);
        for (uint32_t i = from; i < end; i++) {
            if (strcmp(r->leaks[i].id, id) != 0)
                continue;
            leak_show(r, &r->leaks[i], page);
            return true;
        }
    }
    return false;
}

/* Print the referrer of one of the blocks in use from this site. */
static void reachable_put(struct report *r, uint32_t site, const struct page *page)
{
    for (uint32_t i = 0; i < r->leak_count; i++)
        if (r->leaks[i].class == CLASS_REACHABLE && r->leaks[i].site == site)
            text_line_put("referrer", witness_sentence(r, &r->leaks[i], page->how->deterministic),
                          page);
}

static void record_show(struct report *r, const struct record *record, struct page *page)
{
    char *sentence;

    if (asprintf(&sentence, "%s in use in %s, %s each on average", size_text(record->bytes).text,
                 block_text(record->blocks).text,
                 size_text(record->bytes / record->blocks).text) < 0)
        sentence = xalloc(NULL);
    page->program = program_path(r, record->images.at[0]);
    head_print(record->id, sentence, page);
    free(sentence);
    reachable_put(r, record->site, page);
    processes_put(r, &record->images, page);
    stack_put(r, &(struct error_row){.label = "allocated", .site = record->site}, page);
}

static bool record_find(struct report *r, const char *id, struct page *page)
{
    uint32_t count, i = 0;
    struct record *records = records_make(r, UINT32_MAX, &count);
    bool found;

    while (i < count && strcmp(records[i].id, id) != 0)
        i++;
    found = i < count;
    if (found)
        record_show(r, &records[i], page);
    records_free(records, count);
    return found;
}

bool report_print_one(struct report *r, const char *id, FILE *out, const struct print_options *how)
{
    struct page page = page_of(out, how, "");

    page.frames = UINT32_MAX;
    page.whole = true;

    if (strncmp(id, "biu-", 4) == 0 && strncmp(id, "biu-map-", 8) != 0)
        return record_find(r, id, &page);
    if (leak_find(r, id, &page))
        return true;
    errors_name(r, r->error_count);
    for (uint32_t i = 0; i < r->error_count; i++) {
        if (strcmp(r->errors[i].id, id) != 0)
            continue;
        error_show(r, &r->errors[i], &page);
        return true;
    }
    return false;
}
