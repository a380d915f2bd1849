/*
 * error_sites.c - the table of errors in the run file: one record for each site and kind, with a
 * count.
 *
 * The site of an error is the stack of the call. For damaged memory the writer is not known, so the
 * site is the stack that allocated the block; for a descriptor left open, the stack that opened it.
 *
 * All functions are cold, and are called inside a critical section. sites.lock (RANK_ERRORS)
 * protects the list and its index.
 */
#include "track_priv.h"

#include <string.h>

#define CHUNKS_MAX (ERROR_LIMIT_MAX / ERROR_CHUNK + 1)
#define INDEX_SLOTS 32768u /* a power of two, at least twice ERROR_LIMIT_MAX */

static struct {
    struct lock lock;
    struct segment *chunk[CHUNKS_MAX];
    uint32_t count;
    uint16_t index[INDEX_SLOTS]; /* number of the record + 1, by hash of its key; 0: free */
} sites = {.lock = LOCK_INIT(RANK_ERRORS)};

static_assert(INDEX_SLOTS >= 2 * ERROR_LIMIT_MAX && ERROR_LIMIT_MAX < UINT16_MAX,
              "there is always a free one");

static uint32_t site_of(const struct error_record *e)
{
    bool is_left = atomic_load_explicit(&e->kind, memory_order_relaxed) == ERROR_FDL;
    return e->damage || is_left ? e->alloc_stack : e->stack;
}

static bool is_same(const struct error_record *a, const struct error_record *b)
{
    return atomic_load_explicit(&a->kind, memory_order_relaxed) ==
               atomic_load_explicit(&b->kind, memory_order_relaxed) &&
           site_of(a) == site_of(b) && a->damage == b->damage &&
           (a->damage || a->entry == b->entry);
}

static struct error_record *record_at(uint32_t record_index)
{
    return (struct error_record *)segment_items(sites.chunk[record_index / ERROR_CHUNK]) +
           record_index % ERROR_CHUNK;
}

/* Find the index slot of the record of the same site and kind, or the free slot for it. */
static uint16_t *slot_of(const struct error_record *e)
{
    uint64_t key = (uint64_t)site_of(e) << 16 | (uint64_t)e->damage << 12 |
                   atomic_load_explicit(&e->kind, memory_order_relaxed);
    uint32_t i = (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 40);
    for (;; i++) {
        uint16_t *slot = &sites.index[i % INDEX_SLOTS];
        if (!*slot || is_same(record_at(*slot - 1u), e))
            return slot;
    }
}

/* Take room for one more record; NULL: none. */
static struct error_record *record_take(void)
{
    uint32_t n = sites.count;
    if (n >= rt.options.error_limit)
        return NULL;
    struct segment **chunk = &sites.chunk[n / ERROR_CHUNK];
    if (!*chunk) {
        *chunk =
            segment_take(SEGMENT_ERRORS, ERROR_CHUNK, sizeof(struct error_record), n / ERROR_CHUNK);
        if (!*chunk)
            return NULL;
        segment_publish(*chunk);
    }
    return record_at(n);
}

static void record_publish(struct error_record *to, struct error_record *from)
{
    enum error_kind kind = atomic_load_explicit(&from->kind, memory_order_relaxed);
    atomic_store_explicit(&from->kind, ERROR_NONE, memory_order_relaxed);
    memcpy((void *)to, (void *)from, sizeof *to);
    atomic_store_explicit(&to->kind, kind, memory_order_release); /* publishes the whole record */
    struct segment *s = sites.chunk[sites.count / ERROR_CHUNK];
    atomic_store_explicit(&s->count, sites.count % ERROR_CHUNK + 1, memory_order_release);
    sites.count++;
    if (run_header() && !run_contains(s))
        atomic_fetch_add_explicit(&image()->errors_unwritten, 1, memory_order_relaxed);
}

bool error_site_count(const struct error_record *e)
{
    lock_take(&sites.lock);
    uint16_t *slot = slot_of(e);
    bool known = *slot;
    if (known)
        atomic_fetch_add_explicit(&record_at(*slot - 1u)->count, 1, memory_order_relaxed);
    lock_drop(&sites.lock);
    return known;
}

const struct error_record *error_site_add(struct error_record *e)
{
    const struct error_record *added = NULL;
    lock_take(&sites.lock);
    uint16_t *slot = slot_of(e);
    if (*slot) { /* another thread was faster */
        atomic_fetch_add_explicit(&record_at(*slot - 1u)->count, 1, memory_order_relaxed);
    } else {
        struct error_record *to = record_take();
        if (to) {
            record_publish(to, e);
            *slot = (uint16_t)sites.count;
        } else {
            image_count(&image()->errors_unrecorded);
        }
        added = to;
    }
    lock_drop(&sites.lock);
    return added;
}

void error_sites_after_fork(void)
{
    lock_reset(&sites.lock);
    memset(sites.index, 0, sites.count ? sizeof sites.index : 0);
    memset(sites.chunk, 0, sizeof sites.chunk);
    sites.count = 0;
}
