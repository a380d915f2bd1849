/*
 * report.h - the interface of report: from a run file, which is untrusted, to findings as text.
 *
 * A caller opens a report, requests what it needs (report_want_*), collects the run
 * (report_collect; during a run also report_absorb_ended), applies suppressions and a baseline,
 * prints, and closes it:
 *
 *     report_open -> report_collect -> report_suppress, report_compare -> report_print_* -> close
 *
 * The rooms below, in their order, are described in base/basics.h.  None of them is visible to
 * tools: this is the only header of report on its include path.
 *
 * Runs outside the checked process only.  shadow/verify.c checks every part of a file before it is
 * used; holes are never read through a mapping.  Files of programs are parsed in a helper process
 * (symbols).  Messages go into buffers of the caller.  Only the print_ functions print, to the
 * stream that they are given.
 *
 * Data: struct report owns all tables of a run.  Rules and baselines are the caller's and must
 * outlive the report.
 *
 * Not thread-safe: no locks.
 */
#ifndef REPORT_H
#define REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "format/launcher_record.h"

struct rusage;     /* sys/resource.h */
struct run_header; /* format/format.h */
struct report;     /* data of one run; heap-allocated, freed by report_close */

#define REPORT_ERROR_BYTES 512

/* Bytes of the first character of a text. 0: it is malformed, or is not printable on its own. */
unsigned printable_bytes(const char *text);

/*
 * Open a run file for reading. Returns -errno and a sentence in err (file, problem, offset):
 * -EPROTO for a file of another major version (both numbers are in the sentence), -EACCES for
 * another user's file unless the reader is root, -EBADMSG for a file that verify.c refuses.
 */
int report_open(struct report **out, const char *path, char err[REPORT_ERROR_BYTES]);

/* The same from a descriptor (the launcher's memfd), which the caller keeps. */
int report_open_fd(struct report **out, int fd, const char *name, char err[REPORT_ERROR_BYTES]);

/*
 * Also read the sites of blocks in use and what refers to the blocks. This makes the report of a
 * large program half as large again. Call before anything is absorbed or collected. Without it only
 * the sum of blocks in use is known.
 */
void report_want_reachable(struct report *r);

/*
 * Also read the mappings at the end, by the site that mapped them. Call before anything is absorbed
 * or collected.
 */
void report_want_mapped(struct report *r);

/* Also read all mappings, by any mapper: for report_print_events. */
void report_want_regions(struct report *r);

/*
 * Where symbols are read.  `sysroot`: the folder that has the programs and libraries of the machine of
 * the run, by their paths there; a file that is not in it is read from this machine.  `debug_dirs`:
 * folders of debugging information, one per line, searched before those of the sysroot and the system.
 * "": none.  Call before report_collect.
 */
void report_find_files(struct report *r, const char *sysroot, const char *debug_dirs);

/* Print names of functions as the linker has them. Call before the first name is read. */
void report_want_mangled(struct report *r);

/* Keep the last image of process `pid` in the file: a later reader looks for the program first. */
void report_keep(struct report *r, uint32_t pid);

/* Keep images with blocks in use in the file, up to a number: their ids are printed. */
void report_keep_blocks(struct report *r);

/*
 * The launcher's reaper, called repeatedly during the run. It adds images to the report whose
 * process is gone and whose records no living process can still read. It empties their areas (hole
 * punch) and returns them to the run. `fd` must be writable. Returns the number of images.
 */
int report_absorb_ended(struct report *r, int fd);

/* Read all images still in the file. Call once, at the end of the run, before printing. */
int report_collect(struct report *r, char err[REPORT_ERROR_BYTES]);

/* The run's header, verified (a copy; report_absorb_ended and report_collect renew it). */
const struct run_header *report_run(const struct report *r);

/* Re-read the file and count the images that have not ended and appear to have a live process. */
uint32_t report_running(struct report *r);

/* The number of ended processes that a post-mortem scanner has not finished scanning. */
uint32_t report_scanners(struct report *r);

/* Facts that the launcher and the reporter base decisions on. */
struct report_image_fact {
    bool found;
    uint32_t image;
    uint32_t pid;
    bool is_refused; /* its own record is damaged: valid after report_collect */
    /* IMAGE_* of format.h; without IN_CONTROL if refused, or if exec replaced the image */
    uint32_t flags;
    uint32_t unchecked_children;
    const char *exe; /* valid until report_close */
};

/* The newest image of process `pid` (the launcher's child) that is or was in the run. */
struct report_image_fact report_image_of_pid(struct report *r, uint32_t pid);

/* The program that the run was started for. Call after report_collect. */
struct report_image_fact report_main_image(struct report *r);

/*
 * Set how the launcher saw the program end: the wait status, or -1 if unknown, and the costs from
 * wait4, or NULL.
 */
void report_set_exit(struct report *r, uint32_t pid, int wait_status, const struct rusage *usage);

/* Counts of --counters for the program, its threads and children. The caller owns the strings. */
struct counter_reading {
    bool known;  /* false: there is no number */
    bool scaled; /* an estimate: counted for running_ns of enabled_ns */
    uint64_t value;
    uint64_t enabled_ns, running_ns; /* 0 for clocks */
};

struct counter_row {
    const char *name;
    const char *source; /* of the number */
    const char *why;    /* if not known: "n/a: ..." */
    bool is_time;       /* in nanoseconds */
    bool user_alone;    /* kernel mode cannot be counted */
    bool is_cycles;     /* processor cycles in both modes */
    struct counter_reading reading;
};

/*
 * With --access=full: samples of the program's CPU time in user mode, by whose code ran.  `native` is code of
 * objects that have copies, `elsewhere` that of all others: libc, the runtime, objects without a copy.
 */
#define ACCESS_TIME_HOTTEST 3u
#define ACCESS_TIME_LEAST 50u /* samples in the first two, for a share in the report's line */
struct access_time {
    uint64_t copies, native, elsewhere;
    struct access_hot {
        char function[128], object[128];
        uint64_t samples;           /* 0: there is none; the largest comes first */
    } hottest[ACCESS_TIME_HOTTEST]; /* of native */
    char why[128];                  /* not "": there are no samples */
};
void report_set_access_time(struct report *r, const struct access_time *time);
/* Was the object with this path checked in a copy?  Call after report_collect. */
bool report_is_checked(const struct report *r, const char *path);

void report_set_counters(struct report *r, const struct counter_row *rows, uint32_t count);
/* Print the same without a report. */
void report_print_counters(const struct counter_row *rows, uint32_t count, FILE *out);

/* Kinds of leaks; bits of a set. */
enum leak_kind {
    LEAK_DEFINITE = 1,  /* mel: unreachable */
    LEAK_INDIRECT = 2,  /* mel: reachable only from a lost block */
    LEAK_POSSIBLE = 4,  /* aib, air */
    LEAK_REACHABLE = 8, /* biu: in use */
    LEAK_MAPPED = 16,   /* biu-map: mapped by a call and never unmapped */
};

enum print_use {
    PRINT_USE_SUM, /* blocks in use: their sum */
    PRINT_USE_NOTHING,
    PRINT_USE_TABLE,  /* all sites, one line each */
    PRINT_USE_STACKS, /* the table and the stacks */
};

enum print_leaks {
    PRINT_LEAKS_TABLE, /* one line per leak */
    PRINT_LEAKS_NOTHING,
    PRINT_LEAKS_SUMMARY, /* one line per kind */
    PRINT_LEAKS_RECORDS, /* each leak with its stack and its referrer */
};

/* Formats of the text report. */
enum print_format {
    PRINT_TEXT,
    PRINT_VALGRIND, /* memcheck's format: CTest and other tools parse it */
    PRINT_LSAN,     /* format of LeakSanitizer and AddressSanitizer */
    PRINT_GCC,      /* one line per site, like a compiler */
    PRINT_GITHUB,   /* one workflow command per finding for GitHub's runner */
};

/* Patterns separated by commas; "" or NULL: all findings. See report_filter. */
struct filters {
    const char *only_module, *skip_module, *only_thread;
    bool skips_shells; /* leaks of shells */
};

struct print_options {
    enum print_format format;
    enum print_use use;
    enum print_leaks leaks;
    uint32_t leak_kinds;     /* printed; bits of enum leak_kind */
    uint32_t problem_kinds;  /* counted as problems */
    uint32_t baseline_kinds; /* compared with `baseline` */
    /* leaks with that many equal frames are printed as one; 0: all frames */
    uint32_t match;
    /* sealed rules for errors and for leak checks in mid-run; NULL: none */
    struct rules *rules;
    struct baseline *baseline; /* known findings for the same */
    struct filters filters;    /* for the same */
    uint32_t max_leaks;        /* in the text, per kind; 0: as many as fit */
    bool gen_rules;            /* print a suppression for each finding */
    bool mappings;             /* print mappings made by calls, and their size at each mark */
    bool used_rules;           /* print each suppression that was used */
    bool stale_rules;          /* print each one that was unused or matches too much */
    bool quiet;                /* print only counters and measurements if the run has no problem */
    bool all;                  /* print every error and note, without a limit */
    bool mangled;              /* report_want_mangled, for reports during the run */
    bool deterministic;        /* omit values that change from run to run */
    bool color;
    bool links;       /* source positions are links (OSC 8) */
    bool cost;        /* the costs in detail, not only their line */
    unsigned columns; /* of the terminal; 0: the text is for a log */
    unsigned lines;   /* about that many, unless `all` is set; 0: 40 */
    unsigned source;  /* source lines shown for each error; 0: none */
    const char
        *wrappers;    /* patterns of functions that only allocate, separated by commas; or NULL */
    unsigned frames;  /* shown per stack; 0: the default */
    const char *pool; /* name of the kept file, or NULL */
    /* sources below it are printed relative to it if the format needs that; or NULL */
    const char *source_root;
    const char
        *full_paths; /* lines: source files are printed from behind one of them; NULL: bare */
    const char *error_begin, *error_end; /* lines around each error of the text; NULL: none */
    const char *user_comment;            /* of the XML; or NULL */
    const char *path_maps; /* FROM=TO lines: prefixes of source paths to replace; or NULL */
};

/*
 * Suppressions. The list is created, filled and sealed; then findings are matched against it and
 * against the suppressions of the run's programs. The last rule that matches a finding decides.
 */
struct rules;
struct rules *rules_new(void);
void rules_free(struct rules *rules); /* NULL is allowed */

/*
 * Add the default rules of a debugger's memory checking: hide aib and air from objects without
 * symbols. Add them first, so that rules from files override them.
 */
void rules_add_default(struct rules *rules);
/* Add a rule that hides mismatched frees, before rules from files. */
void rules_add_mismatched_frees(struct rules *rules);

/*
 * Add the rules of a file. On failure returns -EINVAL or -errno, and err holds the position and the
 * reason (three lines if the position in the text is known). The list is then valid only for
 * rules_free.
 */
int rules_read_file(struct rules *rules, const char *path, char *err, size_t room);

/* After this call no rule can be added. */
void rules_seal(struct rules *rules);

/*
 * Match all findings against the rules, which must outlive the report. Suppressed findings are
 * neither printed nor counted as problems. Call after report_collect and before printing.
 */
void report_suppress(struct report *r, struct rules *rules);

/*
 * Known findings: a file of ids, each with its maximum count. On failure returns -EINVAL or -errno,
 * and err holds the position and the reason. `may_miss`: a missing file counts as an empty
 * baseline.
 */
struct baseline;
int baseline_read(struct baseline **out, const char *path, bool may_miss, char *err, size_t room);
void baseline_free(struct baseline *b); /* NULL is allowed */

/*
 * Compare all errors, and leaks of these kinds, with the baseline, which must outlive the report. A
 * finding that occurred no more often than the baseline allows is neither printed nor counted as a
 * problem. Call after report_suppress. Another report may then be compared with the same baseline.
 */
void report_compare(struct report *r, struct baseline *b, uint32_t kinds);

/*
 * Leave out findings of other objects and threads: they are neither printed nor problems, but
 * counted. The texts must outlive the report. Call after report_suppress and report_compare.
 */
void report_filter(struct report *r, const struct filters *filters);
bool filters_are_given(const struct filters *filters);

/*
 * Hide blocks that are indirectly lost through leaks that are all hidden. Does nothing
 * if indirect leaks are among the kinds that are printed separately. Call after report_suppress,
 * report_compare and report_filter.
 */
void report_hide_indirect(struct report *r, uint32_t kinds);

/*
 * Write the findings as a baseline, by rename, with the limits of `old` and the mode of the file.
 * Returns -errno.
 */
int report_write_baseline(struct report *r, const char *path, const struct baseline *old,
                          uint32_t kinds);

/*
 * The number of sites with errors that are problems, not warnings. For files that predate sites: of
 * single errors.
 */
uint64_t report_problems(const struct report *r);
/*
 * May errors, or leaks if `leaks` is set, be missing because of a fault of the run? Call after
 * report_collect.
 */
bool report_is_incomplete(const struct report *r, bool leaks);
bool report_shows_errors(const struct report *r); /* including warnings */

/* The number of sites with leaks of these kinds. */
uint64_t report_leaks(const struct report *r, uint32_t kinds);

/*
 * Print new errors of a running program, one line for each of the first few. `fd` is the run file.
 * *l must be zeroed before the first call.
 */
#define LIVE_LINES 10u

struct live {
    uint32_t places;          /* sites in the run at the last call */
    uint32_t lines;           /* printed */
    char ids[LIVE_LINES][32]; /* of the errors in these lines */
};

void report_live(struct live *l, int fd, FILE *out, const struct print_options *how);

/*
 * Print the leak checks that were made in mid-run and that are not reported yet. `fd` is the run file. Fill `reported` for report_checks_done
 * and return the number of checks, at most `room`. Call report_checks_done after the text is
 * written: it wakes the programs, which wait for that.
 */
struct check_choice {
    uint32_t image; /* 0: of all images */
    bool requested; /* by report_request_check, else by the program */
};

struct check_reported {
    uint64_t at;    /* offset in the file */
    uint32_t value; /* value to write there */
};
uint32_t report_checks(int fd, struct check_choice choice, FILE *out,
                       const struct print_options *how, struct check_reported *reported,
                       uint32_t room);
void report_checks_done(int fd, const struct check_reported *reported, uint32_t count);
/*
 * Request a leak check of process `pid`, and wait until it is made. `fd`: the run file, writable; it stays locked
 * (flock) until it is closed, because the result stays only until the next request. *image: the process's image.
 * -errno: err has the reason.
 */
int report_request_check(struct report *r, int fd, uint32_t pid, uint64_t limit_ms, uint32_t *image,
                         char err[REPORT_ERROR_BYTES]);

/*
 * Set the results of --measure, which are printed with the costs. A report without this call takes
 * them from the run file.
 */
void report_set_measured(struct report *r, const struct measured *m);
/*
 * Write counters and measurements into the run file `fd` for later readers. The run must have ended
 * and `fd` must be writable. Returns -errno.
 */
int report_write_launcher_record(const struct report *r, int fd);

/* Print the text report in the format of `how`. The last line of our own format is the verdict. */
void report_print_text(struct report *r, FILE *out, const struct print_options *how);

/*
 * The id of the finding that `given` means: an id, or the beginning of one. -ENOENT: there is none;
 * -EINVAL: there are several, which err lists. Call after report_collect.
 */
#define REPORT_ID_BYTES 32
int report_find_id(struct report *r, const char *given, char id[REPORT_ID_BYTES], char *err,
                   size_t room);

/*
 * The value of --guard-stacks by which the next run guards the blocks of this error, leak or record:
 * those with the same allocation stack, at the edge next to the bad access.  Errors as
 * report_find_id; -ENODATA: the allocation is not known.
 */
#define REPORT_GUARD_BYTES 48 /* KEY.EDGEGAP, or two of them */
int report_guard_text(struct report *r, const char *given, char out[REPORT_GUARD_BYTES], char *err,
                      size_t room);
/* The ids of shown bad writes that were detected afterwards, `room` at most.  Returns their number. */
uint32_t report_late_writes(struct report *r, char id[][REPORT_ID_BYTES], uint32_t room);
/* Was a block with one of the stacks of --guard-stacks guarded, in any process? */
bool report_has_guarded_stack(const struct report *r);

/*
 * Print all details of the error, leak or record with this id. false: there is none. Call after
 * report_collect.
 */
bool report_print_one(struct report *r, const char *id, FILE *out, const struct print_options *how);

/*
 * Print the bytes of a block in the heap of the run file, its record, its redzones and the words of
 * the heap that point to it.  `given` is an address (0x...) or means a finding, as in report_find_id.
 * Nothing is printed on failure: -ENODATA: the file has no heap; -ENOENT: there is no such block or
 * finding; -EINVAL: the id is ambiguous.  Call after report_collect.
 */
int report_print_bytes(struct report *r, const char *given, uint32_t pid, FILE *out,
                       const struct print_options *how, char *err, size_t room);
bool report_is_address(const char *given); /* is it an address for report_print_bytes? */

/*
 * Write the heap in the run file as an ELF core file, which replaces a file at `path`.  -ENODATA: the
 * run file has no heap; -errno: it could not be written.  Call it instead of report_collect.
 */
int report_write_core(struct report *r, const char *path, uint32_t pid, char *err, size_t room);

/*
 * Print the mappings that processes of the run have made and removed by calls, and the caller of
 * each range: of process `pid`, or of all if it is 0. false: there is no such process. Call after
 * report_collect.
 */
bool report_print_events(struct report *r, uint32_t pid, FILE *out);

/*
 * Print a row of current values for each process that has not had its last row: for process `pid`
 * and its descendants, or for all if it is 0. May be called repeatedly, without report_collect.
 */
struct stat_options {
    uint32_t pid;
    bool json; /* one JSON object per line instead of a table row */
};

struct stat_sum {
    uint32_t seen;    /* processes that have a row, or no values yet */
    uint32_t running; /* of these */
    bool is_cut;      /* the file was truncated: nothing more can be read */
};

void report_stat_heading(FILE *out); /* of the table */
struct stat_sum report_stat(struct report *r, const struct stat_options *how, FILE *out);
/* The number of images whose records were removed from the file before they had a row. */
uint64_t report_stat_unseen(const struct report *r);

/*
 * Print a suppression for the error or leak with this id. false: there is none, or its stack is
 * unknown. Call after report_collect.
 */
bool report_print_rule(struct report *r, const char *id, FILE *out);

/* Write rtcheck-report/1 (report.schema.json) to `path` by rename. Returns -errno. */
int report_print_json(struct report *r, const char *path);

/*
 * Write a report for other programs to `path`, or to the target of a link at `path`. A regular file
 * is replaced atomically, by rename. Returns -errno.
 */
enum report_file {
    REPORT_JSON,
    REPORT_SARIF,
    REPORT_JUNIT,
    REPORT_GITLAB,
    REPORT_XML, /* valgrind's XML, protocol 4 */
    REPORT_FILE_COUNT
};

int report_write(struct report *r, enum report_file what, const char *path,
                 const struct print_options *how);
/* Could it be written now? Nothing is created. Returns -errno. */
int report_write_check(const char *path);
/* The same to a stream. */
void report_print_file(struct report *r, enum report_file what, FILE *out,
                       const struct print_options *how);

/* Write another file in the same way. `put` returns 0 or -errno, and on failure no file is left. */
int report_write_by(const char *path, int (*put)(FILE *out, void *arg), void *arg);

/*
 * The name in the source of a linkage name, freed by the caller; without parameters also without the type of
 * the result.  NULL: not a mangled name, or too long.
 */
char *report_demangle(const char *name, bool has_parameters);

/* Print the run as Markdown, for GitHub's summary page of a job. */
void report_print_summary(struct report *r, FILE *out, const struct print_options *how);

/*
 * Print everything in the file, for developers: `rtcheck dump FILE`. Call it instead of
 * report_collect. The last line states whether the whole file is valid; returns -EBADMSG if it is
 * not.
 */
int report_dump(struct report *r, FILE *out);

/* The heap of heap=file is part of a kept run up to so many bytes of data. */
#define REPORT_HEAP_KEPT_BYTES (256ull << 20)
#define REPORT_HEAP_KEPT_TEXT "256 MiB"

/*
 * Save the run in `fd` as a sparse copy (data only; -EFBIG if its metadata exceeds max_bytes). With
 * heap=file it has the heap, too, unless that exceeds max_bytes or REPORT_HEAP_KEPT_BYTES. The copy has mode 0600, is written beside `path` and given this name when it is
 * whole. -EEXIST: a file of this name exists, and is not changed.
 */
int report_save(int fd, const char *path, uint64_t max_bytes);

/*
 * Save the run with all heaps, whatever their size, in the same way; a regular file of this name is
 * replaced. The check is for before the run: could the file be written?
 */
int report_save_whole(int fd, const char *path);
int report_save_whole_check(const char *path);

/*
 * Packs: a run with the files of this machine that its names come from (tools/pack).
 *
 * Read all names that a report of the run may print. Call after report_collect, and before the
 * functions below.
 */
void report_names_read(struct report *r);

/* Print a name that a run file or a pack has: what a terminal would interpret is escaped. */
void report_put_name(FILE *out, const char *name);

/* Copy the run file as report_save does, but without the heap, into an empty file. Returns -errno. */
int report_copy_run(const struct report *r, int to);

/* A program or shared object whose symbols a report of the run uses. */
struct report_object {
    uint32_t index;
    const char *path; /* on the machine of the run */
    const uint8_t *build_id;
    uint32_t build_id_bytes; /* 0: none was recorded */
    const char *symbols;     /* "lines", "no file", "another build", ..: as in the JSON report */
    bool is_read;            /* the symbols are of this run's build */
};

/* The first object from number `index` on. false: there is none. */
bool report_object(const struct report *r, uint32_t index, struct report_object *out);
/* Open the file of object `index` for reading. Returns a descriptor or -1. */
int report_object_open(const struct report *r, uint32_t index);
/*
 * Call `each` for the separate files of debugging information of an object: an open descriptor, and
 * the path below a sysroot at which report_find_files finds the file. Returns the first value of
 * `each` that is not 0, or 0.
 */
int report_debug_files(struct report *r, uint32_t index,
                       int (*each)(int fd, const char *path, void *arg), void *arg);

/* A source file that names of a report refer to. */
#define REPORT_DIGEST_BYTES 33 /* XXH3, 128 bits, in hexadecimal */
struct report_source {
    const char *path;
    int fd;          /* -1: it is not on this machine, or not to be shown (text/source.c) */
    uint64_t bytes;  /* 0 without the file, as the fields below */
    int64_t mtime_s; /* time of its last change */
    char digest[REPORT_DIGEST_BYTES];
};

/* Call `each` for all of them, in the order of their paths; the same return value. */
int report_sources(struct report *r, int (*each)(const struct report_source *source, void *arg),
                   void *arg);

/*
 * Use the files of the pack `path`, which are below the folder `root` by their paths on the machine of the run: as
 * a sysroot, unless report_find_files is called with another. Objects without a build-id, which
 * cannot be compared, are read from `root` only. Of sources, only lines of those are printed that
 * report_source_known has named and that have the same digest. Call before report_collect.
 */
void report_use_pack(struct report *r, const char *path, const char *root);
void report_source_known(struct report *r, const char *path, const char *digest);
/* The number of source files that have another digest or are not known; *first: one of them. */
uint32_t report_sources_refused(const struct report *r, const char **first);

void report_close(struct report *r);

/* ---- progress of long work (base/progress.c) ------------------------------------------------- */

/* All zero: nothing is shown. */
struct progress {
    const char *what;
    uint64_t start_ms;
    uint32_t done, total;
    uint32_t shown; /* percent + 1 */
};

#define PROGRESS_SYMBOLS "reading symbols"
#define PROGRESS_PACK "packing files"

/*
 * A line on standard error, if that is a terminal and one second has passed. Between _begin and _end
 * the caller must not write to a terminal.
 */
void progress_begin(struct progress *p, const char *what, uint32_t total);
void progress_step(struct progress *p);
void progress_show(struct progress *p); /* redraws if enough time has passed */
void progress_end(struct progress *p);

#endif
