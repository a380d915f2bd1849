/*
 * keys.c - ignore stale words in the slots of deleted pthread keys (pthread_key_delete).
 *
 * libc does not clear the slots of a deleted key, and pthread_getspecific never returns such a word
 * (src/libc finds them).  In a libc of unknown structure slots are scanned like other words.
 *
 * The slots lie in roots and in heap blocks.  Stale words are set to 0 during the scan, while all
 * threads are stopped, and restored afterwards: no other code needs to skip them.  Slots of a
 * thread that did not stop are left unchanged, and its words are scanned.
 */
#include "leakcheck_priv.h"

#include <errno.h>

static uintptr_t symbol_of(const void *o, const char *name)
{
    return loader_symbol(o, name);
}

/* Symbols are found by hash, in tables that stay mapped. */
static bool are_known(void)
{
    static bool looked, known;
    struct object o;
    if (!looked)
        known = loader_find((uintptr_t)__errno_location, &o) && libc_keys_start(symbol_of, &o);
    looked = true;
    return known;
}

struct muting {
    struct muted *muted; /* NULL: only count them */
    uint64_t count, room;
};

static void mute(void **word, void *about)
{
    struct muting *m = about;
    if (m->muted && m->count < m->room) {
        m->muted[m->count] = (struct muted){word, *word};
        *word = NULL;
    }
    m->count++;
}

static bool is_block(const void *p, size_t bytes)
{
    struct found f = pool_find(p);
    return f.verdict == PTR_START && pool_room(&f) >= bytes;
}

static void look_at_threads(struct muting *m, const struct stopped_world *w, bool all)
{
    const struct libc_slots to = {is_block, mute, m};
    m->count = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        const struct stopped_thread *t = &w->thread[i];
        if (t->control_block && !t->over && (all || is_answered(t)))
            libc_each_slot(t->control_block, &to);
    }
}

void keys_mute(const struct stopped_world *w, bool all, struct muted_words *out)
{
    struct muting m = {0};
    *out = (struct muted_words){0};
    if (!are_known())
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
