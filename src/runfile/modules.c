/*
 * modules.c - which object (executable or shared library) was mapped where, and when.
 *
 * An object is recorded when its first return address is seen, with its absolute path and the
 * build-id from its own program headers in memory.  Every frame holds the object's number, so it
 * keeps its module after an unload, even if another object uses the addresses.  An object that is
 * loaded again with the same path, address and build-id gets its old number.
 *
 * In a forked child the records belong to the parent, and changes are recorded anew: of two records
 * with the same number the later one is valid.
 *
 * Lock: RANK_MODULES, then that of segment.c.
 */
#include "runfile_priv.h"

#include "format/stack_key.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#define MODULES_PER_CHUNK 31u /* with the segment header: just below 16 KiB */
#define MODULES_MAX 4096u

/* Private data of a recorded object; never moves. */
struct known {
    uintptr_t start, end;
    const void *_Atomic handle; /* the loader's; NULL: not loaded */
    uint32_t number;
    uint32_t build_id_bytes;
    uint8_t build_id[20];
    uint64_t path_hash;
    struct module_record *record;
    bool inherited; /* the record belongs to the parent: read-only here */
};

static struct {
    struct lock lock;
    struct segment *chunk;
    uint64_t chunks;
    uint32_t sequence; /* counts loads and unloads */
    _Atomic uint32_t count;
    struct known known[MODULES_MAX];
} modules = {.lock = LOCK_INIT(RANK_MODULES)};

/* ---- the build-id ---------------------------------------------------------------------------- */

static void read_build_id(const struct object *o, struct module_record *m)
{
    size_t bytes;
    const void *id = libc_object_note(o, NT_GNU_BUILD_ID, "GNU", &bytes);
    if (!id || bytes > sizeof m->build_id)
        return;
    memcpy(m->build_id, id, bytes);
    m->build_id_bytes = (uint32_t)bytes;
}

/* ---- records --------------------------------------------------------------------------------- */

static uint64_t hash_text(const char *s)
{
    uint64_t h = 0xcbf29ce484222325ull;
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 0x100000001b3ull;
    return h;
}

/* NULL: no space.  Caller holds the lock. */
static struct module_record *record_take(void)
{
    struct segment *s = modules.chunk;
    if (!s || atomic_load_explicit(&s->count, memory_order_relaxed) == s->capacity) {
        s = segment_take(SEGMENT_MODULES, MODULES_PER_CHUNK, sizeof(struct module_record),
                         modules.chunks);
        if (!s)
            return NULL;
        segment_publish(s);
        modules.chunks++;
        modules.chunk = s;
    }
    return (struct module_record *)segment_items(s) + atomic_load(&s->count);
}

static void record_publish(void)
{
    atomic_fetch_add_explicit(&modules.chunk->count, 1, memory_order_release);
}

/*
 * The loader keeps a path as given, possibly relative to the working directory of that moment.  The
 * directory may have changed since, and is another one for the reporter.  The kernel has the
 * absolute path.
 */
static void fill_path(struct module_record *m, const struct object *o)
{
    const char *path = o->path && o->path[0] ? o->path : image()->exe;
    if (path[0] != '/' && os_mapped_file(o->start, m->path, sizeof m->path) > 0)
        return;
    struct text t = text_begin(m->path, sizeof m->path);
    text_put(&t, path);
    text_end(&t);
}

static void fill(struct module_record *m, const struct object *o)
{
    memset(m, 0, sizeof *m); /* it may hold data of a record that was not published */
    m->bias = o->bias;
    m->start = o->start;
    m->end = o->end;
    fill_path(m, o);
    read_build_id(o, m);
}

/* Copy a parent's record into this image's part of the file. */
static struct module_record *record_own(struct known *k)
{
    if (!k->inherited)
        return k->record;
    struct module_record *m = record_take();
    if (!m)
        return NULL;
    *m = *k->record;
    /* readers depend on these values if the parent's record is gone */
    m->start = k->start;
    m->end = k->end;
    m->number = k->number;
    record_publish();
    k->inherited = false;
    return k->record = m;
}

/* ---- loads and unloads ----------------------------------------------------------------------- */

static uint32_t find_loaded(const struct object *o)
{
    uint32_t count = atomic_load_explicit(&modules.count, memory_order_acquire);
    for (uint32_t i = 0; i < count; i++) {
        const struct known *k = &modules.known[i];
        if (k->start == o->start && k->end == o->end &&
            atomic_load_explicit(&k->handle, memory_order_relaxed) == o->handle)
            return k->number;
    }
    return 0;
}

static bool is_same(const struct known *k, const struct module_record *m)
{
    return k->start == m->start && k->end == m->end && k->build_id_bytes == m->build_id_bytes &&
           k->build_id_bytes && memcmp(k->build_id, m->build_id, k->build_id_bytes) == 0 &&
           k->path_hash == hash_text(m->path);
}

/* An unloaded object that is the same; NULL: this one is new. */
static struct known *find_unloaded(const struct module_record *m)
{
    uint32_t count = atomic_load_explicit(&modules.count, memory_order_relaxed);
    for (uint32_t i = 0; i < count; i++)
        if (!atomic_load(&modules.known[i].handle) && is_same(&modules.known[i], m))
            return &modules.known[i];
    return NULL;
}

static struct known *remember(struct module_record *m)
{
    uint32_t count = atomic_load_explicit(&modules.count, memory_order_relaxed);
    struct known *k = &modules.known[count];
    if (count == MODULES_MAX)
        return NULL;
    *k = (struct known){.start = m->start, .end = m->end, .number = count + 1, .record = m};
    k->build_id_bytes = m->build_id_bytes;
    memcpy(k->build_id, m->build_id, sizeof k->build_id);
    k->path_hash = hash_text(m->path);
    m->number = k->number;
    m->loaded = ++modules.sequence;
    record_publish();
    return k;
}

/* Caller holds the lock. */
static uint32_t load(const struct object *o)
{
    struct module_record *m = record_take();
    if (!m)
        return 0;
    fill(m, o);
    struct known *k = find_unloaded(m);
    if (k) {
        m = record_own(k);
        if (!m)
            return 0;
        m->bias = o->bias;
        m->loaded = ++modules.sequence;
        m->unloaded = 0;
    } else if (!(k = remember(m))) {
        return 0;
    }
    atomic_store_explicit(&k->handle, o->handle, memory_order_relaxed);
    uint32_t count = atomic_load_explicit(&modules.count, memory_order_relaxed);
    if (k->number > count)
        atomic_store_explicit(&modules.count, k->number, memory_order_release);
    return k->number;
}

uint32_t modules_number(const struct object *o, bool may_grow)
{
    uint32_t number = find_loaded(o);
    if (number || !may_grow)
        return number;
    lock_take(&modules.lock);
    number = find_loaded(o);
    if (!number)
        number = load(o);
    lock_drop(&modules.lock);
    return number;
}

bool modules_place(uint32_t number, struct module_place *out)
{
    if (!number || number > atomic_load_explicit(&modules.count, memory_order_acquire))
        return false;
    const struct module_record *m = modules.known[number - 1].record;
    *out =
        (struct module_place){stack_key_object(m->build_id, m->build_id_bytes, m->path), m->bias};
    return true;
}

uint32_t modules_unloaded(const void *handle)
{
    uint32_t count = atomic_load_explicit(&modules.count, memory_order_acquire), number = 0;
    for (uint32_t i = 0; i < count && !number; i++) {
        struct known *k = &modules.known[i];
        if (atomic_load_explicit(&k->handle, memory_order_relaxed) != handle)
            continue;
        lock_take(&modules.lock);
        struct module_record *m = record_own(k);
        if (m)
            m->unloaded = ++modules.sequence;
        atomic_store(&k->handle, NULL);
        number = k->number;
        lock_drop(&modules.lock);
    }
    return number;
}

void modules_post_mortem(void)
{
    lock_reset(&modules.lock);
}

void modules_after_fork(bool fresh)
{
    lock_reset(&modules.lock);
    /* the parent's chunk; its records are valid here, too */
    modules.chunk = NULL;
    uint32_t count = atomic_load(&modules.count);
    for (uint32_t i = 0; i < count; i++) {
        modules.known[i].inherited = true;
        if (!fresh)
            continue;
        /* the child cannot read the parent's records */
        modules.known[i].start = modules.known[i].end = 0;
        atomic_store(&modules.known[i].handle, NULL);
    }
}
