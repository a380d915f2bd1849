/*
 * objects.c - the objects that are loaded at start, and whether each runs in a checked copy, or why not:
 * for the report.
 *
 * The list is made once, in our constructor, and does not change afterwards.  Objects beyond its end are
 * not listed.
 */
#include <elf.h>

#include "translated_priv.h"

#define LISTED_MOST 256u

static struct {
    uint32_t count;
    struct translated_object *of;
    struct translated_object spare; /* not listed */
} listed;

static void measure(struct translated_object *o, const struct dl_phdr_info *info)
{
    for (unsigned i = info->dlpi_phnum; i-- > 0;) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        if (ph->p_type != PT_LOAD)
            continue;
        o->start = info->dlpi_addr + ph->p_vaddr;
        if (ph->p_flags & PF_X)
            o->text_bytes += ph->p_memsz;
    }
}

struct translated_object *object_list(const struct dl_phdr_info *info)
{
    if (!listed.of) {
        void *made = os_map(LISTED_MOST * sizeof *listed.of);
        if (os_failed(made))
            return &listed.spare;
        listed.of = made;
    }
    if (listed.count == LISTED_MOST)
        return &listed.spare;
    struct translated_object *o = &listed.of[listed.count++];
    o->path = info->dlpi_name;
    measure(o, info);
    return o;
}

const struct translated_object *translated_objects(uint32_t *count)
{
    *count = listed.count;
    return listed.of;
}
