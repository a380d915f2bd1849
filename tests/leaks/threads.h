/*
 * threads.h - what the programs of threads.c have in common.
 */
#ifndef THREADS_H
#define THREADS_H

#include <pthread.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define THREADS 4
#define BYTES 4713u /* of the block that is lost */

struct program {
    const char *name;
    void (*run)(void);
};

extern const struct program lock_programs[], libc_programs[], cxx_programs[]; /* the last has no name */

/* Loses the block, the first time that it is called, if that is wanted. */
void plant(void);

/* Each ends the program where it cannot. */
void *block(size_t bytes); /* filled */
pthread_t start(void *(*body)(void *), void *argument);
void join(pthread_t thread);

/* As many threads of one body, from begin to end. */
void crowd(void *(*body)(void *));

#ifdef __cplusplus
}
#endif
#endif
