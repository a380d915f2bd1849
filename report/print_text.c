/*
 * print_text.c - the report in words; all of them are here.
 *
 * The first line is the sum, the last the verdict; between them the largest places, and one line
 * for each thing that limits what the numbers mean.  A run of which nothing is to be said takes
 * five lines or fewer, none takes more than eight without --memuse.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "report_priv.h"

#define TOP_RECORDS 3
#define TOP_NOTES 3
#define SHOWN_FRAMES 3

/* ---- small words --------------------------------------------------------------------------- */

struct amount {
    char text[64];
};

/* Exact below 10 KiB, then three digits or so. */
static struct amount size_text(uint64_t bytes)
{
    static const char units[] = "KMGTPE";
    struct amount a;
    unsigned unit = 0;
    double n = (double)bytes / 1024;

    if (bytes < 10240) {
        snprintf(a.text, sizeof a.text, "%u B", (unsigned)bytes);
        return a;
    }
    for (; n >= 1023.95 && unit + 1 < sizeof units - 1; unit++)
        n /= 1024;
    snprintf(a.text, sizeof a.text, "%.1f %ciB", n, units[unit]);
    return a;
}

static struct amount count_text(uint64_t count, const char *one, const char *many)
{
    struct amount a;
    snprintf(a.text, sizeof a.text, "%llu %s", (unsigned long long)count, count == 1 ? one : many);
    return a;
}

static struct amount block_text(uint64_t blocks)
{
    return count_text(blocks, "block", "blocks");
}

/* What a process is called: its program, as it was started. */
static const char *program_name(const struct image *image)
{
    const char *arg = argv_next(image, NULL);

    if (image->exe[0])
        return base_name(image->exe);
    return arg && arg[0] ? base_name(arg) : image->name[0] ? image->name : "?";
}

/* ---- notes: one line each ------------------------------------------------------------------ */

struct note {
    char *text;
    bool against; /* said even by a quiet report */
};

struct notes {
    struct note *at;
    uint32_t count;
};

static void note_add(struct notes *notes, bool against, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void note_add(struct notes *notes, bool against, const char *format, ...)
{
    struct note note = {.against = against};
    va_list args;
    int n;

    va_start(args, format);
    n = vasprintf(&note.text, format, args);
    va_end(args);
    if (n < 0)
        note.text = must_have(NULL);
    notes->at = grow(notes->at, notes->count, sizeof notes->at[0]);
    notes->at[notes->count++] = note;
}

/* Processes with something in common: how many, and the first one's name. */
struct flock {
    uint64_t count;
    const struct image *first;
};

static void flock_add(struct flock *flock, const struct image *image)
{
    if (flock->count++ == 0)
        flock->first = image;
}

/* "process 4711 (make)" or "3 processes (first 4711, make)" */
static struct flock_text {
    char text[128];
} flock_text(const struct flock *f)
{
    struct flock_text t;
    const char *name = program_name(f->first);

    if (f->count == 1)
        snprintf(t.text, sizeof t.text, "process %u (%.60s)", f->first->pid, name);
    else
        snprintf(t.text, sizeof t.text, "%llu processes (first %u, %.60s)",
                 (unsigned long long)f->count, f->first->pid, name);
    return t;
}

static struct flock flock_with_flag(const struct report *r, uint32_t flag)
{
    struct flock f = {0};

    for (const struct image *image = r->images; image; image = image->hh.next)
        if (image->flags & flag)
            flock_add(&f, image);
    return f;
}

static void note_flags(const struct report *r, struct notes *notes)
{
    static const struct {
        uint32_t flag;
        bool against;
        const char *text;
    } said[] = {
        {IMAGE_METADATA_PRIVATE, true,
         "some records did not fit the run file: what was in use is not complete"},
        {IMAGE_INHERITED_UNSURE, false,
         "not sure what it had from its parent: frees of such blocks were believed"},
        {IMAGE_SANDBOXED, false,
         "entered a sandbox: only system calls in use before it were made since"},
    };

    for (size_t i = 0; i < countof(said); i++) {
        struct flock f = flock_with_flag(r, said[i].flag);
        if (f.count > 0)
            note_add(notes, said[i].against, "%s: %s", flock_text(&f).text, said[i].text);
    }
}

static void note_unchecked(const struct report *r, struct notes *notes)
{
    struct flock own = {0}, other = {0};

    for (const struct image *image = r->images; image; image = image->hh.next)
        if (image->flags & IMAGE_OWN_MALLOC)
            flock_add(&own, image);
        else if (!image_is_checked(image))
            flock_add(&other, image);
    if (own.count > 0)
        note_add(notes, true, "%s: not in control: brought a malloc of its own",
                 flock_text(&own).text);
    if (other.count > 0)
        note_add(notes, true, "%s: not in control: its malloc was not seen to be ours",
                 flock_text(&other).text);
}

static void note_bad_frees(const struct report *r, struct notes *notes)
{
    uint64_t lost[LOST_COUNT] = {0};

    for (const struct image *image = r->images; image; image = image->hh.next)
        for (int i = 0; i < LOST_COUNT; i++)
            lost[i] += image->bad_frees[i];
    if (lost[LOST_DUPLICATE] + lost[LOST_MISALIGNED] + lost[LOST_BAD] > 0)
        note_add(notes, true,
                 "frees that were wrong, and ignored: %llu duplicate, %llu misaligned, "
                 "%llu bad",
                 (unsigned long long)lost[LOST_DUPLICATE],
                 (unsigned long long)lost[LOST_MISALIGNED], (unsigned long long)lost[LOST_BAD]);
    if (lost[LOST_FOREIGN] > 0)
        note_add(notes, false, "%s not judged: the block came from another allocator",
                 count_text(lost[LOST_FOREIGN], "free was", "frees were").text);
}

static void note_children(const struct report *r, const struct image *main, struct notes *notes)
{
    struct flock lost = {0};
    uint64_t unchecked = 0;

    for (const struct image *image = r->images; image; image = image->hh.next) {
        unchecked += image->unchecked_children;
        if (image != main && image_was_lost(r, image))
            flock_add(&lost, image);
    }
    if (lost.count > 0)
        note_add(notes, true, "%s: went on by exec as a program that did not report: not checked",
                 flock_text(&lost).text);
    if (unchecked > 0)
        note_add(notes, true, "%s started without us: not checked",
                 count_text(unchecked, "program was", "programs were").text);
}

/* Others than the program itself, whose fate the verdict tells. */
static void note_ends(const struct report *r, const struct image *main, struct notes *notes)
{
    struct flock killed = {0}, running = {0};

    for (const struct image *image = r->images; image; image = image->hh.next) {
        const char *end = end_name(r, image);
        if (image == main)
            continue;
        if (strcmp(end, "killed") == 0)
            flock_add(&killed, image);
        else if (strcmp(end, "running") == 0)
            flock_add(&running, image);
    }
    if (killed.count > 0)
        note_add(notes, false, "%s: killed, or ended unseen; counted as it was then",
                 flock_text(&killed).text);
    if (running.count > 0)
        note_add(notes, false, "%s: still running; counted as it is now",
                 flock_text(&running).text);
}

static void note_file(const struct report *r, struct notes *notes)
{
    struct totals gone = totals_elsewhere(r);
    const struct run_header *run = r->view.run;

    for (uint32_t i = 0; i < r->bad_count; i++)
        note_add(notes, true, "area %u of the run file is damaged, the rest was used: %s at 0x%llx",
                 r->bad[i].area, r->bad[i].what, (unsigned long long)r->bad[i].offset);
    if (run->unrecorded_images > 0)
        note_add(notes, true, "%s no room in the run file: not recorded",
                 count_text(run->unrecorded_images, "process found", "processes found").text);
    if (gone.processes > 0)
        note_add(notes, false, "%s no longer in the file, with %s in %s in use at their ends",
                 count_text(gone.processes, "process is", "processes are").text,
                 size_text(gone.bytes).text, block_text(gone.blocks).text);
    if (run->features != 0)
        note_add(notes, false, "the file has features that this rtcheck does not know: 0x%llx",
                 (unsigned long long)run->features);
    if (r->view.foreign)
        note_add(notes, false, "the file is user %u's: symbols were read from root's files only",
                 r->view.owner);
}

/* "populate, noreplace"; a bit of a later version by its number. */
static char *feature_list(uint64_t mask)
{
    char *list = NULL;
    size_t bytes;
    FILE *out = must_have(open_memstream(&list, &bytes));

    for (unsigned n = 0, more = 0; n < 64; n++) {
        const char *name = feature_name(n);
        if (!(mask >> n & 1))
            continue;
        fputs(more++ ? ", " : "", out);
        if (name)
            fputs(name, out);
        else
            fprintf(out, "number %u", n);
    }
    fclose(out);
    return must_have(list);
}

static void note_machine(const struct report *r, struct notes *notes)
{
    uint64_t lost = 0;
    char *list;

    for (const struct image *image = r->images; image; image = image->hh.next)
        lost |= image->lost_features;
    if (lost == 0)
        return;
    list = feature_list(lost);
    note_add(notes, false, "%s missing here and replaced: %s",
             count_text((unsigned)__builtin_popcountll(lost), "system feature is",
                        "system features are")
                 .text,
             list);
    free(list);
}

static struct notes notes_make(const struct report *r, const struct image *main)
{
    struct notes notes = {0};

    note_file(r, &notes);
    note_unchecked(r, &notes);
    note_bad_frees(r, &notes);
    note_children(r, main, &notes);
    note_flags(r, &notes);
    note_ends(r, main, &notes);
    note_machine(r, &notes);
    return notes;
}

static bool notes_against(const struct notes *notes)
{
    for (uint32_t i = 0; i < notes->count; i++)
        if (notes->at[i].against)
            return true;
    return false;
}

static void notes_print(const struct notes *notes, uint32_t shown, FILE *out)
{
    if (notes->count > shown)
        shown--; /* its line tells of the others */
    for (uint32_t i = 0; i < notes->count && i < shown; i++) {
        fputs("  note: ", out);
        text_put(out, notes->at[i].text);
        fputc('\n', out);
    }
    if (notes->count > shown)
        fprintf(out, "  note: %u more with --memuse\n", notes->count - shown);
}

static void notes_free(struct notes *notes)
{
    for (uint32_t i = 0; i < notes->count; i++)
        free(notes->at[i].text);
    free(notes->at);
}

/* ---- places -------------------------------------------------------------------------------- */

static void frame_print(const struct report *r, const struct frame *frame, FILE *out)
{
    const struct module *module = frame->module == NO_MODULE ? NULL : &r->modules[frame->module];
    const char *name = frame->function ? frame->function : frame->system_name;

    if (!module) {
        fprintf(out, "0x%llx in no known module", (unsigned long long)frame->offset);
        return;
    }
    text_put(out, name ? name : base_name(module->path));
    fprintf(out, "+0x%llx", (unsigned long long)(name ? frame->in_function : frame->offset));
    if (frame->file) {
        fputs(" (", out);
        text_put(out, base_name(frame->file));
        fprintf(out, ":%d)", frame->line);
    }
    if (name) {
        fputs("  ", out);
        text_put(out, base_name(module->path));
    }
}

static void site_print(const struct report *r, uint32_t place, FILE *out)
{
    const struct site *site = &r->sites[place];

    if (site->count == 0)
        fputs("place not recorded", out);
    for (uint32_t i = 0; i < site->count && i < SHOWN_FRAMES; i++) {
        if (i > 0)
            fputs("  <- ", out);
        frame_print(r, &r->frames[site->frames[i]], out);
    }
}

/* Columns as wide as the widest of the records shown. */
static void records_print(const struct report *r, const struct record *records, uint32_t count,
                          bool with_ids, FILE *out)
{
    int size_width = 0, block_width = 0;

    for (uint32_t i = 0; i < count; i++) {
        int size = (int)strlen(size_text(records[i].bytes).text);
        int blocks = (int)strlen(block_text(records[i].blocks).text);
        size_width = size > size_width ? size : size_width;
        block_width = blocks > block_width ? blocks : block_width;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (with_ids)
            fprintf(out, "  %-14s", records[i].id);
        fprintf(out, "  %*s in %-*s  ", size_width, size_text(records[i].bytes).text, block_width,
                block_text(records[i].blocks).text);
        site_print(r, records[i].site, out);
        fputc('\n', out);
    }
}

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
