/*
 * object.c - the ELF file: what it loads, and its build-id.
 *
 * Program headers have the ranges; section headers only what has no other place: which ranges are
 * tables of linkage.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/bits.h"
#include "machine.h"
#include "translate_priv.h"

#define TEXT_MOST (1u << 30)

/* The next segment that is loaded from the file, with its range of the file verified. */
static bool next_load(Elf *elf, size_t *at, GElf_Phdr *ph, const uint8_t **content)
{
    size_t bytes, count;
    const char *file = elf_rawfile(elf, &bytes);

    for (elf_getphdrnum(elf, &count); *at < count;) {
        if (!gelf_getphdr(elf, (int)(*at)++, ph) || ph->p_type != PT_LOAD)
            continue;
        if (!file || !range_inside(ph->p_offset, ph->p_filesz, bytes) ||
            ph->p_vaddr > ADDRESSES_END || ph->p_filesz > ADDRESSES_END)
            continue;
        *content = (const uint8_t *)file + ph->p_offset;
        return true;
    }
    return false;
}

static int find_text(struct object *o, char err[TOOLS_ERROR_BYTES])
{
    uint64_t first = UINT64_MAX, end = 0;
    const uint8_t *content;
    GElf_Phdr ph;

    for (size_t i = 0; next_load(o->elf, &i, &ph, &content);)
        if ((ph.p_flags & PF_X) && ph.p_filesz > 0) {
            first = ph.p_vaddr < first ? ph.p_vaddr : first;
            end = ph.p_vaddr + ph.p_filesz > end ? ph.p_vaddr + ph.p_filesz : end;
        }
    if (end <= first)
        return fail(err, -ENOEXEC, "no code");
    if (end - first > TEXT_MOST)
        return fail(err, -EFBIG, "more than 1 GiB of code");
    o->text_address = first;
    o->text_bytes = (uint32_t)(end - first);
    o->content = zeroed(o->text_bytes + 16, 1);
    return 0;
}

static void copy_ranges(struct object *o)
{
    const uint8_t *content;
    GElf_Phdr ph;

    for (size_t i = 0; next_load(o->elf, &i, &ph, &content);)
        if (ph.p_flags & PF_X) {
            if (ph.p_filesz > 0)
                memcpy(o->content + (ph.p_vaddr - o->text_address), content, ph.p_filesz);
        } else {
            o->data = grown(o->data, o->data_count, sizeof *o->data);
            o->data[o->data_count++] = (struct data_range){
                .address = ph.p_vaddr, .bytes = ph.p_filesz, .content = content};
        }
}

static void find_linkage(struct object *o)
{
    size_t names;
    GElf_Shdr sh;

    if (elf_getshdrstrndx(o->elf, &names) != 0)
        return;
    for (Elf_Scn *s = NULL; (s = elf_nextscn(o->elf, s)) != NULL;) {
        const char *name = gelf_getshdr(s, &sh) ? elf_strptr(o->elf, names, sh.sh_name) : NULL;
        if (name && strncmp(name, ".plt", 4) == 0 && o->linkage_count < countof(o->linkage))
            o->linkage[o->linkage_count++] =
                (struct data_range){.address = sh.sh_addr, .bytes = sh.sh_size};
    }
}

static void find_build_id(struct object *o)
{
    size_t count, name, desc;
    GElf_Phdr ph;
    GElf_Nhdr note;

    elf_getphdrnum(o->elf, &count);
    for (size_t i = 0; i < count && !o->build_id_bytes; i++) {
        if (!gelf_getphdr(o->elf, (int)i, &ph) || ph.p_type != PT_NOTE)
            continue;
        Elf_Data *d = elf_getdata_rawchunk(o->elf, (int64_t)ph.p_offset, ph.p_filesz,
                                           ph.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
        for (size_t at = 0; d && (at = gelf_getnote(d, at, &note, &name, &desc)) > 0;)
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
                memcmp((char *)d->d_buf + name, "GNU", 4) == 0 &&
                note.n_descsz <= sizeof o->build_id) {
                memcpy(o->build_id, (char *)d->d_buf + desc, note.n_descsz);
                o->build_id_bytes = note.n_descsz;
            }
    }
}

static int examine(struct object *o, char err[TOOLS_ERROR_BYTES])
{
    GElf_Ehdr eh;

    if (!o->elf || !gelf_getehdr(o->elf, &eh) || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
        eh.e_ident[EI_DATA] != ELFDATA2LSB || eh.e_machine != ELF_MACHINE ||
        (eh.e_type != ET_EXEC && eh.e_type != ET_DYN))
        return fail(err, -ENOEXEC, "no program or shared object of this machine");
    o->is_fixed = eh.e_type == ET_EXEC;
    o->entry = eh.e_entry;
    find_build_id(o);
    return 0;
}

static int read_text(struct object *o, char err[TOOLS_ERROR_BYTES])
{
    int bad = find_text(o, err);

    if (bad)
        return bad;
    copy_ranges(o);
    find_linkage(o);
    return 0;
}

/* Open the file, and read its headers and perhaps its code. */
static int open_by(struct object *o, const char *path, bool is_read, char err[TOOLS_ERROR_BYTES])
{
    char why[TOOLS_ERROR_BYTES];
    int bad;

    *o = (struct object){.path = path, .fd = open(path, O_RDONLY | O_CLOEXEC)};
    if (o->fd < 0)
        return fail(err, -errno, "%.300s cannot be opened: %s", path, strerror(errno));
    elf_version(EV_CURRENT);
    o->elf = elf_begin(o->fd, ELF_C_READ_MMAP, NULL);
    bad = examine(o, why);
    if (!bad && is_read)
        bad = read_text(o, why);
    if (bad) {
        object_close(o);
        return fail(err, bad, "%.300s: %.150s", path, why);
    }
    return 0;
}

int object_open(struct object *o, const char *path, char err[TOOLS_ERROR_BYTES])
{
    return open_by(o, path, true, err);
}

int object_identify(struct object *o, const char *path, char err[TOOLS_ERROR_BYTES])
{
    return open_by(o, path, false, err);
}

void object_close(struct object *o)
{
    elf_end(o->elf);
    if (o->fd >= 0)
        close(o->fd);
    free(o->content);
    free(o->data);
}

static bool looks_at_caller(const char *name)
{
    static const char *const names[] = {"dlopen", "dlmopen", "dlsym", "dlvsym"};

    for (size_t i = 0; name && i < countof(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* The name of a relocation's symbol in the table that its section is linked to. */
static const char *symbol_of(Elf *elf, const GElf_Shdr *relocations, const GElf_Rela *r)
{
    Elf_Scn *scn = elf_getscn(elf, relocations->sh_link);
    Elf_Data *symbols = scn ? elf_getdata(scn, NULL) : NULL;
    GElf_Shdr sh;
    GElf_Sym symbol;

    if (!symbols || !gelf_getshdr(scn, &sh) ||
        !gelf_getsym(symbols, (int)GELF_R_SYM(r->r_info), &symbol))
        return NULL;
    return elf_strptr(elf, sh.sh_link, symbol.st_name);
}

uint32_t object_caller_slots(const struct object *o, uint64_t *out, uint32_t room)
{
    uint32_t count = 0;
    GElf_Shdr sh;
    GElf_Rela r;

    for (Elf_Scn *s = NULL; (s = elf_nextscn(o->elf, s)) != NULL;) {
        Elf_Data *d = gelf_getshdr(s, &sh) && sh.sh_type == SHT_RELA ? elf_getdata(s, NULL) : NULL;
        for (int i = 0; d && count < room && gelf_getrela(d, i, &r); i++)
            if (looks_at_caller(symbol_of(o->elf, &sh, &r)))
                out[count++] = r.r_offset;
    }
    return count;
}

/* Undefined symbols of one table: bits.  The second is of the unwinder, or of the function of libc that it uses. */
enum { IMPORT_ITERATE = 1, IMPORT_UNWINDER = 2 };

static unsigned imports_of(Elf *elf, Elf_Data *symbols, size_t names)
{
    unsigned found = 0;
    GElf_Sym symbol;

    for (int n = 0; gelf_getsym(symbols, n, &symbol); n++) {
        const char *name =
            symbol.st_shndx == SHN_UNDEF ? elf_strptr(elf, names, symbol.st_name) : NULL;
        if (!name)
            continue;
        found |= strcmp(name, "dl_iterate_phdr") == 0 ? IMPORT_ITERATE : 0;
        found |=
            strstr(name, "find_object") || strncmp(name, "_Unwind_", 8) == 0 ? IMPORT_UNWINDER : 0;
    }
    return found;
}

bool object_has_unwinder(const struct object *o)
{
    unsigned found = 0;
    GElf_Shdr sh;

    for (Elf_Scn *s = NULL; (s = elf_nextscn(o->elf, s)) != NULL;) {
        Elf_Data *d =
            gelf_getshdr(s, &sh) && sh.sh_type == SHT_DYNSYM ? elf_getdata(s, NULL) : NULL;
        found |= d ? imports_of(o->elf, d, sh.sh_link) : 0;
    }
    return found == IMPORT_ITERATE;
}

bool object_text_at(const struct object *o, uint64_t address, uint32_t *offset)
{
    if (address - o->text_address >= o->text_bytes)
        return false;
    *offset = (uint32_t)(address - o->text_address);
    return true;
}
