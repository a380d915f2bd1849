/*
 * threads.h - declarations shared by the programs of threads.c.
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

extern const struct program lock_programs[], libc_programs[],
    cxx_programs[]; /* the last has no name */

/* Lose the block at the first call, if the program is to leak. */
void plant(void);

/* Each of these ends the program on failure. */
void *block(size_t bytes); /* filled */
pthread_t start(void *(*body)(void *), void *argument);
void join(pthread_t thread);

/* Run THREADS threads with the same body, from start to join. */
void crowd(void *(*body)(void *));

#ifdef __cplusplus
}
#endif
#endif
