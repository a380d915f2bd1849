/* translated.h - what a program that runs in its copy can use (translated.c). */
#ifndef TRANSLATED_H
#define TRANSLATED_H

#include <stddef.h>
#include <stdint.h>

struct bad_access {
    const void *pc, *address;
    unsigned bytes, kind; /* enum plan_kind */
};

/* Set the shadow of granules; without the library both symbols are 0. */
#pragma weak shadow_set
#pragma weak last_bad
__attribute__((visibility("default"))) void shadow_set(const void *at, size_t bytes, int value);
/* Get the last bad access, and return how many there were. */
__attribute__((visibility("default"))) uint64_t last_bad(struct bad_access *out);
/* The bad access with this number, from 0 on, of the last BAD_LOG. */
#define BAD_LOG 16
struct bad_access bad_at(uint64_t n) __attribute__((weak));

#endif
