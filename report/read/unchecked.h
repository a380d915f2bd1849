/*
 * unchecked.h - the programs that a run started and did not check (unchecked.c).
 */
#ifndef UNCHECKED_H
#define UNCHECKED_H

#include "shadow.h"

struct report;

struct unchecked_program {
    const char *path;    /* raw bytes of the file: escape before printing */
    uint32_t reason;     /* enum unchecked_reason, or a value of a later version */
    bool by_interpreter; /* it is a script, and the reason is that of its interpreter */
    uint64_t count;
};

struct unchecked_programs {
    uint32_t count;
    uint64_t named; /* sum of the counts */
    struct unchecked_program at[RTC_UNCHECKED_COUNT];
};

/* Paths point into the report's view. */
struct unchecked_programs unchecked_programs(const struct report *r);
const char *unchecked_code(uint32_t reason);        /* name in JSON */
const char *unchecked_reason_text(uint32_t reason); /* "it is statically linked" */

#endif
