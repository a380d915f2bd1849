/*
 * modules.c - which object is mapped where: recorded when its first pc is seen.
 *
 * libc's _dl_find_object answers without a lock and without memory; its result tells the link map
 * (path, bias) and the mapped range.  Where it is missing the objects present at start-up are
 * recorded once (core).  The build-id is read from the object's own program headers in memory.
 */
#include "pool_priv.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

#define MODULES_PER_CHUNK 31u /* with the segment header: 16 KiB less a little */
#define RANGES_MAX 4096u

static struct {
    struct lock lock;
    find_object_fn *find;
    struct segment *chunk;
    uint64_t chunks;
    struct range {
        uintptr_t start, end;
    } range[RANGES_MAX]; /* recorded ones */
    uint32_t ranges;
} modules = {.lock = LOCK_INIT(RANK_MODULES)};

void modules_start(find_object_fn *find)
{
    modules.find = find;
}

/* Walks one note segment for the GNU build-id. */
static void read_notes(const char *at, size_t bytes, struct module_record *m)
{
    while (bytes >= sizeof(Elf64_Nhdr)) {
        const Elf64_Nhdr *note = (const Elf64_Nhdr *)(const void *)at;
        uint64_t name = align_up(note->n_namesz, 4), desc = align_up(note->n_descsz, 4);
        if (name + desc + sizeof *note > bytes)
            return;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
            memcmp(at + sizeof *note, "GNU", 4) == 0 && note->n_descsz <= sizeof m->build_id) {
            memcpy(m->build_id, at + sizeof *note + name, note->n_descsz);
            m->build_id_bytes = note->n_descsz;
            return;
        }
        at += sizeof *note + name + desc;
        bytes -= sizeof *note + name + desc;
    }
}

/* The ELF header is mapped at `start` in every object the loader has loaded. */
static void read_build_id(uintptr_t bias, uintptr_t start, uintptr_t end, struct module_record *m)
{
    const Elf64_Ehdr *ehdr = (const Elf64_Ehdr *)start;
    if (end - start < sizeof *ehdr || memcmp(ehdr->e_ident, ELFMAG, SELFMAG) != 0 ||
        !range_inside(ehdr->e_phoff, (uint64_t)ehdr->e_phnum * sizeof(Elf64_Phdr), end - start))
        return;
    const Elf64_Phdr *ph = (const Elf64_Phdr *)(start + ehdr->e_phoff);
    for (uint32_t i = 0; i < ehdr->e_phnum; i++)
        if (ph[i].p_type == PT_NOTE && bias + ph[i].p_vaddr >= start &&
            bias + ph[i].p_vaddr + ph[i].p_memsz <= end)
            read_notes((const char *)(bias + ph[i].p_vaddr), ph[i].p_memsz, m);
}

static bool is_known(uintptr_t pc)
{
    for (uint32_t i = 0; i < modules.ranges; i++)
        if (pc >= modules.range[i].start && pc < modules.range[i].end)
            return true;
    return false;
}

/* Caller holds the lock; NULL: no room. */
static struct module_record *record_take(void)
{
    struct segment *s = modules.chunk;
    if (!s || atomic_load_explicit(&s->count, memory_order_relaxed) == s->capacity) {
        s = segment_take(SEGMENT_MODULES, MODULES_PER_CHUNK, sizeof(struct module_record),
                         modules.chunks++);
        if (!s)
            return NULL;
        segment_publish(s);
        modules.chunk = s;
    }
    return (struct module_record *)segment_items(s) + atomic_load(&s->count);
}

void modules_add(uintptr_t bias, uintptr_t start, uintptr_t end, const char *path)
{
    lock_take(&modules.lock);
    struct module_record *m = is_known(start) || modules.ranges == RANGES_MAX ? NULL : record_take();
    if (m) {
        m->bias = bias;
        m->start = start;
        m->end = end;
        struct text t = text_begin(m->path, sizeof m->path);
        text_put(&t, path && path[0] ? path : image()->exe);
        text_end(&t);
        read_build_id(bias, start, end, m);
        modules.range[modules.ranges++] = (struct range){start, end};
        atomic_fetch_add_explicit(&modules.chunk->count, 1, memory_order_release);
    }
    lock_drop(&modules.lock);
}

void modules_note(uintptr_t pc)
{
    struct dl_find_object found;
    if (!modules.find || is_known(pc) || modules.find((void *)pc, &found) != 0)
        return;
    const struct link_map *map = found.dlfo_link_map;
    modules_add(map->l_addr, (uintptr_t)found.dlfo_map_start, (uintptr_t)found.dlfo_map_end,
                map->l_name);
}

void modules_after_fork(void)
{
    lock_reset(&modules.lock);
    modules.chunk = NULL; /* the parent's; its records hold for us, too */
}
