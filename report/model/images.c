/*
 * images.c - the process images of a run: which exist, which have ended, which are still needed.
 *
 * An image's records may be read by its own process, and by forked children that have not copied
 * them yet: leases in the run's head record that. Reclaiming areas while such a reader lives would
 * empty memory that it uses. So "gone" and "not needed" are set only when they are certain. Process
 * ids are those that images recorded. An image in a pid namespace of its own records pids that
 * belong to other processes here, so it is never reclaimed (see pid_is_known).
 *
 * Image numbers are given out in ascending order, so a parent's is lower than its child's. A header
 * that contradicts this is treated as having no parent: chains of parents end.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

/* The start of an image's first area. */
struct first_bytes {
    char head[RTC_AREA_HEAD_BYTES];
    struct image_header image;
};

struct image *image_of(const struct report *r, uint32_t number)
{
    struct image *image;
    HASH_FIND(hh, r->images, &number, sizeof number, image);
    if (!image)
        HASH_FIND(hh, r->done, &number, sizeof number, image);
    return image;
}

static bool pid_is_known(const struct report *r, const struct image *image);

/* ---- headers --------------------------------------------------------------------------------- */

/* Copy a text that may lack its terminating zero. */
static char *text_copy(const char *text, size_t room)
{
    return xalloc(strndup(text, room));
}

static void image_take_argv(struct image *image, const struct image_header *h)
{
    uint32_t bytes = h->argv_bytes < sizeof h->argv ? h->argv_bytes : sizeof h->argv;

    image->argv = xalloc(malloc(bytes + 1));
    memcpy(image->argv, h->argv, bytes);
    image->argv[bytes] = '\0';
    image->argv_bytes = bytes;
    image->argc = h->argc;
}

static void image_take_costs(struct image *image, const struct image_header *h)
{
    image->checks = h->checks;
    image->error_limit = h->error_limit;
    image->errors_unrecorded = atomic_load_explicit(&h->errors_unrecorded, memory_order_relaxed);
    image->peak_bytes = atomic_load_explicit(&h->peak_bytes, memory_order_relaxed);
    image->segment_bytes = atomic_load_explicit(&h->segment_bytes, memory_order_relaxed);
    image->costs = (struct costs){
        .known = h->costs_known,
        .task_clock_ns = h->task_clock_ns,
        .minor_faults = h->minor_faults,
        .major_faults = h->major_faults,
        .voluntary_switches = h->voluntary_switches,
        .involuntary_switches = h->involuntary_switches,
        .max_rss_bytes = h->max_rss_bytes,
    };
}

/* The other fields are valid if leak_check is set: it is written last. */
static void image_take_leak_check(struct image *image, const struct image_header *h)
{
    uint32_t check = atomic_load_explicit(&h->leak_check, memory_order_relaxed);

    image->leak_check = check < LEAKS_CHECK_COUNT ? check : LEAKS_CHECK_COUNT;
    image->threads_not_stopped = h->threads_not_stopped;
    image->threads_unresponsive = h->threads_unresponsive;
    image->threads_waiting =
        h->threads_waiting < h->threads_not_stopped ? h->threads_waiting : h->threads_not_stopped;
    image->scanner = atomic_load_explicit(&h->scanner, memory_order_relaxed);
    image->leak_ns = h->leak_ns;
    image->root_bytes = h->root_bytes;
    image->root_bytes_skipped = h->root_bytes_skipped;
    image->marks = atomic_load_explicit(&h->marks, memory_order_relaxed);
    image->leak_checks = atomic_load_explicit(&h->leak_checks, memory_order_relaxed);
}

void image_update(struct image *image, const struct image_header *h)
{
    image->state = atomic_load_explicit(&h->state, memory_order_relaxed);
    image->flags = atomic_load_explicit(&h->flags, memory_order_relaxed);
    image->missing_features = __atomic_load_n(&h->missing_features, __ATOMIC_RELAXED);
    image->malloc_fill = h->malloc_fill;
    image->free_fill = h->free_fill;
    image->private_segments = atomic_load_explicit(&h->private_segments, memory_order_relaxed);
    image->private_kinds = atomic_load_explicit(&h->private_kinds, memory_order_relaxed);
    image->errors_unwritten = atomic_load_explicit(&h->errors_unwritten, memory_order_relaxed);
    image->unchecked_children = atomic_load_explicit(&h->unchecked_children, memory_order_relaxed);
    for (int i = 0; i < BAD_FREE_COUNT; i++)
        image->bad_frees[i] = atomic_load_explicit(&h->bad_frees[i], memory_order_relaxed);
    image->end_how = h->end_how;
    image->end_status = h->end_status;
    image->end_ns = h->end_ns;
    image->lease = h->lease;
    image_take_costs(image, h);
    image_take_leak_check(image, h);
}

static void image_add(struct report *r, uint32_t number, uint32_t area,
                      const struct image_header *h)
{
    struct image *image = xalloc(calloc(1, sizeof *image));

    image->number = number;
    image->first_area = area;
    image->pid = h->pid;
    image->ppid = h->ppid;
    image->parent = h->parent < number ? h->parent : 0;
    image->how = h->how;
    image->first_depot_chunk = h->first_depot_chunk;
    image->first_thread = h->first_thread;
    image->stack_frames = h->stack_frames > 0 && h->stack_frames < RTC_STACK_FRAMES
                              ? h->stack_frames
                              : RTC_STACK_FRAMES;
    image->start_ns = h->start_ns;
    image->wait_status = -1;
    image->exe = text_copy(h->exe, sizeof h->exe);
    image->name = text_copy(h->name, sizeof h->name);
    image_take_argv(image, h);
    image_update(image, h);
    HASH_ADD(hh, r->images, number, sizeof image->number, image);
}

static int by_number(const struct image *a, const struct image *b)
{
    return a->number < b->number ? -1 : a->number > b->number;
}

static void image_drop_map(struct image *image)
{
    struct depot_chunk *chunk, *next;

    HASH_ITER (hh, image->depot, chunk, next) {
        HASH_DEL(image->depot, chunk);
        free(chunk);
    }
    free(image->ranges);
    free(image->threads);
    image->ranges = NULL;
    image->threads = NULL;
    image->range_count = image->thread_count = 0;
}

/* Move an absorbed image whose stacks are not needed any more out of the next rounds. */
static void image_move_to_done(struct report *r, struct image *image)
{
    image_drop_map(image);
    HASH_DELETE(hh, r->images, image);
    HASH_ADD(hh, r->done, number, sizeof image->number, image);
}

void images_join(struct report *r)
{
    struct image *image, *next;

    HASH_ITER (hh, r->done, image, next) {
        HASH_DELETE(hh, r->done, image);
        HASH_ADD(hh, r->images, number, sizeof image->number, image);
    }
    HASH_SORT(r->images, by_number);
}

static bool is_first_area_of(const struct first_bytes *b, uint32_t number, uint32_t area)
{
    const struct area_head *head = (const void *)b->head;
    return head->magic == RTC_AREA_MAGIC && head->image == number && head->area == area &&
           head->ordinal == 0 && b->image.magic == RTC_IMAGE_MAGIC;
}

int images_refresh(struct report *r)
{
    struct first_bytes first;
    unsigned before = HASH_COUNT(r->images);
    int err = view_refresh(&r->view);

    if (err)
        return err;
    for (uint32_t area = 1; area < view_area_end(&r->view); area++) {
        uint64_t owner =
            atomic_load_explicit(&view_area_entry(&r->view, area)->owner, memory_order_relaxed);
        uint32_t number = area_owner_image(owner);
        if (area_owner_state(owner) != AREA_CLAIMED || number == 0 || image_of(r, number))
            continue;
        if (view_read(&r->view, area_offset(r->view.run, area), &first, sizeof first))
            continue;
        if (is_first_area_of(&first, number, area))
            image_add(r, number, area, &first.image);
    }
    if (HASH_COUNT(r->images) == before)
        return 0;
    HASH_SORT(r->images, by_number);
    for (struct image *image = r->images; image; image = image->hh.next)
        image->pid_known = image->pid_known || pid_is_known(r, image);
    return 0;
}

bool image_has_area(const struct report *r, const struct image *image)
{
    for (uint32_t area = 1; area < view_area_end(&r->view); area++)
        if (atomic_load_explicit(&view_area_entry(&r->view, area)->owner, memory_order_relaxed) ==
            area_owner(AREA_CLAIMED, image->number))
            return true;
    return false;
}

void images_drop_taken(struct report *r)
{
    struct image *image, *next;

    HASH_ITER (hh, r->images, image, next) {
        if (image->absorbed || image->depot || image->range_count != 0 || image_has_area(r, image))
            continue;
        HASH_DELETE(hh, r->images, image);
        image_free(image);
    }
}

/* ---- which are gone ------------------------------------------------------------------------- */

static const struct image *older_of_pid(const struct image *images, uint32_t pid, uint32_t number)
{
    const struct image *found = NULL;

    for (const struct image *image = images; image; image = image->hh.next)
        if (image->pid == pid && image->number < number &&
            (!found || image->number > found->number))
            found = image;
    return found;
}

/* Return the last image before this one with this pid. */
static const struct image *last_of_pid(const struct report *r, uint32_t pid,
                                       const struct image *image)
{
    const struct image *found = older_of_pid(r->images, pid, image->number);
    return found ? found : older_of_pid(r->done, pid, image->number);
}

/*
 * A child of posix_spawn has had no image before its exec. And in a late read, the image before
 * this one may have been reclaimed.
 */
const struct image *image_likely_parent(const struct report *r, const struct image *image)
{
    const struct image *parent = image->parent ? image_of(r, image->parent) : NULL;
    if (!parent && image->parent && image->how == IMAGE_EXEC)
        parent = last_of_pid(r, image->pid, image);
    return parent ? parent : last_of_pid(r, image->ppid, image);
}

/*
 * Whether the image's pid is valid in the reporter's pid namespace. A new pid namespace begins with
 * a child that cannot see its parent. So the pid is valid if a chain of matching parents leads up
 * to the root.
 */
static bool pid_is_known(const struct report *r, const struct image *image)
{
    const struct image *parent = image_likely_parent(r, image);

    if (image->how == IMAGE_ROOT)
        return true;
    return parent && parent->pid_known && (image->ppid == parent->pid || image->pid == parent->pid);
}

static bool pid_is_gone(uint32_t pid)
{
    return pid != 0 && pid <= INT32_MAX && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

/*
 * A main thread that has ended before others looks like a zombie, too, but its process has threads.
 * "pid (name) Z ... num_threads": the name may contain anything, so fields are counted from the
 * last ')'.
 */
static bool pid_is_zombie(uint32_t pid)
{
    char path[64], line[1024], *at;
    long threads = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    f = fopen(path, "re");
    if (!f)
        return false;
    at = fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
    fclose(f);
    if (!at || at[1] != ' ' || at[2] != 'Z')
        return false;
    at += 2;
    for (int field = 3; at && field < 20; field++)
        at = strchr(at + 1, ' ');
    if (at)
        threads = strtol(at, NULL, 10);
    return threads <= 1;
}

bool image_is_of_process(const struct image *a, const struct image *b)
{
    return a->pid == b->pid && a->pid_known == b->pid_known;
}

bool image_has_exec_successor(const struct image *image)
{
    for (const struct image *later = image->hh.next; later; later = later->hh.next)
        if (image_is_of_process(later, image) && later->how == IMAGE_EXEC)
            return true;
    return false;
}

/*
 * Whether the process is gone and a post-mortem scanner has yet to record its leaks. Reads the
 * header from the file: the image was read when it started.
 */
static bool is_scanned_now(const struct report *r, const struct image *image)
{
    struct first_bytes now;

    if (!(image->checks & CHECK_POST_MORTEM) || !image->pid_known || image->absorbed ||
        view_read(&r->view, area_offset(r->view.run, image->first_area), &now, sizeof now) ||
        !is_first_area_of(&now, image->number, image->first_area))
        return false;
    uint32_t watcher = atomic_load_explicit(&now.image.scanner, memory_order_relaxed);
    return watcher != 0 && watcher != SCANNER_DONE && !pid_is_gone(watcher) &&
           !pid_is_zombie(watcher);
}

uint32_t report_scanners(struct report *r)
{
    uint32_t count = 0;

    if (images_refresh(r))
        return 0;
    for (const struct image *image = r->images; image; image = image->hh.next)
        count += (pid_is_gone(image->pid) || pid_is_zombie(image->pid)) && is_scanned_now(r, image);
    return count;
}

static bool is_gone(const struct report *r, const struct image *image)
{
    if (r->view.finished)
        return true;
    if (is_scanned_now(r, image))
        return false;
    return image->pid_known && (pid_is_gone(image->pid) ||
                                (image->end_how == END_EXEC && image_has_exec_successor(image)));
}

void images_mark_gone(struct report *r)
{
    bool more = false;

    for (struct image *image = r->images; image; image = image->hh.next)
        if (!image->gone)
            more |= image->gone = is_gone(r, image);
    if (more) /* its last records may be in an area that the tables did not have yet */
        (void)view_refresh(&r->view);
}

bool image_seems_alive(const struct report *r, const struct image *image)
{
    if (image->gone || r->view.finished)
        return false;
    return !pid_is_gone(image->pid) && !pid_is_zombie(image->pid);
}

/* ---- which are needed ----------------------------------------------------------------------- */

static bool has_shared_past(const struct image *image)
{
    return image->how == IMAGE_FORK || image->how == IMAGE_FORK_UNSEEN;
}

struct image *image_parent(const struct report *r, const struct image *image)
{
    return has_shared_past(image) ? image_of(r, image->parent) : NULL;
}

static bool lease_has_reader(const struct report *r, const struct lease *lease)
{
    uint32_t state = atomic_load_explicit(&lease->state, memory_order_relaxed);
    uint32_t pid = atomic_load_explicit(&lease->pid, memory_order_relaxed);
    uint32_t child = atomic_load_explicit(&lease->child, memory_order_relaxed);
    const struct image *parent = image_of(r, lease->parent);
    const struct image *reader = child > lease->parent ? image_of(r, child) : NULL;

    if (state == LEASE_FREE || state == LEASE_EXECED)
        return false; /* children that read the exec'd image's records need it, and so its parent */
    if (reader)
        return !reader->gone;
    /* The pid is set after fork returns; if the parent was killed before, it is never set. */
    if (pid == 0 || state == LEASE_FORKING)
        return true;
    return !pid_is_gone(pid) || !parent || !parent->pid_known;
}

static void need_parents_of_leases(struct report *r)
{
    for (uint32_t i = 0; i < r->view.run->lease_count; i++) {
        const struct lease *lease = view_lease(&r->view, i);
        struct image *parent;
        if (!lease_has_reader(r, lease))
            continue;
        parent = image_of(r, lease->parent);
        if (parent)
            parent->needed = true;
    }
}

void images_mark_needed(struct report *r)
{
    struct image *image, *last = NULL;

    for (image = r->images; image; image = image->hh.next) {
        image->needed = !image->gone;
        last = image;
    }
    need_parents_of_leases(r);
    /* A needed child may hand on records that it has not copied from its parent: newest first. */
    for (image = last; image; image = image->hh.prev) {
        struct image *parent = image_parent(r, image);
        if (image->needed && parent && image->lease != 0)
            parent->needed = true;
    }
}

void images_retire(struct report *r)
{
    struct image *image, *before, *last = NULL;

    for (image = r->images; image; image = image->hh.next) {
        image->needed = !image->absorbed;
        last = image;
    }
    for (image = last; image; image = before) {
        struct image *parent = image_parent(r, image);
        before = image->hh.prev;
        if (!image->needed)
            image_move_to_done(r, image);
        else if (parent)
            parent->needed = true;
    }
}

/* ---- end of life ----------------------------------------------------------------------------- */

void image_free(struct image *image)
{
    image_drop_map(image);
    for (uint32_t i = 0; i < image->unknown_count; i++)
        free(image->unknown_settings[i]);
    free(image->unknown_settings);
    free(image->uses);
    free(image->regions);
    free(image->mark_records);
    free(image->region_sites);
    free(image->exe);
    free(image->argv);
    free(image->name);
    free(image->rows);
    free(image);
}
