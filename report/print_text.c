/*
 * print_text.c - the report in words.
 *
 * The first line is the sum, the last the verdict; between them the largest places, and one line
 * for each thing that limits what the numbers mean.  A run of which nothing is to be said takes
 * five lines or fewer, none takes more than eight without --memuse.
 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "report_priv.h"

#define TOP_RECORDS 3
#define TOP_NOTES 3

/* ---- processes ----------------------------------------------------------------------------- */

static void fate_print(const struct report *r, const struct image *image, FILE *out)
{
    const char *end = end_name(r, image);
    int status = image->wait_status;

    if (status != -1 && WIFSIGNALED(status)) {
        const char *name = sigabbrev_np(WTERMSIG(status));
        fprintf(out, "killed by signal %d (SIG%s)%s", WTERMSIG(status), name ? name : "?",
                WCOREDUMP(status) ? ", core dumped" : "");
    } else if (image_was_replaced(image)) {
        fputs(image_was_lost(r, image) ? "went on by exec, unchecked" : "went on by exec", out);
    } else if (status != -1 && WIFEXITED(status)) {
        fprintf(out, "exit status %d", WEXITSTATUS(status));
    } else if (strcmp(end, "running") == 0) {
        fputs("still running", out);
    } else if (strcmp(end, "killed") == 0) {
        fputs("killed, or ended unseen", out);
    } else {
        fprintf(out, "exit status %d", image->end_status & 0xff);
    }
}

static void process_print(const struct report *r, const struct image *image, FILE *out)
{
    fprintf(out, "  %u %s ", image->pid, how_name(image->how));
    text_put(out, program_name(image));
    fprintf(out, ": %s in %s, %s, %s, ", size_text(image->live_bytes).text,
            block_text(image->live_blocks).text, count_text(image->allocs, "alloc", "allocs").text,
            count_text(image->frees, "free", "frees").text);
    fate_print(r, image, out);
    fputc('\n', out);
}

/* ---- the whole ----------------------------------------------------------------------------- */

static void sum_print(const struct report *r, const struct image *main, FILE *out)
{
    struct totals t = totals_of(r);
    const char *when = main && main->state == IMAGE_ENDING ? "at exit" : "at the end";

    if (t.blocks > 0)
        fprintf(out, "rtcheck: %s in %s", size_text(t.bytes).text, block_text(t.blocks).text);
    else
        fputs("rtcheck: nothing", out);
    fprintf(out, " in use %s, %s, %s, %s\n", when, count_text(t.allocs, "alloc", "allocs").text,
            count_text(t.frees, "free", "frees").text,
            count_text(t.processes, "process", "processes").text);
}

static bool is_in_control(const struct report *r, const struct image *main)
{
    return main && image_is_checked(main) && !image_was_lost(r, main);
}

static void verdict_print(const struct report *r, const struct image *main, const char *pool,
                          FILE *out)
{
    if (is_in_control(r, main))
        fputs("rtcheck: in control; ", out);
    else if (!main)
        fputs("rtcheck: not in control: the runtime did not start in the program", out);
    else if (main->flags & IMAGE_OWN_MALLOC)
        fputs("rtcheck: not in control: the program brought a malloc of its own; ", out);
    else if (!image_is_checked(main))
        fputs("rtcheck: not in control: the program's malloc was not seen to be ours; ", out);
    else
        fputs("rtcheck: not in control: ", out);
    if (main)
        fate_print(r, main, out);
    if (pool) {
        fputs("; run file: ", out);
        text_put(out, pool);
    }
    fputc('\n', out);
}

static void body_print(struct report *r, const struct print_options *how, FILE *out)
{
    uint32_t count;
    struct record *records = records_make(r, how->memuse ? UINT32_MAX : TOP_RECORDS, &count);

    if (how->memuse && r->images && r->images->hh.next) {
        fputs("processes:\n", out);
        for (const struct image *image = r->images; image; image = image->hh.next)
            process_print(r, image, out);
    }
    if (how->memuse && count > 0)
        fputs("in use, by place:\n", out);
    records_print(r, records, how->memuse || count < TOP_RECORDS ? count : TOP_RECORDS, how->memuse,
                  out);
    records_free(records, count);
}

void report_print_text(struct report *r, FILE *out, const struct print_options *how)
{
    const struct image *main = image_main(r);
    struct notes notes = notes_make(r, main);

    if (!how->quiet || !is_in_control(r, main) || notes_against(&notes)) {
        if (main) {
            sum_print(r, main, out);
            body_print(r, how, out);
        }
        notes_print(&notes, how->memuse ? UINT32_MAX : TOP_NOTES, out);
        verdict_print(r, main, how->pool, out);
    }
    notes_free(&notes);
}
