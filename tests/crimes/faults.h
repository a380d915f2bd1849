/*
 * faults.h - declarations that faults.c and faults_handlers.c share.
 */
#ifndef FAULTS_H
#define FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE 4096

struct kind {
    const char *name;
    int signal;
    char *(*prepare)(void);
    void (*access)(void);
    void (*repair)(void); /* NULL: the cause cannot be repaired */
};

extern const struct kind *kind;     /* of this run */
extern char *base;                  /* addresses are printed from here on */
extern uint64_t next_pc, sp, value; /* after the faulting instruction */

/* The kind without a faulting instruction. */
void access_raise(void);

void must(bool holds); /* else the program ends */
void put(const char *text);
void put_number(const char *name, int64_t value);
char *map(size_t pages, int protection);

/* ---- faults_handlers.c ----------------------------------------------------------------------- */

struct way {
    const char *name;
    void (*run)(void);
};

extern const struct way ways[]; /* the last has no name */

extern bool touches; /* make heap errors without effect, too */
void prepare_touches(void);

#endif
