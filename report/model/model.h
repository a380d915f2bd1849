/*
 * model.h - struct report, all tables of a report: the interface of model.
 *
 *   image.h    a process image; images.c: which exist, and which living processes still need them;
 *              image_facts.c: what they are, and their sums
 *   site.h     modules, frames (module + offset) and stacks; sites.c interns them, so that one
 *              code location has one number in all processes
 *   finding.h  errors and leaks
 *   packed.c     the pack that the run was read from, and versions of its sources
 *   wording.c  names: of the numbers in a run file, of images and their programs
 *
 * The tables have data of verified copies (view.h). Indices are valid, or NO_SITE, NO_MODULE; a
 * number may be one of a later version, for which wording.c has "unknown"; texts are bytes of the
 * checked programs and not safe to print. The room read fills the tables from the run file, and
 * symbols fills in the names of frames. Ids, dispositions and sentences come from the rooms above.
 * Memory is freed by report_close.
 */
#ifndef MODEL_H
#define MODEL_H

#include "finding.h"
#include "view.h"

struct exit_fact {
    uint32_t pid;
    int wait_status;
    struct costs costs;
};

/* The runtime's own cost, summed over all images that were read. */
struct own_cost {
    uint32_t images;  /* with a cost record; 0: none */
    uint32_t stopped; /* of them, those that entered a sandbox */
    uint32_t every;
    uint64_t disturbed;
    double kernel_ns;
    double ns_per_tick; /* 0: not known */
    struct own_work {
        double ns;
        uint64_t timed, operations, faults;
    } work[COST_WORK_COUNT];
    uint64_t alloc_times[COST_TIMES], free_times[COST_TIMES]; /* see cost_record */
    uint64_t blocks; /* in use, in slabs; below: bytes of their records and slack */
    uint64_t record_bytes, around_bytes;
};

struct interned; /* sites.c */
struct symbols;  /* symbolize.c */
struct helper;   /* helper.c */
struct packed;   /* packed.c */
struct variable; /* variables.h */

/* Suppressions of a program: what its __lsan_default_suppressions returned. */
struct own_text {
    char *exe;
    char *text;
    char *wrong; /* why it could not be read; NULL: it could */
};

struct report {
    struct view view;
    struct image *images; /* uthash, ascending numbers */
    struct image *done;   /* absorbed images, not scanned before the end */
    bool keeps_blocks;    /* images with blocks in use are not absorbed, up to a number */
    uint32_t kept_pid;    /* of the program, whose last image is not absorbed; 0: none */
    struct bad_area *bad;
    uint32_t bad_count;
    struct exit_fact *exits;
    uint32_t exit_count;
    struct counter_row *counters;
    uint32_t counter_count;
    struct run_tally absorbed; /* by this report */
    struct own_cost own_cost;
    struct measured measured;
    bool is_of_launcher; /* made by the launcher, which writes its record into the file */
    struct launcher_record *launcher; /* from the file; NULL: none, or a bad one */
    const char *launcher_error;       /* what is wrong with a bad one */

    struct run_object *objects; /* in the order of processes, and of loading */
    uint32_t object_count;
    struct access_time *access_time; /* NULL: not sampled */
    struct module *modules;
    uint32_t module_count;
    struct frame *frames;
    uint32_t frame_count;
    struct site *sites;
    uint32_t site_count;
    struct crash_record *crashes; /* of errors; see struct crash.record */
    uint32_t crash_count;
    struct error *errors;
    uint32_t error_count;
    uint64_t strange_errors; /* of kinds that this version does not have */
    struct leak *leaks;
    uint32_t leak_count;
    uint64_t leaks_unread;     /* beyond LEAKS_MAX */
    bool wants_reachable;      /* `leaks` has those of CLASS_REACHABLE */
    bool wants_mapped;         /* and those of CLASS_MAPPED */
    bool wants_regions;        /* images have region_sites */
    struct leak_sum reachable; /* sum of those that `leaks` does not have */
    struct leak_index {
        uint32_t of[CLASS_COUNT]; /* index in leaks + 1, until leaks_sort */
    } * leak_index;               /* by site + 1; [0] is NO_SITE's */
    uint32_t leak_row_count;
    struct disposition *use_dispositions; /* of blocks in use, by site; NULL: no rule applies */
    uint32_t use_disposition_count;
    struct interned *known;  /* hash index of the tables above */
    struct symbols *symbols; /* one per module, as far as read */
    uint32_t symbols_count;
    struct helper *helper;     /* the process that reads symbols */
    struct progress progress;  /* of PROGRESS_SYMBOLS */
    const struct rules *rules; /* applied to the findings; NULL: none */
    struct rules *own_rules;   /* these with those of programs; freed with the report */
    struct own_text *own;      /* suppressions of programs */
    uint32_t own_count;
    struct filters filters;          /* of findings */
    const struct baseline *baseline; /* known findings; NULL: none */
    char *sysroot;                   /* of the run's machine; NULL: none */
    struct packed *packed;           /* that the run was read from; NULL: none */
    char *debug_path;           /* folders of debugging information, for libdwfl; NULL: default */
    bool is_mangled;            /* names are printed as the linker has them */
    bool no_symbols;            /* no symbols are read: the helper failed or cannot be used */
    time_t wasted_wait_seconds; /* lost on debuginfod servers that had no file */
    uint32_t timeout_ms;        /* limit for one frame; 0: helper.c's default */
};

/* ---- images.c -------------------------------------------------------------------------------- */

/* Read the run's tables again and add images that are new in them. */
int images_refresh(struct report *r);
struct image *image_of(const struct report *r, uint32_t number);
/* Copy the header fields that change while the process runs. */
void image_update(struct image *image, const struct image_header *h);
/* Set .gone of images whose process has certainly ended, so that their areas may be emptied. */
void images_mark_gone(struct report *r);
/* Whether the process seems to run; for wording only, a wrong answer loses no data. */
bool image_seems_alive(const struct report *r, const struct image *image);
/* Whether the file (still) has an area of the image. */
bool image_has_area(const struct report *r, const struct image *image);
/*
 * Return the older image that created this one or preceded it in its process; NULL: not known. The
 * header of an exec'd image does not always name its parent.
 */
const struct image *image_likely_parent(const struct report *r, const struct image *image);
/* Set .needed of images whose records a live process may still read. */
void images_mark_needed(struct report *r);
/*
 * Whether both images belong to one process. In foreign pid namespaces, equal pids may be a
 * coincidence.
 */
bool image_is_of_process(const struct image *a, const struct image *b);
/* Whether the same process has a later image: exec replaced this one. */
bool image_has_exec_successor(const struct image *image);
/* Return the image that it shares old records, stacks and modules with (by fork), or NULL. */
struct image *image_parent(const struct report *r, const struct image *image);
/* Move absorbed images that no other image's stacks need to r->done, and drop their maps. */
void images_retire(struct report *r);
/* Drop images whose areas other processes reclaimed before more than the header was read. */
void images_drop_taken(struct report *r);
/* Move all images back to r->images, in ascending order. */
void images_join(struct report *r);
void image_free(struct image *image);

/* ---- image_facts.c --------------------------------------------------------------------------- */

/* Add a number, each once. All calls for one image must follow each other. */
void image_numbers_add(struct image_numbers *images, uint32_t number);
void image_numbers_sort(struct image_numbers *images);

struct totals {
    uint64_t processes;
    uint64_t allocs;
    uint64_t alloc_bytes;
    uint64_t frees;
    uint64_t blocks; /* in use at the end */
    uint64_t bytes;
};

struct totals totals_of(const struct report *r);
/* Sums of images that others than this report reclaimed; .processes counts images. */
struct totals totals_elsewhere(const struct report *r);
/* Whether exec replaced this image and discarded its memory. */
bool image_was_replaced(const struct image *image);
/* Whether exec replaced it by a program that has no image in this run. */
bool image_was_lost(const struct report *r, const struct image *image);
/* Whether rtcheck's malloc served the checked program, and the image's data can be trusted. */
bool image_is_checked(const struct image *image);
/*
 * Return the image of the program that the run was made for: the root or its last exec successor.
 */
struct image *image_main(const struct report *r);

/* ---- sites.c --------------------------------------------------------------------------------- */

uint32_t module_intern(struct report *r, const struct module_record *m, uint32_t image);
uint32_t frame_intern(struct report *r, uint32_t module, uint64_t offset, bool exact);
uint32_t site_intern(struct report *r, const uint32_t *frames, uint32_t count, uint32_t end);
/*
 * Return the index of the error with the same kind, damage, entry and stacks, adding it if it is
 * new. Of a wua only kind, damage and allocation stack count: the call that detects it is
 * arbitrary.
 */
uint32_t error_intern(struct report *r, const struct error *error);
void sites_free(struct report *r);
void frame_free(struct frame *frame); /* frees its fields, not the struct */

/* ---- packed.c -------------------------------------------------------------------------------- */

/* The folder with the files of the pack. NULL: the run was not read from a pack. */
const char *packed_root(const struct report *r);
/* May lines of this source file be printed: is it the version that the pack knows? */
bool packed_has_version(struct report *r, const char *path, int fd);
void packed_free(struct report *r);

/* ---- wording.c ------------------------------------------------------------------------------- */

/*
 * "root", "fork", "exec"; end_name: "exit", "_exit", .. "killed", "running": as in the JSON report.
 */
const char *how_name(uint32_t how);
const char *error_code(uint32_t kind); /* "duf", ..; "foreign" */
const char *module_symbols_text(enum module_symbols symbols);
const char *stack_end_text(uint32_t end); /* why a stack ends */
const char *end_name(const struct report *r, const struct image *image);
/*
 * The start of an option's value in the run's settings; `key` is written with "_". NULL: the option
 * was not given.
 */
const char *run_setting(const struct run_header *run, const char *key);

const char *cost_work_name(uint32_t work); /* "allocate", .. */

/* Name of bit n of missing_features. NULL: unknown to this version. */
const char *feature_name(unsigned n);

/* For an unchecked image: "the program brought a malloc of its own". */
const char *why_unchecked(const struct image *image);
/* Name of a process: the base name of its program. */
const char *program_name(const struct image *image);
/* Path of the program that image ran; "" if it is unknown. */
const char *program_path(const struct report *r, uint32_t image);

/* The argument after `arg` (NULL: the first). NULL: there is none. */
const char *argv_next(const struct image *image, const char *arg);
const char *entry_name(uint32_t entry); /* "operator delete"; NULL: unknown */
const char *family_name(uint32_t family);

#endif
