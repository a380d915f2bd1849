/*
 * leak_sentences.c - the wording of leaks: every sentence about a leak is in this file.
 *
 * A leak is shown with its referrer: where a pointer to the block is, or that there is none. It is
 * the referrer of the first block of a site; other blocks may have other referrers.
 */
#include <stdlib.h>
#include <string.h>

#include "findings.h"
#include "machine.h"

const struct kind_text *kind_text(uint32_t kind)
{
    static const struct kind_text texts[] = {
        [LEAK_DEFINITE] = {"LEAKS", "definitely lost ", "definitely lost", "leak", "leaks"},
        [LEAK_INDIRECT] = {"INDIRECT LEAKS", "indirectly lost ", "indirectly lost", "indirect leak",
                           "indirect leaks"},
        [LEAK_POSSIBLE] = {"POSSIBLE LEAKS", "possibly lost ", "possibly lost", "possible leak",
                           "possible leaks"},
        [LEAK_REACHABLE] = {"STILL REACHABLE", "", "still reachable", "reachable block",
                            "reachable blocks"},
        [LEAK_MAPPED] = {"STILL MAPPED", "", "still mapped", "mapping left", "mappings left"},
    };
    return &texts[kind];
}

const char *reach_name(enum leak_class class)
{
    static const char *const names[] = {
        [CLASS_LOST] = "definite",       [CLASS_INDIRECT] = "indirect",
        [CLASS_INTERIOR] = "interior",   [CLASS_REGISTER] = "register",
        [CLASS_UNSURE] = "unsure",       [CLASS_POSSIBLY_INDIRECT] = "behind",
        [CLASS_REACHABLE] = "reachable", [CLASS_MAPPED] = "mapped",
    };
    static_assert(countof(names) == CLASS_COUNT, "each has its name");
    return names[class];
}

/* Return why leaks are not known. NULL: they are known, or no check was requested. */
const char *leak_check_text(const struct report *r, const struct image *image)
{
    static const char *const why[] = {
        [LEAKS_NO_MEMORY] = "there was no memory to look for them",
        [LEAKS_SANDBOX] = "in a sandbox its mappings could not be read",
        [LEAKS_BUSY] = "a thread would not leave the allocator",
        [LEAKS_NO_PROC] = "no file of /proc could be opened: too many are open, or it is not there",
        [LEAKS_CUT] = NULL, /* they are known, but not all */
        [LEAKS_CHECK_COUNT] = "for a reason that this rtcheck does not know",
    };
    static_assert(countof(why) == LEAKS_CHECK_COUNT + 1, "each has its words");
    if (image->leak_check != LEAKS_NOT_REQUESTED)
        return why[image->leak_check];
    if (!image_is_checked(image) || strcmp(end_name(r, image), "killed") != 0)
        return NULL;
    if (r->view.run->version_minor == 3) /* files of this version lack CHECK_LEAKS */
        return "it was killed";
    if (!(image->checks & CHECK_LEAKS))
        return NULL;
    if (!(image->checks & CHECK_POST_MORTEM))
        return "it was killed before the leak check; --witness finds them";
    return image->scanner == 0 ? "it was killed, and no witness could be kept"
                               : "it was killed, and its witness, too";
}

/* ---- the leak -------------------------------------------------------------------------------- */

static const char *const titles[] = {
    [CLASS_LOST] = "memory leak",
    [CLASS_INDIRECT] = "indirect memory leak",
    [CLASS_INTERIOR] = "possible leak (address in block)",
    [CLASS_REGISTER] = "possible leak (address in register)",
    [CLASS_UNSURE] = "possible leak (address perhaps in a register)",
    [CLASS_POSSIBLY_INDIRECT] = "possible leak (indirect)",
    [CLASS_REACHABLE] = "still reachable",
    [CLASS_MAPPED] = "still mapped",
};
static_assert(countof(titles) == CLASS_COUNT, "each has its title");

struct amount things_text(enum leak_class class, uint64_t n)
{
    return class == CLASS_MAPPED ? count_text(n, "mapping", "mappings") : block_text(n);
}

const char *made_label(const struct leak *leak)
{
    return leak->class == CLASS_MAPPED ? "mapped" : "allocated";
}

static void address_put(FILE *out, uint64_t address, bool deterministic)
{
    if (!deterministic)
        fprintf(out, " at 0x%llx", (unsigned long long)address);
}

char *leak_sentence(const struct leak_row *row, bool deterministic)
{
    const struct leak *leak = row->first;
    unsigned long long bytes = leak->block_bytes;
    char *text = NULL;
    size_t n;
    FILE *out = xalloc(open_memstream(&text, &n));

    fprintf(out, "%s: ", titles[leak->class]);
    if (row->blocks > 1) {
        fprintf(out, "%s in %s", size_text(row->bytes).text,
                things_text(leak->class, row->blocks).text);
    } else if (leak->class == CLASS_MAPPED) {
        fprintf(out, "%s", size_text(row->bytes).text);
        address_put(out, leak->block, deterministic);
    } else {
        fprintf(out, "%s%llu-byte block", row->blocks ? "" : "an inherited ", bytes);
        address_put(out, leak->block, deterministic);
    }
    if (row->is_marked && row->new_blocks == row->blocks)
        fputs(", new", out);
    else if (row->is_marked && row->new_blocks > 0)
        fprintf(out, ", %llu of them new", (unsigned long long)row->new_blocks);
    fclose(out);
    return xalloc(text);
}

char *format_indirect(const struct leak_row *row)
{
    char *text;

    if (row->indirect_blocks == 0)
        return NULL;
    if (asprintf(&text, "%s in %s indirectly lost", size_text(row->indirect_bytes).text,
                 block_text(row->indirect_blocks).text) < 0)
        text = NULL;
    return xalloc(text);
}

/* ---- the referrer ---------------------------------------------------------------------------- */

/* A sentence about a referrer, under construction. */
struct wording {
    struct report *r;
    const struct leak *leak;
    bool deterministic;
    FILE *out;
};

static void thread_put(struct wording *w)
{
    char *texts = format_thread(w->r, w->leak->image, &w->leak->holder.region->thread);

    fputs(texts, w->out);
    free(texts);
}

static void thread_of_put(struct wording *w)
{
    char *texts = format_thread_of(w->r, w->leak->image, &w->leak->holder.region->thread);

    fputs(texts, w->out);
    free(texts);
}

/* "leak (t.c:7)", "libsome.so+0x1234": the innermost frame of a stack. */
static void function_put(struct wording *w, uint32_t index)
{
    const struct site *site = &w->r->sites[index];
    struct source_line line;
    const struct frame *frame;

    symbolize_site(w->r, index);
    if (site->count == 0) {
        fputs("a place that is not recorded", w->out);
        return;
    }
    frame = &w->r->frames[site->frames[0]];
    frame_lines_shown(w->r, frame, &line, 1);
    if (frame->module == NO_MODULE)
        fputs("no known module", w->out);
    else if (line.function)
        fputs(line.function, w->out);
    else
        fprintf(w->out, "%s+0x%llx", base_name(w->r->modules[frame->module].path),
                (unsigned long long)frame->offset);
    if (line.file)
        fprintf(w->out, " (%s:%d)", base_name(line.file), line.line);
}

/* "in local variable `next' of main (prog.c:12), thread 3" */
static bool variable_put(struct wording *w)
{
    const struct holder *h = &w->leak->holder;
    const struct site *site = h->function == NO_SITE ? NULL : &w->r->sites[h->function];
    char *texts = NULL;
    size_t bytes;
    FILE *out = xalloc(open_memstream(&texts, &bytes));
    bool known = false;

    if (site)
        known = site->count > 0 && format_local(w->r, site->frames[0], h->in_frame, out);
    else if (h->at < h->control_block)
        known = format_thread_variable(w->r, h->program, h->control_block - h->at, out);
    fclose(out);
    xalloc(texts);
    if (known) {
        fprintf(w->out, "in %s, ", texts);
        thread_put(w);
    }
    free(texts);
    return known;
}

/*
 * The position of a word without a variable: stale words are low in their frame, or below it in the
 * red zone.
 */
static void offset_put(struct wording *w)
{
    const struct in_frame *in = &w->leak->holder.in_frame;
    long long offset = (long long)(in->at - in->sp);

    if (in->sp != 0)
        fprintf(w->out, ", %llu bytes %s its stack pointer",
                (unsigned long long)(offset < 0 ? -offset : offset),
                offset < 0 ? "below" : "above");
}

/* Describe which part of a thread's memory has the pointer. false: not known. */
static bool part_put(struct wording *w)
{
    const struct holder *h = &w->leak->holder;

    if (variable_put(w))
        return true;
    if (h->function != NO_SITE)
        fputs("on the stack of ", w->out);
    else if (h->control_block > 0 && h->at >= h->control_block)
        fputs("in the control block of ", w->out);
    else if (h->control_block > 0 && h->is_above_frames)
        fputs("in thread-local storage of ", w->out);
    else
        return false;
    thread_of_put(w);
    if (h->function != NO_SITE) {
        fputs(", in ", w->out);
        function_put(w, h->function);
        offset_put(w);
    }
    return true;
}

static void stack_put(struct wording *w)
{
    if (part_put(w))
        return;
    fputs("on the stack of ", w->out);
    thread_of_put(w);
}

static void module_put(struct wording *w)
{
    const struct region *index = w->leak->holder.region;

    fputs("in ", w->out);
    if (index->module != NO_MODULE)
        format_location(w->r, index->module, index->offset, w->out);
    else
        fputs(index->path[0] ? base_name(index->path) : "a program or library that is not known",
              w->out);
}

static void mapping_put(struct wording *w)
{
    const struct region *index = w->leak->holder.region;

    fprintf(w->out, "in %s", index->path[0] ? index->path : "memory");
    fputs(index->path[0] ? ", mapped by the program" : " mapped by the program", w->out);
    if (!w->deterministic)
        fprintf(w->out, " at 0x%llx-0x%llx", (unsigned long long)index->start,
                (unsigned long long)index->end);
}

static void root_put(struct wording *w)
{
    switch (w->leak->holder.root) {
    case ROOT_STACK:
        stack_put(w);
        break;
    case ROOT_MODULE:
        module_put(w);
        break;
    case ROOT_MAPPED:
        if (!part_put(w))
            mapping_put(w);
        break;
    case ROOT_GIVEN:
        fputs("in a root region that the program named", w->out);
        break;
    default:
        fputs("in memory that is not known", w->out);
    }
}

static void block_put(struct wording *w)
{
    const struct holder *h = &w->leak->holder;

    fprintf(w->out, "at offset +%llu of a block of %llu bytes",
            (unsigned long long)(h->at - h->from), (unsigned long long)h->from_bytes);
    if (h->from_stack != NO_SITE) {
        fputs(" allocated at ", w->out);
        function_put(w, h->from_stack);
    }
}

/* Registers have DWARF's numbers. */
static void register_put(struct wording *w)
{
    static const char *const names[] = {DWARF_NAMES};
    static_assert(countof(names) == DWARF_VECTORS, "the others are vector registers");
    uint64_t number = w->leak->holder.at;

    if (number < countof(names))
        fprintf(w->out, "in register %s of ", names[number]);
    else
        fputs("in a vector register of ", w->out);
    thread_of_put(w);
}

static void pointer_put(struct wording *w)
{
    uint64_t inside = w->leak->holder.inside;

    if (inside == 0)
        fputs("a pointer to its start ", w->out);
    else
        fprintf(w->out, "a pointer %llu byte%s inside it ", (unsigned long long)inside,
                inside == 1 ? "" : "s");
}

char *witness_sentence(struct report *r, const struct leak *leak, bool deterministic)
{
    char *text = NULL;
    size_t bytes;
    struct wording w = {r, leak, deterministic, xalloc(open_memstream(&text, &bytes))};

    if (leak->class == CLASS_MAPPED) {
        fputs("pointers to mappings are not searched for", w.out);
    } else if (leak->holder.what == WITNESS_NONE) {
        fputs(leak->is_cycle ? "only itself, or blocks that it leads to" : "no pointer to it",
              w.out);
        if (leak->class == CLASS_UNSURE)
            fputs(" that can be seen", w.out);
    } else if (leak->holder.what == WITNESS_SELF) {
        fputs(
            "in use by rule: the loader's, a stack that is run on, one with recorded blocks in it, "
            "or one to be ignored",
            w.out);
    } else {
        pointer_put(&w);
        if (leak->holder.what == WITNESS_ROOT)
            root_put(&w);
        else if (leak->holder.what == WITNESS_BLOCK)
            block_put(&w);
        else
            register_put(&w);
        if (leak->is_cycle)
            fputs(", and no other: a cycle", w.out);
    }
    fclose(w.out);
    return xalloc(text);
}
