/*
 * needed.c - which libraries a program names itself (DT_NEEDED), read with libelf.
 */
#include <gelf.h>
#include <string.h>

#include "tools.h"

/*
 * Runtimes that are the program's allocator themselves, and refuse to start behind another, or keep
 * shadows of all memory.
 */
static const char *const sanitizers[] = {"libasan.so", "libhwasan.so", "liblsan.so",
                                         "libtsan.so", "libclang_rt.asan", "libclang_rt.hwasan",
                                         "libclang_rt.tsan"};

static bool is_sanitizer(const char *library)
{
    for (size_t i = 0; library && i < sizeof sanitizers / sizeof sanitizers[0]; i++)
        if (strncmp(library, sanitizers[i], strlen(sanitizers[i])) == 0)
            return true;
    return false;
}

static const char *sanitizer_of_section(Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
    Elf_Data *data = elf_getdata(section, NULL);
    for (int i = 0; data; i++) {
        GElf_Dyn entry;
        if (!gelf_getdyn(data, i, &entry) || entry.d_tag == DT_NULL)
            return NULL;
        const char *name =
            entry.d_tag == DT_NEEDED ? elf_strptr(elf, header->sh_link, entry.d_un.d_val) : NULL;
        if (is_sanitizer(name))
            return name;
    }
    return NULL;
}

bool needs_sanitizer(int fd, char *name, size_t room)
{
    const char *found = NULL;
    Elf *elf = elf_version(EV_CURRENT) != EV_NONE ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
    for (Elf_Scn *s = NULL; elf && !found && (s = elf_nextscn(elf, s));) {
        GElf_Shdr header;
        if (gelf_getshdr(s, &header) && header.sh_type == SHT_DYNAMIC)
            found = sanitizer_of_section(elf, s, &header);
    }
    if (found)
        snprintf(name, room, "%s", found);
    elf_end(elf);
    return found != NULL;
}
