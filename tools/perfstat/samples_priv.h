/*
 * samples_priv.h - declarations shared by the files of the sampler.
 *
 *   samples.c       perf ring buffers and the thread that drains them
 *   sample_maps.c   from records to counts by file and offset: executable mappings of each process
 */
#ifndef SAMPLES_PRIV_H
#define SAMPLES_PRIV_H

#include "perfstat_priv.h"

struct perf_event_header;

/* Tables of the processes, and the counts. */
struct sample_maps {
    struct process_maps *processes;
    size_t process_count;
    char **paths;
    uint32_t path_count;
    struct sample_count *counts; /* sorted up to `merged` */
    size_t count, room, merged;
    struct sample_row *rows;
};

/* The sample_type of the event: records end with a time, samples have their address first. */
#define SAMPLES_TYPE (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)

/* The time of a whole record. */
uint64_t sample_record_time(const char *record, const struct perf_event_header *head);
/* Take a record; they must come in the order of their times. */
void sample_maps_take(struct sample_maps *m, const char *record,
                      const struct perf_event_header *head);
/* All counts; they are valid until the next call. */
size_t sample_maps_rows(struct sample_maps *m, const struct sample_row **rows);
void sample_maps_free(struct sample_maps *m);

#endif
