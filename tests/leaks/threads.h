/*
 * threads.h - what the programs of threads.c and threads_cxx.cc have in common.
 */
#ifndef THREADS_H
#define THREADS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BYTES 4713u /* of the block that is lost */

struct program {
    const char *name;
    void (*run)(void);
};

extern const struct program cxx_programs[];
extern const size_t cxx_program_count;

/* Loses the block, the first time that it is called, if that is wanted. */
void plant(void);

#ifdef __cplusplus
}
#endif
#endif
