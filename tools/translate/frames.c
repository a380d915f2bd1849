/*
 * frames.c - functions: the ranges that FDEs of .eh_frame describe.
 *
 * libdw splits the section into entries; the encoded numbers of an FDE are read here.  Entries that
 * cannot be read are left out: their code is outside of all functions and stays native.  Instructions
 * for the unwinder are only located: unwind_table.c reads them.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "format/bits.h"
#include "translate_priv.h"

/* The section, and a position in it. */
struct cursor {
    const uint8_t *at, *end;
    const Elf_Data *data;
    uint64_t address; /* of the section */
};

static unsigned number_bytes(uint8_t encoding)
{
    switch (encoding & 0x0f) {
    case DW_EH_PE_udata2:
    case DW_EH_PE_sdata2:
        return 2;
    case DW_EH_PE_udata4:
    case DW_EH_PE_sdata4:
        return 4;
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
        return 8;
    default:
        return 0;
    }
}

/* One number in an encoding, as its bytes: 0 for a pointer that is missing. */
static bool read_number(struct cursor *c, uint8_t encoding, uint64_t *value)
{
    unsigned bytes = number_bytes(encoding);
    int64_t read = 0;

    if (!bytes || (size_t)(c->end - c->at) < bytes)
        return false;
    memcpy(&read, c->at, bytes);
    if (encoding & 0x08 && bytes < 8) /* signed */
        read = (int64_t)((uint64_t)read << (64 - 8 * bytes)) >> (64 - 8 * bytes);
    c->at += bytes;
    *value = (uint64_t)read;
    return true;
}

/* A pointer: absolute or relative to its own place. */
static bool read_pointer(struct cursor *c, uint8_t encoding, uint64_t *value)
{
    uint64_t place = c->address + (uint64_t)(c->at - (const uint8_t *)c->data->d_buf);

    if ((encoding & 0x70) != 0 && (encoding & 0x70) != DW_EH_PE_pcrel)
        return false;
    if (encoding & DW_EH_PE_indirect || !read_number(c, encoding, value))
        return false;
    if (encoding & 0x70)
        *value += place;
    return true;
}

/* The encodings that a CIE has for its FDEs. */
struct encodings {
    uint8_t pointer, lsda;
    bool is_sized; /* FDEs have the size of their augmentation data */
};

static bool read_encodings(const Dwarf_CIE *cie, struct encodings *e)
{
    struct cursor c = {.at = cie->augmentation_data,
                       .end = cie->augmentation_data + cie->augmentation_data_size};
    uint64_t personality;

    *e = (struct encodings){
        .pointer = DW_EH_PE_absptr, .lsda = DW_EH_PE_omit, .is_sized = cie->augmentation[0] == 'z'};
    if (cie->augmentation[0] != 'z')
        return cie->augmentation[0] == '\0';
    for (const char *letter = cie->augmentation + 1; *letter; letter++) {
        if (*letter == 'S' || *letter == 'B')
            continue;
        if (!c.at || c.at >= c.end)
            return false;
        uint8_t encoding = *c.at++;
        if (*letter == 'R')
            e->pointer = encoding;
        else if (*letter == 'L')
            e->lsda = encoding;
        else if (*letter != 'P' || !read_number(&c, encoding, &personality))
            return false;
    }
    return true;
}

/*
 * The augmentation data of an FDE: is there a pointer to an LSDA in it?  Then the cursor is at the
 * instructions.  Its size is one byte, as the data is small.
 */
static bool has_lsda(struct cursor *c, const struct encodings *e)
{
    uint64_t pointer;

    if (!e->is_sized || c->at >= c->end)
        return false;
    struct cursor data = {.at = c->at + 1, .end = c->end};
    c->at += 1 + (size_t)*c->at;
    return e->lsda != DW_EH_PE_omit && (!read_number(&data, e->lsda, &pointer) || pointer != 0);
}

/* The number of a CIE in the table, NONE if it is not there. */
static uint32_t cie_at(const struct functions *f, uint64_t place)
{
    for (uint32_t n = f->cie_count; n-- > 0;)
        if (f->cies[n].place == place)
            return n;
    return NONE;
}

static uint32_t add_cie(struct functions *f, const Dwarf_CIE *cie, uint64_t place)
{
    uint32_t n = cie_at(f, place);

    if (n != NONE || cie->return_address_register > UINT8_MAX)
        return n;
    f->cies = grown(f->cies, f->cie_count, sizeof *f->cies);
    f->cies[f->cie_count] =
        (struct frame_cie){.place = place,
                           .code_alignment = cie->code_alignment_factor,
                           .data_alignment = cie->data_alignment_factor,
                           .return_register = (uint8_t)cie->return_address_register,
                           .is_signal = strchr(cie->augmentation, 'S') != NULL,
                           .at = cie->initial_instructions,
                           .end = cie->initial_instructions_end};
    return f->cie_count++;
}

/* A function, and its frame description. */
struct found {
    struct plan_function function;
    struct frame frame;
};

struct found_functions {
    struct found *at;
    uint32_t count;
};

static void add(struct found_functions *f, const struct object *o, const Dwarf_FDE *fde,
                struct cursor c, const struct encodings *e, uint32_t cie)
{
    uint64_t address, bytes;
    uint32_t start;

    c.at = fde->start;
    c.end = fde->end;
    if (!read_pointer(&c, e->pointer, &address) || !read_number(&c, e->pointer & 0x07, &bytes))
        return;
    if (bytes == 0 || !object_text_at(o, address, &start) || bytes > o->text_bytes - start)
        return;
    bool is_handler = has_lsda(&c, e);
    f->at = grown(f->at, f->count, sizeof *f->at);
    f->at[f->count++] =
        (struct found){.function = {.start = start,
                                    .bytes = (uint32_t)bytes,
                                    .state = is_handler ? PLAN_LSDA : PLAN_TRANSLATED},
                       .frame = {.at = c.at, .end = c.end, .cie = c.at <= c.end ? cie : NONE}};
}

static void read_section(struct functions *f, struct found_functions *found, const struct object *o,
                         Elf_Data *data, uint64_t address)
{
    const unsigned char *ident = (const unsigned char *)elf_getident(o->elf, NULL);
    struct cursor c = {.data = data, .address = address};
    Dwarf_CFI_Entry entry, cie;
    struct encodings e;
    Dwarf_Off at = 0, next, cie_next;

    for (int r; (r = dwarf_next_cfi(ident, data, true, at, &next, &entry)) != 1; at = next) {
        if (r < 0 && next <= at)
            return; /* not even its length */
        if (r < 0 || dwarf_cfi_cie_p(&entry))
            continue;
        if (dwarf_next_cfi(ident, data, true, entry.fde.CIE_pointer, &cie_next, &cie) == 0 &&
            dwarf_cfi_cie_p(&cie) && read_encodings(&cie.cie, &e))
            add(found, o, &entry.fde, c, &e, add_cie(f, &cie.cie, entry.fde.CIE_pointer));
    }
}

static int by_start(const void *a_, const void *b_)
{
    const struct found *a = a_, *b = b_;
    return a->function.start < b->function.start ? -1 : a->function.start > b->function.start;
}

/* Functions that share bytes become one, which stays native. */
static void merge_overlaps(struct found_functions *f)
{
    uint32_t kept = 0;

    for (uint32_t i = 1; i < f->count; i++) {
        struct plan_function *last = &f->at[kept].function, *this = &f->at[i].function;
        if (this->start >= last->start + last->bytes) {
            f->at[++kept] = f->at[i];
            continue;
        }
        uint32_t end = this->start + this->bytes;
        if (end > last->start + last->bytes)
            last->bytes = end - last->start;
        last->state = PLAN_OVERLAP;
    }
    if (f->count > 0)
        f->count = kept + 1;
}

/* In two tables, as they are used. */
static void divide(struct functions *f, const struct found_functions *found)
{
    f->count = found->count;
    f->at = zeroed(f->count, sizeof *f->at);
    f->frames = zeroed(f->count, sizeof *f->frames);
    for (uint32_t n = 0; n < f->count; n++) {
        f->at[n] = found->at[n].function;
        f->frames[n] = found->at[n].frame;
    }
}

void functions_read(struct functions *f, const struct object *o)
{
    struct found_functions found = {0};
    size_t names;
    GElf_Shdr sh;

    *f = (struct functions){0};
    if (elf_getshdrstrndx(o->elf, &names) != 0)
        return;
    for (Elf_Scn *s = NULL; (s = elf_nextscn(o->elf, s)) != NULL;) {
        const char *name = gelf_getshdr(s, &sh) ? elf_strptr(o->elf, names, sh.sh_name) : NULL;
        if (!name || strcmp(name, ".eh_frame") != 0 || sh.sh_type == SHT_NOBITS)
            continue;
        Elf_Data *data = elf_rawdata(s, NULL);
        if (data && data->d_buf)
            read_section(f, &found, o, data, sh.sh_addr);
    }
    if (found.count > 0)
        qsort(found.at, found.count, sizeof *found.at, by_start);
    merge_overlaps(&found);
    divide(f, &found);
    free(found.at);
}

void functions_free_frames(struct functions *f)
{
    free(f->frames);
    free(f->cies);
}

uint32_t function_at(const struct functions *f, uint32_t offset)
{
    uint32_t low = 0, high = f->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (f->at[middle].start <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && offset - f->at[low - 1].start < f->at[low - 1].bytes ? low - 1 : NONE;
}
