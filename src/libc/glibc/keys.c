/*
 * keys.c - the slots of pthread keys.
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
 */
#include "libc.h"

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
    uint32_t specific; /* offset in the control block */
    uint32_t control_bytes;
    const struct key *key;
} libc;

struct symbols {
    libc_symbol_fn *find;
    const void *about;
};

static const void *address_of(const struct symbols *s, const char *name)
{
    return (const void *)s->find(s->about, name);
}

static bool is_field(const struct symbols *o, const char *name, uint64_t bits, uint32_t offset)
{
    const struct field *f = address_of(o, name);
    return f && (uint64_t)f->bits * f->count == bits && f->offset == offset;
}

static bool is_size(const struct symbols *o, const char *name, uint32_t bytes)
{
    const uint32_t *size = address_of(o, name);
    return size && *size == bytes;
}

static bool is_as_described(const struct symbols *o)
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

bool libc_keys_start(libc_symbol_fn *symbol, const void *about)
{
    const struct symbols s = {symbol, about};
    if (!is_as_described(&s))
        return false;
    const struct field *specific = address_of(&s, "_thread_db_pthread_specific");
    const uint32_t *bytes = address_of(&s, "_thread_db_sizeof_pthread");
    libc.key = address_of(&s, "__pthread_keys");
    if (!specific || !bytes || !libc.key ||
        (uint64_t)specific->bits * specific->count != KEYS_MAX / SLOTS_OF_A_BLOCK * 64 ||
        specific->offset >= *bytes)
        return false;
    libc.specific = specific->offset;
    libc.control_bytes = *bytes;
    return true;
}

/* ---- stale slots ----------------------------------------------------------------------------- */

static void look_at_slots(const struct libc_slots *to, struct slot *slot, const struct key *key)
{
    for (uint32_t i = 0; i < SLOTS_OF_A_BLOCK; i++)
        if (slot[i].data && slot[i].seq != key[i].seq)
            to->stale(&slot[i].data, to->about);
}

void libc_each_slot(uintptr_t control_block, const struct libc_slots *to)
{
    const size_t bytes = SLOTS_OF_A_BLOCK * sizeof(struct slot);
    struct slot *const *specific = (struct slot *const *)(control_block + libc.specific);
    uintptr_t first = (uintptr_t)specific[0];
    if (first < control_block || first - control_block > libc.control_bytes - bytes)
        return; /* it does not match the description */
    for (uint32_t i = 0; i < KEYS_MAX / SLOTS_OF_A_BLOCK; i++)
        if (i == 0 || (specific[i] && to->is_block(specific[i], bytes)))
            look_at_slots(to, specific[i], libc.key + i * SLOTS_OF_A_BLOCK);
}
