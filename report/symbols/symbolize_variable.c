/*
 * symbolize_variable.c - find the variable at an address, from the debugging information of its
 * module, or else the symbol.
 *
 * libdw has the addresses of code and call frame information (CFI), libdwarf (variables.c) reads
 * variables and types. Both read the same file, so entries are passed between them by offset.
 */
#include <stdlib.h>
#include <string.h>

#include "helper_priv.h"
#include "symbols_priv.h"

#define STRING_MAX 24u /* of a string constant that is printed */

/* Find the section at an address of the file. NULL: there is none. */
static Elf_Scn *section_at(Elf *elf, uint64_t address, GElf_Shdr *h)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));)
        if (gelf_getshdr(section, h) && h->sh_flags & SHF_ALLOC && !(h->sh_flags & SHF_TLS) &&
            address - h->sh_addr < h->sh_size)
            return section;
    return NULL;
}

/* Return the string at an offset of a section of constants. NULL: it is not one, or is long. */
static char *string_at(Elf_Scn *section, const GElf_Shdr *h, uint64_t at)
{
    Elf_Data *data = h->sh_type != SHT_PROGBITS || h->sh_flags & (SHF_WRITE | SHF_EXECINSTR)
                         ? NULL
                         : elf_rawdata(section, NULL);
    const char *text = data && data->d_buf && at < data->d_size ? (char *)data->d_buf + at : NULL;
    size_t length = text ? strnlen(text, data->d_size - at) : 0;

    if (length == 0 || length > STRING_MAX || length == data->d_size - at)
        return NULL;
    for (size_t i = 0; i < length; i++)
        if (!byte_is_plain((unsigned char)text[i]))
            return NULL;
    return xalloc(strdup(text));
}

static void section_take(const struct symbols *s, uint64_t address, struct variable *out)
{
    GElf_Addr bias;
    Elf *elf = dwfl_module_getelf(s->module, &bias);
    Elf_Scn *section;
    const char *name;
    size_t names;
    GElf_Shdr h;

    if (!elf || elf_getshdrstrndx(elf, &names) != 0 || !(section = section_at(elf, address, &h)) ||
        !(name = elf_strptr(elf, names, h.sh_name)))
        return;
    out->section = xalloc(strdup(name));
    out->in_section = address - h.sh_addr;
    out->text = string_at(section, &h, out->in_section);
}

/* Open the file with the debugging information, which may be a separate one. */
static struct variables *variables_of(const struct report *r, struct symbols *s)
{
    const char *main, *debug_file;
    const unsigned char *id;
    enum module_symbols why;
    Dwarf_Addr bias;
    GElf_Addr where;
    bool is_compared;
    int fd;

    if (s->variables_tried)
        return s->variables;
    s->variables_tried = true;
    if (!dwfl_module_getdwarf(s->module, &bias))
        return NULL;
    dwfl_module_info(s->module, NULL, NULL, NULL, NULL, NULL, &main, &debug_file);
    is_compared = debug_file || dwfl_module_build_id(s->module, &id, &where) > 0;
    fd = module_open(r, debug_file ? debug_file : main, is_compared, &why);
    s->variables = fd < 0 ? NULL : variables_open(fd);
    return s->variables;
}

static void symbol_take(const struct report *r, struct symbols *s, uint64_t offset,
                        struct variable *out)
{
    GElf_Sym symbol;
    GElf_Off in;
    const char *name = name_find(&s->names, s->module, offset + s->bias, &in, &symbol);

    /* The address must be within the size of the symbol. */
    if (!name || !name[0] || (in > 0 && in >= symbol.st_size))
        return;
    out->name = r->is_mangled ? NULL : demangle(name);
    if (!out->name)
        out->name = xalloc(strdup(name));
    out->whole = xalloc(strdup(out->name));
    out->offset = out->in_whole = in;
}

void variable_symbolize(struct report *r, uint32_t module, uint64_t offset, struct variable *out)
{
    struct symbols *s = symbols_of(r, module);
    struct variables *v = s ? variables_of(r, s) : NULL;

    if (!s)
        return;
    section_take(s, offset, out);
    if (!v || !variables_find(v, offset, out))
        symbol_take(r, s, offset, out);
}

/*
 * Distance from the start of a program's thread-local storage to the thread control block above it,
 * as the linker computes it.
 */
static uint64_t thread_storage_of(const struct symbols *s)
{
    GElf_Addr bias;
    Elf *elf = dwfl_module_getelf(s->module, &bias);
    size_t count;
    GElf_Phdr h;

    if (!elf || elf_getphdrnum(elf, &count) != 0)
        return 0;
    for (int i = 0; i < (int)count && gelf_getphdr(elf, i, &h); i++) {
        uint64_t align = h.p_align > 1 ? h.p_align : 1, skew = -h.p_vaddr & (align - 1);
        if (h.p_type == PT_TLS && h.p_memsz >= skew)
            return (h.p_memsz - skew + align - 1) / align * align + skew;
    }
    return 0;
}

void thread_variable_symbolize(struct report *r, uint32_t module, uint64_t below,
                               struct variable *out)
{
    struct symbols *s = symbols_of(r, module);
    struct variables *v = s ? variables_of(r, s) : NULL;
    uint64_t storage = s ? thread_storage_of(s) : 0;

    if (v && below <= storage)
        variables_find_in_thread(v, storage - below, out);
}

static Dwarf_CFI *cfi_of(const struct symbols *s, Dwarf_Addr *bias)
{
    Dwarf_CFI *cfi = dwfl_module_eh_cfi(s->module, bias);

    return cfi ? cfi : dwfl_module_dwarf_cfi(s->module, bias);
}

void local_symbolize(struct report *r, const struct frame *frame, struct in_frame at,
                     struct variable *out)
{
    struct symbols *s = frame->module == NO_MODULE ? NULL : symbols_of(r, frame->module);
    struct variables *v = s ? variables_of(r, s) : NULL;
    struct local found[LOCALS_MAX];
    Dwarf_Addr address, bias, cfi_bias = 0;
    Dwarf_CFI *cfi;
    Dwarf_Die unit;
    uint32_t count;

    if (!v)
        return;
    address = frame->offset - !frame->exact + s->bias;
    if (!unit_find(&s->lines, s->module, address, &unit, &bias))
        return;
    cfi = cfi_of(s, &cfi_bias);
    count = locals_find(&s->functions, &unit, address - bias, cfi, address - cfi_bias, at, found);
    for (uint32_t i = 0; i < count && !out->name; i++)
        if (variables_at(v, found[i].die, found[i].inside, out))
            out->function = function_name(r, &found[i].function);
}
