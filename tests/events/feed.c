/*
 * feed.c - a map of what is mapped, fed by events.
 *
 * Ranges that go (VM_UNMAPPED) are removed before the call, as another thread may get their place before this one
 * returns; ranges that come are added after it.  Removed ranges are kept until the next call: mremap puts them
 * elsewhere, and VM_CANCELLED puts them back.
 */
#include "feed.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "rtcheck/event.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

#define REGIONS_MAX 20000u
#define SAVED_MAX 256u

static struct maps maps, kernels;
static atomic_flag busy = ATOMIC_FLAG_INIT;
static _Atomic uint64_t serial;

static __thread struct map_region saved[SAVED_MAX];
static __thread unsigned saved_count;

static void must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "feed: %s\n", what);
    abort();
}

static void lock(void)
{
    while (atomic_flag_test_and_set(&busy))
        ;
}

static void unlock(void)
{
    atomic_flag_clear(&busy);
}

static uint64_t up(uint64_t bytes)
{
    return (bytes + FEED_PAGE - 1) & -FEED_PAGE;
}

static void put(struct map_region r)
{
    must(maps_put(&maps, &r), "no room");
}

/* ---- removing ------------------------------------------------------------------------------------ */

static bool clip(struct map_region *r, uint64_t start, uint64_t end)
{
    if (r->start < start) {
        r->offset += r->device || r->inode ? start - r->start : 0;
        r->start = start;
    }
    r->end = r->end < end ? r->end : end;
    return r->start < r->end;
}

static void take(uint64_t start, uint64_t end)
{
    const struct map_region *r;
    for (uint64_t at = start; start < end && (r = maps_find(&maps, at)) && r->start < end;
         at = r->end) {
        must(saved_count < SAVED_MAX, "too many ranges at once");
        saved[saved_count] = *r;
        saved_count += clip(&saved[saved_count], start, end);
    }
    must(maps_remove(&maps, start, end), "no room");
}

/* The first piece of a segment that lies where it would if that were attached there, and all others. */
static void take_attachment(uint64_t from)
{
    struct map_region first = {0};
    struct shmid_ds ds = {0};
    const struct map_region *r;
    for (uint64_t at = from; (r = maps_find(&maps, at));) {
        struct map_region own = *r;
        at = own.end;
        if (own.device != DEVICE_SHM || own.start < from || own.start - from != own.offset ||
            (first.end && (own.inode != first.inode || own.end - from > up(ds.shm_segsz))))
            continue;
        if (!first.end)
            must(shmctl((int)own.inode, IPC_STAT, &ds) == 0, "shmctl");
        first = first.end ? first : own;
        take(own.start, own.end);
    }
}

static uint64_t current_break(void)
{
    return (uint64_t)syscall(SYS_brk, 0); /* libc has its own idea of it */
}

#define ANNOUNCED_MAX 4u

static __thread struct {
    uint64_t start, end;
} announced[ANNOUNCED_MAX]; /* by VM_UNMAPPED, in front of the native event */
static __thread unsigned announced_count;
static __thread uint64_t break_before;
static __thread union rtc_event failed_move; /* the event of a call that failed */

static void announce(unsigned type, union rtc_event *e, void *unused)
{
    (void)type, (void)unused;
    must(announced_count < ANNOUNCED_MAX, "too many announcements");
    announced[announced_count].start = (uintptr_t)e->vm_unmapped.address;
    announced[announced_count++].end = (uintptr_t)e->vm_unmapped.address + e->vm_unmapped.size;
}

static void before(unsigned type, union rtc_event *e, void *unused)
{
    (void)unused;
    saved_count = 0;
    memset(&failed_move, 0, sizeof failed_move);
    break_before = type & (RTC_EVENT_SBRK | RTC_EVENT_BRK) ? current_break() : 0;
    lock();
    if (type == RTC_EVENT_SHMDT)
        take_attachment((uintptr_t)e->shmdt.shmaddr); /* others may lie between its pieces */
    else if (!(type & (RTC_EVENT_MADVISE | RTC_EVENT_REMAP_FILE_PAGES))) /* these stay mapped */
        for (unsigned i = 0; i < announced_count; i++)
            take(announced[i].start, announced[i].end);
    unlock();
    announced_count = 0;
}

/* ---- coming -------------------------------------------------------------------------------------- */

static struct map_region mapped_by(const union rtc_event *e)
{
    struct stat st;
    int type = e->mmap.flags & MAP_TYPE;
    bool shared = type != MAP_PRIVATE;
    struct map_region r = {.start = (uintptr_t)e->mmap.result,
                           .end = (uintptr_t)e->mmap.result + up(e->mmap.size),
                           .protection = (uint8_t)(e->mmap.prot & 7),
                           .shared = shared};
    if (!(e->mmap.flags & MAP_ANONYMOUS)) {
        must(fstat(e->mmap.fd, &st) == 0, "fstat");
        if (S_ISCHR(st.st_mode) && !shared)
            return r; /* /dev/zero: anonymous except for its name */
        r.offset = (uint64_t)e->mmap.offset;
        r.inode = st.st_ino;
        r.device = makedev(major(st.st_dev), minor(st.st_dev));
    }
    if (shared && (e->mmap.flags & MAP_ANONYMOUS || S_ISCHR(st.st_mode))) {
        r.device = DEVICE_ANONYMOUS;
        r.inode = ++serial;
    }
    return r;
}

/*
 * Move the saved ranges from the old place to the new one; the last piece grows.  If the old one has a hole,
 * the ranges at the new one stay (kernels that move several mappings at once).
 */
static void move_saved(const union rtc_event *e)
{
    uint64_t from = (uintptr_t)e->mremap.address, to = (uintptr_t)e->mremap.result;
    uint64_t end = to + up(e->mremap.new_size), old_end = from + up(e->mremap.old_size);
    for (unsigned i = 0; i < saved_count; i++)
        if (saved[i].start < from || saved[i].start >= old_end)
            put(saved[i]);
    for (unsigned i = 0; i < saved_count; i++) {
        struct map_region r = saved[i];
        if (r.start < from || r.start >= old_end)
            continue; /* the target's */
        if (r.end == old_end)
            r.end = from + up(e->mremap.new_size);
        r.start += to - from;
        r.end += to - from;
        if (clip(&r, to, end))
            put(r);
        if (e->mremap.flags & MREMAP_DONTUNMAP)
            put(saved[i]);
    }
}

/* A second one of a shared mapping. */
static void duplicate(const union rtc_event *e)
{
    uint64_t from = (uintptr_t)e->mremap.address, to = (uintptr_t)e->mremap.result;
    const struct map_region *old = maps_find(&maps, from);
    must(old && old->start <= from, "a duplicate of nothing");
    struct map_region r = *old;
    r.offset += from - r.start;
    r.start = to;
    r.end = to + up(e->mremap.new_size);
    put(r);
}

static void attached(const union rtc_event *e)
{
    struct shmid_ds ds;
    int flags = e->shmat.shmflg;
    uint64_t at = (uintptr_t)e->shmat.result;
    must(shmctl(e->shmat.shmid, IPC_STAT, &ds) == 0, "shmctl");
    put((struct map_region){.start = at,
                            .end = at + up(ds.shm_segsz),
                            .inode = (uint64_t)e->shmat.shmid,
                            .device = DEVICE_SHM,
                            .shared = true,
                            .protection =
                                (uint8_t)(PROT_READ | (flags & SHM_RDONLY ? 0 : PROT_WRITE) |
                                          (flags & SHM_EXEC ? PROT_EXEC : 0))});
}

/* Page by page as far as something is mapped, also when the call then fails. */
static void protect(const union rtc_event *e)
{
    uint64_t at = (uintptr_t)e->mprotect.address, end = at + up(e->mprotect.size), from = at;
    const struct map_region *r;
    if (at % FEED_PAGE || end < at)
        return;
    while (at < end && (r = maps_find(&maps, at)) && r->start <= at)
        at = r->end < end ? r->end : end;
    must(maps_protect(&maps, from, at, (uint8_t)(e->mprotect.prot & 7)), "no room");
}

static void file_pages(const union rtc_event *e)
{
    uint64_t at = (uintptr_t)e->remap_file_pages.address & -FEED_PAGE;
    const struct map_region *old = maps_find(&maps, at);
    must(old && old->start <= at, "file pages of nothing");
    struct map_region r = *old;
    r.start = at;
    r.end = at + (e->remap_file_pages.size & -FEED_PAGE);
    r.offset = e->remap_file_pages.pgoff * FEED_PAGE;
    put(r);
}

static void break_comes(void)
{
    uint64_t now = current_break();
    put((struct map_region){
        .start = up(break_before), .end = up(now), .protection = PROT_READ | PROT_WRITE});
}

static void after(unsigned type, union rtc_event *e, void *unused)
{
    (void)unused;
    bool pointer = type & (RTC_EVENT_MMAP | RTC_EVENT_MREMAP | RTC_EVENT_SHMAT | RTC_EVENT_SBRK);
    bool failed = pointer ? e->mmap.result == MAP_FAILED : e->munmap.result == -1;
    if (failed && type == RTC_EVENT_MREMAP)
        failed_move = *e;
    if (failed && type != RTC_EVENT_MPROTECT)
        return;
    lock();
    switch (type) {
    case RTC_EVENT_MMAP:
        put(mapped_by(e));
        break;
    case RTC_EVENT_MREMAP:
        if (up(e->mremap.old_size))
            move_saved(e);
        else
            duplicate(e);
        break;
    case RTC_EVENT_SHMAT:
        attached(e);
        break;
    case RTC_EVENT_SBRK:
    case RTC_EVENT_BRK:
        break_comes();
        break;
    case RTC_EVENT_MPROTECT:
        if (!failed || errno == ENOMEM)
            protect(e);
        break;
    case RTC_EVENT_REMAP_FILE_PAGES:
        file_pages(e);
        break;
    default:
        break;
    }
    unlock();
}

/* Put removed ranges back that are still mapped. */
static void cancelled(unsigned type, union rtc_event *e, void *unused)
{
    (void)type, (void)unused;
    uint64_t start = (uintptr_t)e->vm_cancelled.address, end = start + e->vm_cancelled.size;
    lock();
    for (unsigned i = 0; i < saved_count; i++) {
        struct map_region r = saved[i];
        if (clip(&r, start, end))
            put(r);
    }
    unlock();
}

/* A move of several mappings failed: this piece has been moved, or lies where no piece was to be moved from. */
static void moved(unsigned type, union rtc_event *e, void *unused)
{
    (void)type, (void)unused;
    uint64_t start = (uintptr_t)e->vm_mapped.address, end = start + e->vm_mapped.size;
    uint64_t distance =
        (uintptr_t)failed_move.mremap.new_address - (uintptr_t)failed_move.mremap.address;
    if (!failed_move.mremap.result)
        return;
    cancelled(type, e, NULL);
    lock();
    for (unsigned i = 0; i < saved_count; i++) {
        struct map_region r = saved[i];
        r.start += distance;
        r.end += distance;
        if (clip(&r, start, end))
            put(r);
    }
    unlock();
}

/* ---- the kernel's list ----------------------------------------------------------------------------- */

#define PROGRAM_CALLS_MAX 40000u

/* Ranges that are not the runtime's, as a replay reports them. */
static struct program_call {
    uint64_t start, end;
} program_call[PROGRAM_CALLS_MAX];
static unsigned program_call_count;

static void note(unsigned type, union rtc_event *e, void *unused)
{
    (void)type, (void)unused;
    uint64_t start = (uintptr_t)e->vm_mapped.address;
    must(program_call_count < PROGRAM_CALLS_MAX, "too many mappings");
    if (program_call_count && start < program_call[program_call_count - 1].start)
        program_call_count = 0; /* that was the heap, which is the runtime's to map */
    program_call[program_call_count++] = (struct program_call){start, start + e->vm_mapped.size};
}

static void find_program_calls(void)
{
    program_call_count = 0;
    must(rtc_event_set_handler(RTC_EVENT_VM_MAPPED | RTC_EVENT_FLAG_NO_INSTALL |
                                   RTC_EVENT_FLAG_EXISTING_ALLOC,
                               0, note, NULL) == 0,
         "replay");
    must(rtc_event_unset_handler(RTC_EVENT_VM_MAPPED, note, NULL) == 0, "replay");
}

/* "start-end rwxp offset major:minor inode path" */
static bool parse(const char *line, struct map_region *r)
{
    unsigned long start, end, offset, inode;
    unsigned major_number, minor_number;
    char rights[8], path[512] = "";
    int n = sscanf(line, "%lx-%lx %7s %lx %x:%x %lu %511[^\n]", &start, &end, rights, &offset,
                   &major_number, &minor_number, &inode, path);
    if (n < 7 || strcmp(path, "[stack]") == 0 || start >> 47)
        return false;
    *r = (struct map_region){.start = start,
                             .end = end,
                             .offset = offset,
                             .inode = inode,
                             .device = makedev(major_number, minor_number),
                             .shared = rights[3] == 's',
                             .protection = (uint8_t)((rights[0] == 'r' ? PROT_READ : 0) |
                                                     (rights[1] == 'w' ? PROT_WRITE : 0) |
                                                     (rights[2] == 'x' ? PROT_EXEC : 0))};
    if (strncmp(path, "/SYSV", 5) == 0)
        r->device = DEVICE_SHM;
    else if (r->shared && strcmp(path, "/dev/zero (deleted)") == 0)
        r->device = DEVICE_ANONYMOUS;
    else if (strcmp(path, "/dev/zero") == 0)
        r->device = r->inode = 0;
    if (!r->inode && !r->device)
        r->offset = 0;
    return true;
}

/* Add the parts of one line that are not the runtime's; `from` advances with the lines. */
static void read_line(struct maps *to, const struct map_region *whole, unsigned *from)
{
    while (*from < program_call_count && program_call[*from].end <= whole->start)
        ++*from;
    for (unsigned i = *from; i < program_call_count && program_call[i].start < whole->end; i++) {
        struct map_region r = *whole;
        if (clip(&r, program_call[i].start, program_call[i].end))
            must(maps_put(to, &r), "no room");
    }
}

static void read_kernels(struct maps *to)
{
    char line[1024];
    unsigned from = 0;
    struct map_region whole;
    find_program_calls();
    FILE *f = fopen("/proc/self/maps", "r");
    must(f != NULL, "/proc/self/maps");
    while (fgets(line, sizeof line, f))
        if (parse(line, &whole))
            read_line(to, &whole, &from);
    fclose(f);
}

static void make(struct maps *m)
{
    size_t bytes = maps_bytes(REGIONS_MAX);
    void *at = malloc(bytes);
    must(at != NULL, "no memory");
    maps_init(m, at, bytes);
}

/* ---- comparing ---------------------------------------------------------------------------------- */

static void print_region(const char *title, const struct map_region *r)
{
    if (r)
        fprintf(stderr, "  %s: %lx-%lx %u%c offset %lx device %lx inode %lu\n", title, r->start,
                r->end, r->protection, r->shared ? 's' : 'p', r->offset, r->device, r->inode);
}

/* The kernel's inode of each serial number, and the other way round by looking. */
static uint64_t inode_of[1u << 21];

static bool same_file(const struct map_region *a, const struct map_region *b)
{
    if (a->device != DEVICE_ANONYMOUS || b->device != DEVICE_ANONYMOUS)
        return a->device == b->device && a->inode == b->inode;
    must(a->inode < sizeof inode_of / sizeof inode_of[0], "too many serial numbers");
    if (!inode_of[a->inode])
        inode_of[a->inode] = b->inode;
    return inode_of[a->inode] == b->inode;
}

static bool same(const struct map_region *a, const struct map_region *b)
{
    return a && b && a->start == b->start && a->end == b->end && a->offset == b->offset &&
           a->protection == b->protection && a->shared == b->shared && same_file(a, b);
}

unsigned feed_compare(void)
{
    unsigned differences = 0;
    must(maps_is_valid(&maps), "the map is not in order");
    maps_init(&kernels, kernels.leaf, maps_bytes(REGIONS_MAX));
    read_kernels(&kernels);
    for (uint64_t at = 0; differences < 10;) {
        const struct map_region *a = maps_find(&maps, at), *b = maps_find(&kernels, at);
        if (!a && !b)
            break;
        if (!same(a, b)) {
            differences++;
            print_region("events", a);
            print_region("kernel", b);
        }
        at = !a ? b->end : !b ? a->end : a->end < b->end ? a->end : b->end;
    }
    return differences;
}

/* ---- the door --------------------------------------------------------------------------------------- */

bool feed_find(uint64_t at, struct map_region *r)
{
    lock();
    const struct map_region *found = maps_find(&maps, at);
    bool there = found && found->start <= at;
    if (there)
        *r = *found;
    unlock();
    return there;
}

bool feed_find_kernels(uint64_t at, struct map_region *r)
{
    char line[1024];
    struct map_region one;
    bool found = false;
    FILE *f = fopen("/proc/self/maps", "r");
    must(f != NULL, "/proc/self/maps");
    while (!found && fgets(line, sizeof line, f))
        found = parse(line, &one) && one.start <= at && at < one.end;
    fclose(f);
    if (found)
        *r = one;
    return found;
}

uint32_t feed_ranges(void)
{
    return maps.count;
}

void feed_start(void)
{
    static const unsigned natives = 0xfff;
    make(&maps);
    make(&kernels);
    read_kernels(&maps);
    must(rtc_event_set_handler(natives, -1, before, NULL) == 0, "before");
    must(rtc_event_set_handler(natives, 1, after, NULL) == 0, "after");
    must(rtc_event_set_handler(RTC_EVENT_VM_UNMAPPED, 2, announce, NULL) == 0, "announce");
    must(rtc_event_set_handler(RTC_EVENT_VM_MAPPED, 2, moved, NULL) == 0, "moved");
    must(rtc_event_set_handler(RTC_EVENT_VM_CANCELLED, 2, cancelled, NULL) == 0, "cancelled");
}
