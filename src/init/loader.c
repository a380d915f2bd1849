/*
 * loader.c - lookups of loaded objects, without the dynamic loader's lock and without memory.
 *
 * libc's _dl_find_object (src/libc) returns the object around an address, at any time and in any
 * context. Even a weak reference to it would require glibc 2.35, and dlsym may allocate. So the symbol is looked
 * up in memory at the first allocation, as a debugger does. Without it only objects that are loaded
 * when our constructor runs are known.
 *
 * The loader allocates and frees through us. It allocates for every object, after mapping it and
 * before any of its code runs. After it has unmapped an object it frees the object's handle, before
 * its lock permits another mapping. These calls are recognized by their return address. They mark
 * the end of rules that were made from an object's memory, also for objects that libc loads for
 * itself.
 */
#include "init.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#define OBJECTS_MAX 256u

struct loader_range loader_range;

static struct {
    void *find; /* libc's function, or NULL */
    /* Extent of the whole program: libc's function returns one segment if there are gaps. */
    struct object program;
    const ElfW(Dyn) * dynamic;         /* the program's */
    struct object object[OBJECTS_MAX]; /* used if there is no such function */
    _Atomic uint32_t objects;
} loader;

/* ---- symbols --------------------------------------------------------------------------------- */

struct symbols {
    uintptr_t base;
    const char *names;
    const ElfW(Sym) * table;
    const uint32_t *hash; /* DT_GNU_HASH */
};

/* The loader relocates addresses in dynamic sections in place, except in the vdso's. */
static uintptr_t address_in(const struct symbols *s, ElfW(Addr) value)
{
    return value < s->base ? s->base + value : value;
}

static bool read_dynamic(const ElfW(Dyn) * d, struct symbols *s)
{
    for (; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_STRTAB)
            s->names = (const char *)address_in(s, d->d_un.d_ptr);
        else if (d->d_tag == DT_SYMTAB)
            s->table = (const ElfW(Sym) *)address_in(s, d->d_un.d_ptr);
        else if (d->d_tag == DT_GNU_HASH)
            s->hash = (const uint32_t *)address_in(s, d->d_un.d_ptr);
    }
    return s->names && s->table && s->hash;
}

static uint32_t gnu_hash(const char *name)
{
    uint32_t h = 5381;
    for (; *name; name++)
        h = h * 33 + (unsigned char)*name;
    return h;
}

static uintptr_t find_symbol(const struct symbols *s, const char *name)
{
    uint32_t buckets = s->hash[0], first = s->hash[1], bloom_words = s->hash[2], h = gnu_hash(name);
    const uint32_t *bucket = s->hash + 4 + 2 * (size_t)bloom_words, *chain = bucket + buckets;
    uint32_t i = buckets ? bucket[h % buckets] : 0;
    if (i < first || i == 0)
        return 0;
    for (;; i++) {
        uint32_t entry_hash = chain[i - first];
        if ((entry_hash | 1) == (h | 1) && text_equal(s->names + s->table[i].st_name, name))
            return s->base + s->table[i].st_value;
        if (entry_hash & 1)
            return 0;
    }
}

/* ---- the list of objects, as in a debugger (r_debug) ----------------------------------------- */

static struct object extent_of(const ElfW(Phdr) * ph, size_t n, uintptr_t bias)
{
    struct object o = {.start = UINTPTR_MAX, .bias = bias};
    for (size_t i = 0; i < n; i++) {
        uintptr_t at = bias + ph[i].p_vaddr;
        if (ph[i].p_type == PT_GNU_EH_FRAME)
            o.index = (const uint8_t *)at;
        if (ph[i].p_type != PT_LOAD)
            continue;
        o.start = at < o.start ? (uintptr_t)align_down(at, PAGE_BYTES) : o.start;
        o.end = at + ph[i].p_memsz > o.end ? at + ph[i].p_memsz : o.end;
    }
    return o;
}

static void find_program(void)
{
    const ElfW(Phdr) *ph = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    size_t n = ph ? getauxval(AT_PHNUM) : 0;
    uintptr_t bias = 0, at = 0;
    for (size_t i = 0; i < n; i++) {
        if (ph[i].p_type == PT_PHDR)
            bias = (uintptr_t)ph - ph[i].p_vaddr;
        else if (ph[i].p_type == PT_DYNAMIC)
            at = ph[i].p_vaddr;
    }
    loader.program = extent_of(ph, n, bias);
    loader.dynamic = at ? (const ElfW(Dyn) *)(bias + at) : NULL;
}

static const struct r_debug *debug_of(const ElfW(Dyn) * d)
{
    for (; d && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_DEBUG)
            return (const struct r_debug *)d->d_un.d_ptr;
    return NULL;
}

static void find_code(uintptr_t base)
{
    const ElfW(Ehdr) *e = (const ElfW(Ehdr) *)base;
    const ElfW(Phdr) *ph = (const ElfW(Phdr) *)(base + e->e_phoff);
    for (unsigned i = 0; i < e->e_phnum; i++)
        if (ph[i].p_type == PT_LOAD && ph[i].p_flags & PF_X)
            loader_range = (struct loader_range){base + ph[i].p_vaddr, ph[i].p_memsz};
}

/* The list contains only objects loaded with the program, and none of them is ever unloaded. */
void loader_start(void)
{
    find_program();
    const struct r_debug *debug = debug_of(loader.dynamic);
    uintptr_t f = 0;
    if (!debug)
        return;
    if (debug->r_ldbase)
        find_code(debug->r_ldbase);
    for (const struct link_map *m = debug->r_map; m && !f; m = m->l_next) {
        struct symbols s = {.base = m->l_addr};
        if (m->l_ld && read_dynamic(m->l_ld, &s))
            f = find_symbol(&s, LIBC_FINDER);
    }
    if (f && os_has(OS_FIND_OBJECT))
        loader.find = (void *)f;
}

const char *loader_own_path(void)
{
    find_program();
    const struct r_debug *debug = debug_of(loader.dynamic);
    for (const struct link_map *m = debug ? debug->r_map : NULL; m; m = m->l_next)
        if (m->l_ld == _DYNAMIC)
            return m->l_name;
    return NULL;
}

const void *loader_dynamic(uintptr_t *bias)
{
    *bias = loader.program.bias;
    return loader.dynamic;
}

/* ---- objects --------------------------------------------------------------------------------- */

static int note_object(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    struct object o = extent_of(info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr);
    o.path = info->dlpi_name;
    uint32_t n = atomic_load_explicit(&loader.objects, memory_order_relaxed);
    if (!o.end || n == OBJECTS_MAX)
        return 0;
    o.handle = (const void *)o.start;
    loader.object[n] = o;
    atomic_store_explicit(&loader.objects, n + 1, memory_order_release);
    return 0;
}

void loader_constructed(void)
{
    if (!loader.find && os_has(OS_FIND_OBJECT)) /* a program without DT_DEBUG */
        loader.find = libc_finder();
    if (loader.find)
        return;
    os_mark_missing(OS_FIND_OBJECT);
    dl_iterate_phdr(note_object, NULL);
    unwind_forget(0); /* addresses outside of all objects may be inside of one now */
}

static bool find_noted(uintptr_t pc, struct object *out)
{
    uint32_t n = atomic_load_explicit(&loader.objects, memory_order_acquire);
    for (uint32_t i = 0; i < n; i++) {
        *out = loader.object[i];
        if (pc >= out->start && pc < out->end)
            return true;
    }
    return false;
}

bool loader_find(uintptr_t pc, struct object *out)
{
    if (!loader.find)
        return find_noted(pc, out);
    if (!libc_find_object(loader.find, pc, out))
        return false;
    const struct link_map *map = out->handle;
    if (map->l_ld == loader.dynamic) {
        out->start = loader.program.start;
        out->end = loader.program.end;
    }
    return true;
}

uintptr_t loader_symbol(const struct object *o, const char *name)
{
    const struct link_map *map = o->handle;
    if (!loader.find) /* then handles are not the loader's */
        return 0;
    struct symbols s = {.base = map->l_addr};
    return read_dynamic(map->l_ld, &s) ? find_symbol(&s, name) : 0;
}

/* ---- calls of the loader --------------------------------------------------------------------- */

/*
 * The loader also allocates for a new thread (its dtv), unless libc reuses that of an ended thread.
 * So this call also announces that a thread may start.
 */
void loader_allocates(void)
{
    threads_announce();
    unwind_forget(0);
}

void loader_frees(const void *p)
{
    uint32_t number = modules_unloaded(p);
    if (number)
        unwind_forget(number);
}
