/*
 * keys.c - ignore stale words in the slots of deleted pthread keys (pthread_key_delete).
 *
 *   thread control block:  specific[] --+--> 32 slots {seq, data}, in the control block
 *                                        +--> 32 more, in a block of the heap, ...
 *   __pthread_keys[]: {seq, ...}
 *
 * libc does not clear the slots of a deleted key.  Each slot has the sequence number of the key
 * that it was set for.  Its value is valid only while __pthread_keys has the same number.
 * pthread_getspecific clears a stale slot, so the program cannot read such a word. libc describes
 * these structures for debuggers (_thread_db_*, read by libthread_db), and this file reads the same
 * symbols.  If they are missing or do not match, slots are scanned like other words.
 *
 * The slots lie in roots and in heap blocks.  Stale words are set to 0 during the scan, while all
 * threads are stopped, and restored afterwards: no other code needs to skip them.  Slots of a
 * thread that did not stop are left unchanged, and its words are scanned.
 */
#include "leakcheck_priv.h"

#include <errno.h>

#define SLOTS_OF_A_BLOCK 32u
#define KEYS_MAX 1024u

struct slot {
    uintptr_t seq;
    void *data;
};

struct key {
    uintptr_t seq;
    void *destructor;
};

/* libc's description of a field: `count` elements of `bits` bits at `offset`. */
struct field {
    uint32_t bits, count, offset;
};

static struct {
    bool looked, known;
    uint32_t specific; /* offset in the control block */
    uint32_t control_bytes;
    const struct key *key;
} libc;

static bool is_field(const struct object *o, const char *name, uint64_t bits, uint32_t offset)
{
    const struct field *f = (const struct field *)loader_symbol(o, name);
    return f && (uint64_t)f->bits * f->count == bits && f->offset == offset;
}

static bool is_size(const struct object *o, const char *name, uint32_t bytes)
{
    const uint32_t *size = (const uint32_t *)loader_symbol(o, name);
    return size && *size == bytes;
}

static bool is_as_described(const struct object *o)
{
    return is_size(o, "_thread_db_sizeof_pthread_key_data", sizeof(struct slot)) &&
           is_field(o, "_thread_db_pthread_key_data_seq", 64, offsetof(struct slot, seq)) &&
           is_field(o, "_thread_db_pthread_key_data_data", 64, offsetof(struct slot, data)) &&
           is_field(o, "_thread_db_pthread_key_data_level2_data",
                    SLOTS_OF_A_BLOCK * sizeof(struct slot) * 8, 0) &&
           is_size(o, "_thread_db_sizeof_pthread_key_struct", sizeof(struct key)) &&
           is_field(o, "_thread_db_pthread_key_struct_seq", 64, offsetof(struct key, seq)) &&
           is_field(o, "_thread_db___pthread_keys", KEYS_MAX * sizeof(struct key) * 8, 0);
}

/* Runs once: symbols are found by hash, in tables that stay mapped. */
static bool probe_libc(void)
{
    struct object o;
    if (libc.looked)
        return libc.known;
    libc.looked = true;
    if (!loader_find((uintptr_t)__errno_location, &o) || !is_as_described(&o))
        return false;
    const struct field *specific =
        (const struct field *)loader_symbol(&o, "_thread_db_pthread_specific");
    const uint32_t *bytes = (const uint32_t *)loader_symbol(&o, "_thread_db_sizeof_pthread");
    libc.key = (const struct key *)loader_symbol(&o, "__pthread_keys");
    if (!specific || !bytes || !libc.key ||
        (uint64_t)specific->bits * specific->count != KEYS_MAX / SLOTS_OF_A_BLOCK * 64 ||
        specific->offset >= *bytes)
        return false;
    libc.specific = specific->offset;
    libc.control_bytes = *bytes;
    return libc.known = true;
}

/* ---- stale slots ----------------------------------------------------------------------------- */

struct muting {
    struct muted *muted; /* NULL: only count them */
    uint64_t count, room;
};

static void look_at_slots(struct muting *m, struct slot *slot, const struct key *key)
{
    for (uint32_t i = 0; i < SLOTS_OF_A_BLOCK; i++) {
        if (!slot[i].data || slot[i].seq == key[i].seq)
            continue;
        if (m->muted && m->count < m->room) {
            m->muted[m->count] = (struct muted){&slot[i].data, slot[i].data};
            slot[i].data = NULL;
        }
        m->count++;
    }
}

/* Does a heap block start at p that has room for these slots? */
static bool is_block(const void *p)
{
    struct found f = pool_find(p);
    return f.verdict == PTR_START && pool_room(&f) >= SLOTS_OF_A_BLOCK * sizeof(struct slot);
}

static void look_at_thread(struct muting *m, uintptr_t control_block)
{
    struct slot *const *specific = (struct slot *const *)(control_block + libc.specific);
    uintptr_t first = (uintptr_t)specific[0];
    if (first < control_block ||
        first - control_block > libc.control_bytes - SLOTS_OF_A_BLOCK * sizeof(struct slot))
        return; /* it does not match the description */
    for (uint32_t i = 0; i < KEYS_MAX / SLOTS_OF_A_BLOCK; i++)
        if (i == 0 || (specific[i] && is_block(specific[i])))
            look_at_slots(m, specific[i], libc.key + i * SLOTS_OF_A_BLOCK);
}

static void look_at_threads(struct muting *m, const struct stopped_world *w, bool all)
{
    m->count = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        const struct stopped_thread *t = &w->thread[i];
        if (t->control_block && !t->over && (all || is_answered(t)))
            look_at_thread(m, t->control_block);
    }
}

void keys_mute(const struct stopped_world *w, bool all, struct muted_words *out)
{
    struct muting m = {0};
    *out = (struct muted_words){0};
    if (!probe_libc())
        return;
    look_at_threads(&m, w, all);
    if (!m.count || !range_take(&out->list, m.count * sizeof *m.muted))
        return;
    m = (struct muting){.muted = (struct muted *)out->list.start, .room = m.count};
    look_at_threads(&m, w, all);
    out->count = m.count < m.room ? m.count : m.room;
}

void keys_unmute(struct muted_words *words)
{
    const struct muted *muted = (const struct muted *)words->list.start;
    for (uint64_t i = 0; i < words->count; i++)
        *muted[i].at = muted[i].word;
    range_give_back(&words->list);
}
