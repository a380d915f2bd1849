/*
 * shm.c - shmat and shmdt: System V shared memory.
 */
#include "change.h"

/*
 * With huge pages the mapping may be larger than the segment.  Such mappings are aligned to the
 * smallest huge page.
 */
static uint64_t attached_bytes(const void *at, uint64_t bytes)
{
    struct mapping m;
    if ((uintptr_t)at % HUGE_PAGE_BYTES || bytes % HUGEST_PAGE_BYTES == 0)
        return bytes;
    bool found = os_mapping_of((uintptr_t)at, &m) == 1 && m.start == (uintptr_t)at;
    return found && m.end - m.start > bytes ? m.end - m.start : bytes;
}

static struct map_region attached(const union rtc_event *e, uint64_t bytes)
{
    int flags = e->shmat.shmflg;
    struct range r = range_of(e->shmat.result, bytes);
    return (struct map_region){
        .start = r.start,
        .end = r.end,
        .inode = (uint64_t)e->shmat.shmid,
        .device = MAP_FILE_UNKNOWN,
        .shared = true,
        .protection = (uint8_t)(PROT_READ | (flags & SHM_RDONLY ? 0 : PROT_WRITE) |
                                (flags & SHM_EXEC ? PROT_EXEC : 0)),
    };
}

void *change_attach(struct origin o, int shmid, const void *shmaddr, int shmflg)
{
    struct change c;
    union rtc_event e = {.shmat = {INVALID_POINTER, shmid, shmaddr, shmflg}};
    uint64_t bytes = os_shared_segment_bytes(shmid);
    uintptr_t at = (uintptr_t)shmaddr;
    at = shmflg & SHM_RND ? align_down(at, PAGE_BYTES) : at; /* SHMLBA is a page */
    struct range over = shmflg & SHM_REMAP && at ? range_of((void *)at, bytes) : NO_RANGE;
    change_begin(&c, o);
    change_going(&c, over);
    if (change_refused(&c, OP(SHMAT, MALLOC), over, NO_RANGE))
        return MAP_FAILED;
    mapped_begin(&c.map);
    change_call(&c, RTC_EVENT_SHMAT, &e);
    if (e.shmat.result != INVALID_POINTER) {
        bytes = attached_bytes(e.shmat.result, bytes);
        struct map_region r = attached(&e, bytes);
        mapped_new(&c.map, &r);
        change_mapped(&c, range_of(e.shmat.result, bytes));
        attachment_note((uintptr_t)e.shmat.result, bytes, shmid);
    } else
        change_unchanged(&c, over);
    change_end(&c);
    return e.shmat.result;
}

int change_detach(struct origin o, const void *shmaddr)
{
    struct change c;
    union rtc_event e = {.shmdt = {-1, shmaddr}};
    struct range gone = attachment_of((uintptr_t)shmaddr);
    change_begin(&c, o);
    c.map.by = ENTRY_NONE;
    change_unmapped(&c, gone);
    mapped_begin(&c.map);
    mapped_take_attachment(&c.map, gone.start, gone.end, (uintptr_t)shmaddr);
    change_call(&c, RTC_EVENT_SHMDT, &e);
    if (e.shmdt.result == -1)
        change_unchanged(&c, gone);
    else
        mapped_unmapped(&c.map, true);
    change_end(&c);
    return e.shmdt.result;
}
