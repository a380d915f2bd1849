/*
 * places.c - what lies at an address of a program or library: its section, and the function or
 * variable there.
 */
#include <elfutils/libdwfl.h>
#include <stdlib.h>

#include "report_priv.h"

static const char *section_name(Dwfl_Module *module, uint64_t address)
{
    GElf_Addr bias, at = address;
    Elf_Scn *section = dwfl_module_address_section(module, &at, &bias);
    Elf *elf = section ? dwfl_module_getelf(module, &bias) : NULL;
    GElf_Shdr header;
    size_t names;

    if (!elf || !gelf_getshdr(section, &header) || elf_getshdrstrndx(elf, &names) != 0)
        return NULL;
    return elf_strptr(elf, names, header.sh_name);
}

/* A symbol further back than it is long is not what lies there. */
static const char *symbol_name(Dwfl_Module *module, uint64_t address, uint64_t *inside)
{
    GElf_Off offset;
    GElf_Sym symbol;
    const char *name = dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL, NULL);

    if (!name || !name[0] || (offset > 0 && offset >= symbol.st_size))
        return NULL;
    *inside = offset;
    return name;
}

void place_words(struct report *r, uint32_t module, uint64_t offset, FILE *out)
{
    uint64_t bias, inside = 0;
    Dwfl_Module *symbols = module_symbols(r, module, &bias);
    const char *section = symbols ? section_name(symbols, offset + bias) : NULL;
    const char *name = symbols ? symbol_name(symbols, offset + bias, &inside) : NULL;
    char *plain = name ? demangle(name) : NULL;

    if (section)
        fprintf(out, "%s of ", section);
    fputs(base_name(r->modules[module].path), out);
    if (!name)
        fprintf(out, "+0x%llx", (unsigned long long)offset);
    else if (inside == 0)
        fprintf(out, ": %s", plain ? plain : name);
    else
        fprintf(out, ": %s+0x%llx", plain ? plain : name, (unsigned long long)inside);
    free(plain);
}
