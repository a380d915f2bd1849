/*
 * objects.c - _dl_find_object (glibc 2.35): the object around an address, without a lock; and the
 * notes of an object, whose ELF header the loader maps at its start.
 */
#include "libc.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

typedef int find_object_fn(void *pc, struct dl_find_object *out);

void *libc_finder(void)
{
    return dlvsym(RTLD_DEFAULT, LIBC_FINDER, "GLIBC_2.35");
}

int libc_finder_call(void *finder, uintptr_t pc, libc_found *out)
{
    find_object_fn *find;
    memcpy(&find, &finder, sizeof find);
    return find ? find((void *)pc, out) : -1;
}

void libc_found_replace(libc_found *out, uintptr_t start, uintptr_t end, uintptr_t index)
{
    out->dlfo_map_start = (void *)start;
    out->dlfo_map_end = (void *)end;
    out->dlfo_eh_frame = (void *)index;
}

bool libc_find_object(void *finder, uintptr_t pc, struct object *out)
{
    struct dl_find_object found;
    if (libc_finder_call(finder, pc, &found) != 0)
        return false;
    const struct link_map *map = found.dlfo_link_map;
    *out = (struct object){.start = (uintptr_t)found.dlfo_map_start,
                           .end = (uintptr_t)found.dlfo_map_end,
                           .bias = map->l_addr,
                           .index = found.dlfo_eh_frame,
                           .path = map->l_name,
                           .handle = map};
    return true;
}

#define NOTE_NAME_BYTES 4u

/* Search one note segment. */
static const void *find_note(const char *at, size_t left, uint32_t type, const char *name,
                             size_t *bytes)
{
    while (left >= sizeof(Elf64_Nhdr)) {
        const Elf64_Nhdr *note = (const Elf64_Nhdr *)(const void *)at;
        uint64_t name_bytes = align_up(note->n_namesz, 4),
                 whole = sizeof *note + name_bytes + align_up(note->n_descsz, 4);
        if (whole > left)
            return NULL;
        if (note->n_type == type && note->n_namesz == NOTE_NAME_BYTES &&
            memcmp(at + sizeof *note, name, NOTE_NAME_BYTES) == 0) {
            *bytes = note->n_descsz;
            return at + sizeof *note + name_bytes;
        }
        at += whole;
        left -= whole;
    }
    return NULL;
}

const void *libc_object_note(const struct object *o, uint32_t type, const char *name, size_t *bytes)
{
    const Elf64_Ehdr *file = (const Elf64_Ehdr *)o->start;
    uint64_t room = o->end - o->start;
    if (room < sizeof *file || memcmp(file->e_ident, ELFMAG, SELFMAG) != 0 ||
        !range_inside(file->e_phoff, (uint64_t)file->e_phnum * sizeof(Elf64_Phdr), room))
        return NULL;
    const Elf64_Phdr *part = (const Elf64_Phdr *)(o->start + file->e_phoff);
    const void *found = NULL;
    for (uint32_t i = 0; i < file->e_phnum && !found; i++)
        if (part[i].p_type == PT_NOTE &&
            range_inside(o->bias + part[i].p_vaddr - o->start, part[i].p_memsz, room))
            found = find_note((const char *)(o->bias + part[i].p_vaddr), part[i].p_memsz, type,
                              name, bytes);
    return found;
}
