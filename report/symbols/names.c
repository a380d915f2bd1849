/*
 * names.c - the function at an address, by a module's symbol table.
 *
 * libdwfl scans the whole table for every address: a thousand frames in a library of a hundred
 * thousand symbols take seconds. Here the symbols are sorted by address once for each module. The
 * results are the same as libdwfl's, which tests/unit/report/test_names.c checks:
 *
 *   - Symbols with a size that contain the address: globals (all that are not local) first, locals
 *     only if there is no global. Of several, in the order of the table, a later symbol replaces an
 *     earlier one if it begins at a higher address or binds stronger, or if it begins at the same
 *     address, binds equally and is shorter.
 *   - Without such a symbol, a label without a size in the section of the address, if no other
 *     symbol ends after it. A global label exactly at the address comes before locals. libdwfl
 *     finds labels. The results of the first kind are kept for each section and gap between
 *     symbols: in a stripped library one label may precede all functions without symbols.
 */
#include <stdlib.h>

#include "symbols_priv.h"

#define INSIDE_MAX 64u /* symbols that contain one address; if there are more, libdwfl is used */

struct name {
    GElf_Addr start;
    GElf_Xword bytes;
    GElf_Addr end_max; /* the maximum of this symbol and all before it */
    int index;         /* in the symbol table */
    uint8_t strength;
    bool is_local;
};

/*
 * libdwfl's result for addresses of one section that follow the same number of symbols (`before`).
 */
struct gap {
    struct {
        size_t before;
        Elf_Scn *section;
    } key;
    const char *name; /* of the label; NULL: none in this section */
    GElf_Addr start;
    GElf_Sym symbol;
    UT_hash_handle hh;
};

struct names {
    struct gap *gaps;
    size_t count;
    struct name name[];
};

static uint8_t strength_of(const GElf_Sym *symbol)
{
    switch (GELF_ST_BIND(symbol->st_info)) {
    case STB_GLOBAL:
        return 3;
    case STB_WEAK:
        return 2;
    case STB_LOCAL:
        return 1;
    default:
        return 0;
    }
}

static bool is_name(const char *name, const GElf_Sym *symbol)
{
    unsigned type = GELF_ST_TYPE(symbol->st_info);

    return name && name[0] && symbol->st_shndx != SHN_UNDEF && type != STT_SECTION &&
           type != STT_FILE && type != STT_TLS;
}

static int by_start(const void *a, const void *b)
{
    const struct name *x = a, *y = b;

    return (x->start > y->start) - (x->start < y->start);
}

static void ends_note(struct names *all)
{
    GElf_Addr end = 0;

    for (size_t i = 0; i < all->count; i++) {
        struct name *n = &all->name[i];
        if (n->start + n->bytes > end)
            end = n->start + n->bytes;
        n->end_max = end;
    }
}

static struct names *names_make(Dwfl_Module *module)
{
    int symbols = dwfl_module_getsymtab(module);
    int first_global = dwfl_module_getsymtab_first_global(module);
    size_t room = symbols > 0 && first_global >= 0 ? (size_t)symbols : 0;
    struct names *all = xalloc(malloc(sizeof *all + room * sizeof all->name[0]));

    all->gaps = NULL;
    all->count = 0;
    for (int i = 1; i < (int)room; i++) {
        GElf_Sym symbol;
        GElf_Addr start;
        const char *name = dwfl_module_getsym_info(module, i, &symbol, &start, NULL, NULL, NULL);
        if (is_name(name, &symbol))
            all->name[all->count++] = (struct name){.start = start,
                                                    .bytes = symbol.st_size,
                                                    .index = i,
                                                    .strength = strength_of(&symbol),
                                                    .is_local = i < first_global};
    }
    qsort(all->name, all->count, sizeof all->name[0], by_start);
    ends_note(all);
    return all;
}

/* ---- choosing -------------------------------------------------------------------------------- */

struct inside {
    const struct name *name[INSIDE_MAX];
    size_t count;
    bool is_cut;
};

static void inside_add(struct inside *in, const struct name *name)
{
    size_t at = in->count;

    if (at == INSIDE_MAX) {
        in->is_cut = true;
        return;
    }
    for (; at > 0 && in->name[at - 1]->index > name->index; at--)
        in->name[at] = in->name[at - 1];
    in->name[at] = name;
    in->count++;
}

/* Return the global or local symbols that contain the address, in the order of the table. */
static struct inside inside_find(const struct names *all, size_t before, GElf_Addr address,
                                 bool local)
{
    struct inside in = {.count = 0};

    for (size_t i = before; i-- > 0 && all->name[i].end_max > address;) {
        const struct name *n = &all->name[i];
        if (n->is_local == local && address - n->start < n->bytes)
            inside_add(&in, n);
    }
    return in;
}

static bool is_better(const struct name *n, const struct name *than)
{
    if (n->start > than->start || n->strength > than->strength)
        return true;
    return n->start == than->start && n->bytes < than->bytes && n->strength == than->strength;
}

static const struct name *best_of(const struct inside *in)
{
    const struct name *best = NULL;

    for (size_t i = 0; i < in->count; i++)
        if (!best || is_better(in->name[i], best))
            best = in->name[i];
    return best;
}

/* Whether a label begins at `start`. */
static bool has_label(const struct names *all, size_t before, GElf_Addr start, bool local_too)
{
    for (size_t i = before; i-- > 0 && all->name[i].start >= start;)
        if (all->name[i].bytes == 0 && all->name[i].start == start &&
            (local_too || !all->name[i].is_local))
            return true;
    return false;
}

/*
 * Whether a label may precede the address: no symbol before the address ends after that label.
 */
static bool follows_label(const struct names *all, size_t before)
{
    return before > 0 && has_label(all, before, all->name[before - 1].end_max, true);
}

static struct gap *gap_make(struct names *all, Dwfl_Module *module, GElf_Addr address,
                            size_t before, Elf_Scn *section)
{
    struct gap *gap = xalloc(calloc(1, sizeof *gap));
    GElf_Off offset = 0;

    gap->key.before = before;
    gap->key.section = section;
    gap->name = dwfl_module_addrinfo(module, address, &offset, &gap->symbol, NULL, NULL, NULL);
    gap->start = address - offset;
    HASH_ADD(hh, all->gaps, key, sizeof gap->key, gap);
    return gap;
}

/* Return libdwfl's label for an address outside all symbols. */
static const char *label_find(struct names *all, Dwfl_Module *module, GElf_Addr address,
                              size_t before, GElf_Off *offset, GElf_Sym *symbol)
{
    GElf_Addr in_section = address, bias;
    struct gap *gap, sought = {.key.before = before};

    sought.key.section = dwfl_module_address_section(module, &in_section, &bias);
    HASH_FIND(hh, all->gaps, &sought.key, sizeof sought.key, gap);
    if (!gap)
        gap = gap_make(all, module, address, before, sought.key.section);
    *offset = address - gap->start;
    *symbol = gap->symbol;
    return gap->name;
}

const char *name_find(struct names **names, Dwfl_Module *module, GElf_Addr address,
                      GElf_Off *offset, GElf_Sym *symbol)
{
    struct names *all = *names = *names ? *names : names_make(module);
    size_t before = begun_before(all->name, all->count, sizeof all->name[0], address);
    struct inside in = inside_find(all, before, address, false);
    bool global = in.count > 0;
    const struct name *best;

    if (!global)
        in = inside_find(all, before, address, true);
    best = best_of(&in);
    if (in.is_cut || (!global && has_label(all, before, address, false)))
        return dwfl_module_addrinfo(module, address, offset, symbol, NULL, NULL, NULL);
    if (!best && follows_label(all, before))
        return label_find(all, module, address, before, offset, symbol);
    if (!best)
        return NULL;
    *offset = address - best->start;
    return dwfl_module_getsym_info(module, best->index, symbol, &address, NULL, NULL, NULL);
}

void names_free(struct names *names)
{
    struct gap *gap, *next;

    if (!names)
        return;
    HASH_ITER (hh, names->gaps, gap, next) {
        HASH_DEL(names->gaps, gap);
        free(gap);
    }
    free(names);
}
