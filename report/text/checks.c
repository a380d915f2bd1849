/*
 * checks.c - report leak checks in mid-run, which the program requests and waits for, or another process.
 *
 * The result is in the run file until it is reported. It belongs to the image that requested it,
 * whose stacks and modules it uses. The result of the check at exit stays in the file: there the
 * program may only query whether any leak is a problem. An image is read as for a report at the
 * end, but without its blocks in use, so that the answer is fast.
 */
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "text.h"

#define CHECK_LINES 20u /* leaks shown, unless all are requested */

/* ---- in words -------------------------------------------------------------------------------- */

static void head_print(const struct report *r, const struct image *image,
                       const struct leak_check_record *check, const struct page *page)
{
    const char *why = leak_check_text(r, image);

    fprintf(page->out, "rtcheck: leak check %u of ", check->number);
    text_put(page->out, program_name(image));
    if (!page->how->deterministic)
        fprintf(page->out, " (%u)", image->pid);
    fputs(check->flags & LEAK_CHECK_NEW ? ", what is new: " : ": ", page->out);
    if (why)
        fprintf(page->out, "leaks are not known: %s", why);
    else
        leaks_sums_put(r, page->out);
    uint32_t others = image->threads_not_stopped - image->threads_waiting;

    if (image->leak_check == LEAKS_CUT)
        fputs(" at least: the run file is full", page->out);
    if (others > 0)
        fprintf(page->out, "; %s did not stop for it",
                count_text(others, "thread", "threads").text);
    if (image->threads_waiting > 0)
        fprintf(page->out, "; %s not stopped in a system call",
                count_text(image->threads_waiting, "thread was", "threads were").text);
    if (check->pause_ns > 0 && !page->how->deterministic)
        fprintf(page->out, "; allocations paused %.3f ms", (double)check->pause_ns / 1e6);
    fputc('\n', page->out);
}

static void check_print(struct report *r, const struct image *image,
                        const struct leak_check_record *check, FILE *out,
                        const struct print_options *how)
{
    struct page page = page_of(out, how, image->exe);
    bool whole = how->all || how->leaks == PRINT_LEAKS_RECORDS;

    if (how->leaks == PRINT_LEAKS_NOTHING || check->flags & LEAK_CHECK_AT_END ||
        (how->quiet && !(check->flags & LEAK_CHECK_REQUESTED) && image->leak_check == LEAKS_FOUND &&
         report_leaks(r, how->problem_kinds) == 0))
        return;
    head_print(r, image, check, &page);
    leaks_print(r, whole ? UINT32_MAX : CHECK_LINES, 1, &page);
}

/* ---- all that there are ---------------------------------------------------------------------- */

static void leaks_drop(struct report *r)
{
    leaks_free(r);
    r->reachable = (struct leak_sum){0};
}

/* Make this check the report's only one. false: the image has none. */
static bool check_take(struct report *r, struct image *image, bool requested,
                       struct leak_check_record *check, uint64_t *at)
{
    for (struct image *other = r->images; other; other = other->hh.next) {
        other->leak_check = LEAKS_NOT_REQUESTED;
        other->marks = 0; /* image_read_check sets those of `image` again */
    }
    leaks_drop(r);
    if (!image_read_check(r, image, requested, check, at))
        return false;
    for (struct image *parent = image_parent(r, image); parent; parent = image_parent(r, parent))
        image_read_map(r, parent); /* the program's first image has its suppressions */
    leaks_sort(r);
    return true;
}

/* The value for the program: 1 + definite leaks (at exit), or 1 + suppressed leaks (in mid-run). */
static uint32_t reported_value(const struct report *r, const struct leak_check_record *check)
{
    uint32_t hidden = 0;
    if (check->flags & LEAK_CHECK_AT_END)
        return 1 + (uint32_t)report_leaks(r, LEAK_DEFINITE);
    for (uint32_t i = 0; i < r->leak_count; i++)
        hidden += r->leaks[i].disposition.suppressed_by != 0;
    return 1 + hidden;
}

uint32_t report_checks(int fd, struct check_choice choice, FILE *out,
                       const struct print_options *how, struct check_reported *reported,
                       uint32_t room)
{
    char err[REPORT_ERROR_BYTES];
    struct leak_check_record check;
    struct report *r;
    uint32_t count = 0;

    if (report_open_fd(&r, fd, "the run", err))
        return 0;
    r->is_mangled = how->mangled;
    r->wants_reachable = how->leak_kinds & LEAK_REACHABLE;
    if (images_refresh(r) == 0)
        for (struct image *image = r->images; image && count < room; image = image->hh.next) {
            uint64_t record_at;
            if ((choice.image && image->number != choice.image) ||
                !check_take(r, image, choice.requested, &check, &record_at))
                continue;
            findings_match(r, how);
            report_hide_indirect(r, how->leak_kinds | how->problem_kinds);
            check_print(r, image, &check, out, how);
            reported[count++] =
                (struct check_reported){record_at + offsetof(struct leak_check_record, reported),
                                        reported_value(r, &check)};
        }
    report_close(r);
    return count;
}

void report_checks_done(int fd, const struct check_reported *reported, uint32_t count)
{
    struct run_header *run = mmap(NULL, sizeof *run, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    for (uint32_t i = 0; i < count; i++)
        if (pwrite(fd, &reported[i].value, sizeof reported[i].value, (off_t)reported[i].at) !=
            sizeof reported[i].value)
            continue; /* the waiting program has a timeout */
    if (run == MAP_FAILED)
        return;
    atomic_fetch_add(&run->checks_reported, 1);
    syscall(SYS_futex, &run->checks_reported, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    munmap(run, sizeof *run);
}
