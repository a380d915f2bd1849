/*
 * print_notes.c - notes: one line for each limit on the meaning of the report's numbers.  Those of the
 * run and of the leak check are in files of their own (notes.h).
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "notes.h"
#include "unchecked.h"

#define NOTE_INDENT 6u

void note_add(struct notes *notes, bool against, const char *format, ...)
{
    struct note note = {.against = against};
    va_list args;
    int n;

    va_start(args, format);
    n = vasprintf(&note.text, format, args);
    va_end(args);
    if (n < 0)
        note.text = xalloc(NULL);
    notes->at = grow(notes->at, notes->count, sizeof notes->at[0]);
    notes->at[notes->count++] = note;
}

void process_set_add(struct process_set *process_set, const struct image *image)
{
    if (process_set->count++ == 0)
        process_set->first = image;
}

struct process_set_text process_set_text(const struct process_set *f, bool deterministic)
{
    struct process_set_text t;
    const char *name = program_name(f->first);
    unsigned long long count = f->count;

    if (f->count == 1 && deterministic)
        snprintf(t.text, sizeof t.text, "process %.60s", name);
    else if (f->count == 1)
        snprintf(t.text, sizeof t.text, "process %u (%.60s)", f->first->pid, name);
    else if (deterministic)
        snprintf(t.text, sizeof t.text, "%llu processes (first %.60s)", count, name);
    else
        snprintf(t.text, sizeof t.text, "%llu processes (first %u, %.60s)", count, f->first->pid,
                 name);
    return t;
}

void process_set_put(const struct report *r, const struct image_numbers *images,
                     const struct page *page)
{
    struct process_set f = {images->count, images->count ? image_of(r, images->at[0]) : NULL};

    if (f.first)
        text_put(page->out, process_set_text(&f, page->how->deterministic).text);
}

struct process_set processes_with_flag(const struct report *r, uint32_t flag)
{
    struct process_set f = {0};

    for (const struct image *image = r->images; image; image = image->hh.next)
        if (image->flags & flag)
            process_set_add(&f, image);
    return f;
}

bool report_has_guarded_stack(const struct report *r)
{
    return processes_with_flag(r, IMAGE_GUARDED_STACK).count > 0;
}

static void note_flags(const struct report *r, struct notes *notes)
{
    static const struct {
        uint32_t flag;
        bool against;
        const char *text;
    } flag_notes[] = {
        {IMAGE_INHERITED_UNSURE, false,
         "not sure what it had from its parent: frees of such blocks were believed"},
        {IMAGE_SANDBOXED, false,
         "entered a sandbox: only system calls in use before it were made since"},
        {IMAGE_GUARDS_BOUNDED, false,
         "some blocks were not guarded: Linux before 6.13 needs mappings for them "
         "(vm.max_map_count)"},
        {IMAGE_HANDLER_STARVED, true,
         "a signal handler that interrupted malloc or free got no memory: little is kept for that"},
    };

    for (size_t i = 0; i < countof(flag_notes); i++) {
        struct process_set f = processes_with_flag(r, flag_notes[i].flag);
        if (f.count > 0)
            note_add(notes, flag_notes[i].against, "%s: %s",
                     process_set_text(&f, notes->deterministic).text, flag_notes[i].text);
    }
}

static void note_unchecked(const struct report *r, struct notes *notes)
{
    struct process_set refused = {0}, own = {0}, other = {0};

    for (const struct image *image = r->images; image; image = image->hh.next)
        if (image->refused)
            process_set_add(&refused, image);
        else if (image->flags & IMAGE_OWN_MALLOC)
            process_set_add(&own, image);
        else if (!image_is_checked(image))
            process_set_add(&other, image);
    if (refused.count > 0)
        note_add(notes, true, "%s: not checked: what was recorded of it is damaged",
                 process_set_text(&refused, notes->deterministic).text);
    if (own.count > 0)
        note_add(notes, true, "%s: not checked: brought a malloc of its own",
                 process_set_text(&own, notes->deterministic).text);
    if (other.count > 0)
        note_add(notes, true, "%s: not checked: its malloc was not seen to be ours",
                 process_set_text(&other, notes->deterministic).text);
}

/* A file of an earlier version has only counts of wrong frees. */
static void note_not_scanned(const struct report *r, struct notes *notes)
{
    struct process_set f = {0}, unfilled = {0};

    for (const struct image *image = r->images; image; image = image->hh.next)
        if (image_is_checked(image) && !(image->checks & CHECK_MADE))
            process_set_add(&f, image);
        else if (image_is_checked(image) && !(image->checks & CHECK_FREED))
            process_set_add(&unfilled, image);
    if (f.count > 0)
        note_add(notes, false, "%s: no errors were searched for, wrong frees are only counted",
                 process_set_text(&f, notes->deterministic).text);
    if (unfilled.count > 0)
        note_add(notes, false, "%s: freed blocks were not filled: writes to them were not detected",
                 process_set_text(&unfilled, notes->deterministic).text);
}

static void note_unwritten_errors(const struct report *r, struct notes *notes)
{
    struct process_set f = {0}, cut = {0};
    uint64_t errors = 0;

    for (const struct image *image = r->images; image; image = image->hh.next) {
        if (image->errors_unwritten)
            process_set_add(&f, image);
        if (image->leak_check == LEAKS_CUT)
            process_set_add(&cut, image);
        errors += image->errors_unwritten;
    }
    if (errors > 0)
        note_add(notes, true, "%s: %s not recorded: run file full",
                 process_set_text(&f, notes->deterministic).text,
                 count_text(errors, "more error was", "more errors were").text);
    if (cut.count > 0)
        note_add(notes, true, "%s: more leaks than are listed: run file full",
                 process_set_text(&cut, notes->deterministic).text);
}

static void note_unrecorded_errors(const struct report *r, struct notes *notes)
{
    const struct image *first = NULL;
    uint64_t count = 0;

    for (const struct image *image = r->images; image; image = image->hh.next) {
        count += image->errors_unrecorded;
        first = !first && image->errors_unrecorded ? image : first;
    }
    if (count > 0)
        note_add(notes, true, "%s not recorded: error limit %u",
                 count_text(count, "more error was", "more errors were").text, first->error_limit);
    note_unwritten_errors(r, notes);
    if (r->strange_errors > 0)
        note_add(notes, true, "%s that this rtcheck does not know",
                 count_text(r->strange_errors, "error is of a kind", "errors are of kinds").text);
}

/* Frees of libc's own blocks, which were passed on, and frees that could not be judged. */
static void note_foreign(const struct report *r, struct notes *notes)
{
    uint64_t foreign = 0, libcs = 0;

    for (const struct image *image = r->images; image; image = image->hh.next)
        foreign += image->bad_frees[BAD_FREE_FOREIGN];
    for (uint32_t i = 0; i < r->error_count; i++)
        if (r->errors[i].kind == ERROR_FOREIGN)
            libcs += r->errors[i].count;
    if (libcs > 0)
        note_add(notes, false, "freed %s of libc's own allocator: passed on to libc",
                 count_text(libcs, "block", "blocks").text);
    if (foreign > libcs)
        note_add(notes, false, "%s not judged: the block came from another allocator",
                 count_text(foreign - libcs, "free was", "frees were").text);
}

/*
 * Unchecked programs by name, as far as the run's table reaches; `count`: the number that the
 * images counted.
 */
static void note_unchecked_programs(const struct report *r, uint64_t count, struct notes *notes)
{
    struct unchecked_programs all = unchecked_programs(r);

    for (uint32_t i = 0; i < all.count; i++) {
        const struct unchecked_program *p = &all.at[i];
        char times[40] = "";
        if (p->count > 1)
            snprintf(times, sizeof times, " (%llu times)", (unsigned long long)p->count);
        note_add(notes, true, "not checked: %s: %s%s%s", p->path,
                 p->by_interpreter ? "interpreter: " : "", unchecked_reason_text(p->reason), times);
    }
    if (count > all.named)
        note_add(notes, true, "%s started without rtcheck: not checked",
                 count_text(count - all.named, "program was", "programs were").text);
}

static void note_children(const struct report *r, const struct image *main, struct notes *notes)
{
    struct process_set lost = {0};
    uint64_t unchecked = 0;

    for (const struct image *image = r->images; image; image = image->hh.next) {
        unchecked += image->unchecked_children;
        if (image != main && image_was_lost(r, image))
            process_set_add(&lost, image);
    }
    if (lost.count > 0)
        note_add(notes, true,
                 "%s: replaced by exec with a program that did not report: not checked",
                 process_set_text(&lost, notes->deterministic).text);
    note_unchecked_programs(r, unchecked, notes);
}

/* Processes other than the program itself, whose end the verdict reports. */
static void note_ends(const struct report *r, const struct image *main, struct notes *notes)
{
    struct process_set killed = {0}, running = {0};

    for (const struct image *image = r->images; image; image = image->hh.next) {
        const char *end = end_name(r, image);
        if (image == main)
            continue;
        if (strcmp(end, "killed") == 0)
            process_set_add(&killed, image);
        else if (strcmp(end, "running") == 0)
            process_set_add(&running, image);
    }
    if (killed.count > 0)
        note_add(notes, false, "%s: killed, or its end was not seen; counted as it was then",
                 process_set_text(&killed, notes->deterministic).text);
    if (running.count > 0)
        note_add(notes, false, "%s: still running; counted as it is now",
                 process_set_text(&running, notes->deterministic).text);
}

/* Is its crash an error of the report?  Not if the signal interrupted the runtime. */
static bool is_crash_listed(const struct report *r, const struct image *image)
{
    for (uint32_t i = 0; i < r->error_count; i++)
        for (uint32_t k = 0; r->errors[i].kind == ERROR_CRASH && k < r->errors[i].images.count; k++)
            if (r->errors[i].images.at[k] == image->number)
                return true;
    return false;
}

/* A use-after-free often has no other symptom. */
static void note_crashes(const struct report *r, struct notes *notes)
{
    struct process_set f = {0};

    for (const struct image *image = r->images; image; image = image->hh.next)
        if (image->flags & IMAGE_FAULT_OF_FREED && !is_crash_listed(r, image))
            process_set_add(&f, image);
    if (f.count > 0)
        note_add(notes, false,
                 "%s: crashed, perhaps by a pointer read from freed memory, which is filled; "
                 "compare with --free-fill=no",
                 process_set_text(&f, notes->deterministic).text);
}

/* Detected at a free or at the end: no stack of the report is that of the write. */
static void note_writes(const struct report *r, struct notes *notes)
{
    for (uint32_t i = 0; i < r->error_count; i++)
        if (error_is_late(&r->errors[i]) && error_is_shown(&r->errors[i]) &&
            !is_hidden(&r->errors[i].disposition)) {
            note_add(notes, false,
                     "--rerun or --catch=ID finds the code of a bad write: docs/bad-writes.md");
            return;
        }
}

static void note_filtered(const struct report *r, const struct print_options *how,
                          struct notes *notes)
{
    char *text = filtered_text(r, how);

    if (text)
        note_add(notes, false, "%s", text);
    free(text);
}

struct notes notes_make(const struct report *r, const struct image *main,
                        const struct print_options *how)
{
    struct notes notes = {.deterministic = how->deterministic};

    note_filtered(r, how, &notes);
    note_file(r, &notes);
    note_unchecked(r, &notes);
    note_not_scanned(r, &notes);
    note_unrecorded_errors(r, &notes);
    note_foreign(r, &notes);
    note_children(r, main, &notes);
    note_no_room(r, &notes);
    note_flags(r, &notes);
    note_objects(r, &notes);
    if (how->leaks != PRINT_LEAKS_NOTHING) {
        note_leaks_unknown(r, main, &notes);
        note_leak_limits(r, &notes);
    }
    note_settings(r, &notes);
    note_launcher(r, &notes);
    note_python(r, &notes);
    note_ends(r, main, &notes);
    note_crashes(r, &notes);
    note_writes(r, &notes);
    note_machine(r, &notes);
    return notes;
}

bool notes_against(const struct notes *notes)
{
    for (uint32_t i = 0; i < notes->count; i++)
        if (notes->at[i].against)
            return true;
    return false;
}

void notes_print(const struct notes *notes, uint32_t shown, const struct page *page)
{
    if (notes->count > shown)
        shown--; /* the last line counts the others */
    for (uint32_t i = 0; i < notes->count && i < shown; i++) {
        fputs("note: ", page->out);
        words_put(page, NOTE_INDENT, NOTE_INDENT, 0, notes->at[i].text);
        fputc('\n', page->out);
    }
    if (notes->count > shown)
        fprintf(page->out, "note: %u more with --all\n", notes->count - shown);
}

void notes_free(struct notes *notes)
{
    for (uint32_t i = 0; i < notes->count; i++)
        free(notes->at[i].text);
    free(notes->at);
}
