/*
 * launcher_record.h - what only the launcher knows of a run: counters, and its cost by pairs of
 * runs.  Not a segment: run_header.launcher_offset is its offset.
 *
 * The rules for sizes and reserved fields are those of records.h.
 */
#ifndef RTCHECK_LAUNCHER_RECORD_H
#define RTCHECK_LAUNCHER_RECORD_H

#include <assert.h>
#include <stdint.h>

/* Resources with the runtime and without, from pairs of runs. */
enum measured_what {
    MEASURED_WALL, /* seconds */
    MEASURED_CPU,  /* seconds */
    MEASURED_RSS,  /* bytes, the maximum */
    MEASURED_FAULTS,
    MEASURED_COUNT
};

struct measured_value {
    double with, without;    /* medians */
    double ratio, low, high; /* median of the pairs' ratios, with its confidence interval */
    double least_with, least_without; /* minima */
};

struct measured {
    uint32_t pairs;                        /* 0: no measurement */
    uint32_t otherwise, otherwise_without; /* runs with another exit status than the reported one */
    uint32_t pad;
    double sure; /* probability that the medians are within their intervals */
    struct measured_value of[MEASURED_COUNT];
};

#define LAUNCHER_COUNTERS_MAX 32u
#define LAUNCHER_NAME_BYTES 128u
#define LAUNCHER_TEXT_BYTES 256u

/* launcher_counter.flags */
#define LAUNCHER_KNOWN 0x01u     /* 0: there is no value */
#define LAUNCHER_SCALED 0x02u    /* an estimate: counted for running_ns of enabled_ns */
#define LAUNCHER_TIME 0x04u      /* in nanoseconds */
#define LAUNCHER_USER_ONLY 0x08u /* the kernel part may be missing */
#define LAUNCHER_CYCLES 0x10u    /* of the processor, in both modes */

struct launcher_counter {
    uint64_t value, enabled_ns, running_ns;
    uint32_t flags;
    uint32_t pad;
    char name[LAUNCHER_NAME_BYTES];
    char text[LAUNCHER_TEXT_BYTES]; /* source of the value, or why there is none */
};

struct launcher_record {
    uint32_t counters;
    uint32_t pad;
    struct measured measured;
    struct launcher_counter counter[LAUNCHER_COUNTERS_MAX];
};

static_assert(sizeof(struct launcher_counter) == 416, "on-file layout");
static_assert(sizeof(struct launcher_record) == 13568, "on-file layout");

#endif
