/*
 * print_lsan.c - the report in the format of LeakSanitizer and AddressSanitizer, for programs that
 * parse it: CTest in its LeakSanitizer mode, consoles of editors.
 *
 * CTest counts lines with "Direct leak of" and "Indirect leak of". Each leak that is a problem gets
 * such a line, also a possible leak, which LeakSanitizer would not report. Other requested leaks
 * are printed with phrases that CTest does not count. The last line of a run without problems
 * states that the program was checked, so the log is not empty.
 */
#include <stdlib.h>
#include <string.h>

#include "formats_priv.h"

/* State of the report that is being written. */
struct sanitizer {
    struct report *r;
    const struct print_options *how;
    FILE *out;
};

/* ---- stacks ---------------------------------------------------------------------------------- */

/* "/src/demo.c:17", "(/usr/lib/libc.so.6+0x2724a) (BuildId: 01ab)" */
static void where_put(const struct sanitizer *s, const struct frame *frame,
                      const struct source_line *line)
{
    const struct module *module = frame->module == NO_MODULE ? NULL : &s->r->modules[frame->module];

    if (line->file) {
        text_put(s->out, line->file);
        fprintf(s->out, ":%d", line->line);
    } else if (module) {
        fputc('(', s->out);
        text_put(s->out, module->path);
        fprintf(s->out, "+0x%llx)%s", (unsigned long long)frame->offset,
                module->build_id_bytes > 0 ? " (BuildId: " : "");
        for (uint32_t i = 0; i < module->build_id_bytes; i++)
            fprintf(s->out, "%02x", module->build_id[i]);
        fputs(module->build_id_bytes > 0 ? ")" : "", s->out);
    } else {
        fputs("(<unknown module>)", s->out);
    }
}

/* Print a line for each function of a frame, with inlined ones. Returns their number. */
static uint32_t frame_put(const struct sanitizer *s, const struct frame *frame, uint32_t number)
{
    struct source_line lines[FRAME_LINES_MAX];
    uint32_t functions = frame_lines_shown(s->r, frame, lines, FRAME_LINES_MAX);

    for (uint32_t k = 0; k < functions; k++) {
        fprintf(s->out, "    #%u 0x%llx ", number + k,
                (unsigned long long)shown_address(s->r, frame, s->how));
        if (lines[k].function) {
            fputs("in ", s->out);
            text_put(s->out, lines[k].function);
            fputc(' ', s->out);
        }
        where_put(s, frame, &lines[k]);
        fputc('\n', s->out);
    }
    return functions;
}

/* Print the frames of a site, numbered from `number` on. */
static void frames_put(const struct sanitizer *s, uint32_t index, uint32_t number)
{
    const struct site *site = index == NO_SITE ? NULL : &s->r->sites[index];
    uint32_t count = site ? shown_frames(s->r, site, s->how) : 0;

    if (count == 0 && number == 0)
        fputs("    <empty stack>\n", s->out);
    for (uint32_t i = 0; i < count; i++)
        number += frame_put(s, &s->r->frames[site->frames[i]], number);
    fputc('\n', s->out);
}

/* Print the stack of a call of one of our functions, whose address is not known. */
static void call_put(const struct sanitizer *s, uint32_t index, uint32_t entry)
{
    struct callee callee = callee_of(s->r, index, entry);

    if (callee.name && *callee.name != '?') {
        fprintf(s->out, "    #0 0x0 in %.*s (", callee.name_bytes, callee.name);
        text_put(s->out, callee.object);
        fputs(")\n", s->out);
        frames_put(s, index, 1);
    } else {
        frames_put(s, index, 0);
    }
}

/* Print our id and sentence of a finding. */
static void sentence_put(const struct sanitizer *s, const struct finding *f)
{
    char *sentence = finding_sentence(s->r, f, s->how->deterministic);

    fprintf(s->out, "  %s: ", f->id);
    text_put(s->out, sentence);
    fputc('\n', s->out);
    free(sentence);
}

static void head_put(const struct sanitizer *s, uint32_t image, const char *tool)
{
    fprintf(s->out,
            "=================================================================\n==%u==ERROR: %s: ",
            shown_pid(s->r, image, s->how), tool);
}

/* Print the innermost frame with a source line, which a developer looks at first. */
static void summary_put(const struct sanitizer *s, const struct finding *f, const char *what)
{
    struct source_line line;
    const struct frame *frame = finding_frame(s->r, f->site, &line);

    fputs("SUMMARY: AddressSanitizer: ", s->out);
    if (f->error->kind == ERROR_OVL && entry_name(f->error->entry))
        fprintf(s->out, "%s-", entry_name(f->error->entry));
    fprintf(s->out, "%s ", what);
    if (frame)
        where_put(s, frame, &line);
    if (frame && line.function) {
        fputs(" in ", s->out);
        text_put(s->out, line.function);
    }
    fputs("\n\n", s->out);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static const char *title_of(const struct error *e)
{
    if (e->entry == ENTRY_MALLOC_USABLE_SIZE)
        return "attempting to call malloc_usable_size() for pointer which is not owned:";
    switch (e->kind) {
    case ERROR_DUF:
        return "attempting double-free";
    case ERROR_MIS:
        return "alloc-dealloc-mismatch";
    case ERROR_RUA:
    case ERROR_WUA:
        return e->damage == DAMAGE_INSIDE || e->free_stack != NO_SITE ? "heap-use-after-free"
                                                                      : "heap-buffer-overflow";
    case ERROR_OVL:
        return "param-overlap"; /* after the function's name */
    case ERROR_RUI:
        return "use-of-uninitialized-value"; /* as MemorySanitizer */
    default:
        return "attempting free on address which was not malloc()-ed:";
    }
}

static const char *short_title_of(const struct error *e)
{
    if (e->entry == ENTRY_MALLOC_USABLE_SIZE)
        return "bad-malloc_usable_size";
    return e->kind == ERROR_DUF                           ? "double-free"
           : e->kind == ERROR_BAF || e->kind == ERROR_MAF ? "bad-free"
                                                          : title_of(e);
}

static void overlap_put(const struct sanitizer *s, const struct error *e)
{
    bool is_hidden = s->how->deterministic;
    uint64_t to = is_hidden ? 0 : e->address, from = is_hidden ? 0 : e->region.start;

    fprintf(s->out,
            "%s-%s: memory ranges [0x%llx,0x%llx) and [0x%llx, 0x%llx) overlap in thread T%u:\n",
            entry_name(e->entry) ? entry_name(e->entry) : "memcpy", title_of(e),
            (unsigned long long)to, (unsigned long long)(to + e->bytes), (unsigned long long)from,
            (unsigned long long)(from + e->bytes), e->thread.number ? e->thread.number - 1 : 0);
}

/* The line after the title of a read or write. */
static void access_put(const struct sanitizer *s, const struct error *e)
{
    if (error_is_access(e))
        fprintf(s->out, "%s of size %llu at 0x%llx thread T%u\n",
                e->kind == ERROR_RUA ? "READ" : "WRITE", (unsigned long long)e->access_length,
                s->how->deterministic ? 0 : (unsigned long long)e->address,
                e->thread.number ? e->thread.number - 1 : 0);
}

static void title_put(const struct sanitizer *s, const struct error *e)
{
    const char *entry = entry_name(e->entry);

    if (e->kind == ERROR_OVL) {
        overlap_put(s, e);
        return;
    }
    if (e->kind == ERROR_RUI) {
        fprintf(s->out, "%s\n", title_of(e));
        return;
    }
    fputs(title_of(e), s->out);
    if (e->kind == ERROR_MIS)
        fprintf(s->out, " (%s vs %s)", family_name(e->block_family), entry ? entry : "unknown");
    if (e->kind == ERROR_WUA || e->kind == ERROR_RUA)
        fputs(" on address", s->out);
    else if ((e->kind == ERROR_DUF && e->entry != ENTRY_MALLOC_USABLE_SIZE) || e->kind == ERROR_MIS)
        fputs(" on", s->out);
    fprintf(s->out, " 0x%llx in thread T%u:\n",
            s->how->deterministic ? 0 : (unsigned long long)e->address,
            e->thread.number ? e->thread.number - 1 : 0);
    access_put(s, e);
}

static void block_put(const struct sanitizer *s, const struct error *e)
{
    bool before = e->address < e->block, after = !before && e->address >= e->block + e->block_bytes;
    uint64_t distance = before  ? e->block - e->address
                        : after ? e->address - e->block - e->block_bytes
                                : e->address - e->block;
    uint64_t start = s->how->deterministic ? 0 : e->block;

    if (!error_is_in_block(e))
        return;
    fprintf(s->out, "0x%llx is located %llu bytes %s %llu-byte region [0x%llx,0x%llx)\n",
            s->how->deterministic ? 0 : (unsigned long long)e->address,
            (unsigned long long)distance,
            before  ? "before"
            : after ? "after"
                    : "inside of",
            (unsigned long long)e->block_bytes, (unsigned long long)start,
            (unsigned long long)(start + e->block_bytes));
}

/* Return the signal's name without SIG. */
static const char *signal_name(const struct error *e)
{
    const char *name = sigabbrev_np((int)e->crash.signal);

    return name ? name : "unknown-crash";
}

static void crash_title_put(const struct sanitizer *s, const struct error *e)
{
    bool hidden = s->how->deterministic;
    uint32_t access = e->crash.access;

    fprintf(s->out, "%s on unknown address 0x%012llx (pc 0x%012llx T%u)\n", signal_name(e),
            hidden ? 0 : (unsigned long long)e->address,
            hidden ? 0 : (unsigned long long)e->crash.pc,
            e->thread.number ? e->thread.number - 1 : 0);
    if (access == ACCESS_READ || access == ACCESS_WRITE)
        fprintf(s->out, "==%u==The signal is caused by a %s memory access.\n",
                shown_pid(s->r, e->image, s->how), access == ACCESS_READ ? "READ" : "WRITE");
}

/* No sanitizer has these. */
static void descriptor_put(const struct sanitizer *s, const struct finding *f)
{
    const struct error *e = f->error;
    const char *title = check_at(check_of(error_code(e->kind)))->title;

    head_put(s, e->image, "rtcheck");
    fprintf(s->out, "%s %llu in thread T%u:\n", title, (unsigned long long)e->address,
            e->thread.number ? e->thread.number - 1 : 0);
    if (e->stack != NO_SITE)
        call_put(s, e->stack, e->entry);
    sentence_put(s, f);
    if (e->free_stack != NO_SITE) {
        fputs("previously closed here:\n", s->out);
        call_put(s, e->free_stack, e->closer);
    }
    if (e->alloc_stack != NO_SITE) {
        fputs("opened here:\n", s->out);
        call_put(s, e->alloc_stack, e->opener);
    }
    summary_put(s, f, title);
}

static void error_put(const struct sanitizer *s, const struct finding *f)
{
    const struct error *e = f->error;
    uint32_t thread = e->block_thread.number ? e->block_thread.number - 1 : 0;

    if (e->kind == ERROR_OOM) {
        fprintf(s->out, "==%u==WARNING: AddressSanitizer failed to allocate 0x%llx bytes\n",
                shown_pid(s->r, e->image, s->how), (unsigned long long)e->bytes);
        call_put(s, e->stack, call_of(e));
        return;
    }
    if (error_is_of_descriptor(e)) {
        descriptor_put(s, f);
        return;
    }
    if (error_is_warning(e->kind)) {
        fprintf(s->out, "==%u==WARNING: AddressSanitizer: %s\n", shown_pid(s->r, e->image, s->how),
                check_at(check_of(error_code(e->kind)))->title);
        call_put(s, e->stack, call_of(e));
        sentence_put(s, f);
        return;
    }
    head_put(s, e->image, "AddressSanitizer");
    if (e->kind == ERROR_CRASH)
        crash_title_put(s, e);
    else
        title_put(s, e);
    if (e->kind == ERROR_CRASH)
        frames_put(s, e->stack, 0);
    else
        call_put(s, e->stack, call_of(e));
    sentence_put(s, f);
    block_put(s, e);
    if (e->free_stack != NO_SITE) {
        fprintf(s->out, "freed by thread T%u here:\n", thread);
        call_put(s, e->free_stack, e->crash.flags & CRASH_WAS_UNMAPPED ? e->entry : ENTRY_NONE);
    }
    if (e->alloc_stack != NO_SITE) {
        fputs(e->free_stack != NO_SITE ? "previously allocated here:\n" : "allocated here:\n",
              s->out);
        call_put(s, e->alloc_stack, ENTRY_NONE);
    }
    summary_put(s, f, e->kind == ERROR_CRASH ? signal_name(e) : short_title_of(e));
}

/* ---- leaks ----------------------------------------------------------------------------------- */

static bool is_counted(const struct finding *f)
{
    return f->level == LEVEL_PROBLEM || f->leak.first->class == CLASS_INDIRECT;
}

static void leak_put(const struct sanitizer *s, const struct finding *f)
{
    uint32_t kind = leak_kind(f->leak.first->class);
    const char *what = kind == LEAK_MAPPED ? "Still mapped:"
                       : !is_counted(f)
                           ? kind == LEAK_REACHABLE ? "Still reachable:" : "Possible leak of"
                       : kind == LEAK_INDIRECT ? "Indirect leak of"
                                               : "Direct leak of";

    fprintf(s->out, "%s %llu byte(s) in %llu object(s) allocated from:\n", what,
            (unsigned long long)f->leak.bytes, (unsigned long long)f->leak.blocks);
    call_put(s, f->leak.first->site, ENTRY_NONE);
    sentence_put(s, f);
    fputc('\n', s->out);
}

static void leaks_put(const struct sanitizer *s, const struct findings *all, uint32_t image)
{
    uint64_t bytes = 0, blocks = 0;
    bool begun = false;

    for (uint32_t i = 0; i < all->count; i++) {
        if (all->at[i].error)
            continue;
        if (is_counted(&all->at[i])) {
            bytes += all->at[i].leak.bytes;
            blocks += all->at[i].leak.blocks;
        }
        if (!begun && is_counted(&all->at[i])) {
            head_put(s, image, "LeakSanitizer");
            fputs("detected memory leaks\n\n", s->out);
            begun = true;
        }
        leak_put(s, &all->at[i]);
    }
    if (begun)
        fprintf(s->out, "SUMMARY: LeakSanitizer: %llu byte(s) leaked in %llu allocation(s).\n",
                (unsigned long long)bytes, (unsigned long long)blocks);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Indirect leaks are always listed together with definite ones. */
static uint32_t kinds_listed(const struct print_options *how)
{
    return how->leak_kinds | (how->leak_kinds & LEAK_DEFINITE ? LEAK_INDIRECT : 0);
}

void lsan_print(struct report *r, FILE *out, const struct print_options *how)
{
    struct sanitizer s = {r, how, out};
    struct page page = page_of(out, how, "");
    struct findings all = findings_make(r, how, kinds_listed(how));
    struct outcome outcome = outcome_of(r, how);

    for (uint32_t i = 0; i < all.count; i++)
        if (all.at[i].error)
            error_put(&s, &all.at[i]);
    leaks_put(&s, &all, outcome.main ? outcome.main->number : 0);
    outcome_print_separate(r, &outcome, &page);
    outcome_free(&outcome);
    findings_free(&all);
}
