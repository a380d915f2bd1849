/*
 * report_priv.h - what the files of report share.
 *
 *   view.c      the file: checked, area by area, in copies of our own
 *   images.c    which process images there are, and which of them are still needed by the living
 *   read.c      one image's areas -> what it had in use, its depot, its modules
 *   map.c       what its numbers mean: stacks, modules
 *   errors.c    what was found wrong in it
 *   leaks.c     which of its blocks it could not get at any more, and who points to the others
 *   sites.c     places in programs, each once: module + offset, and stacks of them
 *   absorb.c    ended images out of a file that is still being written
 *   collect.c   the rest of them, at the end
 *   ids.c       names of findings that stay
 *   suppress_*  rules.h: suppressions, out of files of three grammars; patterns.h
 *   group.c     records: blocks in use by site, sorted
 *   helper.c    the process that reads programs' files for us
 *   names.c     an address in a module -> its symbol
 *   symbolize.c module + offset -> function, file, line, what was inlined there
 *   symbolize_variable.c, variables.c  module + offset, or a place on a stack -> variable, element, member
 *   search.c    in what is sorted by where it begins
 *   live.c      errors of a run that goes on
 *   checks.c    leaks that it has looked for in mid-run
 *   progress.c  a line for somebody who waits
 *   words.c     names of things, and amounts
 *   print_*.c   sentences
 *   findings.c, formats_priv.h  the same for others' formats, each in a print_*.c of its own
 */
#ifndef REPORT_PRIV_H
#define REPORT_PRIV_H

#include <sys/types.h>

#include <uthash.h>

#include "report.h"
#include "shadow.h"

/* run_header.reported of a saved copy; 1 is what the reporter of a run by hand writes. */
#define REPORTED_SAVED 2u

/* Longer stacks are cut: verify.c has excluded circles, not length. */

/* ---- view.c ------------------------------------------------------------------------------- */

struct view {
    int fd;
    bool fd_is_ours;
    uint32_t owner; /* who the file belongs to */
    bool foreign;   /* another user's file, read as root */
    bool finished;  /* a saved file: its process ids mean nothing any more */
    char *name;
    uint64_t file_bytes;
    struct run_header *run; /* copy of the head: header, area table, leases; always verified */
    struct run_header *spare;
};

/* A private copy of one area; holes are holes here too. */
struct area_copy {
    char *at;
    uint64_t bytes;
};

int view_open(struct view *v, const char *path, char err[REPORT_ERROR_BYTES]);
int view_open_fd(struct view *v, int fd, const char *name, char err[REPORT_ERROR_BYTES]);
/* Reads the tables again: the run goes on.  The old ones stay when the new ones are bad. */
int view_refresh(struct view *v);
void view_close(struct view *v);

const struct area_entry *view_area_entry(const struct view *v, uint32_t area);
const struct lease *view_lease(const struct view *v, uint32_t index);
/* Areas at and above it hold nothing. */
uint32_t view_area_end(const struct view *v);

/* What is used of an area, not yet verified. */
int view_read_area(const struct view *v, uint32_t area, struct area_copy *out);
void area_copy_drop(struct area_copy *copy);
/* Is it good, and its image's that the run's table says? */
bool view_verify_area(const struct view *v, uint32_t area, const struct area_copy *copy,
                      struct verify_error *wrong);

/* The first bytes of an area: cheap, not verified.  Bytes missing in the file read as zero. */
int view_read(const struct view *v, uint64_t offset, void *to, size_t bytes);

static inline const struct area_head *copy_head(const struct area_copy *c)
{
    return (const void *)c->at;
}

/* NULL: the area is not an image's first, or the image was still being built. */
const struct image_header *copy_image(const struct area_copy *c);

/* Walks a verified copy.  *off = 0 before the first call; NULL at the end. */
const struct segment *copy_next_segment(const struct area_copy *c, uint64_t *off);

static inline const void *segment_item(const struct segment *s, uint32_t i)
{
    return (const char *)s + sizeof *s + (uint64_t)i * s->item_bytes;
}

/* ---- what is known ------------------------------------------------------------------------ */

/* Blocks of one image from one place. */
struct use {
    uint32_t site;
    uint64_t blocks;
    uint64_t bytes;
};

struct depot_chunk {
    uint32_t chunk;
    uint32_t count;
    UT_hash_handle hh;
    struct depot_node nodes[];
};

/* Where a module lay in one image. */
struct range {
    uint32_t number; /* as in depot nodes, 0 = it has none */
    uint64_t start;
    uint64_t end;
    uint64_t bias;
    uint32_t module;
};

/* A thread of one image. */
struct thread {
    uint32_t number; /* 0: not known */
    uint32_t tid;
    bool gone;
    char name[sizeof(((struct thread_record *)0)->name)];
};

/* What a process used; all of it zero where `known` lacks the bit. */
struct costs {
    uint32_t known; /* enum cost_source */
    uint64_t task_clock_ns;
    uint64_t minor_faults;
    uint64_t major_faults;
    uint64_t voluntary_switches;
    uint64_t involuntary_switches;
    uint64_t max_rss_bytes;
};

struct image {
    uint32_t number;
    uint32_t pid;
    uint32_t ppid;
    uint32_t parent;
    uint32_t how;
    uint32_t state;
    uint32_t flags;
    uint32_t end_how;
    int32_t end_status;
    uint32_t first_depot_chunk;
    uint32_t stack_frames;
    uint32_t lease;
    uint32_t argc;
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t private_segments;
    uint64_t bad_frees[LOST_COUNT];
    uint64_t unchecked_children;
    uint64_t lost_features;
    uint32_t checks; /* CHECK_*; without CHECK_MADE what follows is not known */
    uint32_t error_limit;
    uint16_t malloc_fill; /* the byte + 1; 0: none */
    uint16_t free_fill;
    uint64_t errors_unrecorded;
    uint64_t peak_bytes;
    uint64_t segment_bytes;
    struct costs costs;
    struct costs costs_at_death; /* with what it had waited for; whoever waited for it told */
    uint32_t leak_check; /* enum leak_check, LEAKS_CHECK_COUNT: one that is not known here */
    uint32_t threads_unheard;
    uint32_t threads_deaf; /* of them */
    uint32_t watcher;      /* pid, 0 or WATCHER_DONE */
    uint32_t first_area;   /* which has its header */
    uint64_t leak_ns;
    uint64_t root_bytes;
    uint64_t root_bytes_skipped;
    uint32_t marks;       /* that it made; 0: all of its leaks are new */
    uint32_t leak_checks; /* in mid-run */
    char **unknown_settings; /* "key=value" of its own options that mean nothing here */
    uint32_t unknown_count;
    char *exe;
    char *argv; /* argv_bytes, each argument NUL-terminated */
    uint32_t argv_bytes;
    char *name;

    bool collected;  /* what follows is known */
    bool absorbed;   /* and its areas were given back */
    bool kept;       /* collected, and its areas stay: it has errors to be shown */
    bool pid_known;  /* its process id is one of our process-id namespace */
    bool gone;       /* the process has ended, for certain */
    bool needed;     /* scratch of images_mark_needed and images_retire */
    bool succeeded;  /* exec has made a later image of the same process */
    bool map_tried;  /* its depot and modules were read in this round */
    int wait_status; /* as the launcher saw it, or -1 */
    uint64_t allocs;
    uint64_t frees;
    uint64_t live_blocks;
    uint64_t live_bytes;
    uint32_t error_places;
    uint32_t leak_places; /* that are findings */
    struct use *uses;
    uint32_t use_count;

    struct depot_chunk *depot;
    struct range *ranges;
    uint32_t range_count;
    struct thread *threads;
    uint32_t thread_count;

    UT_hash_handle hh; /* by number */
};

struct bad_area {
    uint32_t area;
    uint32_t image;
    const char *what; /* static text */
    uint64_t offset;
};

/* What is known of a module's symbols; module_symbols_words has a word for each. */
enum module_symbols {
    SYMBOLS_UNTRIED,
    SYMBOLS_NO_FILE,
    SYMBOLS_NOT_TRUSTED,   /* read as root: the file is another user's */
    SYMBOLS_ANOTHER_BUILD, /* than the one that ran */
    SYMBOLS_UNREADABLE,    /* no ELF file, or one that reading breaks at */
    SYMBOLS_EXPORTED,      /* only names that other objects may use: it was stripped */
    SYMBOLS_NAMES,         /* a table of symbols */
    SYMBOLS_LINES,         /* and debugging information */
    SYMBOLS_COUNT
};

struct module {
    char *path;
    uint8_t build_id[20];
    uint32_t build_id_bytes;
    uint32_t image; /* the first that had it, and where */
    uint64_t bias;
    enum module_symbols symbols;
    bool no_variables; /* reading them breaks */
};

#define NO_MODULE UINT32_MAX
#define ID_BYTES 32 /* biu-01234567; .2, .3 behind it where names alone do not tell things apart */

/* A function that a compiler put into its caller. */
struct inlined {
    char *system_name;
    char *function; /* NULL: that is it already */
    char *call_file; /* where it was called; NULL, 0: not known */
    int call_line;
};

#define INLINED_MAX 64u /* in one another */

/* A place in a program. */
struct frame {
    uint32_t module;
    uint64_t
        offset; /* of the return address: from the bias, or the address itself without module */
    bool exact; /* it is not the return of a call: that instruction was interrupted */
    char *system_name; /* the rest by symbolize.c; NULL, 0: not known */
    char *function;
    char *file; /* of the innermost function that was inlined there */
    int line;
    uint64_t in_function;
    struct inlined *inlined; /* innermost first; frame_lines puts it in order */
    uint32_t inlined_count;
    bool tried;
};

/* A stack, outermost last. */
struct site {
    const uint32_t *frames; /* in the table of what is known */
    uint32_t count;
    uint32_t end; /* enum stack_end, or SITE_LOST: why there are no more */
};

#define SITE_LOST STACK_END_COUNT /* what the file has of it leads nowhere */

#define NO_SITE UINT32_MAX

/* What an address is that is no block's: error_record's, with the module looked up. */
struct region {
    uint32_t what; /* enum error_region */
    uint32_t module;
    uint64_t offset; /* of the address, in the module */
    uint64_t start;
    uint64_t end;
    char path[sizeof(((struct error_record *)0)->region_path)];
    struct thread thread;
};

/* Why a finding is not told, after report_suppress and report_compare. */
struct fate {
    uint32_t suppressed_by; /* the number of a rule, from 1; 0: of none */
    bool is_known;          /* by a baseline */
};

static inline bool is_hidden(const struct fate *fate)
{
    return fate->suppressed_by != 0 || fate->is_known;
}

/* One place of errors of one kind, in all the processes that had it: error_record, outside its file. */
struct error {
    char id[ID_BYTES];
    uint32_t kind; /* enum error_kind */
    uint32_t entry;
    uint64_t count; /* of all processes; what follows is of the first */
    uint32_t image;
    uint64_t time_ns;
    uint64_t address;
    uint64_t bytes;
    uint32_t stack; /* sites, or NO_SITE */
    uint32_t alloc_stack;
    uint32_t free_stack;
    uint64_t block;
    uint64_t block_bytes;
    uint32_t block_state;
    uint32_t block_family;
    uint32_t damage;
    struct thread thread;
    struct thread block_thread;
    struct region region;
    uint32_t found_bytes;
    uint8_t found[ERROR_BYTES_FOUND];
    uint32_t *images; /* numbers; ascending when all are read */
    uint32_t image_count;
    struct fate fate;
};

/* What a leak is called. */
enum leak_class {
    CLASS_LOST,     /* mel */
    CLASS_INDIRECT, /* mel, behind another */
    CLASS_INTERIOR, /* aib */
    CLASS_REGISTER, /* air */
    CLASS_UNSURE,   /* nowhere to be seen, but a thread may have it in a register: air */
    CLASS_BEHIND,   /* behind one of these three: told there */
    CLASS_HELD,     /* biu */
    CLASS_COUNT
};

/* A place in a function's frame, and the stack pointer there: from the frame's canonical address. */
struct in_frame {
    int64_t at;
    int64_t sp; /* 0: not known */
};

/* Who points to a block. */
struct holder {
    uint32_t what; /* enum witness */
    uint32_t root; /* enum root_kind; ROOT_NONE: there is none, or it is not known */
    uint64_t inside; /* how far in the block it points */
    uint64_t at;     /* where it lies: an address, or the number of a register */
    struct region *place; /* of a ROOT or REGISTER: where in a root, or whose register; else NULL */
    uint32_t function; /* the one whose frame it lies in: a site of one frame, or NO_SITE */
    struct in_frame in_frame;
    bool is_above_frames;   /* of all that its thread has on that stack */
    uint64_t control_block; /* of the thread whose thread-local storage lies there; 0: nobody's */
    uint32_t program;       /* the module whose thread-local variables end there; NO_MODULE */
    uint64_t from;     /* the block that it lies in */
    uint64_t from_bytes;
    uint32_t from_stack; /* a site, or NO_SITE */
};

/* Blocks from one place that are reached alike, in all the processes that had them: leak_group, outside its file. */
struct leak {
    char id[ID_BYTES];
    enum leak_class class;
    uint32_t site; /* or NO_SITE */
    uint64_t blocks; /* 0: an inherited one, which others are behind */
    uint64_t bytes;
    uint64_t new_blocks;
    uint64_t new_bytes;
    uint64_t behind_blocks;
    uint64_t behind_bytes;
    uint32_t image; /* what follows is of the first */
    bool is_circle;
    uint64_t block;
    uint64_t block_bytes;
    struct thread thread;
    struct holder holder;
    uint32_t *images; /* numbers; ascending when all are read */
    uint32_t image_count;
    struct fate fate;
};

/* What all leaks of a kind come to, those behind a possible one included. */
struct leak_sum {
    uint64_t places;
    uint64_t blocks;
    uint64_t bytes;
    uint64_t new_blocks;
};

#define LEAKS_MAX 200000u /* of one report, and roots of one process: what is more is counted */

struct exit_fact {
    uint32_t pid;
    int wait_status;
    struct costs costs;
};

struct page;     /* below */
struct interned; /* sites.c */
struct symbols;  /* symbolize.c */
struct helper;   /* helper.c */
struct variable; /* variables.h */

/* Of what takes long; all zero: nothing is shown. */
struct progress {
    uint64_t start_ms;
    uint32_t done, total;
    uint32_t shown; /* percents + 1 */
};

struct report {
    struct view view;
    struct image *images; /* uthash, ascending numbers */
    struct image *done;   /* absorbed, and out of the way until the end */
    struct bad_area *bad;
    uint32_t bad_count;
    struct exit_fact *exits;
    uint32_t exit_count;
    struct run_tally absorbed; /* by this report */

    struct module *modules;
    uint32_t module_count;
    struct frame *frames;
    uint32_t frame_count;
    struct site *sites;
    uint32_t site_count;
    struct error *errors;
    uint32_t error_count;
    uint64_t strange_errors; /* of kinds that this version does not know */
    struct leak *leaks;
    uint32_t leak_count;
    uint64_t leaks_unread; /* beyond LEAKS_MAX */
    bool wants_held;       /* those of CLASS_HELD are in the table */
    struct leak_sum held;  /* else this is all that is known of them */
    struct leak_places {
        uint32_t of[CLASS_COUNT]; /* place in leaks + 1, while they are taken */
    } *leak_places;               /* by site + 1; the first is NO_SITE's */
    uint32_t leak_row_count;
    struct interned *known;  /* hash over the tables above */
    struct symbols *symbols; /* one per module, as far as looked at */
    uint32_t symbols_count;
    struct helper *helper; /* the process that has them */
    struct progress progress;
    const struct rules *rules; /* that findings were held against; NULL: none */
    const struct baseline *baseline; /* the same of what is known */
    bool no_symbols;       /* it breaks */
    time_t waited_for_nothing; /* seconds, for servers of debugging information */
    uint32_t patience_ms;  /* how long it may be at one frame; 0 = as helper.c has it */
};

/* Memory of the reporter itself: gives up with a line when there is none. */
void *must_have(void *p);
void *grow(void *array, uint32_t count, size_t item); /* room for one more; doubles */

/* ---- search.c ----------------------------------------------------------------------------- */

/*
 * How many of the items begin at the address or before it.  They lie `stride` bytes apart, sorted by
 * the 64-bit address that each has first of all.
 */
size_t begun_before(const void *items, size_t count, size_t stride, uint64_t address);

/* ---- images.c ----------------------------------------------------------------------------- */

/* Reads the run's tables again and takes the headers of images that are new in them. */
int images_refresh(struct report *r);
struct image *image_of(const struct report *r, uint32_t number);
/* Takes what may have changed in a header since. */
void image_update(struct image *image, const struct image_header *h);
/* Sets .gone of those whose process has ended for certain, so that their areas may be emptied. */
void images_mark_gone(struct report *r);
/* The same question for a sentence: nothing is lost when the answer is wrong. */
bool image_seems_alive(const struct report *r, const struct image *image);
/* Sets .needed of those whose records somebody alive may still read. */
void images_mark_needed(struct report *r);
/* Do both speak of one process?  Of those in namespaces of their own, as far as can be told. */
bool image_is_of_process(const struct image *a, const struct image *b);
/* The image it shares old records, stacks and modules with, or NULL. */
struct image *image_elder(const struct report *r, const struct image *image);
/* Absorbed images that no other's stacks refer to: to r->done, without their maps. */
void images_retire(struct report *r);
/* Forgets those that other processes took back before we read anything of them but the header. */
void images_drop_taken(struct report *r);
/* All images back in r->images, ascending. */
void images_join(struct report *r);
void image_free(struct image *image);

/* ---- read.c ------------------------------------------------------------------------------- */

/* Reads all of an image's areas: what it had in use. */
void image_collect(struct report *r, struct image *image);
/* Notes what is wrong with areas of images that are not known: their first may be what is bad. */
void orphans_check(struct report *r);

/* What an image that still runs may have added to its map since it was read; once per round is enough. */
void image_read_map(struct report *r, struct image *image);

/*
 * A leak check that the image made in mid-run and that nobody has told yet: what it found becomes the
 * report's leaks, as if it were the one at the end.  *at: where its record lies in the file.  false:
 * there is none.
 */
bool image_read_check(struct report *r, struct image *image, struct leak_check_record *check, uint64_t *at);

/* ---- map.c -------------------------------------------------------------------------------- */

/* Takes a segment that belongs to the map; false: it does not. */
bool map_read_segment(struct report *r, struct image *image, const struct segment *s);
uint32_t site_of_stack(struct report *r, struct image *image, uint32_t id);
/* A stack of the one frame that depot_node.pc says. */
uint32_t site_of_pc(struct report *r, struct image *image, uint64_t pc);
/* The module with this number - or, without one, at this address; NO_MODULE. */
uint32_t module_of_number(struct report *r, struct image *image, uint32_t number, uint64_t address);
/* The program that it runs, which was linked first of all; NO_MODULE. */
uint32_t module_of_program(struct report *r, struct image *image);
/* The image's thread, or the one it inherited the number from. */
struct thread thread_of_number(struct report *r, struct image *image, uint32_t number);

/* ---- errors.c ----------------------------------------------------------------------------- */

/* Adds what an image's error records say to the report's table. */
void errors_take(struct report *r, struct image *image, const struct error_record *records,
                 uint32_t count);
/* Sorts the table by time, and the processes of each: when all are taken. */
void errors_sort(struct report *r);
/* Gives the first `count` their ids. */
void errors_name(struct report *r, uint32_t count);
/* The stack that says where it happened, a site or NO_SITE: of damage the block's allocation. */
uint32_t error_place(const struct error *e);

/* ---- write.c -------------------------------------------------------------------------------- */

/* All of a file, for free; NULL: errno says why. */
char *file_read(const char *path, size_t *bytes);
/* What `put` puts out, under the name by rename; what is no regular file is written in place.  -errno. */
typedef void write_put(FILE *out, void *arg);
int write_whole(const char *path, write_put *put, void *arg);

/* ---- baseline.c ----------------------------------------------------------------------------- */

/* Of a text that `name` stands for; empty: nothing is known. */
int baseline_read_text(struct baseline **out, const char *name, const char *text, size_t bytes, char *err,
                       size_t room);
void baseline_print(const struct report *r, const struct page *page);

/* ---- suppress_match.c ----------------------------------------------------------------------- */

/* The errors' part of report_suppress, without counting: for those of a run that goes on. */
void errors_suppress(struct report *r, struct rules *rules);
bool is_of_libc(const char *base_name); /* of a module */
/* "ns::f" of "int ns::f<int>(char)", and where "f" is in it; NULL: an operator.  Freed by the caller. */
char *qualified_name(const char *full, const char **simple);

/* ---- suppress_say.c ------------------------------------------------------------------------- */

struct rule; /* rules.h */

/* What is not told, and by how many rules. */
struct hidden {
    uint32_t errors;
    uint32_t leaks;
    uint64_t blocks;
    uint64_t bytes;
    uint32_t rules;
    uint32_t unused;
    uint32_t not_ours; /* about what other checkers find */
};

struct hidden hidden_sum(const struct report *r);
/* Out of a file, and it met nothing; it might have. */
bool rule_is_unused(const struct rule *rule);
/* How many lines suppressed_print takes that nobody has asked for. */
uint32_t suppressed_lines(const struct report *r);
void suppressed_print(const struct report *r, const struct page *page);

/* ---- suppress_gen.c ------------------------------------------------------------------------- */

/* A rule for this one, which has its id; false: its stack is not known, and nothing was written. */
bool error_rule_put(struct report *r, const struct error *error, FILE *out);
bool leak_rule_put(struct report *r, const struct leak *leak, FILE *out);
/* For all that is told, where it is asked for. */
void rules_print(struct report *r, const struct page *page);

/* ---- leaks.c ------------------------------------------------------------------------------ */

/* Adds what one of an image's groups says to the report's table, or to a sum. */
void leak_take(struct report *r, struct image *image, const struct leak_group *g,
               const struct root_record *roots, uint32_t root_count);
void leaks_free(struct report *r);
/* Sorts the table by class and size, and the processes of each: when all are taken. */
void leaks_sort(struct report *r);
/* Gives those from `from` up to `end`, the first of them the first of its kind, their ids. */
void leaks_name(struct report *r, uint32_t from, uint32_t end);
void leaks_name_all(struct report *r);
uint32_t leak_kind(enum leak_class class);    /* a bit of LEAK_*; 0: it is told with others */
const char *leak_code(enum leak_class class); /* "mel", .. */

/* ---- sites.c ------------------------------------------------------------------------------ */

uint32_t module_intern(struct report *r, const struct module_record *m, uint32_t image);
uint32_t frame_intern(struct report *r, uint32_t module, uint64_t offset, bool exact);
uint32_t site_intern(struct report *r, const uint32_t *frames, uint32_t count, uint32_t end);
/*
 * The place of an error with the same kind, damage, entry and stacks - of a wua, whose finder is
 * chance, the stack that allocated its block alone: `error` itself, if it is new.
 */
uint32_t error_intern(struct report *r, const struct error *error);
void sites_free(struct report *r);

/* ---- ids.c -------------------------------------------------------------------------------- */

/* "duf-01234567" of a symbolized site, or of NO_SITE. */
void id_of_site(const struct report *r, const char *code, uint32_t site, char id[ID_BYTES]);
/* The same, told apart by `what` from others of this code. */
void id_of_kind(const struct report *r, const char *code, const char *what, uint32_t site,
                char id[ID_BYTES]);
/*
 * .2, .3 behind equal ids: the first keeps the plain one.  An id is what each of `items`, which lie
 * `stride` bytes apart, begins with.
 */
void ids_tell_apart(void *items, uint32_t count, size_t stride);
/* How many frames of a symbolized stack are the user's: not what comes before main. */
uint32_t user_frames(const struct report *r, const struct site *site);

/* ---- group.c ------------------------------------------------------------------------------ */

/* Blocks in use from one site, in all images but those that exec threw away. */
struct record {
    char id[ID_BYTES];
    uint32_t site;
    uint64_t blocks;
    uint64_t bytes;
    uint32_t *images; /* numbers, ascending */
    uint32_t image_count;
};

struct totals {
    uint64_t processes;
    uint64_t allocs;
    uint64_t frees;
    uint64_t blocks; /* in use at the end */
    uint64_t bytes;
};

/*
 * Sorted by bytes, then blocks.  Only the first `named` have symbols, and ids only when all have.
 * Freed by records_free.
 */
struct record *records_make(struct report *r, uint32_t named, uint32_t *count);
void records_free(struct record *records, uint32_t count);
struct totals totals_of(const struct report *r);
/* What others than this report took out of the file: .processes counts images. */
struct totals totals_elsewhere(const struct report *r);
/* Did exec throw this image away, with all that it had? */
bool image_was_replaced(const struct image *image);
/* And by something that nobody has seen report? */
bool image_was_lost(const struct report *r, const struct image *image);
/* Is it one that the checked program's malloc was ours in? */
bool image_is_checked(const struct image *image);
/* The image of the program that the run was made for: the root, or what it became by exec. */
struct image *image_main(const struct report *r);

/* ---- helper.c, symbolize.c, demangle.c ----------------------------------------------------- */

/* Fills in what is known of a site's frames: once, later calls do nothing. */
void symbolize_site(struct report *r, uint32_t site);
/* What lies at the offset: false when nothing is known.  For variable_free. */
bool variable_find(struct report *r, uint32_t module, uint64_t offset, struct variable *out);
/* Which local variable or parameter lies at a place of this frame. */
bool local_find(struct report *r, uint32_t frame, struct in_frame at, struct variable *out);
/* Which thread-local variable of a program lies that far below a thread's control block. */
bool thread_variable_find(struct report *r, uint32_t module, uint64_t below, struct variable *out);
void variable_free(struct variable *variable);
void helper_end(struct report *r);

/* The same for one frame in this process, which a bad file may end. */
void frame_symbolize(struct report *r, struct frame *frame);
void variable_symbolize(struct report *r, uint32_t module, uint64_t offset, struct variable *out);
void local_symbolize(struct report *r, const struct frame *frame, struct in_frame at,
                     struct variable *out);
void thread_variable_symbolize(struct report *r, uint32_t module, uint64_t below,
                               struct variable *out);
/* Is there a file to look into?  NO_MODULE has none. */
bool module_has_file(struct report *r, uint32_t module);
void symbols_free(struct report *r);

/* ---- progress.c ----------------------------------------------------------------------------- */

/* Between _begin and _end nothing else is written to a terminal. */
void progress_begin(struct progress *p, uint32_t total);
void progress_step(struct progress *p);
void progress_show(struct progress *p); /* the time has come, perhaps */
void progress_end(struct progress *p);

/* ---- frames in words ------------------------------------------------------------------------- */

/* One function of a frame, as the source has it; what is not known is NULL, a line 0. */
struct source_line {
    const char *function;
    const char *system_name; /* as the linker has it */
    const char *file;
    int line;
};

/*
 * The functions that a frame is in the source: what was inlined there, innermost first, and at last
 * the one that the machine was in.  Each one's line is where it was, or where it called the one
 * before.  Returns how many were written.
 */
#define FRAME_LINES_MAX (INLINED_MAX + 1)
uint32_t frame_lines(const struct frame *frame, struct source_line *lines, uint32_t max);

/* The name as its source has it; NULL: it is that already.  The caller frees it. */
char *demangle(const char *name);

/* ---- places.c ------------------------------------------------------------------------------ */

/* ".data of prog: table[3]+0x4 (prog.c:7)", "libfoo.so+0x1234": what lies at an offset of a module. */
void place_words(struct report *r, uint32_t module, uint64_t offset, FILE *out);
/* "local variable `next' of main (prog.c:12)", as local_find; false, and nothing: it is not known. */
bool local_words(struct report *r, uint32_t frame, struct in_frame at, FILE *out);

/* "thread-local variable `last' (prog.c:12)", as thread_variable_find; false, and nothing: it is not known. */
bool thread_variable_words(struct report *r, uint32_t module, uint64_t below, FILE *out);

/* ---- words.c ------------------------------------------------------------------------------ */

/* The last component of a path. */
const char *base_name(const char *path);

/* "root", "fork", "exec"; "exit", "_exit", .. "killed", "running": as in the JSON report. */
const char *how_name(uint32_t how);
const char *error_code(uint32_t kind); /* "duf", ..; "foreign" */
const char *module_symbols_words(enum module_symbols symbols);
const char *stack_end_words(uint32_t end); /* why a stack has no further frames */
const char *end_name(const struct report *r, const struct image *image);

/* Name of bit n of lost_features; NULL: one that this rtcheck does not know. */
const char *feature_name(unsigned n);

/* How many of the bytes at `text`, 1..4, are one character in good UTF-8; 0: not good. */
unsigned utf8_length(const char *text);

/* A character of ASCII that can be seen, or a blank. */
static inline bool byte_is_plain(unsigned char byte)
{
    return byte >= 0x20 && byte < 0x7f;
}

/* Text out of a file on its way to a terminal: what is no printable character is written \xNN. */
void text_put(FILE *out, const char *text);

/* "9 B", "1.2 MiB": exact below 10 KiB, then three digits or so.  "1 block", "2 blocks". */
struct amount {
    char text[64];
};

struct amount size_text(uint64_t bytes);
struct amount count_text(uint64_t count, const char *one, const char *many);
struct amount block_text(uint64_t blocks);

/* What a process is called: its program, as it was started. */
const char *program_name(const struct image *image);
/* Of the program that image ran; "" when it is not known. */
const char *program_path(const struct report *r, uint32_t image);

/* The next argument behind `arg` (NULL: the first); NULL: no more. */
const char *argv_next(const struct image *image, const char *arg);

/* ---- word_errors.c ------------------------------------------------------------------------- */

/* What it was, in one sentence, in the file's bytes: whoever prints it escapes it.  Freed by the caller. */
char *error_sentence(struct report *r, const struct error *e, bool deterministic);

/* A stack that tells of an error, with the thread that was there, if it was another. */
struct error_row {
    const char *label;
    uint32_t site;
    const struct thread *thread;
};

struct error_rows {
    struct error_row at[3];
    uint32_t count;
};

struct error_rows error_rows(const struct error *e);
/* "thread main", "thread 3 (worker)" of this image; freed by the caller. */
char *thread_words(const struct report *r, uint32_t image, const struct thread *t);
/* What was there when damage was found, behind its address; nothing of other errors. */
void found_words(const struct error *e, FILE *out);
const char *thread_label(const struct error *e); /* before what thread_words says of e's thread */
const char *entry_name(uint32_t entry); /* "operator delete"; NULL: not known */
const char *family_name(uint32_t family);

/* ---- leak_rows.c --------------------------------------------------------------------------- */

/* Leaks that are told as one: of one class, whose innermost frames are the same. */
struct leak_row {
    const struct leak *first; /* the largest of them */
    uint32_t members;
    uint64_t blocks;
    uint64_t bytes;
    uint64_t new_blocks;
    uint64_t behind_blocks;
    uint64_t behind_bytes;
    bool is_marked; /* it is worth saying what is new */
};

/*
 * Leaks of a kind, the largest first; `match` frames are compared, 0: all.  The first `named` have
 * their ids.  The caller frees them.
 */
struct leak_row *leak_rows(struct report *r, uint32_t kind, uint32_t match, uint32_t named,
                           uint32_t *count);

struct leak_sum leak_sum(const struct report *r, uint32_t kind);
/* Was it asked in any process? */
bool leaks_are_known(const struct report *r);
/* Has any process made a mark, or had leaks told in mid-run?  Else all are new. */
bool leaks_are_marked(const struct report *r);

/* ---- word_leaks.c -------------------------------------------------------------------------- */

struct kind_words {
    const char *heading;        /* "LEAKS (mel)" */
    const char *summary;        /* "definite (mel)" */
    const char *one, *many;     /* "leak", "leaks" */
};

const struct kind_words *kind_words(uint32_t kind);
/* All of these are freed by the caller, and in the file's bytes: whoever prints them escapes them. */
char *leak_sentence(const struct leak_row *row, bool deterministic);
/* Who points to the first of its blocks. */
char *witness_sentence(struct report *r, const struct leak *leak, bool deterministic);
/* "2 blocks of 32 B behind it"; NULL: there are none. */
char *behind_words(const struct leak_row *row);
/* Why leaks of an image are not known; NULL: they are, or nobody asked. */
const char *leak_check_words(const struct report *r, const struct image *image);
const char *reach_name(enum leak_class class); /* as in the JSON report */

/* ---- print_text.c -------------------------------------------------------------------------- */

/* Where text goes, and how. */
struct page {
    FILE *out;
    const struct print_options *how;
    const char *program; /* path of the module whose name goes without saying */
    uint32_t frames;     /* shown of each stack */
    bool whole;          /* nothing left out of what is shown */
    bool numbered;       /* each function of a stack has its number */
};

#define FRAMES_SHOWN 8u

/* Was the program that the run was made for checked to its end? */
bool is_in_control(const struct report *r, const struct image *main);
/* The last line. */
void verdict_print(const struct report *r, const struct image *main, uint64_t problems,
                   const struct page *page);

enum ink { INK_NONE, INK_HEADING, INK_BAD, INK_WARNING, INK_GOOD };

/* What follows is of this color, where there are colors. */
void ink(const struct page *page, enum ink ink);

/* ---- print_notes.c ------------------------------------------------------------------------- */

struct note {
    char *text;
    bool against; /* said even by a quiet report */
};

struct notes {
    struct note *at;
    uint32_t count;
    bool deterministic;
};

struct notes notes_make(const struct report *r, const struct image *main,
                        const struct print_options *how);
bool notes_against(const struct notes *notes);
/* At most `shown` lines; the last tells of those beyond. */
void notes_print(const struct notes *notes, uint32_t shown, FILE *out);
void notes_free(struct notes *notes);
/* "process 4711 (make)", "3 processes (first 4711, make)" */
void flock_put(const struct report *r, const uint32_t *images, uint32_t count,
               const struct page *page);

/* ---- print_stack.c ------------------------------------------------------------------------- */

#define STACK_INDENT 5
#define STACK_LABEL 13

/* At most that many functions of a site, in one line. */
void site_put(const struct report *r, uint32_t site, uint32_t most, const struct page *page);
/* The same with another joint between them. */
void chain_put(const struct report *r, uint32_t site, uint32_t most, const char *joint,
               const struct page *page);
/* Is it of the compiler's or the system's? */
bool line_is_of_header(const struct source_line *line);
/* A line for each function, the label before the first. */
void stack_print(const struct report *r, const char *label, uint32_t site, const struct page *page);

/* ---- print_errors.c, print_leaks.c, print_use.c, print_cost.c ---------------------------------------------- */

/* Does it stand among the errors (others are a note), and is it more than a warning? */
bool error_is_told(const struct error *e);
bool error_is_problem(const struct error *e);
/* In full. */
void error_print(struct report *r, const struct error *e, const struct page *page);
/* In one line. */
void error_print_short(struct report *r, const struct error *e, const struct page *page);
/* In at most that many lines. */
void errors_print(struct report *r, uint32_t lines, const struct page *page);
/* "12 more: " and how to see them. */
void more_print(const struct report *r, uint32_t count, const struct page *page);
/* How many lines the leaks take, at most `most`. */
uint32_t leaks_lines(struct report *r, uint32_t most, const struct page *page);
void leaks_print(struct report *r, uint32_t most, const struct page *page); /* the same */
/* "leaked 46 B in 4 blocks, possibly 3 B in 1 block", "no leaks"; and behind it "; ", where it is known. */
void leaks_sums_put(const struct report *r, const struct page *page);
void leaks_verdict_put(const struct report *r, const struct page *page);
void use_print(struct report *r, const struct image *main, const struct page *page);
void cost_print(const struct report *r, const struct page *page);
/* Of finding out what is leaked. */
struct leak_cost {
    uint32_t processes; /* 0: nobody was asked */
    uint64_t ns;
    uint64_t root_bytes;
    uint64_t root_bytes_skipped;
};

struct cost_sum {
    struct leak_cost leaks;
    struct costs of;        /* max_rss_bytes is the most of one process */
    uint64_t segment_bytes;
    uint32_t processes;
    uint32_t with_clock;
    uint32_t with_rusage;
    uint32_t with_segments;
    bool killed;   /* some of those without */
    bool at_death; /* nobody counted; so much was told at the program's death */
};

struct cost_sum cost_sum(const struct report *r);
#define COST_AT_DEATH "rusage at death"
/* Why costs are not known. */
const char *cost_reason(const struct report *r, bool killed);

#endif
