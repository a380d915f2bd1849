/*
 * program.c - does the dynamic loader preload a library into this program?
 *
 * The file is not trusted: each read is bounded, each offset checked, each loop limited.  A file of
 * an unknown format passes: exec will return its error, or binfmt_misc will handle it.
 */
#include <string.h>

#include "machine.h"
#include "program.h"

#define HEADERS_MAX 32u
#define DYNAMIC_MAX 128u
#define DYNAMIC_CHUNK 16u /* entries read at a time */
#define NAME_BYTES 32u    /* compared part of a library's name */

static const char *const texts[] = {
    "",
#define UNCHECKED(id, code, text) text,
#include "format/unchecked.def"
#undef UNCHECKED
};
static_assert(countof(texts) == UNCHECKED_COUNT, "one for each reason");

const char *unchecked_text(enum unchecked_reason why)
{
    return why < UNCHECKED_COUNT ? texts[why] : "";
}

/*
 * Sanitizer runtimes that replace the allocator and refuse to start after another preloaded
 * library, or that shadow all memory.
 */
static const char *const sanitizers[] = {
    "libasan.so",       "libhwasan.so",       "liblsan.so",      "libtsan.so",
    "libclang_rt.asan", "libclang_rt.hwasan", "libclang_rt.tsan"};

static bool starts(const char *text, const char *with)
{
    for (; *with; with++, text++)
        if (*text != *with)
            return false;
    return true;
}

/* Copy up to room - 1 bytes, and a NUL. */
static void copy_name(char *to, size_t room, const char *from)
{
    size_t n = 0;
    for (; n + 1 < room && from[n]; n++)
        to[n] = from[n];
    to[n] = '\0';
}

/* ---- ELF ------------------------------------------------------------------------------------- */

struct elf {
    const struct program_file *file;
    uint32_t headers;
    Elf64_Phdr header[HEADERS_MAX];
    const Elf64_Phdr *dynamic;
    uint32_t chunk_end; /* end of the cached entries; 0: none are cached */
    Elf64_Dyn chunk[DYNAMIC_CHUNK];
};

static bool read_at(const struct elf *e, void *to, size_t bytes, uint64_t at)
{
    return at <= INT64_MAX && e->file->read(e->file, to, bytes, at) == (long)bytes;
}

/* Read a string, truncated to the buffer; zeros follow the end of the file. */
static void read_name(const struct elf *e, char *to, size_t room, uint64_t at)
{
    memset(to, 0, room);
    if (at <= INT64_MAX && e->file->read(e->file, to, room - 1, at) < 0)
        to[0] = '\0';
}

static const Elf64_Phdr *header_of(const struct elf *e, uint32_t type)
{
    for (uint32_t i = 0; i < e->headers; i++)
        if (e->header[i].p_type == type)
            return &e->header[i];
    return NULL;
}

/* File offset of a loaded address; UINT64_MAX: not in the file. */
static uint64_t offset_of(const struct elf *e, uint64_t address)
{
    for (uint32_t i = 0; i < e->headers; i++) {
        const Elf64_Phdr *p = &e->header[i];
        if (p->p_type == PT_LOAD && address - p->p_vaddr < p->p_filesz)
            return p->p_offset + (address - p->p_vaddr);
    }
    return UINT64_MAX;
}

static void read_chunk(struct elf *e, uint32_t first)
{
    uint64_t at = (uint64_t)first * sizeof e->chunk[0];
    uint64_t bytes = at < e->dynamic->p_filesz ? e->dynamic->p_filesz - at : 0;
    memset(e->chunk, 0, sizeof e->chunk); /* DT_NULL terminates a short read */
    if (e->dynamic->p_offset <= INT64_MAX && bytes)
        e->file->read(e->file, e->chunk, bytes < sizeof e->chunk ? (size_t)bytes : sizeof e->chunk,
                      e->dynamic->p_offset + at);
    e->chunk_end = first + DYNAMIC_CHUNK;
}

/* Entry i of the dynamic section, or NULL at the end. */
static const Elf64_Dyn *dynamic_entry(struct elf *e, uint32_t i)
{
    if (!e->dynamic || i >= DYNAMIC_MAX)
        return NULL;
    if (i >= e->chunk_end || i + DYNAMIC_CHUNK < e->chunk_end)
        read_chunk(e, i / DYNAMIC_CHUNK * DYNAMIC_CHUNK);
    const Elf64_Dyn *entry = &e->chunk[i % DYNAMIC_CHUNK];
    return entry->d_tag != DT_NULL ? entry : NULL;
}

static uint64_t strings_of(struct elf *e)
{
    const Elf64_Dyn *entry;
    for (uint32_t i = 0; (entry = dynamic_entry(e, i)); i++)
        if (entry->d_tag == DT_STRTAB)
            return offset_of(e, entry->d_un.d_ptr);
    return UINT64_MAX;
}

static bool is_sanitizer(const char *library)
{
    for (size_t i = 0; i < countof(sanitizers); i++)
        if (starts(library, sanitizers[i]))
            return true;
    return false;
}

/* Find the first dynamic entry with this tag that has a matching name. */
static bool find_name(struct elf *e, int64_t tag, bool (*is_wanted)(const char *name),
                      char name[NAME_BYTES])
{
    uint64_t strings = strings_of(e);
    const Elf64_Dyn *entry;
    for (uint32_t i = 0; strings != UINT64_MAX && (entry = dynamic_entry(e, i)); i++) {
        if (entry->d_tag != tag)
            continue;
        read_name(e, name, NAME_BYTES, strings + entry->d_un.d_val);
        if (is_wanted(name))
            return true;
    }
    return false;
}

static bool is_loader(const char *name)
{
    return starts(name, ELF_LOADER) && !name[sizeof ELF_LOADER - 1];
}

static void examine_interpreter(struct elf *e, const Elf64_Phdr *header, struct program *out)
{
    char name[NAME_BYTES];
    size_t room = header->p_filesz < sizeof out->detail - 1 ? (size_t)header->p_filesz + 1
                                                            : sizeof out->detail;
    read_name(e, out->detail, room, header->p_offset);
    const char *last = out->detail;
    for (const char *c = last; *c; c++)
        last = *c == '/' ? c + 1 : last;
    if (!is_loader(last))
        out->why = UNCHECKED_LOADER;
    else if (find_name(e, DT_NEEDED, is_sanitizer, name)) {
        out->why = UNCHECKED_SANITIZER;
        copy_name(out->detail, sizeof out->detail, name);
    }
}

/* No interpreter: a static program, or the loader itself run as a command, which preloads. */
static void examine_static(struct elf *e, struct program *out)
{
    char name[NAME_BYTES];
    if (!find_name(e, DT_SONAME, is_loader, name))
        out->why = UNCHECKED_STATIC;
}

static void examine_elf(const struct program_file *file, const Elf64_Ehdr *eh, struct program *out)
{
    struct elf e;
    out->is_elf = true;
    if (eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_machine != ELF_MACHINE) {
        out->why = UNCHECKED_MACHINE;
        return;
    }
    e.file = file;
    e.headers = eh->e_phnum < HEADERS_MAX ? eh->e_phnum : HEADERS_MAX;
    if (eh->e_phentsize != sizeof e.header[0] || !e.headers ||
        !read_at(&e, e.header, e.headers * sizeof e.header[0], eh->e_phoff))
        return;
    e.dynamic = header_of(&e, PT_DYNAMIC);
    e.chunk_end = 0;
    const Elf64_Phdr *interpreter = header_of(&e, PT_INTERP);
    if (interpreter)
        examine_interpreter(&e, interpreter, out);
    else
        examine_static(&e, out);
}

/* ---- scripts --------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* `line`: the text after "#!", NUL-terminated. */
static void examine_script(const char *line, struct program *out)
{
    size_t n = 0;
    while (is_blank(*line))
        line++;
    for (; line[n] && line[n] != '\n' && !is_blank(line[n]); n++)
        out->detail[n] = line[n];
    out->detail[n] = '\0';
    out->is_script = n > 0;
}

void program_examine(const struct program_file *file, struct program *out)
{
    union {
        char text[PROGRAM_PATH_BYTES];
        Elf64_Ehdr elf;
    } head;
    memset(out, 0, sizeof *out);
    long n = file->read(file, &head, sizeof head - 1, 0);
    if (n < 2)
        return;
    head.text[n] = '\0';
    if (n >= (long)sizeof head.elf && memcmp(head.text, ELFMAG, SELFMAG) == 0)
        examine_elf(file, &head.elf, out);
    else if (head.text[0] == '#' && head.text[1] == '!')
        examine_script(head.text + 2, out);
}
