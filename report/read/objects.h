/*
 * objects.h - with --access=full: which objects of a run were checked in copies of their code, and why
 * others ran their own (objects.c).
 */
#ifndef OBJECTS_H
#define OBJECTS_H

#include "shadow.h"

struct report;
struct run_object;

/* Sums over the objects of a run, without the run-time libraries. */
struct object_sums {
    uint32_t checked, native;
    uint64_t text_bytes, checked_bytes; /* of code */
    uint64_t skipped_bytes;             /* of functions that --access-skip names */
};
struct object_sums object_sums(const struct report *r);

bool object_is_library(const struct object_record *o); /* of the C and C++ run-time libraries */
/* Bytes of its functions in each state but the first; the bytes outside of functions come last. */
struct native_part {
    const char *code, *text;
    uint64_t bytes;
};
bool object_part(const struct object_record *o, uint32_t number, struct native_part *out);
/* All of its executable bytes that were not checked. */
uint64_t object_native_bytes(const struct object_record *o);
/* Names in JSON and text of enum native_reason. */
const char *native_code(uint32_t reason);
const char *native_text(uint32_t reason, bool is_of_exec);

#endif
