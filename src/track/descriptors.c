/*
 * descriptors.c - --track-fds: descriptors closed twice, and descriptors left open.
 *
 * A table has, for each descriptor, the call that opened it last and the call that closed it since.
 * The interposed functions of libc fill it (intercept/descriptors.c).  It lacks what libc opens and
 * closes internally.  So a finding never depends on the table alone: a bad close is a close that the
 * kernel refused (EBADF), and the descriptors open at the end are read from /proc/self/fd.
 *
 * A descriptor is inherited if it was open at the start of the program, or before a fork in the
 * parent.  It is not left open, nor are stdin, stdout and stderr: a shell opens them for a child,
 * and programs end with them.
 *
 * Data: the table, private memory, copied by a fork.  Its words are written without a lock: only
 * the thread that owns a descriptor opens or closes it, and of a program that does not keep to that
 * any of the calls may be recorded.  The order of `closed` and `opened` matters to no reader.
 */
#include "descriptors.h"
#include "track_priv.h"

#include <string.h>
#include <unistd.h>

#define NUMBERS_MOST 65536u /* descriptors above are not recorded */
#define INHERITED (1ull << 31)
#define THREAD_MASK 0x7fffffu

struct descriptor {
    /* stack << 32 | INHERITED or thread << 8 | entry; 0: not known.  closed 0: not closed since */
    _Atomic uint64_t opened, closed;
};

static struct {
    struct descriptor *table;
    uint32_t room;          /* 0: no memory */
    _Atomic uint32_t count; /* above the highest number in use so far */
} all;

uint8_t descriptors_tracked;

static uint32_t stack_of(uint64_t call)
{
    return (uint32_t)(call >> 32);
}

static uint32_t thread_of(uint64_t call)
{
    return call & INHERITED ? 0 : (uint32_t)call >> 8;
}

static enum error_entry entry_of(uint64_t call)
{
    return (enum error_entry)(call & 0xff);
}

static_assert(ENTRY_SYSCALL < 256, "the entries of descriptors, of which this is the last, fit");

/* The word for a call.  In a handler that has interrupted a section the stack is not known. */
static uint64_t word_of(enum error_entry entry, const struct entry *at)
{
    struct section s;
    uint64_t stack = 0, thread = 0;
    if (section_begin(&s)) {
        stack = stack_put(s.t, at);
        thread = s.t->number & THREAD_MASK;
        section_end(&s);
    }
    return stack << 32 | thread << 8 | entry;
}

/* NULL: not recorded. */
static struct descriptor *descriptor_at(int fd)
{
    return fd >= 0 && (uint32_t)fd < all.room && !fork_shares_memory() ? &all.table[fd] : NULL;
}

static void count_to(uint32_t count)
{
    uint32_t before = atomic_load_explicit(&all.count, memory_order_relaxed);
    while (before < count &&
           !atomic_compare_exchange_weak_explicit(&all.count, &before, count, memory_order_relaxed,
                                                  memory_order_relaxed))
        ;
}

static void set(struct descriptor *d, uint64_t opened, uint64_t closed)
{
    atomic_store_explicit(&d->opened, opened, memory_order_relaxed);
    atomic_store_explicit(&d->closed, closed, memory_order_relaxed);
}

/* ---- calls ----------------------------------------------------------------------------------- */

void descriptor_opened(int fd, enum error_entry opener, const struct entry *at)
{
    struct descriptor *d = descriptor_at(fd);
    if (!d)
        return;
    uint64_t word = word_of(opener, at); /* first: in a new child this marks what it inherited */
    count_to((uint32_t)fd + 1);
    set(d, word, 0);
}

struct closing descriptor_close(int fd, enum error_entry closer, const struct entry *at)
{
    struct descriptor *d = descriptor_at(fd);
    if (!d)
        return (struct closing){.fd = -1};
    struct closing c = {.fd = fd, .now = word_of(closer, at)};
    c.opened = atomic_load_explicit(&d->opened, memory_order_relaxed);
    c.closed = atomic_exchange_explicit(&d->closed, c.now, memory_order_relaxed);
    return c;
}

static void note_bad_close(const struct closing *c, enum error_entry closer)
{
    struct section s;
    if (!section_begin(&s))
        return;
    struct error_call call = {s.t, s.write_epoch, (uint32_t)closer << 8, stack_of(c->now)};
    struct error_record e = error_draft(&call, ERROR_FDC);
    e.address = (uint64_t)c->fd;
    e.alloc_stack = stack_of(c->opened);
    e.opener = entry_of(c->opened);
    e.free_stack = stack_of(c->closed);
    e.closer = entry_of(c->closed);
    e.block_thread = thread_of(c->closed);
    error_add(&call, &e);
    section_end(&s);
}

void descriptor_close_failed(const struct closing *c, enum error_entry closer)
{
    struct descriptor *d = descriptor_at(c->fd);
    uint64_t now = c->now;
    if (!d)
        return;
    /* unless another thread has opened it since */
    atomic_compare_exchange_strong_explicit(&d->closed, &now, c->closed, memory_order_relaxed,
                                            memory_order_relaxed);
    if (c->opened)
        note_bad_close(c, closer);
}

void descriptors_closed(unsigned first, unsigned last, enum error_entry closer,
                        const struct entry *at)
{
    uint32_t count = atomic_load_explicit(&all.count, memory_order_relaxed);
    if (fork_shares_memory() || first >= count)
        return;
    uint64_t word = word_of(closer, at);
    for (uint32_t fd = first; fd < count && fd <= last; fd++) {
        struct descriptor *d = &all.table[fd];
        if (atomic_load_explicit(&d->opened, memory_order_relaxed) &&
            !atomic_load_explicit(&d->closed, memory_order_relaxed))
            atomic_store_explicit(&d->closed, word, memory_order_relaxed);
    }
}

/* ---- the end --------------------------------------------------------------------------------- */

#define PROC_FDS "/proc/self/fd"
#define TARGET_BYTES 1024u

/* A number in /proc/self/fd; -1: another name. */
static int number_of(const char *name)
{
    uint64_t n;
    return text_parse_decimal(&name, &n) && !*name && n < INT32_MAX ? (int)n : -1;
}

/* What it refers to: a path, "socket:[1234]"; "": not known.  Returns its length. */
static size_t target_of(const char *name, char out[TARGET_BYTES])
{
    char path[sizeof PROC_FDS + 16];
    struct text t = text_begin(path, sizeof path);
    text_put(&t, PROC_FDS "/");
    text_put(&t, name);
    text_end(&t);
    long n = os_read_link(path, out, TARGET_BYTES - 1);
    out[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

/* The descriptor by which this folder is read. */
static bool is_listing(const char *target, size_t bytes)
{
    return text_starts(target, "/proc/") && bytes > 3 && text_equal(target + bytes - 3, "/fd");
}

/* Of a longer path the end is kept. */
static void note_open(int fd, uint64_t word, const char *target, size_t bytes)
{
    struct section s;
    if (!section_begin(&s))
        return;
    struct error_call call = {s.t, s.write_epoch, (uint32_t)ENTRY_EXIT << 8, 0};
    struct error_record e = error_draft(&call, ERROR_FDL);
    size_t skipped = bytes < sizeof e.region_path ? 0 : bytes + 1 - sizeof e.region_path;
    e.address = (uint64_t)fd;
    e.alloc_stack = stack_of(word);
    e.opener = entry_of(word);
    e.block_thread = thread_of(word);
    memcpy(e.region_path, target + skipped, bytes - skipped);
    error_add(&call, &e);
    section_end(&s);
}

static void check_open(const char *name, void *unused)
{
    (void)unused;
    char target[TARGET_BYTES];
    int fd = number_of(name);
    if (fd < 0)
        return;
    struct descriptor *d = descriptor_at(fd);
    uint64_t word = d ? atomic_load_explicit(&d->opened, memory_order_relaxed) : 0;
    if (d && atomic_load_explicit(&d->closed, memory_order_relaxed))
        word = 0; /* opened since by a call that was not seen */
    bool is_left = !(word & INHERITED) && fd > STDERR_FILENO;
    if (!is_left && rt.options.track_fds != TRACK_FDS_ALL)
        return;
    size_t bytes = target_of(name, target);
    if (word || !is_listing(target, bytes))
        note_open(fd, word, target, bytes);
}

void descriptors_at_end(void)
{
    if (rt.options.track_fds >= TRACK_FDS_YES && descriptors_tracked && !os_sandboxed())
        os_each_name(PROC_FDS, check_open, NULL);
}

/* ---- start ----------------------------------------------------------------------------------- */

static void inherit(const char *name, void *unused)
{
    (void)unused;
    char target[TARGET_BYTES];
    int fd = number_of(name);
    if (fd < 0 || (uint32_t)fd >= all.room || is_listing(target, target_of(name, target)))
        return;
    count_to((uint32_t)fd + 1);
    set(&all.table[fd], INHERITED, 0);
}

void descriptors_start(void)
{
    void *table = rt.options.track_fds ? os_map(NUMBERS_MOST * sizeof *all.table) : NULL;
    if (!table || os_failed(table))
        return;
    all.table = table;
    all.room = NUMBERS_MOST;
    os_each_name(PROC_FDS, inherit, NULL);
    descriptors_tracked = true;
}

void descriptors_after_fork(void)
{
    uint32_t count = atomic_load_explicit(&all.count, memory_order_relaxed);
    for (uint32_t fd = 0; fd < count; fd++) {
        uint64_t word = atomic_load_explicit(&all.table[fd].opened, memory_order_relaxed);
        if (word)
            atomic_store_explicit(&all.table[fd].opened, word | INHERITED, memory_order_relaxed);
    }
}
