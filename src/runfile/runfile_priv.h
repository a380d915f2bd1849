/*
 * runfile_priv.h - declarations that only the files of runfile share.
 */
#ifndef RUNFILE_PRIV_H
#define RUNFILE_PRIV_H

#include "runfile.h"
#include "thread_list.h"

#include <string.h>

/* ---- run_file.c ------------------------------------------------------------------------------ */

const struct run_header *run_header_at_start(void); /* a private copy */
char *run_window(uint64_t *bytes);                  /* the mapped areas */

/* ---- heap_file.c ----------------------------------------------------------------------------- */

void heap_files_map(int fd, const struct run_header *h); /* at start */
bool heap_files_contain(const void *p);

/* ---- image.c --------------------------------------------------------------------------------- */

const struct image_header *image_at_start(void); /* a private copy of this image's header */

uint32_t image_pid(void); /* as other images of the run see it; 0: in another pid namespace */

/* ---- area.c: called with the lock of segment.c, or single-threaded --------------------------- */

/* Claim the image's first area; returns the `bytes` after its head.  NULL: none available. */
void *area_begin(uint32_t bytes);
/*
 * Return space after the published bytes, in this area or the next: zeros or unpublished data;
 * NULL: none in the file.
 */
void *area_append(uint32_t bytes);
/* Publish so many appended bytes: readers see them from now on. */
void area_publish(uint32_t bytes);
/* So many published bytes are reserved for findings: they do not count when growth is estimated. */
void area_reserved(uint32_t bytes);
/* The last byte of the mapped file that this image uses; NULL: none.  Without a lock. */
const char *area_last_byte(void);
void area_room(uint64_t *bytes, uint64_t *used); /* segment_room; the caller holds its lock */
/* Mark an area as empty: any image may claim it. */
void area_free(struct area_entry *e);

/* ---- reclaim.c ------------------------------------------------------------------------------- */

/* Reclaim areas if ended images fill the table; with a launcher, wait for the launcher to do it. */
void reclaim_if_crowded(void);
void reclaim_all(void);

/* ---- segment.c ------------------------------------------------------------------------------- */

/*
 * Reserve up to `bytes` of the file for findings, less if there is less.  Before any other segment.
 */
void segments_reserve(uint32_t bytes);

/* ---- lease.c --------------------------------------------------------------------------------- */

/*
 * May a living process read the records of this image?  depth bounds a malicious cycle of leases.
 */
bool image_is_read(uint32_t number, unsigned depth);
void leases_drop_unneeded(void);
/* Process `pid` no longer reads inherited records. */
void leases_exec(uint32_t pid);

/* ---- thread_records.c: called with the lock of threads.c, or single-threaded ----------------- */

/*
 * Return a record for a new thread, unpublished, and its index; without memory the shared record.
 */
struct thread_record *thread_record_take(uint32_t *record_number);
/* Publish a complete record for the calling thread. */
void thread_record_publish(struct thread_record *r, uint32_t record_number);
/* The record's thread has ended: the record may be reused later. */
void thread_record_end(uint32_t record_number);
/* Is it in the file?  false: it is the shared record. */
bool thread_record_counts(const struct thread_record *r);
struct thread_record *thread_record_of_all(void); /* the shared record */
void thread_records_after_fork(void);

#endif
