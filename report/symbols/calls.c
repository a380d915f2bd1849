/*
 * calls.c - which allocation or free function a call leads to, by the code before its return
 * address.
 *
 * A block's record has its family, not whether malloc or calloc allocated it. But the instruction
 * before a return address is the call, one of
 *
 *     e8 rel32          call of a PLT entry, which jumps to the address in a GOT slot
 *     ff 15 disp32      call of the address in a GOT slot, without PLT
 *
 * and relocations have the names of the functions in GOT slots. Calls by a register, and functions
 * that end in a jump to malloc, cannot be decoded; then every function is possible.
 */
#include <stdlib.h>
#include <string.h>

#include "instructions.h"
#include "machine.h"
#include "symbols_priv.h"

struct slot {
    GElf_Addr at;
    uint32_t entry;
};

struct slots {
    size_t count;
    struct slot slot[];
};

/* Linkage names of operators. Functions of C have their own names. */
static const struct entry_alias operators[] = {
    {ENTRY_NEW, "_Znwm"},
    {ENTRY_NEW, "_ZnwmRKSt9nothrow_t"},
    {ENTRY_NEW_ARRAY, "_Znam"},
    {ENTRY_NEW_ARRAY, "_ZnamRKSt9nothrow_t"},
    {ENTRY_NEW_ALIGNED, "_ZnwmSt11align_val_t"},
    {ENTRY_NEW_ALIGNED, "_ZnwmSt11align_val_tRKSt9nothrow_t"},
    {ENTRY_NEW_ARRAY_ALIGNED, "_ZnamSt11align_val_t"},
    {ENTRY_NEW_ARRAY_ALIGNED, "_ZnamSt11align_val_tRKSt9nothrow_t"},
    {ENTRY_DELETE, "_ZdlPv"},
    {ENTRY_DELETE, "_ZdlPvm"},
    {ENTRY_DELETE, "_ZdlPvRKSt9nothrow_t"},
    {ENTRY_DELETE_ARRAY, "_ZdaPv"},
    {ENTRY_DELETE_ARRAY, "_ZdaPvm"},
    {ENTRY_DELETE_ARRAY, "_ZdaPvRKSt9nothrow_t"},
    {ENTRY_DELETE_ALIGNED, "_ZdlPvSt11align_val_t"},
    {ENTRY_DELETE_ALIGNED, "_ZdlPvmSt11align_val_t"},
    {ENTRY_DELETE_ARRAY_ALIGNED, "_ZdaPvSt11align_val_t"},
    {ENTRY_DELETE_ARRAY_ALIGNED, "_ZdaPvmSt11align_val_t"},
};

const struct entry_alias *entry_alias(size_t index)
{
    return index < countof(operators) ? &operators[index] : NULL;
}

static uint32_t entry_of(const char *name)
{
    for (size_t i = 0; i < countof(operators); i++)
        if (strcmp(operators[i].name, name) == 0)
            return operators[i].entry;
    for (uint32_t i = ENTRY_NONE + 1; i < ENTRY_NEW; i++)
        if (strcmp(entry_name(i), name) == 0)
            return i;
    return ENTRY_NONE;
}

/* ---- slots ----------------------------------------------------------------------------------- */

static int by_address(const void *a_, const void *b_)
{
    const struct slot *a = a_, *b = b_;

    return (a->at > b->at) - (a->at < b->at);
}

static uint32_t entry_of_symbol(Elf *elf, GElf_Word table, size_t index)
{
    Elf_Scn *section = elf_getscn(elf, table);
    Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
    const char *name;
    GElf_Shdr h;
    GElf_Sym symbol;

    if (!data || index > INT32_MAX || !gelf_getshdr(section, &h) ||
        !gelf_getsym(data, (int)index, &symbol))
        return ENTRY_NONE;
    name = elf_strptr(elf, h.sh_link, symbol.st_name);
    return name ? entry_of(name) : ENTRY_NONE;
}

/* Add the GOT slots that relocations of the section fill with one of our functions. */
static struct slots *slots_add(struct slots *all, Elf *elf, Elf_Scn *section, const GElf_Shdr *h)
{
    Elf_Data *data = elf_getdata(section, NULL);
    GElf_Rela rela;

    for (int i = 0; data && gelf_getrela(data, i, &rela); i++) {
        uint64_t type = GELF_R_TYPE(rela.r_info);
        bool is_slot = type == ELF_JUMP_SLOT || type == ELF_GLOBAL_SLOT;
        uint32_t entry =
            is_slot ? entry_of_symbol(elf, h->sh_link, GELF_R_SYM(rela.r_info)) : ENTRY_NONE;
        if (entry == ENTRY_NONE)
            continue;
        all = xalloc(realloc(all, sizeof *all + (all->count + 1) * sizeof all->slot[0]));
        all->slot[all->count++] = (struct slot){rela.r_offset, entry};
    }
    return all;
}

static struct slots *slots_make(Elf *elf)
{
    struct slots *all = xalloc(calloc(1, sizeof *all));
    GElf_Shdr h;

    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));)
        if (gelf_getshdr(section, &h) && h.sh_type == SHT_RELA)
            all = slots_add(all, elf, section, &h);
    qsort(all->slot, all->count, sizeof all->slot[0], by_address);
    return all;
}

void slots_free(struct slots *all)
{
    free(all);
}

static uint32_t entry_at_slot(const struct slots *all, GElf_Addr at)
{
    const struct slot *found, key = {.at = at};

    found = bsearch(&key, all->slot, all->count, sizeof key, by_address);
    return found ? found->entry : ENTRY_NONE;
}

/* ---- code ------------------------------------------------------------------------------------ */

/* Return `bytes` bytes of code loaded at an address; NULL: there are none. */
static const uint8_t *code_at(Elf *elf, GElf_Addr at, size_t bytes)
{
    size_t headers, file_bytes;
    const char *file = elf_rawfile(elf, &file_bytes);
    GElf_Phdr h;

    if (!file || elf_getphdrnum(elf, &headers) != 0)
        return NULL;
    for (size_t i = 0; i < headers; i++) {
        GElf_Off offset;
        if (!gelf_getphdr(elf, (int)i, &h) || h.p_type != PT_LOAD || at < h.p_vaddr ||
            h.p_filesz < bytes || at - h.p_vaddr > h.p_filesz - bytes)
            continue;
        offset = h.p_offset + (at - h.p_vaddr);
        if (offset >= h.p_offset && offset <= file_bytes && file_bytes - offset >= bytes)
            return (const uint8_t *)file + offset;
    }
    return NULL;
}

/* Return the slot of a PLT entry. 0: other code. */
static GElf_Addr slot_of_table(Elf *elf, GElf_Addr at)
{
    const uint8_t *code = code_at(elf, at, CODE_PLT_BYTES);

    return code ? code_plt_slot(code, at) : 0;
}

#define CALL_BYTES 6u

uint32_t entry_called(struct slots **slots, Elf *elf, GElf_Addr back)
{
    const uint8_t *code = code_at(elf, back - CALL_BYTES, CALL_BYTES);
    struct code_jump call;

    if (!code)
        return ENTRY_NONE;
    if (!*slots)
        *slots = slots_make(elf);
    if ((*slots)->count == 0)
        return ENTRY_NONE;
    call = code_call_before(code + CALL_BYTES, CALL_BYTES, back);
    if (!call.bytes)
        return ENTRY_NONE;
    return entry_at_slot(*slots, call.slot ? call.to : slot_of_table(elf, call.to));
}
