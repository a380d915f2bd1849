/*
 * image.h - a process image, as a report holds it.
 */
#ifndef IMAGE_H
#define IMAGE_H

#include <uthash.h>

#include "shadow.h"

/* Blocks of one image from one site. */
struct use {
    uint32_t site;
    uint64_t blocks;
    uint64_t bytes;
};

struct depot_chunk {
    uint32_t chunk;
    uint32_t count;
    UT_hash_handle hh;
    struct depot_node nodes[];
};

/* Where a module lay in one image. */
struct range {
    uint32_t number; /* as in depot nodes; 0 = none */
    uint64_t start;
    uint64_t end;
    uint64_t bias;
    uint32_t module;
};

/* A thread of one image. */
struct thread {
    uint32_t number; /* 0: not known */
    uint32_t tid;
    bool gone;
    char name[sizeof(((struct thread_record *)0)->name)];
};

/* Resources that a process used; fields are zero if `known` lacks their bit. */
struct costs {
    uint32_t known; /* enum cost_source */
    uint64_t task_clock_ns;
    uint64_t minor_faults;
    uint64_t major_faults;
    uint64_t voluntary_switches;
    uint64_t involuntary_switches;
    uint64_t max_rss_bytes;
};

struct image {
    uint32_t number;
    uint32_t pid;
    uint32_t ppid;
    uint32_t parent;
    uint32_t how;
    uint32_t state;
    uint32_t flags;
    uint32_t end_how;
    int32_t end_status;
    uint32_t first_depot_chunk;
    uint32_t first_thread; /* lower numbers belong to an ancestor */
    uint32_t stack_frames;
    uint32_t lease;
    uint32_t argc;
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t private_segments;
    uint32_t private_kinds; /* bit n = SEGMENT_*; 0 also in files before minor version 7 */
    uint32_t errors_unwritten;
    uint64_t bad_frees[BAD_FREE_COUNT];
    uint64_t unchecked_children;
    uint64_t missing_features;
    uint32_t checks; /* CHECK_*; without CHECK_MADE (older file) not known */
    uint32_t error_limit;
    uint16_t malloc_fill; /* the byte + 1; 0: none */
    uint16_t free_fill;
    uint64_t errors_unrecorded;
    uint64_t peak_bytes;
    uint64_t segment_bytes;
    struct costs costs;
    struct costs costs_at_death; /* from wait4: with those of its waited-for children */
    uint32_t leak_check;         /* enum leak_check; LEAKS_CHECK_COUNT: a value not known here */
    uint32_t threads_not_stopped;
    uint32_t threads_unresponsive; /* of threads_not_stopped */
    uint32_t threads_waiting;      /* of threads_not_stopped: in a system call */
    uint32_t scanner;              /* post-mortem scanner: its pid, 0 or SCANNER_DONE */
    uint32_t first_area;           /* the area with the image header */
    uint64_t leak_ns;
    uint64_t root_bytes;
    uint64_t root_bytes_skipped;
    uint32_t marks;          /* set by the program; 0: all its leaks are new */
    uint32_t leak_checks;    /* made in mid-run */
    char **unknown_settings; /* "key=value" of its own options that are not valid */
    uint32_t unknown_count;
    char *exe;
    char *argv; /* argv_bytes, each argument NUL-terminated */
    uint32_t argv_bytes;
    char *name;

    bool collected;          /* the fields below are set */
    bool refused;            /* its own header is damaged: none of its data is used */
    bool absorbed;           /* collected, and its areas were given back */
    bool kept;               /* collected, and its areas stay: it has errors to show */
    bool pid_known;          /* its pid is valid in the reporter's pid namespace */
    bool gone;               /* the process has certainly ended */
    bool needed;             /* scratch of images_mark_needed and images_retire */
    bool has_exec_successor; /* exec has made a later image of the same process */
    bool map_tried;          /* its depot and modules were read in this round */
    int wait_status;         /* from the launcher's wait, or -1 */
    uint64_t allocs;
    uint64_t alloc_bytes;
    uint64_t frees;
    uint64_t live_blocks;
    uint64_t live_bytes;
    uint32_t error_sites;
    uint32_t leak_index; /* number of groups that are findings (not CLASS_REACHABLE) */
    struct mark_record *mark_records;
    uint32_t mark_count;
    bool has_maps; /* it called mmap or munmap; `maps` is valid */
    struct map_sum maps;
    uint64_t mapped_bytes; /* of maps.bytes: mapped by its own calls, not inherited */
    bool has_dispatched;   /* events=all was requested; `dispatched` is valid */
    struct dispatch_record dispatched;
    struct map_region *regions; /* by address, without invalid ones */
    uint32_t region_count;
    uint32_t *region_sites; /* of the calls that mapped them, or NO_SITE; NULL: not requested */
    bool regions_torn;      /* its process was killed, or read, during a change */
    uint32_t native; /* with --access=full: why its program ran its own code (enum native_reason) */
    struct use *uses;
    uint32_t use_count;

    struct depot_chunk *depot;
    struct range *ranges;
    uint32_t range_count;
    struct thread *threads;
    uint32_t thread_count;

    struct rows *rows; /* owned by print_now.c; NULL: none */

    UT_hash_handle hh; /* by number */
};

/* With --access=full: an object, in all processes in which it had the same state. */
struct run_object {
    struct object_record record; /* of the first of them */
    uint32_t processes;
    bool is_of_exec; /* the program of a process that exec started */
};

/* Whether an ancestor's call mapped it. */
static inline bool region_is_inherited(const struct image *image, const struct map_region *m)
{
    return m->origin == MAP_CALLED && m->call != 0 && m->call < image->maps.first_call;
}

/* Numbers of images, each once; ascending after image_numbers_sort. */
struct image_numbers {
    uint32_t *at;
    uint32_t count;
};

struct bad_area {
    uint32_t area;
    uint32_t image;
    const char *what; /* static text */
    uint64_t offset;
};

#endif
