/*
 * view.h - the run file, which nothing trusts: the interface of file.
 *
 *   view.c   the head and the areas of a run file, as verified private copies
 *   save.c   a run file as a sparse copy of its data (report_save)
 *
 * The file may be written, cut or damaged while it is read. So it is never mapped: a part is
 * copied, then shadow/verify.c checks the copy, and only then it is used. A copy that was verified
 * can be read without further checks of its offsets, counts and links. Holes are skipped: a sparse
 * file of many GiB costs what its data costs. What the records mean is not known here.
 *
 * Below: basics.h, and the run file's format.
 */
#ifndef VIEW_H
#define VIEW_H

#include <sys/types.h>

#include "basics.h"
#include "shadow.h"

/* Value of run_header.reported in a saved copy; the reporter of a run by hand writes 1. */
#define REPORTED_SAVED 2u

struct view {
    int fd;
    bool owns_fd;
    uint32_t owner; /* user id of the file's owner */
    bool foreign;   /* another user's file, read as root */
    bool finished;  /* a saved file: its process ids are no longer valid */
    char *name;
    uint64_t file_bytes;    /* size including the tail that a kept copy does not store */
    uint64_t stored_bytes;  /* the file's size when it was opened */
    struct run_header *run; /* verified copy of the head: header, area table, leases */
    struct run_header *spare;
};

/* A private copy of one area; holes in the file stay unallocated in the copy. */
struct area_copy {
    char *at;
    uint64_t bytes;
};

int view_open(struct view *v, const char *path, char err[REPORT_ERROR_BYTES]);
int view_open_fd(struct view *v, int fd, const char *name, char err[REPORT_ERROR_BYTES]);
/* Read the tables again, during a run. The old tables stay if the new ones are invalid. */
int view_refresh(struct view *v);
void view_close(struct view *v);
/* save.c: write a sparse copy of the run, without a heap, into an empty file; -EFBIG beyond max_bytes. */
int view_save(const struct view *v, int to, uint64_t max_bytes);

const struct area_entry *view_area_entry(const struct view *v, uint32_t area);
const struct lease *view_lease(const struct view *v, uint32_t index);
/* The end of the used areas: areas from this number on are unused. */
uint32_t view_area_end(const struct view *v);

/* Copy the used part of an area. The copy is not verified yet. */
int view_read_area(const struct view *v, uint32_t area, struct area_copy *out);
void area_copy_drop(struct area_copy *copy);
/* Is the copy valid, and does its image match the run's area table? */
bool view_verify_area(const struct view *v, uint32_t area, const struct area_copy *copy,
                      struct verify_error *wrong);

/* Read bytes of the file, without verification. Bytes beyond the end of the file read as zero. */
int view_read(const struct view *v, uint64_t offset, void *to, size_t bytes);
/* Find the next range [*start, *stop) of data at or after *start, before `end`. false: none. */
bool view_next_data(const struct view *v, uint64_t *start, uint64_t *stop, uint64_t end);

static inline const struct area_head *copy_head(const struct area_copy *c)
{
    return (const void *)c->at;
}

/* NULL: the area is not an image's first, or the image was still being built. */
const struct image_header *copy_image(const struct area_copy *c);

/* Iterate over the segments of a verified copy. *off = 0 before the first call; NULL at the end. */
const struct segment *copy_next_segment(const struct area_copy *c, uint64_t *off);

static inline const void *segment_item(const struct segment *s, uint32_t i)
{
    return (const char *)s + sizeof *s + (uint64_t)i * s->item_bytes;
}

#endif
