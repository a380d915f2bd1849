/*
 * pmu_terms.h - events of a PMU by their names in /sys, for rtcheck/cpc.h and for --counters.
 *
 * A PMU is a directory of /sys/bus/event_source/devices:
 *
 *     cpu/type                  4                        attr.type
 *     cpu/events/cache-misses   event=0x2e,umask=0x41    terms
 *     cpu/format/event          config:0-7,32-35         where the bits of a term go, lowest first
 *
 * An event is written "cpu/cache-misses/", or by its terms, "cpu/event=0x2e,umask=0x41/".  The
 * caller reads the files and words the messages.
 */
#ifndef PMU_TERMS_H
#define PMU_TERMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/countable.h"

enum pmu_fault {
    PMU_NO_FAULT,
    PMU_BAD_FORM,     /* not PMU/TERM,.../ */
    PMU_UNKNOWN,      /* no PMU has this name */
    PMU_NO_NUMBER,    /* the value of a term */
    PMU_NO_EVENT,     /* a term without a value that is neither an event nor an attribute */
    PMU_NO_ATTRIBUTE, /* no format, or one that is not understood */
    PMU_TOO_LARGE,    /* a value with more bits than its attribute */
};

struct pmu_terms {
    /* Read the first line of PMU/FOLDER/NAME, or of PMU/NAME if the folder is NULL. */
    bool (*read)(void *about, const char *pmu, const char *folder, const char *name, char *line,
                 size_t room);
    void *about;
    const char *word; /* after a fault other than PMU_BAD_FORM: the text at fault */
    char line[256];   /* the terms of an event, to which `word` may point */
};

/* Parse "PMU/TERM,.../".  `name` is cut into words, to which t->word may point. */
enum pmu_fault pmu_event_parse(struct pmu_terms *t, char *name, struct event *e);
/* Place a value in the bits that the PMU's format defines for this attribute. */
enum pmu_fault pmu_attribute_put(struct pmu_terms *t, const char *pmu, const char *name,
                                 uint64_t value, struct event *e);
/* Can the name be a file of a directory in /sys? */
bool pmu_name_is_plain(const char *name);
/* Parse "0x1f" or "31", to the end of the text. */
bool pmu_number_parse(const char *text, uint64_t *out);

#endif
