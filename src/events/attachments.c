/*
 * attachments.c - which range shmdt unmaps.  As in the kernel: all pieces of the segment that lie
 * where they would if the whole segment were attached there.
 *
 * Attachments made through our functions are remembered in a small table.  If one is still in one
 * piece according to the map of mappings, its range is used.  Otherwise /proc/self/maps is read,
 * which may be long.  If that is not possible (in a sandbox), the remembered range is used.
 *
 * The table is protected by srcu_lock.
 */
#include "events_priv.h"

#define ATTACHMENTS_MAX 64u

static struct attachment {
    uintptr_t at;
    uint64_t bytes;
    int segment;
} attachment[ATTACHMENTS_MAX];

void attachment_note(uintptr_t at, uint64_t bytes, int segment)
{
    static uint32_t oldest;
    srcu_lock();
    struct attachment *a = NULL;
    for (uint32_t i = 0; i < ATTACHMENTS_MAX; i++)
        if (attachment[i].at == at)
            a = &attachment[i];
    if (!a)
        a = &attachment[oldest++ % ATTACHMENTS_MAX];
    *a = (struct attachment){at, bytes, segment};
    srcu_unlock();
}

static struct attachment remembered(uintptr_t at)
{
    struct attachment a = {0};
    srcu_lock();
    for (uint32_t i = 0; i < ATTACHMENTS_MAX && !a.bytes; i++)
        if (attachment[i].at == at)
            a = attachment[i];
    srcu_unlock();
    return a;
}

/* A raw system call may have made holes that the map does not contain. */
static bool is_in_one_piece(const struct attachment *a)
{
    struct map_region r;
    return a->bytes && mapped_find(a->at, &r) && r.shared && r.inode == (uint64_t)a->segment &&
           r.start == a->at && r.end == a->at + align_up(a->bytes, PAGE_BYTES) &&
           os_all_mapped(r.start, r.end - r.start);
}

static bool is_same_segment(const struct mapping *a, const struct mapping *b)
{
    return a->inode == b->inode && a->major == b->major && a->minor == b->minor;
}

/* Does the mapping lie where it would if its whole segment were attached at `at`? */
static bool belongs(const struct mapping *m, uintptr_t at)
{
    return m->shared && m->start >= at && m->start - at == m->offset &&
           text_starts(m->path, "/SYSV");
}

struct range attachment_of(uintptr_t at)
{
    struct mappings all;
    struct mapping m, first = {0};
    struct range r = {0, 0};
    struct attachment known = remembered(at);
    uint64_t bytes = known.bytes;
    if (is_in_one_piece(&known))
        return (struct range){at, at + align_up(bytes, PAGE_BYTES)};
    if (os_mappings_open(&all))
        return (struct range){at, at + bytes};
    while (os_mappings_next(&all, &m)) {
        if (!belongs(&m, at) || (r.end && (!is_same_segment(&first, &m) || m.end - at > bytes)))
            continue;
        if (!r.end) {
            first = m; /* the first piece determines the segment, even if mremap has changed it */
            r.start = m.start;
            bytes = os_shared_segment_bytes((int)m.inode);
        }
        r.end = m.end;
    }
    os_mappings_close(&all);
    return r;
}
