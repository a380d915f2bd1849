/*
 * image.c - the header of this process image in the run file, from start to end.
 */
#include "heap.h"
#include "runfile_priv.h"

#include <fcntl.h>
#include <string.h>

#define ROOM_OF_RUN (1u << 20)    /* for findings: first image of a run, */
#define ROOM_OF_IMAGE (64u << 10) /* and every other image */

static struct {
    struct image_header *header;
    bool foreign; /* pids of this image are of another pid namespace than the run's */
    uint32_t number;
    /* also in a vfork child, which is another process in the same memory */
    uint32_t pid;
    struct image_header first; /* the header as it was at start: for cut.c */
} own;

struct image_header *image(void)
{
    return own.header;
}

const struct image_header *image_at_start(void)
{
    return &own.first;
}

uint32_t image_number(void)
{
    return own.number;
}

uint32_t image_pid(void)
{
    return own.foreign ? 0 : own.pid;
}

void image_flag(uint32_t flag)
{
    atomic_fetch_or_explicit(&own.header->flags, flag, memory_order_relaxed);
}

void image_count(_Atomic uint64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

void image_lacks(enum segment_kind kind)
{
    atomic_fetch_or_explicit(&own.header->private_kinds, 1u << kind, memory_order_relaxed);
    image_flag(IMAGE_METADATA_PRIVATE);
}

/*
 * The image that this one replaced by exec: the newest other image of this process.  It no longer
 * reads inherited records, so its lease, if any, is released (leases_exec).
 */
static uint32_t previous_image(void)
{
    uint32_t used = atomic_load_explicit(&run_header()->next_area, memory_order_relaxed);
    uint32_t pid = image_pid(), found = 0;
    if (!pid)
        return 0; /* an equal pid is of another namespace */
    for (uint32_t i = 1; i < used && i < run_header()->area_count; i++) {
        struct area_entry *e = &run_areas()[i];
        uint64_t owner = atomic_load_explicit(&e->owner, memory_order_acquire);
        uint32_t number = area_owner_image(owner);
        if (atomic_load_explicit(&e->pid, memory_order_relaxed) == pid &&
            area_owner_state(owner) == AREA_CLAIMED && number < own.number && number > found)
            found = number;
    }
    leases_exec(pid);
    return found;
}

/* ---- start ----------------------------------------------------------------------------------- */

static void read_command(struct image_header *h)
{
    long n = os_read_link("/proc/self/exe", h->exe, sizeof h->exe - 1);
    h->exe[n > 0 ? n : 0] = '\0';
    int fd = os_open("/proc/self/cmdline", O_RDONLY, 0);
    n = fd >= 0 ? os_read(fd, h->argv, sizeof h->argv - 1) : 0;
    if (fd >= 0)
        os_close(fd);
    h->argv_bytes = n > 0 ? (uint32_t)n : 0;
    h->argv[h->argv_bytes] = '\0';
    if (n > 0 && h->argv[n - 1]) /* truncated, or overwritten by the program */
        h->argv_bytes++;
    for (uint32_t i = 0; i < h->argv_bytes; i++)
        h->argc += !h->argv[i];
}

static void copy_command(struct image_header *h, const struct image_header *from)
{
    memcpy(h->exe, from->exe, sizeof h->exe);
    memcpy(h->argv, from->argv, sizeof h->argv);
    h->argv_bytes = from->argv_bytes;
    h->argc = from->argc;
}

void image_note_losses(void)
{
    __atomic_store_n(&own.header->missing_features, os_missing_features(), __ATOMIC_RELAXED);
}

static void fill_header(struct image_header *h, const struct image_request *request,
                        const struct image_header *parent)
{
    h->image = own.number;
    h->parent = request->how == IMAGE_EXEC ? previous_image() : request->parent;
    h->pid = own.pid;
    /*
     * From the parent's header if there is one: a child may be in a sandbox.  0: no pid of the
     * run's namespace.
     */
    h->ppid = own.foreign ? 0 : parent ? parent->pid : os_ppid();
    h->how = request->how;
    h->header_bytes = sizeof *h;
    h->start_ns = os_wall_clock_ns();
    h->heap_base = heap.base;
    atomic_store_explicit(&h->heap_bytes, atomic_load(&heap.bytes), memory_order_relaxed);
    h->first_thread = request->first_thread;
    h->first_depot_chunk = request->first_depot_chunk;
    h->stack_frames = request->frames;
    h->lease = request->lease;
    h->checks = parent ? parent->checks : request->checks;
    h->error_limit = parent ? parent->error_limit : request->error_limit;
    h->quarantine_bytes = pool_knobs.quarantine_bytes;
    h->malloc_fill = (uint16_t)(pool_knobs.malloc_fill + 1);
    h->free_fill = (uint16_t)(pool_knobs.free_fill + 1);
    h->missing_features = os_missing_features();
    atomic_store_explicit(&h->flags, request->flags, memory_order_relaxed);
    os_thread_name(h->name);
    if (parent)
        copy_command(h, parent);
    else
        read_command(h);
    atomic_store_explicit(&h->state, IMAGE_OPEN, memory_order_relaxed);
    __atomic_store_n(&h->magic, RTC_IMAGE_MAGIC, __ATOMIC_RELEASE);
}

/* Two private headers alternate: a child still reads its parent's. */
static struct image_header *private_header(void)
{
    static struct image_header headers[2];
    struct image_header *h = &headers[own.header == &headers[0]];
    memset(h, 0, sizeof *h);
    return h;
}

/* Allocate the header in a new area, else in private memory (never NULL). */
static struct image_header *header_alloc(void)
{
    if (run_header()) {
        own.number = atomic_fetch_add(&run_header()->next_image, 1) + 1;
        struct image_header *h = area_begin(sizeof *h);
        if (h)
            return h;
        atomic_fetch_add(&run_header()->unrecorded_images, 1);
    }
    return private_header();
}

/* A child may have been moved into another pid namespace. */
static void look_at_namespace(void)
{
    uint32_t namespace = os_pid_namespace(), first = 0;
    if (namespace &&
        !atomic_compare_exchange_strong(&run_header()->pid_namespace, &first, namespace))
        own.foreign = first != namespace;
    os_pids_are_foreign(own.foreign);
}

void image_start(const struct image_request *request)
{
    if (run_header() && !os_sandboxed())
        look_at_namespace();
    own.pid = os_pid();
    bool forked = request->how == IMAGE_FORK || request->how == IMAGE_FORK_UNSEEN;
    const struct image_header *parent = forked ? own.header : NULL;
    struct image_header *h = header_alloc();
    fill_header(h, request, parent);
    own.header = h;
    memcpy(&own.first, h, sizeof own.first);
    area_publish(0);
    if (run_contains(h))
        segments_reserve(own.number == 1 ? ROOM_OF_RUN : ROOM_OF_IMAGE);
    run_ring();
}

/* ---- end ------------------------------------------------------------------------------------- */

static void note_costs(struct image_header *h)
{
    struct rusage usage;
    h->task_clock_ns = os_cpu_clock_ns();
    h->costs_known = COST_CLOCK;
    if (!os_usage(&usage))
        return;
    h->minor_faults = (uint64_t)usage.ru_minflt;
    h->major_faults = (uint64_t)usage.ru_majflt;
    h->voluntary_switches = (uint64_t)usage.ru_nvcsw;
    h->involuntary_switches = (uint64_t)usage.ru_nivcsw;
    h->max_rss_bytes = (uint64_t)usage.ru_maxrss << 10;
    h->costs_known |= COST_RUSAGE;
}

void image_end(enum image_end how, int status)
{
    struct image_header *h = own.header;
    uint32_t open = IMAGE_OPEN;
    if (!h || atomic_load_explicit(&h->state, memory_order_relaxed) != open)
        return;
    image_note_losses();
    if (self)
        threads_publish_balance(self);
    note_costs(h);
    h->end_ns = os_wall_clock_ns();
    h->end_how = how;
    h->end_status = status;
    /* Pairs with the reader's acquire: the fields above are valid once ENDING is seen. */
    atomic_compare_exchange_strong_explicit(&h->state, &open, IMAGE_ENDING, memory_order_release,
                                            memory_order_relaxed);
    run_ring();
}

void image_reopen(void)
{
    own.header->end_how = END_UNKNOWN;
    atomic_store_explicit(&own.header->state, IMAGE_OPEN, memory_order_release);
}
