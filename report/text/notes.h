/*
 * notes.h - declarations that only the files with notes share.
 */
#ifndef NOTES_H
#define NOTES_H

#include "text.h"

/* ---- print_notes.c --------------------------------------------------------------------------- */

void note_add(struct notes *notes, bool against, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Processes with a common property: their number and the first of them. */
struct process_set {
    uint64_t count;
    const struct image *first;
};

void process_set_add(struct process_set *process_set, const struct image *image);
struct process_set processes_with_flag(const struct report *r, uint32_t flag);

/* "process 4711 (make)" or "3 processes (first 4711, make)" */
struct process_set_text {
    char text[128];
} process_set_text(const struct process_set *f, bool deterministic);

/* ---- notes_run.c: limits of the run file, the machine and the settings ------------------------- */

void note_file(const struct report *r, struct notes *notes);
/* Records that had no room in the run file. */
void note_no_room(const struct report *r, struct notes *notes);
void note_machine(const struct report *r, struct notes *notes);
/* Options and suppressions that the program has for other checkers. */
void note_settings(const struct report *r, struct notes *notes);
void note_launcher(const struct report *r, struct notes *notes);
/* Interpreters with an allocator of their own. */
void note_python(const struct report *r, struct notes *notes);

/* ---- print_objects.c ------------------------------------------------------------------------- */

/* Processes of which no object was checked in a copy, although that was requested. */
void note_objects(const struct report *r, struct notes *notes);

/* ---- notes_leaks.c: limits of the leak check --------------------------------------------------- */

/* The reasons for which leaks are not known. */
void note_leaks_unknown(const struct report *r, const struct image *main, struct notes *notes);
/* What is not certain about known leaks. */
void note_leak_limits(const struct report *r, struct notes *notes);

#endif
