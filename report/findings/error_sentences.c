/*
 * error_sentences.c - the wording of errors: every sentence about an error is in this file.
 *
 * A sentence contains only known facts. For a block that has left the quarantine, only the last
 * record of its slot is known, which may be of a later block. Then the sentence has "possibly".
 */
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "findings.h"

#define FILL_NEAR 65536u /* no member of a structure has a larger offset */
#define FOUND_SHOWN 8u   /* of the bytes that were written; `show` prints all that are recorded */

/* A sentence under construction. */
struct wording {
    struct report *r;
    const struct error *e;
    bool deterministic; /* omit values that change from run to run */
    FILE *out;
};

/* ---- parts of speech ------------------------------------------------------------------------- */

/* "an 8-byte", "an 11-byte", "an 18000-byte", "a 40-byte" */
static const char *article(uint64_t n)
{
    while (n >= 1000)
        n /= 1000;
    if (n == 11 || n == 18)
        return "an";
    while (n >= 10)
        n /= 10;
    return n == 8 ? "an" : "a";
}

static void block_put(struct wording *w)
{
    unsigned long long bytes = w->e->block_bytes;
    fprintf(w->out, "%s %llu-byte block", article(bytes), bytes);
}

static void bytes_put(struct wording *w, uint64_t n)
{
    fprintf(w->out, "%llu byte%s", (unsigned long long)n, n == 1 ? "" : "s");
}

bool error_is_realloc(const struct error *e)
{
    return e->entry == ENTRY_REALLOC || e->entry == ENTRY_REALLOCARRAY;
}

bool error_is_of_descriptor(const struct error *e)
{
    return e->kind == ERROR_FDC || e->kind == ERROR_FDL;
}

bool error_has_likely_block(const struct error *e)
{
    return e->kind == ERROR_CRASH && e->crash.flags & CRASH_LIKELY_BLOCK;
}

bool error_has_named_block(const struct error *e)
{
    return e->kind == ERROR_CRASH && e->crash.flags & CRASH_NAMED_BLOCK;
}

bool error_is_in_block(const struct error *e)
{
    bool is_copied = e->kind == ERROR_RUI && e->address - e->block >= e->block_bytes;
    return e->block != 0 && !error_has_likely_block(e) && !error_has_named_block(e) && !is_copied;
}

bool error_is_query(const struct error *e)
{
    return e->entry == ENTRY_MALLOC_USABLE_SIZE;
}

bool error_is_named(const struct error *e)
{
    return error_is_realloc(e) || error_is_query(e);
}

/* "free" is the verb of all freeing functions; entry_put appends the function's name. */
static const char *verb_of(const struct error *e)
{
    return error_is_named(e) ? entry_name(e->entry) : "free";
}

/* Append the function's name, unless the verb is that name. */
static void entry_put(struct wording *w)
{
    const char *name = entry_name(w->e->entry);

    if (name && w->e->entry != ENTRY_FREE && !error_is_named(w->e))
        fprintf(w->out, ", by %s", name);
}

char *format_thread(const struct report *r, uint32_t number, const struct thread *t)
{
    const struct image *image = image_of(r, number);
    char *text;
    int n;

    if (image && t->tid != 0 && t->tid == image->pid)
        n = asprintf(&text, "main thread");
    else if (t->number == 0)
        n = asprintf(&text, "a thread that is not known");
    else if (t->name[0] && (!image || strcmp(t->name, image->name) != 0))
        n = asprintf(&text, "thread %u (%s)", t->number, t->name);
    else
        n = asprintf(&text, "thread %u", t->number);
    return xalloc(n < 0 ? NULL : text);
}

char *format_thread_of(const struct report *r, uint32_t number, const struct thread *t)
{
    char *name = format_thread(r, number, t), *text;

    if (asprintf(&text, "%s%s", strcmp(name, "main thread") == 0 ? "the " : "", name) < 0)
        text = xalloc(NULL);
    free(name);
    return text;
}

/* ---- what an address is ---------------------------------------------------------------------- */

static void mapping_put(struct wording *w)
{
    const struct region *region = &w->e->region;

    fprintf(w->out, "in %s", region->path[0] ? region->path : "memory");
    if (!w->deterministic && region->end > region->start)
        fprintf(w->out, "%s mapped at 0x%llx-0x%llx", region->path[0] ? "," : "",
                (unsigned long long)region->start, (unsigned long long)region->end);
    else
        fputs(region->path[0] ? ", mapped by the program" : " mapped by the program", w->out);
    if (region->end > region->start)
        fprintf(w->out, " (%s)", size_text(region->end - region->start).text);
}

static void module_put(struct wording *w)
{
    const struct region *region = &w->e->region;

    if (region->module == NO_MODULE) {
        fprintf(w->out, "in %s",
                region->path[0] ? base_name(region->path)
                                : "a program or library that is not known");
        return;
    }
    fputs("in ", w->out);
    format_location(w->r, region->module, region->offset, w->out);
}

static void other_stack_put(struct wording *w, const char *after)
{
    char *name = format_thread_of(w->r, w->e->image, &w->e->region.thread);

    fprintf(w->out, "on the stack of %s", name);
    free(name);
    fputs(after, w->out);
}

static void region_put(struct wording *w)
{
    static const char *const fixed[REGION_COUNT] = {
        [REGION_NONE] = "that no allocation returned",
        [REGION_UNKNOWN] = "that no allocation returned; its mapping could not be read",
        [REGION_UNMAPPED] = "where no memory is",
        [REGION_STACK] = "on the stack of this thread",
        [REGION_STACK_ALTERNATE] = "on the alternate signal stack of this thread",
        [REGION_HEAP] = "in rtcheck's heap, where no block was",
        [REGION_LIBC] = "in a block of libc's own allocator",
    };
    uint32_t what = w->e->region.what;

    if (what == REGION_HEAP &&
        (w->e->entry == ENTRY_RECORD_FREE || w->e->entry == ENTRY_RECORD_REALLOC))
        fputs("in rtcheck's heap, where no block was recorded", w->out);
    else if (what == REGION_MODULE)
        module_put(w);
    else if (what == REGION_MAPPED)
        mapping_put(w);
    else if (what == REGION_STACK_OTHER)
        other_stack_put(w, "");
    else if (what == REGION_STACK_ENDED)
        other_stack_put(w, ", which has ended");
    else
        fputs(fixed[what], w->out);
}

/* ---- frees ----------------------------------------------------------------------------------- */

/* Return the families that an entry may free, a bit for each. */
static uint32_t families_freed(uint32_t entry)
{
    switch (entry) {
    case ENTRY_DELETE:
        return 1u << FAMILY_NEW;
    case ENTRY_DELETE_ARRAY:
        return 1u << FAMILY_NEW_ARRAY;
    case ENTRY_DELETE_ALIGNED:
        return 1u << FAMILY_NEW_ALIGNED;
    case ENTRY_DELETE_ARRAY_ALIGNED:
        return 1u << FAMILY_NEW_ARRAY_ALIGNED;
    case ENTRY_MALLOC_USABLE_SIZE:
        return ~0u;
    default:
        return 1u << FAMILY_MALLOC | 1u << FAMILY_ALIGNED;
    }
}

static bool family_fits(const struct error *e)
{
    return (families_freed(e->entry) >> e->block_family & 1) != 0;
}

/* "24-byte new[] block"; "64-byte block of aligned new", which is not one aligned to 64 bytes. */
static void family_block_put(struct wording *w)
{
    const char *family = family_name(w->e->block_family);
    bool is_long = strchr(family, ' ') != NULL;

    fprintf(w->out, "%llu-byte %s%s%s", (unsigned long long)w->e->block_bytes,
            is_long ? "block of " : "", family, is_long ? "" : " block");
}

/* Name the block's family only if another function should have freed it. */
static void freed_block_put(struct wording *w)
{
    if (w->e->entry == ENTRY_NONE || family_fits(w->e)) {
        block_put(w);
    } else {
        fprintf(w->out, "%s ", article(w->e->block_bytes));
        family_block_put(w);
    }
}

/* Whether the address is a fill pattern, plus less than FILL_NEAR; `tag`: of fills by block. */
static bool is_of_fill(uint64_t address, uint16_t fill, uint64_t tag)
{
    uint64_t bytes = (fill - 1u) * 0x0101010101010101ull;

    if (fill == FILL_OF_BLOCK + 1)
        return fill_word_is_near(address, tag);
    return fill > 1 && address - bytes < FILL_NEAR;
}

/*
 * Return the kind of memory that the pointer was read from; NULL: not a fill pattern. Nothing else
 * explains such an address.
 */
static const char *source_of(const struct wording *w)
{
    const struct image *image = image_of(w->r, w->e->image);

    if (!image || w->e->region.what == REGION_NULL)
        return NULL;
    if (is_of_fill(w->e->address, image->free_fill, FILL_TAG_FREED))
        return "freed memory";
    return is_of_fill(w->e->address, image->malloc_fill, FILL_TAG_NEW)
               ? "memory that was never written"
               : NULL;
}

static void format_baf(struct wording *w)
{
    const char *source = source_of(w);

    fprintf(w->out, "%s of ", verb_of(w->e));
    if (w->e->region.what == REGION_NULL) {
        fprintf(w->out, "NULL+%llu", (unsigned long long)w->e->address);
    } else if (source) {
        fprintf(w->out, "an address that was read from %s", source);
    } else {
        fputs("an address ", w->out);
        region_put(w);
    }
    entry_put(w);
}

static void format_duf(struct wording *w)
{
    fprintf(w->out, "%s%s of ", error_is_named(w->e) ? "" : "double ", verb_of(w->e));
    freed_block_put(w);
    if (error_is_named(w->e))
        fputs(" that had been freed", w->out);
    if (w->e->block_state == BLOCK_FREE)
        fputs(", possibly of an older block at this address", w->out);
    else if (w->e->block_state == BLOCK_INHERITED)
        fputs(", possibly: what it was at the fork is not known", w->out);
    entry_put(w);
}

static void format_maf(struct wording *w)
{
    static const char *const states[] = {
        [BLOCK_FREED] = " (freed)",
        [BLOCK_FREE] = " (freed; possibly an older block at this address)",
        [BLOCK_INHERITED] = " (possibly freed: what it was at the fork is not known)",
    };
    const struct error *e = w->e;
    uint64_t offset = e->address - e->block;

    fprintf(w->out, "%s of an address ", verb_of(e));
    if (e->address < e->block)
        bytes_put(w, e->block - e->address);
    else if (offset < e->block_bytes)
        bytes_put(w, offset);
    else if (offset > e->block_bytes)
        bytes_put(w, offset - e->block_bytes);
    fputs(e->address < e->block      ? " before "
          : offset < e->block_bytes  ? " inside "
          : offset == e->block_bytes ? "just past the end of "
                                     : " past the end of ",
          w->out);
    freed_block_put(w);
    if (e->block_state < countof(states) && states[e->block_state])
        fputs(states[e->block_state], w->out);
    entry_put(w);
}

static void format_mis(struct wording *w)
{
    const struct error *e = w->e;
    const char *name = entry_name(e->entry);
    bool fits = family_fits(e);

    if (fits && e->align != 0 && e->block_align != 0 && e->align != e->block_align) {
        family_block_put(w);
        fprintf(w->out, " with alignment %llu freed by %s with alignment %llu",
                (unsigned long long)e->block_align, name ? name : "a function that is not known",
                (unsigned long long)e->align);
        return;
    }
    if (fits && e->bytes != 0 && e->bytes != e->block_bytes) {
        fprintf(w->out, "%s(p, %llu) of ", name && e->entry < ENTRY_NEW ? name : "sized delete",
                (unsigned long long)e->bytes);
        block_put(w);
        return;
    }
    family_block_put(w);
    fprintf(w->out, " %s %s%s", error_is_realloc(e) ? "given to" : "freed by",
            name ? name : "a function that is not known", name && e->entry < ENTRY_NEW ? "()" : "");
    if (fits)
        fputs(" with a size or alignment that is not its own", w->out);
}

/* ---- accesses by calls ----------------------------------------------------------------------- */

/* ", the last 3 past the end of a 21-byte block", ", 4 bytes before a 40-byte block". */
static void place_put(struct wording *w, const struct access_verdict *v, uint64_t first)
{
    if (v->is_before) {
        fputs(", ", w->out);
        bytes_put(w, w->e->block - first);
        fputs(" before ", w->out);
    } else if (v->allowed > 0) {
        fprintf(w->out, ", the last %llu past the end of ", (unsigned long long)w->e->bytes);
    } else if (v->distance > 0) {
        fputs(", ", w->out);
        bytes_put(w, v->distance);
        fputs(" past the end of ", w->out);
    } else {
        fputs(", just past the end of ", w->out);
    }
    block_put(w);
}

static void freed_place_put(struct wording *w, uint64_t first)
{
    const struct error *e = w->e;

    fprintf(w->out, ", at offset %lld of a freed %llu-byte block", (long long)(first - e->block),
            (unsigned long long)e->block_bytes);
    if (e->block_state == BLOCK_FREE)
        fputs(", possibly an older block at this address", w->out);
}

/* ", at offset 16 of a 40-byte block, poisoned by the program" */
static void poisoned_place_put(struct wording *w, uint64_t first)
{
    const struct error *e = w->e;

    if (e->block == 0) {
        fputs(" in memory poisoned by the program, ", w->out);
        region_put(w);
        return;
    }
    fprintf(w->out, ", at offset %llu of ", (unsigned long long)(first - e->block));
    block_put(w);
    fputs(", poisoned by the program", w->out);
}

static void format_access(struct wording *w)
{
    const struct error *e = w->e;
    const char *name = entry_name(e->entry);
    uint64_t first = e->address - (e->access_length - e->bytes); /* of the whole access */
    struct access_block block = {e->block, e->block_bytes, e->block_state};
    struct access_verdict v = access_check(first, e->access_length, &block);

    fputs(e->kind == ERROR_RUA ? "read of " : "write of ", w->out);
    if (e->crash.pc && !e->crash.access_bytes)
        fputs("unknown size", w->out);
    else
        bytes_put(w, e->access_length);
    if (name)
        fprintf(w->out, " by %s", name);
    if (e->crash.flags & CRASH_POISONED) {
        poisoned_place_put(w, first);
    } else if (e->block == 0) {
        fputc(' ', w->out);
        region_put(w);
    } else if (v.state == ACCESS_FREED) {
        freed_place_put(w, first);
    } else {
        place_put(w, &v, first);
    }
}

/* ", at offset 16 of a 40-byte block", ", copied from a 40-byte block". */
static void origin_put(struct wording *w, bool is_whole)
{
    const struct error *e = w->e;

    if (e->block == 0) {
        fputs(", of a block that is not known", w->out);
        return;
    }
    if (error_is_in_block(e))
        fprintf(w->out, is_whole ? ", at offset %llu of " : ", the first at offset %llu of ",
                (unsigned long long)(e->address - e->block));
    else
        fputs(", copied from ", w->out);
    block_put(w);
    if (e->block_state == BLOCK_FREE)
        fputs(", possibly an older block at this address", w->out);
}

/* `bytes` of `access_length` are uninitialised; without an address, an argument is. */
static void format_rui(struct wording *w)
{
    const struct error *e = w->e;
    const char *name = entry_name(e->entry);
    bool is_whole = e->bytes >= e->access_length;

    fputs("uninitialised read of ", w->out);
    if (!is_whole)
        fprintf(w->out, "%llu of ", (unsigned long long)e->bytes);
    if (e->address == 0)
        fputs("an argument", w->out);
    else
        bytes_put(w, e->access_length);
    fprintf(w->out, " by %s", name ? name : "a call");
    origin_put(w, is_whole);
}

static void format_ovl(struct wording *w)
{
    const struct error *e = w->e;
    const char *name = entry_name(e->entry);
    uint64_t from = e->region.start,
             distance = from > e->address ? from - e->address : e->address - from;

    fprintf(w->out, "overlap of source and destination in %s of ", name ? name : "a copy");
    bytes_put(w, e->bytes);
    fputs(", which are ", w->out);
    bytes_put(w, distance);
    fputs(" apart", w->out);
}

/* ---- writes that were detected afterwards ---------------------------------------------------- */

static void detected_put(struct wording *w)
{
    const char *name = entry_name(w->e->entry);

    if (w->e->entry == ENTRY_EVICTION)
        fputs(", detected when it left the quarantine", w->out);
    else if (name)
        fprintf(w->out, ", detected at %s", name);
}

/* " (offset 9)", " (offsets -4 to -1)": of the damaged bytes, from the start of the block. */
static void offsets_put(struct wording *w, uint64_t last)
{
    long long first = (long long)(w->e->address - w->e->block);

    if (last == 0)
        fprintf(w->out, " (offset %lld)", first);
    else
        fprintf(w->out, " (offsets %lld to %lld)", first, first + (long long)last);
}

/*
 * Bytes between the first and the last damaged byte may be intact, so only a single byte is
 * counted.
 */
static void format_wua(struct wording *w)
{
    static const char *const where[] = {
        [DAMAGE_NONE] = " at ",
        [DAMAGE_AFTER] = " past the end of ",
        [DAMAGE_BEFORE] = " before the start of ",
    };
    const struct error *e = w->e;
    uint64_t last = e->bytes > 1 ? e->bytes - 1 : 0;

    if (error_is_access(e)) {
        format_access(w);
        return;
    }
    if (e->damage == DAMAGE_INSIDE) {
        fprintf(w->out, "write to a freed %llu-byte block", (unsigned long long)e->block_bytes);
    } else {
        fputs(last == 0 ? "1 byte written" : "bytes written", w->out);
        fputs(where[e->damage], w->out);
        block_put(w);
    }
    offsets_put(w, last);
    if (e->damage != DAMAGE_INSIDE && e->block_state == BLOCK_FREED) /* intact at its free */
        fputs(", after it was freed", w->out);
    detected_put(w);
}

/* ---- the others ------------------------------------------------------------------------------ */

static void format_oom(struct wording *w)
{
    const struct image *image = image_of(w->r, w->e->image);
    const char *name = entry_name(w->e->entry);
    const struct run_header *run = w->r->view.run;

    fprintf(w->out, "%s of %s failed", name ? name : "allocation", size_text(w->e->bytes).text);
    if (image && image->flags & IMAGE_HEAP_IN_FILE) {
        fprintf(w->out, ", in a heap of %s", size_text(run->heap_bytes).text);
        if (*run->folder) {
            fputs(" in ", w->out);
            text_put(w->out, run->folder);
        }
    }
    fputs(" (warning)", w->out);
}

static void format_rze(struct wording *w)
{
    const char *name = entry_name(w->e->entry);

    fprintf(w->out, "%s with size 0", name ? name : "realloc");
    if (w->e->block != 0) {
        fputs(" of ", w->out);
        block_put(w);
    }
    fputs(": freed, but not by every library (warning)", w->out);
}

static void format_bal(struct wording *w)
{
    const char *name = entry_name(w->e->entry);

    fprintf(w->out, "%s with an alignment of %llu, which is not a power of two%s (warning)",
            name ? name : "allocation", (unsigned long long)w->e->align,
            w->e->entry == ENTRY_POSIX_MEMALIGN ? " from 8 on" : "");
}

static void format_foreign(struct wording *w)
{
    fputs("freed a block of libc's own allocator: passed on to libc", w->out);
}

/* Describe the reason: the first hole, the stack's thread, or the block. */
static void format_bum(struct wording *w)
{
    const struct error *e = w->e;
    uint64_t hole = e->region.end - e->region.start;

    fprintf(w->out, "%s of %s ", entry_name(e->entry) ? entry_name(e->entry) : "munmap",
            size_text(e->bytes).text);
    if (e->block != 0) {
        fputs("over ", w->out);
        block_put(w);
        fputs(e->block_state == BLOCK_LIVE ? ": left as it is" : " that is free: left as it is",
              w->out);
    } else if (e->region.what == REGION_HEAP) {
        fputs("of the heap: left as it is", w->out);
    } else if (e->region.what == REGION_NONE) {
        fputs("over memory of the checker's own: refused", w->out);
    } else if (e->region.what == REGION_STACK_OTHER) {
        other_stack_put(w, "");
    } else if (hole >= e->bytes) {
        fputs("that is not mapped", w->out);
    } else {
        fprintf(w->out, "that is not mapped at offset %llu",
                (unsigned long long)(e->region.start - e->address));
    }
    fputs(" (warning)", w->out);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static void format_fdc(struct wording *w)
{
    const struct error *e = w->e;
    const char *closer = entry_name(e->entry);

    fprintf(w->out, "%s of descriptor %llu, which ", closer ? closer : "close",
            (unsigned long long)e->address);
    fputs(e->closer ? "had been closed" : "was open before, and is not", w->out);
}

/* The number of a socket or pipe differs in each run. */
static void target_put(struct wording *w, const char *target)
{
    const char *number = strstr(target, ":[");

    if (w->deterministic && number)
        fprintf(w->out, "%.*s", (int)(number - target), target);
    else
        fputs(target, w->out);
}

static void format_fdl(struct wording *w)
{
    const struct error *e = w->e;

    fprintf(w->out, "descriptor left open: %llu", (unsigned long long)e->address);
    if (e->region.path[0]) {
        fputs(" (", w->out);
        target_put(w, e->region.path);
        fputs(")", w->out);
    }
    if (!e->opener && e->alloc_stack == NO_SITE)
        fputs(", opened by a call that is not tracked", w->out);
}

static void word_crash(struct wording *w)
{
    format_crash(w->r, w->e, w->deterministic, w->out);
}

char *error_sentence(struct report *r, const struct error *e, bool deterministic)
{
    static void (*const formatters[])(struct wording * w) = {
        [ERROR_BAF] = format_baf,         [ERROR_DUF] = format_duf,    [ERROR_MAF] = format_maf,
        [ERROR_MIS] = format_mis,         [ERROR_WUA] = format_wua,    [ERROR_OOM] = format_oom,
        [ERROR_FOREIGN] = format_foreign, [ERROR_BUM] = format_bum,    [ERROR_RZE] = format_rze,
        [ERROR_BAL] = format_bal,         [ERROR_CRASH] = word_crash,  [ERROR_FDC] = format_fdc,
        [ERROR_FDL] = format_fdl,         [ERROR_RUA] = format_access, [ERROR_OVL] = format_ovl,
        [ERROR_RUI] = format_rui,
    };
    static_assert(countof(formatters) == ERROR_KIND_COUNT, "each has its words");
    char *text = NULL;
    size_t bytes;
    struct wording w = {r, e, deterministic, xalloc(open_memstream(&text, &bytes))};

    formatters[e->kind](&w);
    fclose(w.out);
    return xalloc(text);
}

/* ---- its facts ------------------------------------------------------------------------------- */

/* The bytes often show which code wrote them: 41 42 00 "AB.". */
char *format_found(const struct error *e)
{
    uint32_t count = e->found_bytes < FOUND_SHOWN ? e->found_bytes : FOUND_SHOWN;
    bool is_text = false;
    char *text = NULL;
    size_t bytes;
    FILE *out;

    if (count == 0)
        return NULL;
    out = xalloc(open_memstream(&text, &bytes));
    for (uint32_t i = 0; i < count; i++) {
        fprintf(out, "%s%02x", i ? " " : "", e->found[i]);
        is_text |= byte_is_plain(e->found[i]);
    }
    fputs(is_text ? "  \"" : "", out);
    for (uint32_t i = 0; i < count && is_text; i++)
        fputc(byte_is_plain(e->found[i]) ? e->found[i] : '.', out);
    fputs(is_text ? "\"" : "", out);
    fputs(e->bytes > count ? " ..." : "", out);
    fclose(out);
    return xalloc(text);
}
