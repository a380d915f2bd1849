/*
 * notes_run.c - notes about the run file, which may be full or damaged, about what the machine lacks,
 * about settings without effect, and about allocators of interpreters.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "notes.h"

/*
 * Kinds of records that had no room, and the parts of the report that are incomplete because of it.
 */
static const struct lost_kind {
    uint32_t kinds; /* bit n = SEGMENT_* */
    const char *lost;
} lost_kinds[] = {
    {1u << SEGMENT_SLAB | 1u << SEGMENT_LARGE | 1u << SEGMENT_CLIENT_BLOCKS, "blocks in use"},
    {1u << SEGMENT_DEPOT, "stacks"},
    {1u << SEGMENT_MODULES, "libraries"},
    {1u << SEGMENT_THREADS, "threads and counts"},
    {1u << SEGMENT_LEAKS | 1u << SEGMENT_ROOTS | 1u << SEGMENT_CHECK_LEAKS |
         1u << SEGMENT_CHECK_ROOTS,
     "who holds blocks"},
    {1u << SEGMENT_MAPPINGS | 1u << SEGMENT_MAP_SUM | 1u << SEGMENT_DISPATCHED, "mappings"},
    {1u << SEGMENT_TEXTS, "suppressions of the program"},
    {1u << SEGMENT_OBJECTS, "objects of --access=full"},
    {1u << SEGMENT_MARKS | 1u << SEGMENT_COSTS, "marks and costs"},
};

void note_no_room(const struct report *r, struct notes *notes)
{
    struct process_set f = processes_with_flag(r, IMAGE_METADATA_PRIVATE);
    uint32_t kinds = 0;
    char list[224] = "";
    const char *before = "";
    size_t used = 0;

    for (const struct image *image = r->images; image; image = image->hh.next)
        if (image->flags &
            IMAGE_METADATA_PRIVATE) /* files before minor version 7 have no list of kinds */
            kinds |= image->private_kinds ? image->private_kinds : 1u << SEGMENT_SLAB;
    for (size_t i = 0; i < countof(lost_kinds); i++) {
        if (!(kinds & lost_kinds[i].kinds))
            continue;
        used +=
            (size_t)snprintf(list + used, sizeof list - used, "%s%s", before, lost_kinds[i].lost);
        before = ", ";
    }
    if (f.count > 0 && used > 0)
        note_add(notes, true, "%s: run file full, incomplete: %s",
                 process_set_text(&f, notes->deterministic).text, list);
}

void note_file(const struct report *r, struct notes *notes)
{
    struct totals gone = totals_elsewhere(r);
    const struct run_header *run = r->view.run;

    for (uint32_t i = 0; i < r->bad_count; i++)
        note_add(notes, true, "area %u of the run file is damaged, the rest was used: %s at 0x%llx",
                 r->bad[i].area, r->bad[i].what, (unsigned long long)r->bad[i].offset);
    if (run->unrecorded_images > 0)
        note_add(notes, true, "%s no room in the run file: not recorded",
                 count_text(run->unrecorded_images, "process found", "processes found").text);
    if (run->pool_dir_error != 0)
        note_add(notes, false,
                 "no run file could be made in pool_dir (%s): it is in another folder",
                 strerror((int)run->pool_dir_error));
    if (run->heap_error == EINVAL)
        note_add(notes, false,
                 "pool_size is less than the minimum, %s: the heap is in private memory",
                 size_text(RTC_HEAP_BYTES_MIN).text);
    else if (run->heap_error != 0)
        note_add(
            notes, false,
            "a heap of pool_size could not be put into the run file (%s): it is in private memory",
            strerror((int)run->heap_error));
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

/* "populate, noreplace". A bit that this version does not know is printed as its number. */
static char *feature_list(uint64_t mask)
{
    char *list = NULL;
    size_t bytes;
    FILE *out = xalloc(open_memstream(&list, &bytes));

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
    return xalloc(list);
}

enum feature {
#define FEATURE(id, name) FEATURE_##id,
#include "format/features.def"
#undef FEATURE
};

/* Has no replacement: reported in a section of its own (print_dispatch.c). */
#define NOT_REPLACED (1ull << FEATURE_USER_DISPATCH)

void note_machine(const struct report *r, struct notes *notes)
{
    uint64_t lost = 0;
    char *list;

    for (const struct image *image = r->images; image; image = image->hh.next)
        lost |= image->missing_features;
    lost &= ~NOT_REPLACED;
    if (lost == 0)
        return;
    list = feature_list(lost);
    note_add(
        notes, false, "%s missing here and replaced: %s",
        count_text((unsigned)__builtin_popcountll(lost), "system feature is", "system features are")
            .text,
        list);
    free(list);
}

/* Options and suppressions that the program has for other checkers. */
void note_settings(const struct report *r, struct notes *notes)
{
    for (uint32_t i = 0; i < r->own_count; i++)
        if (r->own[i].wrong)
            note_add(notes, true, "suppressions of the program do not hold: %s", r->own[i].wrong);
    for (const struct image *image = r->images; image; image = image->hh.next)
        for (uint32_t i = 0; i < image->unknown_count; i++)
            note_add(notes, true, "%s: __lsan_default_options: not known here: %s",
                     program_name(image), image->unknown_settings[i]);
}

/* The launcher writes its results into the file only after it has seen the end of the run. */
void note_launcher(const struct report *r, struct notes *notes)
{
    const char *measure = run_setting(r->view.run, "measure");
    bool measured = measure && *measure != '0',
         counted = run_setting(r->view.run, "counters") != NULL;
    const char *what = measured && counted ? "--counters and --measure"
                       : measured          ? "--measure"
                                           : "--counters";

    if (r->launcher && measured && r->measured.pairs == 0)
        note_add(notes, false, "--measure: nothing was measured");
    if (r->is_of_launcher || r->launcher || (!measured && !counted))
        return;
    if (r->view.run->mode == RUN_BY_HAND)
        note_add(notes, false, "without the launcher there is no %s", what);
    else if (r->launcher_error)
        note_add(notes, false, "the results of %s are damaged in the run file: %s", what,
                 r->launcher_error);
    else
        note_add(notes, false,
                 "the results of %s are not in the run file: it was saved before the launcher "
                 "wrote them",
                 what);
}

/* "python", "python3", "python3.11" */
static bool is_python(const struct image *image)
{
    const char *name = program_name(image), *end;

    if (strncmp(name, "python", 6) != 0)
        return false;
    end = name + 6;
    end += *end == '3';
    if (end[-1] == '3' && end[0] == '.' && end[1])
        end += 1 + strspn(end + 1, "0123456789");
    return *end == '\0';
}

void note_python(const struct report *r, struct notes *notes)
{
    struct process_set f = {0};

    if (r->view.run->version_minor < 12) /* the flag is not known */
        return;
    for (const struct image *image = r->images; image; image = image->hh.next)
        if (is_python(image) && !(image->flags & IMAGE_PYTHON_MALLOC))
            process_set_add(&f, image);
    if (f.count > 0)
        note_add(notes, false,
                 "%s: python's own allocator hides blocks of up to 512 bytes; "
                 "PYTHONMALLOC=malloc shows them",
                 process_set_text(&f, notes->deterministic).text);
}
