/*
 * symbols.c - names of functions, for --access-skip and for lists of functions.
 *
 * libdwfl merges the tables: .symtab of the object or of its separate file of debugging information, or
 * else .dynsym and .gnu_debugdata.
 */
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "format/bits.h"
#include "translate_priv.h"

/* libdwfl would download the file if this variable were set. */
static int find_debuginfo(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
                          const char *file, const char *debuglink, GElf_Word crc, char **found)
{
    unsetenv("DEBUGINFOD_URLS");
    return dwfl_standard_find_debuginfo(module, user, name, base, file, debuglink, crc, found);
}

static bool is_function(const GElf_Sym *symbol)
{
    unsigned type = GELF_ST_TYPE(symbol->st_info);

    return symbol->st_shndx != SHN_UNDEF && symbol->st_shndx != SHN_ABS &&
           (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

static int by_address(const void *a_, const void *b_)
{
    const struct code_symbol *a = a_, *b = b_;

    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void read_segments(struct code_symbols *s, Elf *elf)
{
    size_t count = 0;
    GElf_Phdr ph;

    elf_getphdrnum(elf, &count);
    for (size_t i = 0; i < count && s->segment_count < countof(s->segments); i++)
        if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_LOAD && ph.p_flags & PF_X)
            s->segments[s->segment_count++] =
                (struct code_segment){ph.p_offset, ph.p_filesz, ph.p_vaddr};
}

static void read_module(struct code_symbols *s, Dwfl_Module *module)
{
    int count = dwfl_module_getsymtab(module);
    GElf_Addr bias = 0, address;
    GElf_Sym symbol;

    Elf *elf = dwfl_module_getelf(module, &bias);
    if (!elf)
        return;
    read_segments(s, elf);
    for (int n = 1; n < count; n++) {
        const char *name = dwfl_module_getsym_info(module, n, &symbol, &address, NULL, NULL, NULL);
        if (!name || !*name || !is_function(&symbol))
            continue;
        s->at = grown(s->at, s->count, sizeof *s->at);
        s->at[s->count++] =
            (struct code_symbol){.address = address - bias, .bytes = symbol.st_size, .name = name};
    }
}

void code_symbols_read(struct code_symbols *s, const char *path)
{
    static const Dwfl_Callbacks callbacks = {.find_debuginfo = find_debuginfo,
                                             .section_address = dwfl_offline_section_address};

    *s = (struct code_symbols){.dwfl = dwfl_begin(&callbacks)};
    if (!s->dwfl)
        return;
    dwfl_report_begin(s->dwfl);
    Dwfl_Module *module = dwfl_report_offline(s->dwfl, path, path, -1);
    dwfl_report_end(s->dwfl, NULL, NULL);
    if (module)
        read_module(s, module);
    if (s->count > 0)
        qsort(s->at, s->count, sizeof *s->at, by_address);
}

uint32_t code_symbol_from(const struct code_symbols *s, uint64_t address)
{
    uint32_t low = 0, high = s->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (s->at[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const char *code_symbol_name(const struct code_symbols *s, uint64_t address)
{
    uint32_t n = code_symbol_from(s, address);

    if (n < s->count && s->at[n].address == address)
        return s->at[n].name;
    return n > 0 && address - s->at[n - 1].address < s->at[n - 1].bytes ? s->at[n - 1].name : NULL;
}

uint64_t code_address(const struct code_symbols *s, uint64_t offset)
{
    for (uint32_t i = 0; i < s->segment_count; i++)
        if (offset - s->segments[i].offset < s->segments[i].bytes)
            return offset - s->segments[i].offset + s->segments[i].address;
    return UINT64_MAX;
}

void code_symbols_free(struct code_symbols *s)
{
    free(s->at);
    dwfl_end(s->dwfl);
    *s = (struct code_symbols){0};
}
