/*
 * print_valgrind.c - the report in memcheck's format, for programs that parse it: CTest, editors.
 *
 * These programs search for fixed phrases after ==PID==, so the phrases here equal memcheck's. Each
 * finding has exactly one phrase that is counted; our additional facts follow below its stack.
 * CTest's phrases are
 *
 *     Invalid free() / delete / delete[]                            baf, duf, maf
 *     Mismatched free() / delete / delete []                        mis
 *     Invalid write of size N                                       wua, sig
 *     Invalid read of size N                                        sig
 *     N bytes in N blocks are definitely lost in loss record N of N
 *     (N direct, N indirect) bytes in N blocks are definitely lost in ..
 *     N bytes in N blocks are possibly lost in ..,  .. still reachable in ..
 *
 * Processes are distinguished by pid: one log file has all processes of a run.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "formats_priv.h"

/* State of the report that is being written. */
struct memcheck {
    struct report *r;
    const struct print_options *how;
    FILE *out;
    uint32_t pid; /* of the current finding */
};

/* ---- words ----------------------------------------------------------------------------------- */

static void begin(const struct memcheck *m)
{
    fprintf(m->out, "==%u== ", m->pid);
}

__attribute__((format(printf, 2, 3))) static void line_put(const struct memcheck *m,
                                                           const char *format, ...)
{
    va_list arguments;

    begin(m);
    va_start(arguments, format);
    vfprintf(m->out, format, arguments);
    va_end(arguments);
    fputc('\n', m->out);
}

/* "1,234,567" */
static struct amount grouped(uint64_t n)
{
    struct amount a;
    char digits[24];
    size_t count = (size_t)snprintf(digits, sizeof digits, "%llu", (unsigned long long)n), used = 0;

    for (size_t i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0)
            a.text[used++] = ',';
        a.text[used++] = digits[i];
    }
    a.text[used] = '\0';
    return a;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/* " at 0x4005D1: main (demo.c:17)", " by 0x4A2B: ??? (in /usr/lib/libc.so.6)" */
static void function_put(const struct memcheck *m, const struct frame *frame,
                         const struct source_line *line, bool is_first)
{
    begin(m);
    fprintf(m->out, "   %s 0x%llX: ", is_first ? "at" : "by",
            (unsigned long long)shown_address(m->r, frame, m->how));
    text_put(m->out, line->function ? line->function : "???");
    if (line->file) {
        fputs(" (", m->out);
        text_put(m->out, shown_file(line->file, m->how));
        fprintf(m->out, ":%d)", line->line);
    } else if (frame->module != NO_MODULE) {
        fputs(" (in ", m->out);
        text_put(m->out, m->r->modules[frame->module].path);
        fputc(')', m->out);
    }
    fputc('\n', m->out);
}

/* Print the frame of our function. Its address is not known. */
static void callee_put(const struct memcheck *m, const struct callee *callee)
{
    begin(m);
    fprintf(m->out, "   at 0x0: %.*s (in ", callee->name_bytes, callee->name);
    text_put(m->out, callee->object);
    fputs(")\n", m->out);
}

static void frames_put(const struct memcheck *m, uint32_t index, bool is_first)
{
    const struct site *site = index == NO_SITE ? NULL : &m->r->sites[index];
    uint32_t count = site ? shown_frames(m->r, site, m->how) : 0;

    if (count == 0 && is_first)
        line_put(m, "   at 0x0: ???");
    for (uint32_t i = 0; i < count; i++) {
        const struct frame *frame = &m->r->frames[site->frames[i]];
        struct source_line lines[FRAME_LINES_MAX];
        uint32_t functions = frame_lines_shown(m->r, frame, lines, FRAME_LINES_MAX);
        for (uint32_t k = 0; k < functions; k++)
            function_put(m, frame, &lines[k], is_first && i == 0 && k == 0);
    }
}

/* Print the stack of a call of one of our functions; ENTRY_NONE: see callee_of. */
static void call_put(const struct memcheck *m, uint32_t index, uint32_t entry)
{
    struct callee callee = callee_of(m->r, index, entry);

    if (callee.name)
        callee_put(m, &callee);
    frames_put(m, index, !callee.name);
}

/* Print our id and sentence of a finding. */
static void sentence_put(const struct memcheck *m, const struct finding *f)
{
    char *sentence = finding_sentence(m->r, f, m->how->deterministic);

    begin(m);
    fprintf(m->out, " %s: ", f->id);
    text_put(m->out, sentence);
    fputc('\n', m->out);
    free(sentence);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void address_put(const struct memcheck *m, const struct error *e)
{
    const char *state = e->free_stack != NO_SITE ? "free'd" : "alloc'd";
    const char *index = e->address < e->block ? "before" : "inside";
    uint64_t distance = e->address < e->block ? e->block - e->address : e->address - e->block;

    if (e->block_bytes <= distance && e->address > e->block) {
        index = "after";
        distance -= e->block_bytes;
    }
    if (!error_is_in_block(e))
        line_put(m, " Address 0x%llx is not stack'd, malloc'd or (recently) free'd",
                 (unsigned long long)e->address);
    else if (m->how->deterministic)
        line_put(m, " Address is %s bytes %s a block of size %s %s", grouped(distance).text, index,
                 grouped(e->block_bytes).text, state);
    else
        line_put(m, " Address 0x%llx is %s bytes %s a block of size %s %s",
                 (unsigned long long)e->address, grouped(distance).text, index,
                 grouped(e->block_bytes).text, state);
}

static void block_stacks_put(const struct memcheck *m, const struct error *e)
{
    if (error_has_likely_block(e) || error_has_named_block(e))
        line_put(m, " The address was %sread from a block of size %s %s",
                 error_has_likely_block(e) ? "probably " : "", grouped(e->block_bytes).text,
                 e->free_stack != NO_SITE ? "free'd" : "alloc'd");
    if (e->free_stack != NO_SITE)
        call_put(m, e->free_stack, e->crash.flags & CRASH_WAS_UNMAPPED ? e->entry : ENTRY_NONE);
    if (e->free_stack != NO_SITE && e->alloc_stack != NO_SITE)
        line_put(m, " Block was alloc'd at");
    if (e->alloc_stack != NO_SITE)
        call_put(m, e->alloc_stack, ENTRY_NONE);
}

static bool is_access(const struct error *e)
{
    return e->crash.flags & CRASH_HAS_ADDRESS && e->crash.access != ACCESS_UNKNOWN;
}

static void end_put(const struct memcheck *m, const struct error *e)
{
    const char *name = sigabbrev_np((int)e->crash.signal);

    line_put(m, "Process terminating with default action of signal %u (SIG%s)", e->crash.signal,
             name ? name : "?");
}

/* memcheck reports the access, and then the end; other signals end the program without a report. */
static void crash_heading_put(const struct memcheck *m, const struct error *e)
{
    unsigned bytes = e->crash.access_bytes ? e->crash.access_bytes : 1;

    if (!is_access(e))
        end_put(m, e);
    else if (e->crash.access == ACCESS_EXECUTE)
        line_put(m, "Jump to the invalid address stated on the next line");
    else
        line_put(m, "Invalid %s of size %u", e->crash.access == ACCESS_WRITE ? "write" : "read",
                 bytes);
}

static void rule_put(const struct memcheck *m, const struct error *e)
{
    if (m->how->gen_rules)
        error_rule_put(m->r, e, m->out);
}

static void crash_put(const struct memcheck *m, const struct finding *f)
{
    const struct error *e = f->error;

    crash_heading_put(m, e);
    frames_put(m, e->stack, true);
    if (is_access(e)) {
        address_put(m, e);
        block_stacks_put(m, e);
        line_put(m, "%s", "");
        end_put(m, e);
    }
    sentence_put(m, f);
    line_put(m, "%s", "");
    rule_put(m, e);
}

static void earlier_call_put(const struct memcheck *m, const char *heading, uint32_t site,
                             uint32_t entry)
{
    if (site == NO_SITE)
        return;
    line_put(m, " %s", heading);
    call_put(m, site, entry);
}

static void descriptor_put(const struct memcheck *m, const struct finding *f)
{
    const struct error *e = f->error;
    const char *target = e->region.path;
    unsigned long long fd = e->address;

    if (e->kind == ERROR_FDL) {
        line_put(m, "Open file descriptor %llu%s%s", fd, *target ? ": " : "", target);
        call_put(m, e->alloc_stack, e->opener);
    } else {
        line_put(m, "File descriptor %llu is already closed", fd);
        call_put(m, e->stack, e->entry);
        earlier_call_put(m, "Previously closed", e->free_stack, e->closer);
        earlier_call_put(m, "Originally opened", e->alloc_stack, e->opener);
    }
    sentence_put(m, f);
    line_put(m, "%s", "");
    rule_put(m, e);
}

/* memcheck has the addresses, which are left out if the text must be the same in every run. */
static void overlap_put(const struct memcheck *m, const struct error *e)
{
    const char *name = entry_name(e->entry) ? entry_name(e->entry) : "???";

    if (m->how->deterministic)
        line_put(m, "Source and destination overlap in %s (%s bytes)", name,
                 grouped(e->bytes).text);
    else
        line_put(m, "Source and destination overlap in %s(0x%llx, 0x%llx, %llu)", name,
                 (unsigned long long)e->address, (unsigned long long)e->region.start,
                 (unsigned long long)e->bytes);
}

static void uninitialised_put(const struct memcheck *m, const struct error *e)
{
    if (uninitialised_param(e))
        line_put(m, "Syscall param %s points to uninitialised byte(s)", uninitialised_param(e));
    else
        line_put(m, "Conditional jump or move depends on uninitialised value(s)");
}

/* Where the uninitialised bytes come from. */
static void origin_put(const struct memcheck *m, const struct error *e)
{
    if (e->alloc_stack == NO_SITE)
        return;
    line_put(m, " Uninitialised value was created by a heap allocation");
    call_put(m, e->alloc_stack, ENTRY_NONE);
}

static void error_put(const struct memcheck *m, const struct finding *f)
{
    const struct error *e = f->error;

    if (e->kind == ERROR_CRASH) {
        crash_put(m, f);
        return;
    }
    if (error_is_of_descriptor(e)) {
        descriptor_put(m, f);
        return;
    }
    if (e->kind == ERROR_WUA || e->kind == ERROR_RUA)
        line_put(m, "Invalid %s of size %s", e->kind == ERROR_WUA ? "write" : "read",
                 grouped(e->bytes ? e->bytes : 1).text);
    else if (e->kind == ERROR_OVL)
        overlap_put(m, e);
    else if (e->kind == ERROR_RUI)
        uninitialised_put(m, e);
    else if (e->kind == ERROR_MIS)
        line_put(m, "Mismatched free() / delete / delete []");
    else if (e->kind == ERROR_OOM)
        line_put(m, "Warning: an allocation failed");
    else if (e->kind == ERROR_BUM)
        line_put(m, "Warning: memory unmapped that is not the caller's");
    else if (e->kind == ERROR_RZE)
        line_put(m, "realloc() with size 0");
    else if (e->kind == ERROR_BAL)
        line_put(m, "Invalid alignment value: %llu (should be power of 2)",
                 (unsigned long long)e->align);
    else
        line_put(m, "Invalid free() / delete / delete[] / realloc()");
    if (error_is_late(e)) /* the write itself is not known */
        frames_put(m, NO_SITE, true);
    else
        call_put(m, e->stack, call_of(e));
    if (e->kind == ERROR_RUI) {
        origin_put(m, e);
    } else if (e->kind != ERROR_OVL && (!error_is_warning(e->kind) || e->kind == ERROR_RZE)) {
        address_put(m, e);
        block_stacks_put(m, e);
    }
    if (error_is_late(e) && e->stack != NO_SITE) {
        line_put(m, " Write was detected at");
        call_put(m, e->stack, call_of(e));
    }
    sentence_put(m, f);
    line_put(m, "%s", "");
    rule_put(m, e);
}

/* A line of --error-markers. */
static void marker_put(const struct memcheck *m, const char *marker)
{
    if (marker)
        line_put(m, "%s", marker);
}

/* ---- leaks ----------------------------------------------------------------------------------- */

static const char *leak_kind_text(uint32_t kind)
{
    return kind == LEAK_DEFINITE   ? "definitely lost"
           : kind == LEAK_INDIRECT ? "indirectly lost"
           : kind == LEAK_POSSIBLE ? "possibly lost"
                                   : "still reachable";
}

/* Print a leak. Only definite leaks include their indirectly lost blocks. */
static void leak_put(const struct memcheck *m, const struct finding *f, uint32_t record,
                     uint32_t records)
{
    const struct leak_row *row = &f->leak;
    uint32_t kind = leak_kind(row->first->class);
    struct amount blocks = grouped(row->blocks);

    begin(m);
    if (kind == LEAK_DEFINITE && row->indirect_bytes > 0)
        fprintf(m->out, "%s (%s direct, %s indirect) bytes in %s blocks",
                grouped(row->bytes + row->indirect_bytes).text, grouped(row->bytes).text,
                grouped(row->indirect_bytes).text, blocks.text);
    else
        fprintf(m->out, "%s bytes in %s blocks", grouped(row->bytes).text, blocks.text);
    fprintf(m->out, " are %s in loss record %s of %s\n", leak_kind_text(kind), grouped(record).text,
            grouped(records).text);
    if (row->first->class == CLASS_MAPPED) /* no block: by mmap or another call */
        frames_put(m, row->first->site, true);
    else
        call_put(m, row->first->site, ENTRY_NONE);
    sentence_put(m, f);
    line_put(m, "%s", "");
    if (m->how->gen_rules)
        leak_rule_put(m->r, row->first, m->out);
}

static void leak_sum_put(const struct memcheck *m, uint32_t kind)
{
    struct leak_sum sum = leak_sum(m->r, kind);

    line_put(m, "   %15s: %s bytes in %s blocks", leak_kind_text(kind), grouped(sum.bytes).text,
             grouped(sum.blocks).text);
}

static void leaks_put(struct memcheck *m, const struct findings *all)
{
    uint32_t records = 0, record = 0;

    if (m->how->leaks == PRINT_LEAKS_SUMMARY) /* --leak-check=summary prints no record */
        return;
    for (uint32_t i = 0; i < all->count; i++)
        records += !all->at[i].error;
    for (uint32_t i = 0; i < all->count; i++) {
        if (all->at[i].error)
            continue;
        m->pid = shown_pid(m->r, all->at[i].image, m->how);
        marker_put(m, m->how->error_begin);
        leak_put(m, &all->at[i], ++record, records);
        marker_put(m, m->how->error_end);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void command_put(const struct memcheck *m, const struct image *main)
{
    begin(m);
    fputs("Command:", m->out);
    for (const char *arg = NULL; (arg = argv_next(main, arg));) {
        fputc(' ', m->out);
        text_put(m->out, arg);
    }
    fputc('\n', m->out);
    line_put(m, "%s", "");
}

/* How often suppressed errors occurred. */
static uint64_t suppressed_times(const struct report *r)
{
    uint64_t times = 0;

    for (uint32_t i = 0; i < r->error_count; i++)
        if (r->errors[i].disposition.suppressed_by != 0)
            times += r->errors[i].count;
    return times;
}

static void summary_put(const struct memcheck *m, const struct findings *all)
{
    struct totals t = totals_of(m->r);
    struct hidden hidden = hidden_sum(m->r);
    uint64_t times = 0, contexts;

    line_put(m, "HEAP SUMMARY:");
    line_put(m, "    in use at exit: %s bytes in %s blocks", grouped(t.bytes).text,
             grouped(t.blocks).text);
    line_put(m, "  total heap usage: %s allocs, %s frees, %s bytes allocated",
             grouped(t.allocs).text, grouped(t.frees).text, grouped(t.alloc_bytes).text);
    line_put(m, "%s", "");
    if (leaks_are_known(m->r) && t.blocks == 0 && m->r->leak_count == 0) {
        line_put(m, "All heap blocks were freed -- no leaks are possible");
        line_put(m, "%s", "");
    } else if (leaks_are_known(m->r)) {
        line_put(m, "LEAK SUMMARY:");
        for (uint32_t kind = LEAK_DEFINITE; kind <= LEAK_REACHABLE; kind *= 2)
            leak_sum_put(m, kind);
        line_put(m, "        suppressed: %s bytes in %s blocks", grouped(hidden.bytes).text,
                 grouped(hidden.blocks).text);
        line_put(m, "%s", "");
    }
    for (uint32_t i = 0; i < all->count; i++)
        if (all->at[i].level == LEVEL_PROBLEM)
            times += all->at[i].error ? all->at[i].error->count : 1;
    contexts = hidden.errors + hidden.leaks - hidden_indirect(m->r, m->how).places;
    line_put(m, "ERROR SUMMARY: %s errors from %s contexts (suppressed: %s from %s)",
             grouped(times).text, grouped(all->problems).text,
             grouped(suppressed_times(m->r) + contexts - hidden.errors).text,
             grouped(contexts).text);
}

/*
 * Print notes on the limits of the report and on whether the program was checked, in our own words.
 */
static void notes_put(const struct memcheck *m, const struct notes *notes, bool all)
{
    for (uint32_t i = 0; i < notes->count; i++) {
        if (!all && !notes->at[i].against)
            continue;
        begin(m);
        fputs("rtcheck: note: ", m->out);
        text_put(m->out, notes->at[i].text);
        fputc('\n', m->out);
    }
}

static void verdict_put(const struct memcheck *m, const struct outcome *outcome)
{
    struct page page = page_of(m->out, m->how, "");

    page.wraps = false; /* each line has a prefix */
    begin(m);
    verdict_print(m->r, outcome, &page);
}

static void suppressed_put(const struct memcheck *m)
{
    char *text = NULL, *rest, *line;
    size_t bytes = 0;
    struct page page = page_of(xalloc(open_memstream(&text, &bytes)), m->how, "");

    suppressed_print_separate(m->r, &page);
    fclose(page.out);
    for (rest = text; (line = strsep(&rest, "\n")) && *line;)
        line_put(m, "%s", line);
    free(text);
}

void valgrind_print(struct report *r, FILE *out, const struct print_options *how)
{
    const struct image *main = image_main(r);
    struct memcheck m = {r, how, out, 0};
    uint32_t program = main ? shown_pid(r, main->number, how) : 0;
    struct findings all = findings_make(r, how, how->leak_kinds);
    struct outcome outcome = outcome_of(r, how);

    m.pid = program;
    if (!how->quiet && main)
        command_put(&m, main);
    for (uint32_t i = 0; i < all.count; i++) {
        m.pid = shown_pid(r, all.at[i].image, how);
        if (!all.at[i].error)
            continue;
        marker_put(&m, how->error_begin);
        error_put(&m, &all.at[i]);
        marker_put(&m, how->error_end);
    }
    leaks_put(&m, &all);
    m.pid = program;
    if (!how->quiet)
        summary_put(&m, &all);
    notes_put(&m, &outcome.notes, !how->quiet);
    if (outcome.is_printed) {
        suppressed_put(&m);
        verdict_put(&m, &outcome);
    }
    outcome_free(&outcome);
    findings_free(&all);
}
