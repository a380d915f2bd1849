/*
 * cmd_plans.c - `rtcheck plans`: list the plans that --access=full keeps, verify them, remove some or all.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "format/bits.h"
#include "plan_cache.h"
#include "translate.h"

enum { STATUS_BAD_PLAN = 1, STATUS_NO_SUCH_PLAN = 1 };

/* Names are untrusted: they are printed as far as they are printable. */
static void name_put(const char *name)
{
    for (unsigned bytes; *name; name += bytes ? bytes : 1) {
        bytes = printable_bytes(name);
        if (bytes)
            fwrite(name, 1, bytes, stdout);
        else
            putchar('?');
    }
}

static void object_put(const struct kept_plan *p)
{
    if (*p->object)
        name_put(p->object);
    else
        fputs("(unknown object)", stdout);
}

/* ---- list ------------------------------------------------------------------------------------ */

static void row_put(const struct kept_plan *p)
{
    struct plan_view v;
    uint64_t bytes, skipped = 0;
    char when[32];
    struct tm local;
    const char *wrong = plan_load(&v, p->path, &bytes);

    strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", localtime_r(&p->used, &local));
    printf("%s %8llu  ", when, (unsigned long long)(p->bytes + 1023) / 1024);
    if (wrong) {
        printf("%7s  %10s  ", "-", "-");
    } else {
        const struct plan_header *h = v.header;
        printf("%7llu  %8.1f %%  ", (unsigned long long)h->statistics.checks,
               h->text_bytes ? 100.0 * (double)h->statistics.function_bytes[PLAN_TRANSLATED] /
                                   (double)h->text_bytes
                             : 0);
        skipped = h->statistics.function_bytes[PLAN_SKIPPED];
        plan_unload(&v, bytes);
    }
    printf("%s\n  ", p->id);
    object_put(p);
    printf("%s%s", wrong ? ": not usable: " : "", wrong ? wrong : "");
    if (skipped > 0)
        printf(": %llu bytes skipped by --access-skip", (unsigned long long)skipped);
    putchar('\n');
}

static int list(const struct kept_plans *all, const char *folder)
{
    if (all->count > 0)
        printf("%-19s %8s  %7s  %10s  %s\n", "last used", "KiB", "checks", "translated",
               "build-id, object");
    for (size_t i = 0; i < all->count; i++)
        row_put(&all->at[i]);
    printf("%zu plan%s, %llu KiB, in ", all->count, all->count == 1 ? "" : "s",
           (unsigned long long)(all->bytes + 1023) / 1024);
    name_put(folder);
    putchar('\n');
    return 0;
}

/* ---- functions ------------------------------------------------------------------------------- */

static const char *const states[] = {
#define STATE(id, code, text) [PLAN_##id] = text,
#include "format/plan_states.def"
#undef STATE
};
static_assert(countof(states) == PLAN_STATE_COUNT, "each state has its text");

static void function_put(uint64_t address, uint64_t bytes, const char *name, const char *why)
{
    char *plain = name ? report_demangle(name, true) : NULL;

    printf("  %#12llx %8llu  %-26s ", (unsigned long long)address, (unsigned long long)bytes, why);
    name_put(plain ? plain : name ? name : "-");
    putchar('\n');
    free(plain);
}

/* Functions in [from, end) that have no frame description. */
static void undescribed_put(const struct code_symbols *s, uint64_t from, uint64_t end)
{
    for (uint32_t n = code_symbol_from(s, from); n < s->count && s->at[n].address < end; n++)
        if (s->at[n].bytes > 0 && (n == 0 || s->at[n].address != s->at[n - 1].address))
            function_put(s->at[n].address, s->at[n].bytes, s->at[n].name, "no frame description");
}

static void functions_put(const struct plan_view *v, const struct code_symbols *s)
{
    const struct plan_header *h = v->header;
    uint64_t end = h->text_address;

    for (uint64_t n = 0; n < h->functions.count; n++) {
        const struct plan_function *f = &v->functions[n];
        uint64_t start = h->text_address + f->start;
        undescribed_put(s, end, start);
        if (f->state != PLAN_TRANSLATED)
            function_put(start, f->bytes, code_symbol_name(s, start), states[f->state]);
        end = start + f->bytes;
    }
    undescribed_put(s, end, h->text_address + h->text_bytes);
}

static void plan_functions_put(const struct kept_plan *p)
{
    struct code_symbols s;
    struct plan_view v;
    uint64_t bytes;
    const char *wrong = plan_load(&v, p->path, &bytes);

    object_put(p);
    printf(" %s%s%s\n", p->id, wrong ? ": not usable: " : "", wrong ? wrong : "");
    if (wrong)
        return;
    printf("  %12s %8s  %-26s %s\n", "address", "bytes", "unchecked by", "function");
    code_symbols_read(&s, p->object);
    functions_put(&v, &s);
    code_symbols_free(&s);
    plan_unload(&v, bytes);
}

/* ---- other actions --------------------------------------------------------------------------- */

static int verify(const struct kept_plans *all)
{
    size_t bad = 0;

    for (size_t i = 0; i < all->count; i++) {
        struct plan_view v;
        uint64_t bytes;
        const char *wrong = plan_load(&v, all->at[i].path, &bytes);
        if (!wrong) {
            plan_unload(&v, bytes);
            continue;
        }
        bad++;
        printf("%s ", all->at[i].id);
        object_put(&all->at[i]);
        printf(": %s\n", wrong);
    }
    printf("%zu plan%s, %zu not usable\n", all->count, all->count == 1 ? "" : "s", bad);
    return bad ? STATUS_BAD_PLAN : 0;
}

/* By build-id, by path, by the last part of the path, or by a pattern of these. */
static bool is_named(const struct kept_plan *p, const char *name)
{
    const char *slash = strrchr(p->object, '/');

    return fnmatch(name, p->id, 0) == 0 || fnmatch(name, p->object, 0) == 0 ||
           fnmatch(name, slash ? slash + 1 : p->object, 0) == 0;
}

static int no_such_plan(const char *name)
{
    char err[TOOLS_ERROR_BYTES];

    fail(err, -ENOENT, "no plan is named %.300s (rtcheck plans lists them)", name);
    print_failure(err);
    return STATUS_NO_SUCH_PLAN;
}

static int list_functions(const struct kept_plans *all, const char *name)
{
    size_t count = 0;

    for (size_t i = 0; i < all->count; i++)
        if (is_named(&all->at[i], name)) {
            plan_functions_put(&all->at[i]);
            count++;
        }
    return count > 0 ? 0 : no_such_plan(name);
}

/* NULL: all of them. */
static int drop(const struct kept_plans *all, const char *name)
{
    size_t count = 0;

    for (size_t i = 0; i < all->count; i++)
        if (!name || is_named(&all->at[i], name)) {
            plan_remove(all->at[i].path);
            count++;
        }
    printf("%zu plan%s removed\n", count, count == 1 ? "" : "s");
    return count > 0 || !name ? 0 : no_such_plan(name);
}

static int plans(struct options *o, int count, char **operands)
{
    char err[TOOLS_ERROR_BYTES], folder[PATH_MAX];
    const char *name = option_text(o, "remove"), *functions = option_text(o, "functions");
    int status;

    (void)count;
    (void)operands;
    if (plan_folder(o, folder, err))
        return print_failure(err);
    struct kept_plans all = plans_list(folder);
    if (option_flag(o, "clear") || *name)
        status = drop(&all, option_flag(o, "clear") ? NULL : name);
    else if (*functions)
        status = list_functions(&all, functions);
    else
        status = option_flag(o, "verify") ? verify(&all) : list(&all, folder);
    free(all.at);
    return fflush(stdout) != 0 || ferror(stdout) ? print_failure("the list cannot be written")
                                                 : status;
}

static const struct option_info options[] = {
    OPTION_ROW("plans", PATH, "", "folder of the plans; without it ~/.cache/rtcheck/plans", NULL),
    OPTION_ROW("verify", FLAG, "no", "which plans would a run refuse? Then the status is 1", "yes"),
    OPTION_ROW("functions", PATH, "",
               "list the functions of this object that run unchecked, each with the reason", NULL),
    OPTION_ROW("remove", PATH, "",
               "remove the plans of this object: its name, path, build-id, or a pattern", NULL),
    OPTION_ROW("clear", FLAG, "no", "remove all plans", "yes"),
    OPTION_HELP,
};

const struct verb verb_plans = {
    .name = "plans",
    .usage = "plans [--verify] [--functions=NAME] [--remove=NAME] [--clear]",
    .about = "Lists the plans that --access=full keeps: the last run that used each, its size,\n"
             "the number of checked accesses, the translated share of the object's code.",
    .options = options,
    .option_count = countof(options),
    .act = plans,
};
