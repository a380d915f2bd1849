/*
 * report.h - the door of report: from a run file, which may be anybody's, to findings in words.
 *
 * Works outside the checked process only.  No part of a file is believed before shadow/verify.c
 * has passed it; holes are never read through a mapping.  Not thread-safe; messages go into
 * caller-owned buffers, nothing here prints except the print_ functions, to the stream given.
 */
#ifndef REPORT_H
#define REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "rtcheck/records.h"

struct rusage;     /* sys/resource.h */
struct run_header; /* rtcheck/format.h */
struct report;     /* what is known of one run; heap-allocated, freed by report_close */

#define REPORT_ERROR_BYTES 512

/* Bytes of the first character of a text; 0: it is malformed, or no character that shows itself alone. */
unsigned printable_bytes(const char *text);

/*
 * Opens a run file for reading.  -errno and a sentence in err (file, what, where): -EPROTO for a
 * file of another major version (both numbers in the sentence), -EACCES for another user's file
 * unless the reader is root, -EBADMSG for one that verify.c refuses.
 */
int report_open(struct report **out, const char *path, char err[REPORT_ERROR_BYTES]);

/* The same from a descriptor (the launcher's memfd), which stays the caller's. */
int report_open_fd(struct report **out, int fd, const char *name, char err[REPORT_ERROR_BYTES]);

/*
 * Also reads, with who holds them, the places that blocks in use come from: a report of a large
 * program gets by half larger.  Before anything is absorbed or collected; else only their sum is known.
 */
void report_want_reachable(struct report *r);

/* And what is mapped at the end, by the place that mapped it.  Before anything is absorbed or collected. */
void report_want_mapped(struct report *r);

/* And all that is mapped, by whomever: for report_print_events. */
void report_want_regions(struct report *r);

/*
 * What process `pid` was at its end stays in the file: who reads that later looks for the program
 * first of all.
 */
void report_keep(struct report *r, uint32_t pid);

/*
 * The launcher's reaper, called again and again while the run goes on: images whose process is
 * gone and whose records nobody alive can still read are added to the report, their areas are
 * emptied (hole punched) and given back to the run.  `fd` must be writable.  Returns how many.
 */
int report_absorb_ended(struct report *r, int fd);

/* Reads all images still in the file.  Call once, at the end of the run, before printing. */
int report_collect(struct report *r, char err[REPORT_ERROR_BYTES]);

/* The run's header, verified (a copy; report_absorb_ended and _collect renew it). */
const struct run_header *report_run(const struct report *r);

/* How many images have not said goodbye and seem to have their process.  Looks at the file again. */
uint32_t report_running(struct report *r);

/* How many processes are gone of which a witness has not told yet what there is to tell. */
uint32_t report_scanners(struct report *r);

/* Facts the launcher and the reporter decide by. */
struct report_image_fact {
    bool found;
    uint32_t image;
    uint32_t pid;
    bool is_refused; /* what it says of itself is damaged: after report_collect */
    uint32_t
        flags; /* IMAGE_* of format.h; not IN_CONTROL if refused, or once exec put another in its place */
    uint32_t unchecked_children;
    const char *exe; /* valid until report_close */
};

/* The newest image of process `pid` (the launcher's child) that is or was in the run. */
struct report_image_fact report_image_of_pid(struct report *r, uint32_t pid);

/* The program that the run was made for: after report_collect. */
struct report_image_fact report_main_image(struct report *r);

/*
 * How the launcher saw the program end, for the report: wait status, or -1 unknown; what wait4 told
 * of its costs, or NULL.
 */
void report_set_exit(struct report *r, uint32_t pid, int wait_status, const struct rusage *usage);

/* What --counters has counted of the program, its threads and children.  Strings stay the caller's. */
struct counter_reading {
    bool known;  /* else there is no number */
    bool scaled; /* an estimate: it had a counter for running_ns of enabled_ns */
    uint64_t value;
    uint64_t enabled_ns, running_ns; /* 0 of clocks */
};

struct counter_row {
    const char *name;
    const char *source; /* of the number */
    const char *why;    /* unless it is known: "n/a: ..." */
    bool is_time;       /* in nanoseconds */
    bool user_alone;    /* the kernel's part may not be counted */
    bool is_cycles;     /* of the processor, in both modes */
    struct counter_reading reading;
};

void report_set_counters(struct report *r, const struct counter_row *rows, uint32_t count);
/* The same where there is no report. */
void report_print_counters(const struct counter_row *rows, uint32_t count, FILE *out);

/* Kinds of leaks; bits of a set. */
enum leak_kind {
    LEAK_DEFINITE = 1,  /* mel: nobody can get at it */
    LEAK_INDIRECT = 2,  /* mel: only through one that is lost */
    LEAK_POSSIBLE = 4,  /* aib, air */
    LEAK_REACHABLE = 8, /* biu: it is in use */
    LEAK_MAPPED = 16,   /* biu-map: mapped by a call, and never unmapped */
};

enum print_use {
    PRINT_USE_TOP, /* blocks in use: their sum and the largest places */
    PRINT_USE_NOTHING,
    PRINT_USE_TABLE,  /* all places, one line each */
    PRINT_USE_STACKS, /* and their stacks */
};

enum print_leaks {
    PRINT_LEAKS_TABLE, /* a line for each */
    PRINT_LEAKS_NOTHING,
    PRINT_LEAKS_SUMMARY, /* one for each kind */
    PRINT_LEAKS_RECORDS, /* each with its stack, and who points there */
};

/* In whose words the text is. */
enum print_format {
    PRINT_TEXT,
    PRINT_VALGRIND, /* memcheck's: what CTest and others count */
    PRINT_LSAN,     /* those of the leak and address sanitizers */
    PRINT_GCC,      /* a line for each place, as compilers have them */
    PRINT_GITHUB,   /* a command of GitHub's runner for each */
};

struct print_options {
    enum print_format format;
    enum print_use use;
    enum print_leaks leaks;
    uint32_t leak_kinds;     /* told of; bits of enum leak_kind */
    uint32_t problem_kinds;  /* that are problems */
    uint32_t baseline_kinds; /* that `baseline` is about */
    uint32_t match;          /* frames that are the same in leaks told as one; 0: all */
    struct rules *rules;     /* sealed, that errors and checks told in mid-run go by; NULL: none */
    struct baseline *baseline; /* and what is known to them */
    uint32_t max_leaks;        /* in the text, of each kind; 0: as many as fit */
    bool gen_rules;            /* a suppression for each finding */
    bool mappings;             /* what calls have mapped, and how much there was at each mark */
    bool used_rules;           /* suppressions that were used are told one by one */
    bool stale_rules;          /* and those that were not, or that take too much */
    bool quiet;         /* counters and measures alone when nothing is to be said against the run */
    bool all;           /* every error and note, as long as it gets */
    bool deterministic; /* nothing that changes from run to run */
    bool color;
    unsigned frames;  /* shown of each stack; 0: as many as is usual */
    const char *pool; /* name of the kept file, or NULL */
    const char *
        source_root; /* sources below it are named from there, where a format wants that; or NULL */
    const char *path_maps; /* FROM=TO, a newline between: what sources' paths begin with; or NULL */
};

/*
 * Suppressions: made, filled, sealed, and then findings are held against them, and against those that
 * programs of the run have of their own.  Of all rules that one meets the last decides.
 */
struct rules;
struct rules *rules_new(void);
void rules_free(struct rules *rules); /* NULL is nothing */

/*
 * What a debugger's checking does not tell by itself, aib and air from objects without symbols: added
 * first, so that files overrule it.
 */
void rules_add_default(struct rules *rules);

/*
 * Adds the rules of a file.  -EINVAL or -errno: err says where and why, in three lines if the place in
 * the text is among them, and the list is good for rules_free alone.
 */
int rules_read_file(struct rules *rules, const char *path, char *err, size_t room);

/* No more is added. */
void rules_seal(struct rules *rules);

/*
 * Holds all findings against rules, which stay while the report does: what they meet is neither told
 * nor a problem.  After report_collect, before anything is printed.
 */
void report_suppress(struct report *r, struct rules *rules);

/*
 * What is known already: a file of ids, each with how often it may be there.  -EINVAL or -errno: err says
 * where and why.  `may_miss`: no file is one in which nothing is known.
 */
struct baseline;
int baseline_read(struct baseline **out, const char *path, bool may_miss, char *err, size_t room);
void baseline_free(struct baseline *b); /* NULL is nothing */

/*
 * Compares all findings, of leaks those of these kinds, with what is known and stays while the report
 * does: what was there no oftener is neither told nor a problem.  After report_suppress; another report
 * may be compared with the same afterwards.
 */
void report_compare(struct report *r, struct baseline *b, uint32_t kinds);

/*
 * What is behind leaks that are all suppressed or known is so with them, unless indirect leaks are among the
 * kinds that are told of by themselves.  After both.
 */
void report_hide_indirect(struct report *r, uint32_t kinds);

/* Writes what there is as a baseline, by rename, with the caps of `old` and the mode of the file.  -errno. */
int report_write_baseline(struct report *r, const char *path, const struct baseline *old,
                          uint32_t kinds);

/* Places with errors that are problems, not warnings; of files older than places, single errors. */
uint64_t report_problems(const struct report *r);
/* May the report lack errors, or (`leaks`: they are wanted) leaks, by a fault of the run?  After report_collect. */
bool report_is_incomplete(const struct report *r, bool leaks);
bool report_shows_errors(const struct report *r); /* any, and be they warnings */

/* Places with leaks of these kinds. */
uint64_t report_leaks(const struct report *r, uint32_t kinds);

/*
 * Errors that are new in a run that goes on, a line for each of the first few; `fd` is that of the
 * run.  Zeros in *l at first.
 */
struct live {
    uint32_t places;   /* of the run when it was looked at */
    uint32_t lines;    /* told */
    uint64_t until_ns; /* what happened up to then was told */
};

void report_live(struct live *l, int fd, FILE *out, const struct print_options *how);

/*
 * Tells of the leak checks that programs of the run behind `fd` have made in mid-run and that nobody has
 * told yet: of image `only`, 0: of all.  How many, at most `room`; told[] names them for
 * report_checks_done, which lets these programs go on: when the text is out.
 */
struct check_reported {
    uint64_t at;    /* where that is to be written, and */
    uint32_t value; /* what */
};
uint32_t report_checks(int fd, uint32_t only, FILE *out, const struct print_options *how,
                       struct check_reported *reported, uint32_t room);
void report_checks_done(int fd, const struct check_reported *reported, uint32_t count);

/* It is told with the costs.  A report that did not get it is of a run file, and asks that. */
void report_set_measured(struct report *r, const struct measured *m);
/*
 * Writes counters and measures into the run behind `fd`, which is over, and writable: for who reads
 * it later.  -errno.
 */
int report_write_launcher_record(const struct report *r, int fd);

/* The text report, in the format that is wanted; our own's last line is the verdict. */
void report_print_text(struct report *r, FILE *out, const struct print_options *how);

/*
 * All that is known of the one thing with this id, an error's, a leak's or a record's; false: there is none.
 * After report_collect, like the whole text.
 */
bool report_print_one(struct report *r, const char *id, FILE *out, const struct print_options *how);

/*
 * What processes of the run have mapped and unmapped by calls, and each range with whose call it was, of
 * process `pid` or, with 0, of all; false: there is none.  After report_collect.
 */
bool report_print_events(struct report *r, uint32_t pid, FILE *out);

/*
 * The variables of processes while they run: a row for each that has not had its last one.  Of process `pid`
 * and those that come from it; 0: of all.  Called again and again, without report_collect.
 */
struct stat_options {
    uint32_t pid;
    bool json; /* an object a line, instead of a row of a table */
};

struct stat_sum {
    uint32_t seen;    /* processes that had a row, or nothing is known of yet */
    uint32_t running; /* of them */
    bool is_cut;      /* the file was made shorter: there is nothing more to read */
};

void report_stat_heading(FILE *out); /* of the table */
struct stat_sum report_stat(struct report *r, const struct stat_options *how, FILE *out);
/* Images of the run whose records were taken out of the file before they had a row. */
uint64_t report_stat_unseen(const struct report *r);

/*
 * A suppression for the one error or leak with this id; false: there is none, or its stack is not known.
 * After report_collect.
 */
bool report_print_rule(struct report *r, const char *id, FILE *out);

/* rtcheck-report/1 (report.schema.json), written to `path` by rename.  -errno. */
int report_print_json(struct report *r, const char *path);

/*
 * Files for other programs, written to `path`, or where it links to, by rename: whole or not at
 * all.  -errno.
 */
enum report_file { REPORT_JSON, REPORT_SARIF, REPORT_JUNIT, REPORT_GITLAB, REPORT_FILE_COUNT };

int report_write(struct report *r, enum report_file what, const char *path,
                 const struct print_options *how);

/* The run as Markdown, for the page that GitHub shows of a job. */
void report_print_summary(struct report *r, FILE *out, const struct print_options *how);

/*
 * Everything in the file, for developers: `rtcheck dump FILE`; instead of report_collect.  The last
 * line says whether all of it is good; -EBADMSG when it is not.
 */
int report_dump(struct report *r, FILE *out);

/*
 * Saves the metadata of the run behind `fd` as a sparse copy (data only, at most max_bytes; -EFBIG
 * beyond).  0600, written beside `path` and renamed.
 */
int report_save(int fd, const char *path, uint64_t max_bytes);

void report_close(struct report *r);

#endif
