/*
 * notes_leaks.c - notes about the leak check: why leaks are not known, and what is not certain about
 * known ones.
 */
#include "notes.h"

/*
 * Print one line for each reason. In a file that does not record the request for a leak check, the
 * images that were checked show whether one was requested.
 */
void note_leaks_unknown(const struct report *r, const struct image *main, struct notes *notes)
{
    bool known = leaks_are_known(r);

    for (uint32_t check = 0; check <= LEAKS_CHECK_COUNT; check++) {
        struct process_set f = {0};
        for (const struct image *image = r->images; image; image = image->hh.next)
            if (image->leak_check == check && leak_check_text(r, image) &&
                (check != LEAKS_NOT_REQUESTED || image->checks & CHECK_LEAKS || known ||
                 image == main))
                process_set_add(&f, image);
        if (f.count > 0)
            note_add(notes, check != LEAKS_NOT_REQUESTED, "%s: leaks are not known: %s",
                     process_set_text(&f, notes->deterministic).text, leak_check_text(r, f.first));
    }
}

/* Threads that did not stop for the check: they block its signal, or were not scheduled in time. */
static void note_not_stopped(const struct report *r, struct notes *notes)
{
    uint64_t unheard = 0, deaf = 0, waiting = 0;
    char why[96] = "";

    for (const struct image *image = r->images; image; image = image->hh.next)
        if (leak_check_was_made(image->leak_check) && !(image->flags & IMAGE_POST_MORTEM)) {
            uint32_t others = image->threads_not_stopped - image->threads_waiting;
            unheard += others;
            deaf += image->threads_unresponsive < others ? image->threads_unresponsive : others;
            waiting += image->threads_waiting;
        }
    if (waiting > 0)
        note_add(notes, false,
                 "%s not stopped in a system call; what is lost there may be in a register: "
                 "possible leaks only",
                 count_text(waiting, "thread was", "threads were").text);
    if (unheard == 0)
        return;
    if (deaf == unheard)
        snprintf(why, sizeof why, ": all signals are kept out");
    else if (deaf > 0)
        snprintf(why, sizeof why, ": all signals are kept out by %llu", (unsigned long long)deaf);
    note_add(notes, false,
             "%s not answer%s; what is lost there may be in a register: possible leaks only",
             count_text(unheard, "thread did", "threads did").text, why);
}

static void note_post_mortem(const struct report *r, struct notes *notes)
{
    struct process_set f = {0};

    for (const struct image *image = r->images; image; image = image->hh.next)
        if (leak_check_was_made(image->leak_check) && image->flags & IMAGE_POST_MORTEM)
            process_set_add(&f, image);
    if (f.count > 0)
        note_add(
            notes, false,
            "%s: leaks were found by the post-mortem scanner: registers are not known, so all are "
            "possible only, and dead parts of stacks count",
            process_set_text(&f, notes->deterministic).text);
}

void note_leak_limits(const struct report *r, struct notes *notes)
{
    uint64_t blocks = 0, bytes = 0;

    for (uint32_t i = 0; i < r->leak_count; i++) {
        const struct leak *leak = &r->leaks[i];
        if (leak->site != NO_SITE || leak->class == CLASS_REACHABLE)
            continue;
        blocks += leak->blocks;
        bytes += leak->bytes;
    }
    note_not_stopped(r, notes);
    note_post_mortem(r, notes);
    if (blocks > 0)
        note_add(notes, false, "leaked %s in %s: the stacks of their allocations were not recorded",
                 size_text(bytes).text, block_text(blocks).text);
    if (r->leaks_unread > 0)
        note_add(
            notes, true, "%s not read: more has leaked than is reported",
            count_text(r->leaks_unread, "more group of blocks was", "more groups of blocks were")
                .text);
}
