/*
 * filter.c - findings that options leave out: those of other objects and other threads, and leaks of
 * shells.
 *
 * A finding is of the object in which its stack leaves the system's libraries: a double free of a
 * library is that of the library also if libc's fclose made the call. A bad write has neither a
 * stack nor a thread; it is of those that allocated its block. A descriptor left open is of those that
 * opened it.
 *
 * A shell script that starts the program, such as pyenv's python3, is followed.  Leaks of the shell
 * itself are left out by default: the user who checks the program cannot change the shell.  A build of
 * a shell that is being checked is not in a folder bin, so its leaks are reported.
 */
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "suppress_priv.h"

#define UNKNOWN_OBJECT "???" /* as in suppressions */
#define SHELLS                                                                                  \
    "*/bin/sh,*/bin/bash,*/bin/rbash,*/bin/dash,*/bin/ash,*/bin/ksh,*/bin/ksh93,*/bin/mksh,"    \
    "*/bin/lksh,*/bin/yash,*/bin/zsh,*/bin/zsh5,*/bin/fish,*/bin/csh,*/bin/bsd-csh,*/bin/tcsh," \
    "*/bin/env"

static const char *object_of_frame(const struct report *r, uint32_t index)
{
    uint32_t module = r->frames[index].module;

    return module == NO_MODULE ? UNKNOWN_OBJECT : r->modules[module].path;
}

static bool is_of_system(const char *path)
{
    static const char *const names[] = {"libstdc++.so", "libc++.so", "libc++abi.so", "libgcc_s.so",
                                        "librtcheck.so"};
    const char *name = base_name(path);

    for (size_t i = 0; i < countof(names); i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return is_of_libc(name);
}

/* If all frames are in the system's libraries, that of the innermost. */
static const char *object_of(const struct report *r, uint32_t index)
{
    const struct site *site = index == NO_SITE ? NULL : &r->sites[index];

    for (uint32_t i = 0; site && i < site->count; i++)
        if (!is_of_system(object_of_frame(r, site->frames[i])))
            return object_of_frame(r, site->frames[i]);
    return site && site->count > 0 ? object_of_frame(r, site->frames[0]) : UNKNOWN_OBJECT;
}

static bool is_given(const char *patterns)
{
    return patterns && *patterns;
}

static bool has_object(const char *patterns, const char *path)
{
    return matches_any(base_name(path), patterns) || matches_any(path, patterns);
}

/* By its number in the process or its name; "main" is the main thread. */
static bool has_thread(const char *patterns, const struct report *r, uint32_t number,
                       const struct thread *t)
{
    const struct image *image = image_of(r, number);
    char digits[16];

    if (image && t->tid != 0 && t->tid == image->pid && matches_any("main", patterns))
        return true;
    snprintf(digits, sizeof digits, "%u", t->number);
    return t->number != 0 && (matches_any(digits, patterns) || matches_any(t->name, patterns));
}

static bool is_left_out(const struct report *r, uint32_t site, uint32_t image,
                        const struct thread *thread)
{
    const struct filters *f = &r->filters;
    const char *object = object_of(r, site);

    return (is_given(f->only_module) && !has_object(f->only_module, object)) ||
           (is_given(f->skip_module) && has_object(f->skip_module, object)) ||
           (is_given(f->only_thread) && !has_thread(f->only_thread, r, image, thread));
}

static bool is_of_shell(const struct report *r, const struct leak *leak)
{
    return matches_any(object_of(r, leak->site), SHELLS);
}

bool filters_are_given(const struct filters *f)
{
    return is_given(f->only_module) || is_given(f->skip_module) || is_given(f->only_thread);
}

void report_filter(struct report *r, const struct filters *filters)
{
    r->filters = *filters;
    if (!filters_are_given(filters) && !filters->skips_shells)
        return;
    for (uint32_t i = 0; i < r->error_count; i++) {
        struct error *e = &r->errors[i];
        bool by_block = (error_is_late(e) || e->kind == ERROR_FDL) && e->block_thread.number != 0;
        if (!is_hidden(&e->disposition))
            e->disposition.is_filtered = is_left_out(r, error_main_site(e), e->image,
                                                     by_block ? &e->block_thread : &e->thread);
    }
    for (uint32_t i = 0; i < r->leak_count; i++) {
        struct leak *leak = &r->leaks[i];
        if (!is_hidden(&leak->disposition))
            leak->disposition.is_filtered =
                is_left_out(r, leak->site, leak->image, &leak->thread) ||
                (filters->skips_shells && is_of_shell(r, leak));
    }
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Is it printed with another leak, not by itself? */
static bool is_indirect(const struct leak *leak, uint32_t kinds)
{
    return leak->class == CLASS_POSSIBLY_INDIRECT ||
           (leak->class == CLASS_INDIRECT && !(kinds & LEAK_INDIRECT));
}

/* `kinds`: of the leaks that would be printed; with these also what is lost through them. */
static struct hidden filtered_sum(const struct report *r, uint32_t kinds, struct leak_sum *indirect)
{
    struct hidden sum = {0};

    for (uint32_t i = 0; i < r->error_count; i++)
        sum.errors += r->errors[i].disposition.is_filtered && error_is_shown(&r->errors[i]);
    for (uint32_t i = 0; i < r->leak_count; i++) {
        const struct leak *leak = &r->leaks[i];
        bool is_inside = is_indirect(leak, kinds);
        uint32_t heads = leak->class == CLASS_INDIRECT ? LEAK_DEFINITE : LEAK_POSSIBLE;
        if (!leak->disposition.is_filtered ||
            !(kinds & (is_inside ? heads : leak_kind(leak->class))))
            continue;
        sum.leaks++;
        sum.blocks += leak->blocks;
        sum.bytes += leak->bytes;
        indirect->places += is_inside;
        indirect->blocks += is_inside ? leak->blocks : 0;
        indirect->bytes += is_inside ? leak->bytes : 0;
    }
    return sum;
}

static uint32_t kinds_printed(const struct print_options *how)
{
    return how->leaks == PRINT_LEAKS_NOTHING ? 0 : how->leak_kinds | how->problem_kinds;
}

uint64_t filtered_count(const struct report *r, const struct print_options *how)
{
    struct leak_sum indirect = {0};
    struct hidden sum = filtered_sum(r, kinds_printed(how), &indirect);

    return sum.errors + sum.leaks - indirect.places;
}

static bool leaves_out_shells(const struct report *r)
{
    for (uint32_t i = 0; i < r->leak_count && r->filters.skips_shells; i++)
        if (r->leaks[i].disposition.is_filtered && is_of_shell(r, &r->leaks[i]))
            return true;
    return false;
}

static void option_put(const char *name, const char *patterns, FILE *out)
{
    if (is_given(patterns))
        fprintf(out, " --%s=%s", name, patterns);
}

char *filtered_text(const struct report *r, const struct print_options *how)
{
    struct leak_sum indirect = {0};
    struct hidden sum = filtered_sum(r, kinds_printed(how), &indirect);
    char *text = NULL;
    size_t bytes;
    FILE *out;

    if (sum.errors + sum.leaks == 0)
        return NULL;
    out = xalloc(open_memstream(&text, &bytes));
    fputs("left out by", out);
    option_put("only-module", r->filters.only_module, out);
    option_put("skip-module", r->filters.skip_module, out);
    option_put("only-thread", r->filters.only_thread, out);
    option_put("shell-leaks", leaves_out_shells(r) ? "no" : NULL, out);
    fputs(": ", out);
    hidden_put(&sum, &indirect, out);
    fclose(out);
    return xalloc(text);
}

void json_filtered(struct json *j, const struct report *r)
{
    struct hidden sum = {0};

    if (!filters_are_given(&r->filters) && !leaves_out_shells(r))
        return;
    for (uint32_t i = 0; i < r->error_count; i++)
        sum.errors += r->errors[i].disposition.is_filtered;
    for (uint32_t i = 0; i < r->leak_count; i++) {
        bool counts = r->leaks[i].disposition.is_filtered;
        sum.leaks += counts;
        sum.blocks += counts ? r->leaks[i].blocks : 0;
        sum.bytes += counts ? r->leaks[i].bytes : 0;
    }
    open_object(j, "filtered");
    put_number(j, "errors", sum.errors);
    put_number(j, "leaks", sum.leaks);
    put_number(j, "blocks", sum.blocks);
    put_number(j, "bytes", sum.bytes);
    close_object(j);
}
