/*
 * go_runtime.c - is code in a program or library made by Go?
 *
 * Go's runtime makes its signal stacks by raw system calls, and installs its handlers, if C code is
 * linked in, by libc's sigaction.  A thread that has an alternate stack keeps it: so Go takes ours for its
 * own.  It ends the program when a handler is then called on another stack (signal_stack.c).
 *
 * Go's linker writes a note of its own name.
 */
#include "init.h"

#include <elf.h>
#include <string.h>

static bool has_note(const char *at, size_t bytes)
{
    while (bytes >= sizeof(Elf64_Nhdr)) {
        const Elf64_Nhdr *note = (const Elf64_Nhdr *)(const void *)at;
        uint64_t name = align_up(note->n_namesz, 4), desc = align_up(note->n_descsz, 4);
        if (name + desc + sizeof *note > bytes)
            return false;
        if (note->n_namesz == 4 && memcmp(at + sizeof *note, "Go\0", 4) == 0)
            return true;
        at += sizeof *note + name + desc;
        bytes -= sizeof *note + name + desc;
    }
    return false;
}

bool go_runtime_is_at(uintptr_t pc)
{
    struct object o;
    if (!loader_find(pc, &o) || o.end - o.start < sizeof(Elf64_Ehdr))
        return false;
    const Elf64_Ehdr *file = (const Elf64_Ehdr *)o.start; /* the loader maps it there */
    if (memcmp(file->e_ident, ELFMAG, SELFMAG) != 0 ||
        !range_inside(file->e_phoff, (uint64_t)file->e_phnum * sizeof(Elf64_Phdr), o.end - o.start))
        return false;
    const Elf64_Phdr *part = (const Elf64_Phdr *)(o.start + file->e_phoff);
    for (uint32_t i = 0; i < file->e_phnum; i++)
        if (part[i].p_type == PT_NOTE &&
            range_inside(o.bias + part[i].p_vaddr - o.start, part[i].p_memsz, o.end - o.start) &&
            has_note((const char *)(o.bias + part[i].p_vaddr), part[i].p_memsz))
            return true;
    return false;
}
