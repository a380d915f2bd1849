/*
 * print_xml.c - the report as valgrind's XML, protocol 4, for its readers: build servers, editors.
 *
 * One document has the findings of all processes of the run.  Its order is that of memcheck: errors
 * while the program ran, the signal that ended it, the status FINISHED, leaks, counts.  An error has one stack without a heading, and further ones each behind an auxwhat; our id and
 * sentence are the last auxwhat.  Findings without a kind of memcheck's are FishyValue, because
 * readers refuse kinds that they do not know.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "formats_priv.h"

#ifndef RTC_VERSION
#define RTC_VERSION "unknown"
#endif

struct xml {
    struct report *r;
    const struct print_options *how;
    FILE *out;
    uint32_t unique; /* of the next error */
};

/* ---- elements -------------------------------------------------------------------------------- */

static void text_element(const struct xml *x, const char *indent, const char *name,
                         const char *text)
{
    fprintf(x->out, "%s<%s>", indent, name);
    xml_put(x->out, text, "");
    fprintf(x->out, "</%s>\n", name);
}

__attribute__((format(printf, 4, 5))) static void element(const struct xml *x, const char *indent,
                                                          const char *name, const char *format, ...)
{
    va_list arguments;
    char *text;

    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = xalloc(NULL);
    va_end(arguments);
    text_element(x, indent, name, text);
    free(text);
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static void position_put(const struct xml *x, const struct source_line *line)
{
    const char *file = base_name(line->file);

    if (file > line->file + 1)
        element(x, "      ", "dir", "%.*s", (int)(file - line->file - 1), line->file);
    text_element(x, "      ", "file", file);
    element(x, "      ", "line", "%d", line->line);
}

static void function_put(const struct xml *x, const struct frame *frame,
                         const struct source_line *line)
{
    fputs("    <frame>\n", x->out);
    element(x, "      ", "ip", "0x%llX", (unsigned long long)shown_address(x->r, frame, x->how));
    if (frame->module != NO_MODULE)
        text_element(x, "      ", "obj", x->r->modules[frame->module].path);
    if (line->function)
        text_element(x, "      ", "fn", line->function);
    if (line->file)
        position_put(x, line);
    fputs("    </frame>\n", x->out);
}

static void callee_put(const struct xml *x, const struct callee *callee)
{
    fputs("    <frame>\n", x->out);
    element(x, "      ", "ip", "0x0");
    text_element(x, "      ", "obj", callee->object);
    element(x, "      ", "fn", "%.*s", callee->name_bytes, callee->name);
    fputs("    </frame>\n", x->out);
}

/* `has_callee`: of a call of one of our functions; ENTRY_NONE: see callee_of. */
static void stack_put(const struct xml *x, uint32_t index, uint32_t entry, bool has_callee)
{
    const struct site *site = index == NO_SITE ? NULL : &x->r->sites[index];
    uint32_t count = site ? shown_frames(x->r, site, x->how) : 0;
    struct callee callee = has_callee ? callee_of(x->r, index, entry) : (struct callee){0};

    fputs("  <stack>\n", x->out);
    if (callee.name)
        callee_put(x, &callee);
    for (uint32_t i = 0; i < count; i++) {
        const struct frame *frame = &x->r->frames[site->frames[i]];
        struct source_line lines[FRAME_LINES_MAX];
        uint32_t functions = frame_lines_shown(x->r, frame, lines, FRAME_LINES_MAX);
        for (uint32_t k = 0; k < functions; k++)
            function_put(x, frame, &lines[k]);
    }
    if (count == 0)
        fputs("    <frame>\n      <ip>0x0</ip>\n    </frame>\n", x->out);
    fputs("  </stack>\n", x->out);
}

/* ---- suppressions ---------------------------------------------------------------------------- */

/* A line of an entry in valgrind's grammar, after its name. */
static void rule_line_put(const struct xml *x, char *line)
{
    char *text = line + strspn(line, " "), *colon = strchr(text, ':');
    bool is_object = strncmp(text, "obj:", 4) == 0;

    if (!colon)
        return;
    if (is_object || strncmp(text, "fun:", 4) == 0) {
        fprintf(x->out, "    <sframe> <%s>", is_object ? "obj" : "fun");
        xml_put(x->out, colon + 1, "");
        fprintf(x->out, "</%s> </sframe>\n", is_object ? "obj" : "fun");
    } else {
        bool is_extra = strncmp(text, "match-leak-kinds", 16) == 0;
        text_element(x, "    ", is_extra ? "skaux" : "skind", text);
    }
}

/* Names have no line ends and no control characters, but may have the end of the section. */
static void rawtext_put(const struct xml *x, const char *text)
{
    fputs("    <rawtext>\n<![CDATA[\n", x->out);
    for (const char *end; (end = strstr(text, "]]>")); text = end + 2) {
        fwrite(text, 1, (size_t)(end - text) + 2, x->out);
        fputs("]]><![CDATA[", x->out);
    }
    fprintf(x->out, "%s]]>\n    </rawtext>\n", text);
}

static void suppression_put(const struct xml *x, const struct finding *f)
{
    char *text = NULL, *copy, *rest, *line;
    size_t bytes = 0;
    FILE *out = xalloc(open_memstream(&text, &bytes));
    bool is_made =
        f->error ? error_rule_put(x->r, f->error, out) : leak_rule_put(x->r, f->leak.first, out);

    fclose(out);
    if (is_made) {
        copy = rest = xalloc(strdup(text));
        strsep(&rest, "\n"); /* { */
        line = strsep(&rest, "\n");
        fputs("  <suppression>\n", x->out);
        text_element(x, "    ", "sname", line + strspn(line, " "));
        while ((line = strsep(&rest, "\n")))
            rule_line_put(x, line);
        rawtext_put(x, text);
        fputs("  </suppression>\n", x->out);
        free(copy);
    }
    free(text);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static bool is_access(const struct error *e)
{
    return e->crash.flags & CRASH_HAS_ADDRESS && e->crash.access != ACCESS_UNKNOWN;
}

static const char *error_kind(const struct error *e)
{
    switch (e->kind) {
    case ERROR_BAF:
    case ERROR_DUF:
    case ERROR_MAF:
        return "InvalidFree";
    case ERROR_MIS:
        return "MismatchedFree";
    case ERROR_WUA:
        return "InvalidWrite";
    case ERROR_RUA:
        return "InvalidRead";
    case ERROR_OVL:
        return "Overlap";
    case ERROR_RUI:
        return uninitialised_param(e) ? "SyscallParam" : "UninitCondition";
    case ERROR_FDC:
        return "FdBadClose";
    case ERROR_FDL:
        return "FdNotClosed";
    case ERROR_CRASH:
        return e->crash.access == ACCESS_EXECUTE ? "InvalidJump"
               : e->crash.access == ACCESS_WRITE ? "InvalidWrite"
                                                 : "InvalidRead";
    default:
        return "FishyValue";
    }
}

/* memcheck has the addresses, which are left out if the text must be the same in every run. */
static void overlap_put(const struct xml *x, const struct error *e)
{
    const char *name = entry_name(e->entry) ? entry_name(e->entry) : "???";

    if (x->how->deterministic)
        element(x, "  ", "what", "Source and destination overlap in %s (%llu bytes)", name,
                (unsigned long long)e->bytes);
    else
        element(x, "  ", "what", "Source and destination overlap in %s(0x%llx, 0x%llx, %llu)", name,
                (unsigned long long)e->address, (unsigned long long)e->region.start,
                (unsigned long long)e->bytes);
}

static void what_put(const struct xml *x, const struct finding *f, const char *kind)
{
    const struct error *e = f->error;
    uint64_t bytes = e->kind == ERROR_CRASH ? e->crash.access_bytes : e->bytes;

    if (e->kind == ERROR_OVL) {
        overlap_put(x, e);
    } else if (strcmp(kind, "SyscallParam") == 0) {
        element(x, "  ", "what", "Syscall param %s points to uninitialised byte(s)",
                uninitialised_param(e));
    } else if (strcmp(kind, "UninitCondition") == 0) {
        text_element(x, "  ", "what", "Conditional jump or move depends on uninitialised value(s)");
    } else if (strcmp(kind, "InvalidFree") == 0) {
        text_element(x, "  ", "what", "Invalid free() / delete / delete[] / realloc()");
    } else if (strcmp(kind, "MismatchedFree") == 0) {
        text_element(x, "  ", "what", "Mismatched free() / delete / delete []");
    } else if (strcmp(kind, "InvalidJump") == 0) {
        text_element(x, "  ", "what", "Jump to the invalid address stated on the next line");
    } else if (strcmp(kind, "FishyValue") == 0) {
        char *sentence = finding_sentence(x->r, f, x->how->deterministic);
        text_element(x, "  ", "what", sentence);
        free(sentence);
    } else {
        element(x, "  ", "what", "Invalid %s of size %llu",
                strcmp(kind, "InvalidWrite") == 0 ? "write" : "read",
                (unsigned long long)(bytes ? bytes : 1));
    }
}

static void address_put(const struct xml *x, const struct error *e)
{
    const char *state = e->free_stack != NO_SITE ? "free'd" : "alloc'd", *where = "inside";
    uint64_t distance = e->address < e->block ? e->block - e->address : e->address - e->block;
    char address[32] = "";

    if (!x->how->deterministic)
        snprintf(address, sizeof address, "0x%llx ", (unsigned long long)e->address);
    if (!error_is_in_block(e)) {
        element(x, "  ", "auxwhat", "Address %sis not stack'd, malloc'd or (recently) free'd",
                address);
        return;
    }
    if (e->address < e->block) {
        where = "before";
    } else if (distance >= e->block_bytes && e->address > e->block) {
        where = "after";
        distance -= e->block_bytes;
    }
    element(x, "  ", "auxwhat", "Address %sis %llu bytes %s a block of size %llu %s", address,
            (unsigned long long)distance, where, (unsigned long long)e->block_bytes, state);
}

static void block_put(const struct xml *x, const struct error *e)
{
    address_put(x, e);
    if (error_has_likely_block(e) || error_has_named_block(e))
        element(x, "  ", "auxwhat", "The address was %sread from a block of size %llu %s",
                error_has_likely_block(e) ? "probably " : "", (unsigned long long)e->block_bytes,
                e->free_stack != NO_SITE ? "free'd" : "alloc'd");
    if (e->free_stack != NO_SITE)
        stack_put(x, e->free_stack, ENTRY_NONE, true);
    if (e->free_stack != NO_SITE && e->alloc_stack != NO_SITE)
        text_element(x, "  ", "auxwhat", "Block was alloc'd at");
    if (e->alloc_stack != NO_SITE)
        stack_put(x, e->alloc_stack, ENTRY_NONE, true);
}

static void sentence_put(const struct xml *x, const struct finding *f)
{
    char *sentence = finding_sentence(x->r, f, x->how->deterministic);

    element(x, "  ", "auxwhat", "%s: %s", f->id, sentence);
    free(sentence);
}

static void error_begin(struct xml *x, const struct thread *t, const char *kind)
{
    fputs("<error>\n", x->out);
    element(x, "  ", "unique", "0x%x", x->unique++);
    element(x, "  ", "tid", "%u", t && t->number ? t->number : 1);
    if (t && t->number > 1 && t->name[0])
        text_element(x, "  ", "threadname", t->name);
    text_element(x, "  ", "kind", kind);
}

static void error_end(const struct xml *x, const struct finding *f)
{
    sentence_put(x, f);
    if (x->how->gen_rules)
        suppression_put(x, f);
    fputs("</error>\n\n", x->out);
}

static void earlier_call_put(const struct xml *x, const char *heading, uint32_t site,
                             uint32_t entry)
{
    if (site == NO_SITE)
        return;
    text_element(x, "  ", "auxwhat", heading);
    stack_put(x, site, entry, true);
}

/* As valgrind does from 3.22 on, there with protocol version 5. */
static void descriptor_put(struct xml *x, const struct finding *f)
{
    const struct error *e = f->error;
    const char *target = e->region.path;
    unsigned long long fd = e->address;
    bool is_open = e->kind == ERROR_FDL;

    error_begin(x, &e->thread, error_kind(e));
    element(x, "  ", "fd", "%llu", fd);
    if (*target)
        text_element(x, "  ", "path", target);
    if (is_open)
        element(x, "  ", "what", "File descriptor %llu: %s is not closed", fd, target);
    else
        element(x, "  ", "what", "File descriptor %llu is already closed", fd);
    stack_put(x, is_open ? e->alloc_stack : e->stack, is_open ? e->opener : e->entry, true);
    if (!is_open) {
        earlier_call_put(x, "Previously closed", e->free_stack, e->closer);
        earlier_call_put(x, "Originally opened", e->alloc_stack, e->opener);
    }
    error_end(x, f);
}

static void error_put(struct xml *x, const struct finding *f)
{
    const struct error *e = f->error;
    bool is_write = error_is_late(e), is_crash = e->kind == ERROR_CRASH;
    const char *kind = error_kind(e);

    if (is_crash && !is_access(e)) /* memcheck has only the signal */
        return;
    if (error_is_of_descriptor(e)) {
        descriptor_put(x, f);
        return;
    }
    error_begin(x, &e->thread, kind);
    what_put(x, f, kind);
    stack_put(x, is_write ? NO_SITE : e->stack, call_of(e), !is_crash); /* no write is recorded */
    if (e->kind == ERROR_RUI)
        earlier_call_put(x, "Uninitialised value was created by a heap allocation", e->alloc_stack,
                         ENTRY_NONE);
    else if (e->kind != ERROR_OVL && (!error_is_warning(e->kind) || e->kind == ERROR_RZE))
        block_put(x, e);
    if (is_write && e->stack != NO_SITE) {
        text_element(x, "  ", "auxwhat", "Write was detected at");
        stack_put(x, e->stack, call_of(e), true);
    }
    error_end(x, f);
}

static void signal_put(const struct xml *x, const struct error *e)
{
    const char *name = sigabbrev_np((int)e->crash.signal);
    bool is_fault = e->crash.signal == SIGSEGV;
    const char *event = is_fault && e->crash.code == SEGV_MAPERR ? "Access not within mapped region"
                        : is_fault && e->crash.code == SEGV_ACCERR
                            ? "Bad permissions for mapped region"
                            : NULL;

    fputs("<fatal_signal>\n", x->out);
    element(x, "  ", "tid", "%u", e->thread.number ? e->thread.number : 1);
    if (e->thread.number > 1 && e->thread.name[0])
        text_element(x, "  ", "threadname", e->thread.name);
    element(x, "  ", "signo", "%u", e->crash.signal);
    element(x, "  ", "signame", "SIG%s", name ? name : "?");
    element(x, "  ", "sicode", "%d", (int)e->crash.code);
    if (event)
        text_element(x, "  ", "event", event);
    if (e->crash.flags & CRASH_HAS_ADDRESS)
        element(x, "  ", "siaddr", "0x%llX",
                x->how->deterministic ? 0 : (unsigned long long)e->address);
    stack_put(x, e->stack, ENTRY_NONE, false);
    fputs("</fatal_signal>\n\n", x->out);
}

/* ---- leaks ----------------------------------------------------------------------------------- */

static const struct {
    const char *kind, *text;
} leak_words[] = {
    {"Leak_DefinitelyLost", "definitely lost"},
    {"Leak_IndirectlyLost", "indirectly lost"},
    {"Leak_PossiblyLost", "possibly lost"},
    {"Leak_StillReachable", "still reachable"},
};

static void leak_put(struct xml *x, const struct finding *f, uint32_t record, uint32_t records)
{
    const struct leak_row *row = &f->leak;
    uint32_t kind = leak_kind(row->first->class);
    uint32_t word = kind == LEAK_DEFINITE   ? 0
                    : kind == LEAK_INDIRECT ? 1
                    : kind == LEAK_POSSIBLE ? 2
                                            : 3;
    bool has_indirect = kind == LEAK_DEFINITE && row->indirect_bytes > 0;
    uint64_t bytes = row->bytes + (has_indirect ? row->indirect_bytes : 0);
    char parts[64] = "";

    if (has_indirect)
        snprintf(parts, sizeof parts, "(%llu direct, %llu indirect) ",
                 (unsigned long long)row->bytes, (unsigned long long)row->indirect_bytes);
    error_begin(x, NULL, leak_words[word].kind);
    fputs("  <xwhat>\n", x->out);
    element(x, "    ", "text", "%llu %sbytes in %llu blocks are %s in loss record %u of %u",
            (unsigned long long)bytes, parts, (unsigned long long)row->blocks,
            leak_words[word].text, record, records);
    element(x, "    ", "leakedbytes", "%llu", (unsigned long long)bytes);
    element(x, "    ", "leakedblocks", "%llu", (unsigned long long)row->blocks);
    fputs("  </xwhat>\n", x->out);
    stack_put(x, row->first->site, ENTRY_NONE, true);
    error_end(x, f);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void status_put(const struct xml *x, const char *state, const struct image *main)
{
    uint64_t ms = 0;

    if (main && main->end_ns > main->start_ns && strcmp(state, "FINISHED") == 0 &&
        !x->how->deterministic)
        ms = (main->end_ns - main->start_ns) / 1000000;
    fprintf(x->out, "<status>\n  <state>%s</state>\n", state);
    fprintf(x->out, "  <time>%02llu:%02llu:%02llu:%02llu.%03llu</time>\n</status>\n\n",
            (unsigned long long)(ms / 86400000), (unsigned long long)(ms / 3600000 % 24),
            (unsigned long long)(ms / 60000 % 60), (unsigned long long)(ms / 1000 % 60),
            (unsigned long long)(ms % 1000));
}

static void command_put(const struct xml *x, const struct image *main)
{
    const char *arg = NULL, *settings = report_run(x->r)->options;

    fputs("<args>\n  <vargv>\n    <exe>rtcheck</exe>\n", x->out);
    if (*settings)
        text_element(x, "    ", "arg", settings);
    fputs("  </vargv>\n  <argv>\n", x->out);
    for (const char *name = "exe"; main && (arg = argv_next(main, arg)); name = "arg")
        text_element(x, "    ", name, arg);
    fputs("  </argv>\n</args>\n\n", x->out);
}

static void head_put(const struct xml *x, const struct image *main)
{
    fputs("<?xml version=\"1.0\"?>\n\n<valgrindoutput>\n\n"
          "<protocolversion>4</protocolversion>\n<protocoltool>memcheck</protocoltool>\n\n"
          "<preamble>\n  <line>rtcheck " RTC_VERSION ", with memcheck's XML</line>\n"
          "</preamble>\n\n",
          x->out);
    element(x, "", "pid", "%u", main ? shown_pid(x->r, main->number, x->how) : 0);
    element(x, "", "ppid", "%u", main && !x->how->deterministic ? main->ppid : 0);
    fputs("<tool>memcheck</tool>\n\n", x->out);
    if (x->how->user_comment && *x->how->user_comment)
        fprintf(x->out, "<usercomment>%s</usercomment>\n\n", x->how->user_comment);
    command_put(x, main);
}

/* Errors only, as memcheck: it does not count leaks here. */
static void error_counts_put(const struct xml *x, const struct findings *all)
{
    uint32_t unique = 0;

    fputs("<errorcounts>\n", x->out);
    for (uint32_t i = 0; i < all->count; i++) {
        const struct error *e = all->at[i].error;
        if (!e || (e->kind == ERROR_CRASH && !is_access(e)))
            continue;
        fprintf(x->out, "  <pair>\n    <count>%llu</count>\n    <unique>0x%x</unique>\n  </pair>\n",
                (unsigned long long)e->count, unique++);
    }
    fputs("</errorcounts>\n\n", x->out);
}

static void suppression_counts_put(const struct xml *x)
{
    const char *name;
    uint64_t hits;

    fputs("<suppcounts>\n", x->out);
    for (uint32_t i = 0; (name = rule_hits(x->r, i, &hits)); i++) {
        if (hits == 0)
            continue;
        fprintf(x->out, "  <pair>\n    <count>%llu</count>\n", (unsigned long long)hits);
        text_element(x, "    ", "name", name);
        fputs("  </pair>\n", x->out);
    }
    fputs("</suppcounts>\n\n", x->out);
}

static void leaks_put(struct xml *x, const struct findings *all)
{
    uint32_t records = 0, record = 0;

    for (uint32_t i = 0; i < all->count; i++)
        records += !all->at[i].error;
    for (uint32_t i = 0; i < all->count && x->how->leaks != PRINT_LEAKS_SUMMARY; i++)
        if (!all->at[i].error)
            leak_put(x, &all->at[i], ++record, records);
}

void valgrind_xml_print(struct report *r, FILE *out, const struct print_options *how)
{
    const struct image *main = image_main(r);
    struct findings all = findings_make(r, how, how->leak_kinds);
    struct xml x = {r, how, out, 0};

    head_put(&x, main);
    status_put(&x, "RUNNING", main);
    for (uint32_t i = 0; i < all.count; i++)
        if (all.at[i].error)
            error_put(&x, &all.at[i]);
    for (uint32_t i = 0; i < all.count; i++)
        if (all.at[i].error && all.at[i].error->kind == ERROR_CRASH)
            signal_put(&x, all.at[i].error);
    status_put(&x, "FINISHED", main);
    leaks_put(&x, &all);
    error_counts_put(&x, &all);
    suppression_counts_put(&x);
    fputs("</valgrindoutput>\n", out);
    findings_free(&all);
}
