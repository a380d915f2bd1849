/*
 * leak_ids.c - kinds, codes and ids of leaks.
 */
#include "findings.h"

static const struct class_info {
    const char *code;
    const char *what; /* hashed into ids: separates a list's head from the blocks lost with it */
    uint32_t kind;
} classes[] = {
    [CLASS_LOST] = {"mel", "mel", LEAK_DEFINITE},
    [CLASS_INDIRECT] = {"mel", "mel behind", LEAK_INDIRECT},
    [CLASS_INTERIOR] = {"aib", "aib", LEAK_POSSIBLE},
    [CLASS_REGISTER] = {"air", "air", LEAK_POSSIBLE},
    [CLASS_UNSURE] = {"air", "air unsure", LEAK_POSSIBLE},
    [CLASS_POSSIBLY_INDIRECT] = {"aib", "aib behind", 0},
    [CLASS_REACHABLE] = {"biu", "biu", LEAK_REACHABLE},
    [CLASS_MAPPED] = {"biu-map", "biu-map", LEAK_MAPPED},
};
static_assert(countof(classes) == CLASS_COUNT, "each has its code");

uint32_t leak_kind(enum leak_class class)
{
    return classes[class].kind;
}

const char *leak_code(enum leak_class class)
{
    return classes[class].code;
}

/* Suffixes separate equal ids of one kind; ids of different kinds have different hashes. */
void leaks_name(struct report *r, uint32_t from, uint32_t end)
{
    progress_begin(&r->progress, PROGRESS_SYMBOLS, end - from);
    for (uint32_t i = from; i < end; i++) {
        struct leak *leak = &r->leaks[i];
        const struct class_info *info = &classes[leak->class];
        if (leak->site != NO_SITE)
            symbolize_site(r, leak->site);
        id_of_kind(r, info->code, info->what, leak->site, leak->id);
        progress_step(&r->progress);
    }
    progress_end(&r->progress);
    ids_make_unique(r->leaks + from, end - from, sizeof *r->leaks);
}

void leaks_name_all(struct report *r)
{
    for (uint32_t from = 0, end; from < r->leak_count; from = end) {
        uint32_t kind = leak_kind(r->leaks[from].class);
        for (end = from + 1; end < r->leak_count && leak_kind(r->leaks[end].class) == kind;)
            end++;
        leaks_name(r, from, end);
    }
}

uint64_t report_leaks(const struct report *r, uint32_t kinds)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < r->leak_count; i++)
        count +=
            (leak_kind(r->leaks[i].class) & kinds) != 0 && !is_hidden(&r->leaks[i].disposition);
    return count;
}
