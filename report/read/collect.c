/*
 * collect.c - open a report, and collect all images of a run at its end.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "read_priv.h"

static int report_begin(struct report **out, struct report *r, int err)
{
    if (!err) {
        *out = r;
        return 0;
    }
    free(r);
    return err;
}

int report_open(struct report **out, const char *path, char err[REPORT_ERROR_BYTES])
{
    struct report *r = xalloc(calloc(1, sizeof *r));
    return report_begin(out, r, view_open(&r->view, path, err));
}

int report_open_fd(struct report **out, int fd, const char *name, char err[REPORT_ERROR_BYTES])
{
    struct report *r = xalloc(calloc(1, sizeof *r));
    return report_begin(out, r, view_open_fd(&r->view, fd, name, err));
}

void report_want_reachable(struct report *r)
{
    r->wants_reachable = true;
}

void report_want_mapped(struct report *r)
{
    r->wants_mapped = true;
}

void report_want_regions(struct report *r)
{
    r->wants_regions = true;
}

void report_want_mangled(struct report *r)
{
    r->is_mangled = true;
}

/* An image with a known pid (valid in the reporter's pid namespace) precedes all others. */
static bool is_newer(const struct image *image, const struct image *than)
{
    return image->pid_known != than->pid_known ? image->pid_known : image->number > than->number;
}

static struct image *newest_of_pid(struct image *images, uint32_t pid)
{
    struct image *newest = NULL;

    for (struct image *image = images; image; image = image->hh.next)
        if (image->pid == pid && (!newest || is_newer(image, newest)))
            newest = image;
    return newest;
}

static void apply_exits(struct report *r)
{
    for (uint32_t i = 0; i < r->exit_count; i++) {
        struct image *image = newest_of_pid(r->images, r->exits[i].pid);
        if (!image)
            continue;
        image->wait_status = r->exits[i].wait_status;
        image->costs_at_death = r->exits[i].costs;
    }
}

struct last_of_pid {
    uint64_t key; /* pid; bit 32 is set if the pid is known */
    struct image *image;
    UT_hash_handle hh;
};

/* An image of kind IMAGE_EXEC is the successor of the image before it in the same process. */
static void mark_exec_successors(struct report *r)
{
    struct last_of_pid *all = NULL, *last, *next;

    for (struct image *image = r->images; image; image = image->hh.next) {
        uint64_t key = (uint64_t)image->pid_known << 32 | image->pid;
        HASH_FIND(hh, all, &key, sizeof key, last);
        if (!last) {
            last = xalloc(calloc(1, sizeof *last));
            last->key = key;
            HASH_ADD(hh, all, key, sizeof last->key, last);
        } else if (image->how == IMAGE_EXEC) {
            last->image->has_exec_successor = true;
        }
        last->image = image;
    }
    HASH_ITER (hh, all, last, next) {
        HASH_DEL(all, last);
        free(last);
    }
}

int report_collect(struct report *r, char err[REPORT_ERROR_BYTES])
{
    int code = images_refresh(r);

    if (code) {
        snprintf(err, REPORT_ERROR_BYTES,
                 code == -ESTALE ? "%s: the file was made shorter while the program ran"
                                 : "%s: the run's tables are damaged",
                 r->view.name);
        return code;
    }
    images_drop_taken(r);
    images_mark_gone(r);
    for (struct image *image = r->images; image; image = image->hh.next)
        image->map_tried = false;
    for (struct image *image = r->images; image; image = image->hh.next)
        image_collect(r, image);
    orphans_check(r);
    errors_sort(r);
    leaks_sort(r);
    images_join(r);
    mark_exec_successors(r);
    apply_exits(r);
    launcher_record_read(r);
    return 0;
}

/* ---- facts ----------------------------------------------------------------------------------- */

/* Read the header again if the image is still in the file: flags change while a program runs. */
static void image_look_again(struct report *r, struct image *image)
{
    struct image_header h;

    for (uint32_t area = 1; !image->absorbed && area < view_area_end(&r->view); area++) {
        uint64_t owner =
            atomic_load_explicit(&view_area_entry(&r->view, area)->owner, memory_order_relaxed);
        uint64_t at = area_offset(r->view.run, area) + RTC_AREA_HEAD_BYTES;
        if (owner != area_owner(AREA_CLAIMED, image->number))
            continue;
        if (view_read(&r->view, at, &h, sizeof h) == 0 && h.magic == RTC_IMAGE_MAGIC &&
            h.image == image->number)
            image_update(image, &h);
    }
}

static struct report_image_fact fact_of(const struct report *r, const struct image *image)
{
    struct report_image_fact fact = {0};

    if (!image)
        return fact;
    fact.found = true;
    fact.image = image->number;
    fact.pid = image->pid;
    fact.flags = image->flags;
    fact.unchecked_children = (uint32_t)image->unchecked_children;
    fact.exe = image->exe;
    fact.is_refused = image->refused;
    if (image->refused || image_was_lost(r, image))
        fact.flags &= ~IMAGE_IN_CONTROL;
    return fact;
}

struct report_image_fact report_image_of_pid(struct report *r, uint32_t pid)
{
    struct image *image, *done;

    images_refresh(r);
    image = newest_of_pid(r->images, pid);
    done = newest_of_pid(r->done, pid);
    if (done && (!image || is_newer(done, image)))
        image = done;
    if (image)
        image_look_again(r, image);
    return fact_of(r, image);
}

struct report_image_fact report_main_image(struct report *r)
{
    return fact_of(r, image_main(r));
}

static uint64_t time_ns(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_usec * 1000;
}

static struct costs costs_of(const struct rusage *usage)
{
    return (struct costs){
        .known = COST_CLOCK | COST_RUSAGE,
        .task_clock_ns = time_ns(usage->ru_utime) + time_ns(usage->ru_stime),
        .minor_faults = (uint64_t)usage->ru_minflt,
        .major_faults = (uint64_t)usage->ru_majflt,
        .voluntary_switches = (uint64_t)usage->ru_nvcsw,
        .involuntary_switches = (uint64_t)usage->ru_nivcsw,
        .max_rss_bytes = (uint64_t)usage->ru_maxrss << 10,
    };
}

void report_set_exit(struct report *r, uint32_t pid, int wait_status, const struct rusage *usage)
{
    struct costs costs = usage ? costs_of(usage) : (struct costs){0};

    r->exits = grow(r->exits, r->exit_count, sizeof r->exits[0]);
    r->exits[r->exit_count++] = (struct exit_fact){pid, wait_status, costs};
}

const struct run_header *report_run(const struct report *r)
{
    return r->view.run;
}

uint32_t report_running(struct report *r)
{
    uint32_t count = 0;

    images_refresh(r);
    for (struct image *image = r->images; image; image = image->hh.next) {
        image_look_again(r, image);
        count += image->state != IMAGE_ENDING && image_seems_alive(r, image);
    }
    return count;
}
