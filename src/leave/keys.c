/*
 * keys.c - words in the slots of deleted keys (pthread_key_delete) hold nothing.
 *
 *   thread's control block: specific[] --+--> 32 slots {seq, data}, in the control block
 *                                        +--> 32 more, in a block of the heap, ...    __pthread_keys[]: {seq, ...}
 *
 * libc does not clear the slots of a key that is deleted: each slot has the sequence number of the key that it was set
 * for, and holds a value only while that is the number in __pthread_keys.  pthread_getspecific clears an outdated slot
 * when it meets one, so nobody can read such a word any more.  Where all this lies is described in libc itself for
 * debuggers (_thread_db_*, read by libthread_db), and read here in the same way; of a libc without these symbols, or
 * one that describes something else, slots count as all other words.
 *
 * The slots lie in roots and in blocks of the heap.  So outdated words are set to 0 for the time of the search, while
 * all threads stand still, and put back: nothing else has to know of them.  Slots of a thread that did not stop are
 * left alone; its words count.
 */
#include "finish_priv.h"

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

/* As libc describes a field: so many elements of so many bits, at this offset. */
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

/* Once: symbols are looked up by hash, in tables that stay. */
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

/* ---- outdated slots -------------------------------------------------------------------------- */

struct muting {
    struct muted *muted; /* NULL: they are counted */
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

/* Does a block of the heap begin there that is large enough? */
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
        return; /* it is not as described */
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
