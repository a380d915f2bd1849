/*
 * image.c - this process image in the run file: its header, its areas, its segments.
 *
 * An area is claimed by one compare-and-swap in the run's table; free ones that were taken back
 * come first, then the next that was never used.  Within an area segments are handed out from
 * front to back; what is vacated is kept for the next segment of the same length.  Pages are made
 * real step by step (READY_STEP) before they are touched: a full file system is an answer here,
 * not a signal.
 *
 * Whoever finds the table crowded by images whose processes are gone takes their areas back
 * (reclaim), unless somebody alive may still read them.  The launcher does the same all the time,
 * and reads them first.
 *
 * What does not fit the file lives in private memory and is counted: the program runs on.
 */
#include "pool_priv.h"

#include <fcntl.h>
#include <string.h>

#define READY_STEP (64u << 10)
#define VACANT_MAX 512u
#define LAUNCHER_WAITS 50u
#define LAUNCHER_WAIT_NS 1000000u
#define CROWDED_BY_HAND 64u /* nobody reads them before the end: their details are lost */
#define CROWDED 28u /* dead images in the table before a process takes back by itself */

static struct {
    struct lock lock;
    struct image_header *header;
    bool foreign; /* our pids mean nothing to the others of the run */
    uint32_t number;
    uint32_t area; /* current, 0 = none */
    char *base;    /* of it */
    uint64_t used, ready;
    uint32_t areas[RTC_AREA_COUNT_MAX]; /* all of ours, for a child to close */
    uint32_t area_count;
    struct segment *vacant[VACANT_MAX];
    uint32_t vacant_count;
} own = {.lock = LOCK_INIT(RANK_META)};

struct image_header *image(void)
{
    return own.header;
}

void image_flag(uint32_t flag)
{
    atomic_fetch_or_explicit(&own.header->flags, flag, memory_order_relaxed);
}

void image_count(_Atomic uint64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* ---- areas ---------------------------------------------------------------------------------- */

static bool try_claim(uint32_t index)
{
    struct area_entry *e = &run_areas()[index];
    uint64_t vacant = area_owner(AREA_FREE, 0);
    if (!atomic_compare_exchange_strong_explicit(&e->owner, &vacant,
                                                 area_owner(AREA_CLAIMED, own.number),
                                                 memory_order_acq_rel, memory_order_relaxed))
        return false; /* pairs with itself: one winner */
    atomic_store_explicit(&e->pid, own.foreign ? 0 : os_pid(), memory_order_relaxed);
    return true;
}

/* 0 = none to be had. */
static uint32_t area_claim(void)
{
    struct run_header *run = run_header();
    uint32_t limit = run_area_limit();
    uint32_t used = atomic_load_explicit(&run->next_area, memory_order_relaxed);
    for (uint32_t i = 1; i < used && i < limit; i++)
        if (!atomic_load_explicit(&run_areas()[i].owner, memory_order_relaxed) && try_claim(i))
            return i;
    while (used < limit) {
        uint32_t i = atomic_fetch_add_explicit(&run->next_area, 1, memory_order_relaxed);
        if (i < limit && try_claim(i))
            return i;
        used = i + 1;
    }
    return 0;
}

/* Makes the front of the current area, up to `bytes`, usable. */
static bool ready_to(uint64_t bytes)
{
    if (bytes <= own.ready)
        return true;
    uint64_t step = own.ready / 4 > READY_STEP ? align_up(own.ready / 4, READY_STEP) : READY_STEP;
    uint64_t want = align_up(bytes, READY_STEP);
    want = own.ready ? want + step - READY_STEP : want;
    if (want > run_header()->area_bytes)
        want = run_header()->area_bytes;
    char *at = own.base + own.ready;
    /* Said before it is done: whoever takes the area back must not overlook a page. */
    atomic_store_explicit(&run_areas()[own.area].populated_bytes, (uint32_t)want,
                          memory_order_release);
    if (os_allow(at, want - own.ready) || os_populate(at, want - own.ready))
        return false;
    own.ready = want;
    return true;
}

static bool area_open(uint32_t index, uint32_t previous, uint32_t ordinal)
{
    own.area = index;
    own.base = run_area(index);
    own.ready = 0;
    own.used = RTC_AREA_HEAD_BYTES;
    if (!ready_to(RTC_AREA_HEAD_BYTES + (ordinal ? 0 : sizeof(struct image_header)))) {
        atomic_store(&run_areas()[index].owner, area_owner(AREA_FREE, 0));
        own.area = 0;
        return false;
    }
    struct area_head *head = (struct area_head *)(void *)own.base;
    head->image = own.number;
    head->ordinal = ordinal;
    head->area = index;
    head->previous = previous;
    atomic_store_explicit(&head->used_bytes, own.used, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    head->magic = RTC_AREA_MAGIC;
    own.areas[own.area_count++ % RTC_AREA_COUNT_MAX] = index;
    return true;
}

/* ---- taking back ---------------------------------------------------------------------------- */

static bool lease_alive(struct lease *l)
{
    uint32_t state = atomic_load_explicit(&l->state, memory_order_acquire);
    uint32_t pid = atomic_load_explicit(&l->pid, memory_order_relaxed);
    return state == LEASE_FORKING || (state == LEASE_HELD && !(pid && os_process_gone(pid)));
}

/* May anybody alive read the records of this image?  depth bounds a hostile cycle of leases. */
static bool image_is_read(uint32_t number, unsigned depth)
{
    struct lease *leases = run_leases();
    for (uint32_t i = 0; i < run_header()->lease_count; i++) {
        struct lease *l = &leases[i];
        if (atomic_load_explicit(&l->state, memory_order_acquire) == LEASE_FREE ||
            l->parent != number)
            continue;
        uint32_t child = atomic_load_explicit(&l->child, memory_order_relaxed);
        if (lease_alive(l) || depth == 0 || (child && image_is_read(child, depth - 1)))
            return true;
    }
    return false;
}

/* Its own blocks in use; what it inherited is its parent's. */
static void tally_block(uint64_t word, uint64_t bytes, struct run_tally *sum)
{
    if (word_state(word) != BLOCK_LIVE || word_mark(word) == MARK_INHERITED)
        return;
    atomic_fetch_add(&sum->live_blocks, 1);
    atomic_fetch_add(&sum->live_bytes, bytes);
}

static void tally_segment(const struct segment *s, struct run_tally *sum)
{
    for (uint32_t i = 0; s->state == SEGMENT_CURRENT && i < s->count; i++) {
        const void *item = (const char *)segment_items(s) + (size_t)i * s->item_bytes;
        const struct thread_record *thread = item;
        const struct block_record *block = item;
        const struct large_record *large = item;
        if (s->kind == SEGMENT_THREADS && s->item_bytes == sizeof *thread) {
            atomic_fetch_add(&sum->allocs, thread->allocs);
            atomic_fetch_add(&sum->frees, thread->frees);
        } else if (s->kind == SEGMENT_SLAB && s->item_bytes == RECORD_BYTES) {
            tally_block(block->word, word_size(block->word), sum);
        } else if (s->kind == SEGMENT_LARGE && s->item_bytes == sizeof *large) {
            tally_block(large->superseded ? 0 : large->block.word, large->request, sum);
        }
    }
}

/* What an image did and had in use, for the tally: its details are about to go. */
static void tally(const char *area, uint64_t bytes)
{
    const struct area_head *head = (const struct area_head *)(const void *)area;
    struct run_tally *sum = &run_header()->taken_back;
    uint64_t used = head->used_bytes < bytes ? head->used_bytes : bytes;
    uint64_t at = RTC_AREA_HEAD_BYTES;
    if (head->ordinal == 0) {
        image_count(&sum->images);
        at = align_up(at + sizeof(struct image_header), RTC_SEGMENT_ALIGN);
    }
    while (at + sizeof(struct segment) <= used) {
        const struct segment *s = (const struct segment *)(const void *)(area + at);
        if (s->bytes < sizeof *s || !range_inside(at, s->bytes, used))
            return;
        if (range_inside(sizeof *s, (uint64_t)s->count * s->item_bytes, s->bytes))
            tally_segment(s, sum);
        at += s->bytes;
    }
}

static void take_back(uint32_t index)
{
    struct area_entry *e = &run_areas()[index];
    uint64_t claimed = atomic_load_explicit(&e->owner, memory_order_relaxed);
    uint64_t taking = area_owner(AREA_TAKING, area_owner_image(claimed));
    if (area_owner_state(claimed) != AREA_CLAIMED || !run_area(index) ||
        !atomic_compare_exchange_strong(&e->owner, &claimed, taking))
        return;
    uint32_t bytes = atomic_load_explicit(&e->populated_bytes, memory_order_acquire);
    char *at = run_area(index);
    if (bytes && bytes <= run_header()->area_bytes && os_allow(at, bytes) == 0) {
        tally(at, bytes);
        os_release_file(at, bytes);
    }
    atomic_store_explicit(&e->populated_bytes, 0, memory_order_relaxed);
    atomic_store_explicit(&e->owner, area_owner(AREA_FREE, 0), memory_order_release);
}

bool lease_needed(struct lease *l)
{
    uint32_t child = atomic_load_explicit(&l->child, memory_order_relaxed);
    return lease_alive(l) || (child && image_is_read(child, 4));
}

static void drop_leases_of_the_gone(void)
{
    for (uint32_t i = 0; i < run_header()->lease_count; i++) {
        struct lease *l = &run_leases()[i];
        uint32_t state = atomic_load_explicit(&l->state, memory_order_acquire);
        if ((state == LEASE_HELD || state == LEASE_LEFT) && !lease_needed(l))
            atomic_store_explicit(&l->state, LEASE_FREE, memory_order_release);
    }
}

#define DEAD_MAX 256u

/* Areas of images that are over, up to DEAD_MAX; returns how many. */
static uint32_t find_dead(uint32_t dead[DEAD_MAX])
{
    uint32_t used = atomic_load_explicit(&run_header()->next_area, memory_order_relaxed);
    uint32_t count = 0;
    for (uint32_t i = 1; i < used && i < run_area_limit() && count < DEAD_MAX; i++) {
        struct area_entry *e = &run_areas()[i];
        uint64_t owner = atomic_load_explicit(&e->owner, memory_order_acquire);
        uint32_t pid = atomic_load_explicit(&e->pid, memory_order_relaxed);
        /* Another image of our own process is the one that this one replaced by exec. */
        bool replaced = pid == os_pid() && area_owner_image(owner) != own.number;
        if (area_owner_state(owner) == AREA_CLAIMED && pid && (replaced || os_process_gone(pid)))
            dead[count++] = i;
    }
    return count;
}

static void reclaim(bool must)
{
    uint32_t dead[DEAD_MAX], count = os_sandboxed() ? 0 : find_dead(dead);
    if (count < CROWDED_BY_HAND && !must)
        return;
    drop_leases_of_the_gone();
    for (uint32_t i = 0; i < count; i++)
        if (!image_is_read(area_owner_image(atomic_load(&run_areas()[dead[i]].owner)), 4))
            take_back(dead[i]);
}

/* A launcher that lives does it better: it reads the images first. */
static bool launcher_takes_back(void)
{
    uint32_t pid = run_header()->launcher_pid;
    return pid && !os_process_gone(pid);
}

/*
 * Forks can come faster than the launcher reads what ended: those who fork wait for it, or the run
 * file would grow with their number.  Bounded: it may be stopped.
 */
static void wait_for_launcher(void)
{
    uint32_t dead[DEAD_MAX];
    for (unsigned i = 0; i < LAUNCHER_WAITS && !os_sandboxed() && find_dead(dead) > CROWDED; i++) {
        run_ring();
        os_wait(&run_header()->unrecorded_images, atomic_load(&run_header()->unrecorded_images),
                LAUNCHER_WAIT_NS, true);
    }
}

static uint32_t area_claim_hard(void)
{
    uint32_t used = atomic_load_explicit(&run_header()->next_area, memory_order_relaxed);
    if (used > CROWDED && !launcher_takes_back())
        reclaim(false);
    else if (used > CROWDED)
        wait_for_launcher();
    uint32_t index = area_claim();
    if (!index) {
        reclaim(true);
        index = area_claim();
    }
    return index;
}

/* ---- exec ------------------------------------------------------------------------------------ */

/*
 * The image that this one replaced by exec: the newest other one of our process.  It reads nobody's
 * records any more, so its lease, if it had one, is left.
 */
static uint32_t previous_image(void)
{
    uint32_t used = atomic_load_explicit(&run_header()->next_area, memory_order_relaxed);
    uint32_t pid = os_pid(), found = 0;
    for (uint32_t i = 1; i < used && i < run_header()->area_count; i++) {
        struct area_entry *e = &run_areas()[i];
        uint64_t owner = atomic_load_explicit(&e->owner, memory_order_acquire);
        uint32_t number = area_owner_image(owner);
        if (atomic_load_explicit(&e->pid, memory_order_relaxed) == pid &&
            area_owner_state(owner) == AREA_CLAIMED && number < own.number && number > found)
            found = number;
    }
    for (uint32_t i = 0; i < run_header()->lease_count; i++) {
        struct lease *l = &run_leases()[i];
        uint32_t held = LEASE_HELD;
        if (atomic_load_explicit(&l->pid, memory_order_relaxed) == pid)
            atomic_compare_exchange_strong(&l->state, &held, LEASE_LEFT);
    }
    return found;
}

/* ---- the header ----------------------------------------------------------------------------- */

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

static void fill_header(struct image_header *h, const struct image_request *request,
                        const struct image_header *parent)
{
    h->image = own.number;
    h->parent = request->how == IMAGE_EXEC ? previous_image() : request->parent;
    h->pid = os_pid();
    /* Not asked where it is known: a child may stand in a sandbox.  0: no pid of this run's. */
    h->ppid = own.foreign ? 0 : parent ? parent->pid : os_ppid();
    h->how = request->how;
    h->header_bytes = sizeof *h;
    h->start_ns = os_wall_clock_ns();
    h->heap_base = heap.base;
    atomic_store_explicit(&h->heap_bytes, atomic_load(&heap.bytes), memory_order_relaxed);
    h->first_thread = request->first_thread;
    h->first_depot_chunk = request->first_depot_chunk;
    h->lease = request->lease;
    h->lost_features = os_lost_features();
    atomic_store_explicit(&h->flags, request->flags, memory_order_relaxed);
    os_thread_name(h->name);
    if (parent)
        copy_command(h, parent);
    else
        read_command(h);
    atomic_store_explicit(&h->state, IMAGE_OPEN, memory_order_relaxed);
    __atomic_store_n(&h->magic, RTC_IMAGE_MAGIC, __ATOMIC_RELEASE);
}

/* Where our header goes: in a new area, else in private memory (never NULL). */
static struct image_header *header_place(void)
{
    static struct image_header private_header;
    if (run_header()) {
        own.number = atomic_fetch_add(&run_header()->next_image, 1) + 1;
        uint32_t index = area_claim_hard();
        if (index && area_open(index, 0, 0)) {
            own.used += sizeof(struct image_header);
            own.used = align_up(own.used, RTC_SEGMENT_ALIGN);
            return (struct image_header *)(void *)(own.base + RTC_AREA_HEAD_BYTES);
        }
        atomic_fetch_add(&run_header()->unrecorded_images, 1);
    }
    memset(&private_header, 0, sizeof private_header);
    return &private_header;
}

/* A child may have been put into a pid namespace of its own. */
static void look_at_namespace(void)
{
    uint32_t ours = os_pid_namespace(), first = 0;
    if (ours && !atomic_compare_exchange_strong(&run_header()->pid_namespace, &first, ours))
        own.foreign = first != ours;
    os_pids_are_foreign(own.foreign);
}

void image_start(const struct image_request *request)
{
    if (run_header() && !os_sandboxed())
        look_at_namespace();
    bool forked = request->how == IMAGE_FORK || request->how == IMAGE_FORK_UNSEEN;
    const struct image_header *parent = forked ? own.header : NULL;
    struct image_header *h = header_place();
    fill_header(h, request, h == parent ? NULL : parent);
    own.header = h;
    if (own.area) {
        struct area_head *head = (struct area_head *)(void *)own.base;
        atomic_store_explicit(&head->used_bytes, own.used, memory_order_release);
    }
    run_ring();
}

void image_end(enum image_end how, int status)
{
    struct image_header *h = own.header;
    uint32_t open = IMAGE_OPEN;
    if (!h || atomic_load_explicit(&h->state, memory_order_relaxed) != open)
        return;
    h->end_ns = os_wall_clock_ns();
    h->end_how = how;
    h->end_status = status;
    /* Pairs with the reader's acquire: what is said above is valid once this is seen. */
    atomic_compare_exchange_strong_explicit(&h->state, &open, IMAGE_ENDING, memory_order_release,
                                            memory_order_relaxed);
    run_ring();
}

void image_reopen(void)
{
    own.header->end_how = END_UNKNOWN;
    atomic_store_explicit(&own.header->state, IMAGE_OPEN, memory_order_release);
}

void image_after_fork(void)
{
    lock_reset(&own.lock);
    for (uint32_t i = 0; i < own.area_count && i < RTC_AREA_COUNT_MAX; i++) {
        uint32_t index = own.areas[i];
        uint32_t bytes = atomic_load(&run_areas()[index].populated_bytes);
        if (bytes)
            os_read_only(run_area(index), bytes);
    }
    own.area_count = 0;
    own.area = 0;
    own.vacant_count = 0;
}

void image_privatise(void)
{
    for (uint32_t i = 0; i < own.area_count && i < RTC_AREA_COUNT_MAX; i++) {
        uint32_t bytes = atomic_load(&run_areas()[own.areas[i]].populated_bytes);
        char *at = run_area(own.areas[i]), *copy = bytes ? os_map(bytes) : NULL;
        if (!copy || os_failed(copy))
            continue;
        memcpy(copy, at, bytes);
        if (!os_failed(os_replace(at, bytes)) && os_allow(at, bytes) == 0)
            memcpy(at, copy, bytes);
        os_unmap(copy, bytes);
    }
}

/* ---- segments ------------------------------------------------------------------------------- */

static struct segment *reuse(uint32_t bytes)
{
    for (uint32_t i = own.vacant_count; i-- > 0;)
        if (own.vacant[i]->bytes == bytes) {
            struct segment *s = own.vacant[i];
            own.vacant[i] = own.vacant[--own.vacant_count];
            atomic_store_explicit(&s->state, SEGMENT_BUILDING, memory_order_release);
            memset(segment_items(s), 0, bytes - sizeof *s);
            return s;
        }
    return NULL;
}

/* Space behind the last segment, in this area or the next; NULL: none in the file. */
static struct segment *append(uint32_t bytes)
{
    if (!own.area)
        return NULL;
    if (own.used + bytes > run_header()->area_bytes) {
        uint32_t index = area_claim_hard(), previous = own.area;
        if (!index || !area_open(index, previous, own.area_count))
            return NULL;
    }
    if (!ready_to(own.used + bytes))
        return NULL;
    struct segment *s = (struct segment *)(void *)(own.base + own.used);
    own.used += bytes;
    return s;
}

static struct segment *private_segment(uint32_t bytes)
{
    struct segment *s = os_map(align_up(bytes, PAGE_BYTES));
    if (os_failed(s))
        return NULL;
    image_count(&own.header->private_segments);
    image_flag(IMAGE_METADATA_PRIVATE);
    return s;
}

static void fill_segment(struct segment *s, enum segment_kind kind, uint32_t bytes,
                         uint32_t capacity, uint32_t item_bytes, uint64_t index)
{
    s->kind = (uint16_t)kind;
    s->item_bytes = (uint16_t)item_bytes;
    s->image = own.number;
    s->bytes = bytes;
    s->capacity = capacity;
    s->index = index;
    s->slot_bytes = s->units = 0;
    atomic_store_explicit(&s->count, 0, memory_order_relaxed);
    atomic_store_explicit(&s->epoch, 0, memory_order_relaxed);
    s->magic = RTC_SEGMENT_MAGIC;
}

struct segment *segment_take(enum segment_kind kind, uint32_t capacity, uint32_t item_bytes,
                             uint64_t index)
{
    uint32_t bytes = (uint32_t)segment_bytes(capacity, item_bytes);
    lock_take(&own.lock);
    struct segment *s = reuse(bytes);
    bool fresh = !s && (s = append(bytes)) != NULL;
    if (!s)
        s = private_segment(bytes);
    if (s)
        fill_segment(s, kind, bytes, capacity, item_bytes, index);
    if (fresh) { /* pairs with the reader's acquire: the segment before its place */
        struct area_head *head = (struct area_head *)(void *)own.base;
        atomic_store_explicit(&head->used_bytes, own.used, memory_order_release);
    }
    lock_drop(&own.lock);
    return s;
}

void segment_publish(struct segment *s)
{
    atomic_store_explicit(&s->state, SEGMENT_CURRENT, memory_order_release);
}

void segment_vacate(struct segment *s)
{
    lock_take(&own.lock);
    atomic_store_explicit(&s->state, SEGMENT_VACANT, memory_order_release);
    if (own.vacant_count < VACANT_MAX) /* else its bytes are lost: bounded by what was in use */
        own.vacant[own.vacant_count++] = s;
    lock_drop(&own.lock);
}
