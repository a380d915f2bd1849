/*
 * format.h - THE contract between the checked process and everybody who reads what it left.
 *
 * A run file is one sparse file.  A copy that is kept ends behind its last data (run_header.kept_bytes).  It holds a run: every process image (the root, forked children,
 * exec'd programs) is numbered and owns whole areas of it, claimed one atomic step at a time.
 *
 *   offset 0                area_bytes            2*area_bytes
 *   | area 0: the run       | area 1              | area 2              | ...
 *   | run_header            | area_head (4 KiB)   | area_head           |
 *   | area table            | image_header        | segment, segment .. |
 *   | lease table           | segment, segment .. |                     |
 *   | unchecked table       |                     |                     |
 *                             first area of image    a further area of an image
 *
 * Inside an area segments follow each other without a gap, each with a 64-byte header that says
 * what it is and how long; area_head.used_bytes says where the last one ends.  Records are named
 * by (image, segment): nothing in the file is a pointer, everything is little-endian and of fixed
 * width.  A run file with heap=file has the heap behind the last area (run_header.heap_offset).
 * What the launcher alone knows of a run (records.h, launcher_record) it writes behind the tables
 * before it keeps the file.
 *
 * How things become visible.  Every append is published by one release store (used_bytes, count,
 * or the state word of a record), so a process killed at any instruction loses at most what it
 * had not published.  Readers take what they read as hearsay: shadow/verify.c states what a good
 * file is, and everything else refuses to look at a file that it has not passed.
 *
 * Fork.  A child starts with its parent's records, which it reads in the parent's area until it
 * first writes one: then it copies that slab's records into a segment of its own.  The parent does
 * the same while a child that can see the old copy lives (a lease); `epoch` orders the copies, and
 * of two CURRENT segments of one image for one slab the higher epoch counts.
 */
#ifndef RTCHECK_FORMAT_H
#define RTCHECK_FORMAT_H

#include <assert.h>
#include <stdint.h>

#define RTC_RUN_MAGIC 0x006b636568637472ull   /* "rtcheck\0" */
#define RTC_AREA_MAGIC 0x61657261u            /* "area" */
#define RTC_IMAGE_MAGIC 0x6567616d69637472ull /* "rtcimage" */
#define RTC_SEGMENT_MAGIC 0x74676573u         /* "segt" */

/*
 * A reader accepts exactly its own major version and any minor version: a minor version only adds
 * fields where this one has zeros, or segment kinds, which an older reader skips.
 */
#define RTC_VERSION_MAJOR 1u
#define RTC_VERSION_MINOR 7u

#define RTC_AREA_TABLE_OFFSET 8192u /* from the start of the file */
#define RTC_AREA_BYTES \
    (4ull << 20) /* what the launcher and the runtime make; any power of two is read */
#define RTC_AREA_COUNT_MAX 16384u
#define RTC_LEASE_COUNT 4096u
#define RTC_UNCHECKED_COUNT 64u
#define RTC_UNIT_SHIFT 16 /* slabs are made of units of 64 KiB; slab number = unit number */
#define RTC_FILE_BYTES_MAX (1ull << 42)
#define RTC_HEAP_BYTES_MIN (4ull << 20) /* heap=file; programs start in half of it */
#define RTC_HEAP_BYTES_MAX (RTC_FILE_BYTES_MAX / 2)
/*
 * Header and tables of every file that is read lie within these first 408 KiB, whatever the header
 * says: a reader can have them in memory before it knows whether to believe it.
 */
#define RTC_RUN_HEAD_BYTES                                                    \
    (RTC_AREA_TABLE_OFFSET + RTC_AREA_COUNT_MAX * sizeof(struct area_entry) + \
     RTC_LEASE_COUNT * sizeof(struct lease) +                                 \
     RTC_UNCHECKED_COUNT * sizeof(struct unchecked_record))

/* ---- area 0: the run ------------------------------------------------------------------------- */

enum run_mode { RUN_BY_LAUNCHER = 1, RUN_BY_HAND = 2 };

/* What is left of images whose areas were taken back: added up by whoever took them. */
struct run_tally {
    _Atomic uint64_t images;
    _Atomic uint64_t allocs;
    _Atomic uint64_t frees;
    _Atomic uint64_t live_blocks;
    _Atomic uint64_t live_bytes;
};

struct run_header {
    uint64_t magic; /* RTC_RUN_MAGIC; written last */
    uint32_t version_major;
    uint32_t version_minor;
    uint64_t features; /* none yet; unknown bits make a reader of this version say so */
    uint64_t file_bytes;
    uint64_t area_bytes;
    uint32_t area_count; /* including area 0 */
    uint32_t lease_count;
    uint64_t area_table_offset;
    uint64_t lease_table_offset;
    uint64_t heap_offset; /* heap=file: where the heap lies; else 0 */
    uint64_t heap_bytes;
    uint64_t start_ns;     /* CLOCK_REALTIME */
    uint32_t mode;         /* enum run_mode */
    uint32_t uid;          /* who made it */
    uint32_t launcher_pid; /* 0 by hand */
    uint32_t pad0;
    _Atomic uint32_t next_area;         /* areas at and above it were never claimed */
    _Atomic uint32_t next_image;        /* last image number given out */
    _Atomic uint32_t doorbell;          /* futex: rung when an image starts or ends */
    _Atomic uint32_t reported;          /* futex: set by the reporter of a run by hand */
    _Atomic uint32_t unrecorded_images; /* images that found no area */
    _Atomic uint32_t heap_taken; /* heap=file: pid of the image that has the heap in the file */
    struct run_tally reclaimed;  /* images whose details are no longer in the file */
    _Atomic uint32_t
        pid_namespace; /* the first image's: pids of others mean nothing there; 0 = not known */
    _Atomic uint32_t error_sites; /* with errors, in all images so far; minor version 2 */
    _Atomic uint32_t
        checks_requested; /* leak checks in mid-run that were to be told, so far; minor version 4 */
    _Atomic uint32_t checks_reported; /* futex: changes when one was */
    _Atomic uint32_t
        adopts_orphans; /* an image of the run is a subreaper, or was: no witnesses; minor version 4 */
    _Atomic uint32_t
        status_requested; /* by hand, from the reporter: what findings have the program end with; 0: its own */
    uint64_t
        launcher_offset; /* of a launcher_record, in area 0: when the run is over; 0 = none; minor version 6 */
    uint64_t unchecked_offset; /* of unchecked_records, in area 0; 0 = none; minor version 7 */
    uint32_t
        pool_dir_error; /* by hand: why (errno) no run file could be made in pool_dir or RTCHECK_POOL_DIR; 0; minor version 7 */
    uint32_t
        heap_error; /* why (errno) the heap is not in the file, as heap=file asked; EINVAL: heap_size is too small; 0; minor version 7 */
    uint64_t
        kept_bytes; /* of a kept copy: the rest of the file, zeros, is not stored; 0 = all is stored; minor version 7 */
    uint64_t reserved[19];
    char host[64];      /* NUL-terminated */
    char options[1024]; /* RTCHECK_OPTIONS grammar, NUL-terminated; what the launcher was told */
};

enum area_state {
    AREA_FREE = 0,       /* never used, or taken back and empty */
    AREA_CLAIMED = 1,    /* belongs to the image in the same word */
    AREA_RECLAIMING = 2, /* being emptied by whoever set this */
};

/* One per area.  `owner` = state << 32 | image number, changed by compare-and-swap only. */
struct area_entry {
    _Atomic uint64_t owner;
    _Atomic uint32_t populated_bytes; /* how much of the area may hold data */
    _Atomic uint32_t pid;             /* whose process the image is; 0: it is over, and stays */
};

enum lease_state {
    LEASE_FREE = 0,
    LEASE_FORKING = 1, /* taken by a parent about to fork; pid not known yet */
    LEASE_HELD = 2,    /* a child may read its parent's records */
    LEASE_EXECED = 3,  /* the child exec'd: only those who read the child's records still do */
};

enum lease_torn {
    TORN_OPEN = 0,   /* the fork is under way */
    TORN_YES = 1,    /* the parent wrote after the snapshot: trust nothing not yet copied */
    TORN_CLOSED = 2, /* it did not, and cannot any more */
};

#define COPIED_ALL UINT32_MAX /* the parent's heap is the parent's again */

/* "Child `pid` of image `parent` may read every copy of the parent's up to `epoch`." */
struct lease {
    _Atomic uint32_t state;
    _Atomic uint32_t pid;
    uint32_t parent; /* image number */
    uint32_t epoch;
    _Atomic uint32_t torn;   /* enum lease_torn */
    _Atomic uint32_t child;  /* image number once the child has one */
    _Atomic uint32_t copied; /* heap=file: grows while the child copies the heap, then COPIED_ALL */
    uint32_t reserved;
};

/* Why a program that one of the run's started is not checked. */
enum unchecked_reason {
    UNCHECKED_NONE = 0,
#define UNCHECKED(id, code, text) UNCHECKED_##id,
#include "unchecked.def"
#undef UNCHECKED
    UNCHECKED_COUNT
};

#define UNCHECKED_WRITING UINT32_MAX /* unchecked_record.reason: the record is being written */

/* unchecked_record.flags */
#define UNCHECKED_INTERPRETER 1u /* the program is a script: the reason is its interpreter's */

/* One program of which processes of the run started some that are not checked.  Records are never removed. */
struct unchecked_record {
    _Atomic uint32_t reason; /* enum unchecked_reason; published last; 0: free */
    uint32_t flags;          /* UNCHECKED_* */
    _Atomic uint64_t count;  /* how often; 0: each time the exec failed */
    char path[240];          /* NUL-terminated; its end when it is longer */
};

/* ---- areas ----------------------------------------------------------------------------------- */

#define RTC_AREA_HEAD_BYTES 4096u

struct area_head {
    uint32_t magic; /* RTC_AREA_MAGIC */
    uint32_t image;
    uint32_t ordinal;  /* 0 = the image's first area: an image_header follows this head */
    uint32_t area;     /* its own index */
    uint32_t previous; /* the image's previous area, 0 for the first */
    uint32_t pad;
    _Atomic uint64_t
        used_bytes; /* from the start of the area; published after each segment header */
};

enum image_how { IMAGE_ROOT = 1, IMAGE_FORK = 2, IMAGE_EXEC = 3, IMAGE_FORK_UNSEEN = 4 };

enum image_state {
    IMAGE_BUILDING = 0, /* not usable yet */
    IMAGE_OPEN = 1,     /* running, or killed */
    IMAGE_ENDING = 2,   /* said goodbye: end_how, end_status, end_ns are valid */
};

enum image_end {
    END_UNKNOWN = 0,
    END_EXIT = 1,
    END_EXIT_NOW = 2,
    END_QUICK_EXIT = 3,
    END_EXEC = 4
};

/* image_header.flags */
#define IMAGE_IN_CONTROL 0x01u /* the program's malloc is ours, tested at start */
#define IMAGE_OWN_MALLOC 0x02u /* it is not: the program brought its own */
#define IMAGE_SANDBOXED 0x04u  /* seccomp filter seen: no new kinds of system calls since */
#define IMAGE_INHERITED_UNSURE \
    0x08u /* inherited records could not be trusted (fork unseen or torn) */
#define IMAGE_METADATA_PRIVATE 0x10u /* some records did not fit the file: see private_segments */
#define IMAGE_HEAP_IN_FILE 0x20u
#define IMAGE_RECORD_WIDE 0x40u /* records of 32 bytes (debug: full generation in the third word) */
#define IMAGE_BY_HAND 0x80u
#define IMAGE_POST_MORTEM \
    0x100u /* it was killed, and what is said of leaks its witness found out; minor version 4 */
#define IMAGE_HANDLER_STARVED \
    0x200u /* what is kept for handlers that interrupt us was used up; minor version 6 */
/* 0x400u: minor version 6, of no use to readers any more */
#define IMAGE_FAULT_OF_FREED \
    0x800u /* the address of the access that killed it was read from freed memory, as its fill shows; minor version 7 */

/* image_header.checks: minor version 2; before it none was made */
#define CHECK_MADE 0x01u        /* the field is there */
#define CHECK_REDZONES 0x02u    /* bytes behind and before blocks are compared */
#define CHECK_FREED 0x04u       /* and the fill of freed ones */
#define CHECK_LEAKS 0x08u       /* leaks are to be looked for when it ends; minor version 4 */
#define CHECK_POST_MORTEM 0x10u /* also when it is killed */

#define SCANNER_DONE UINT32_MAX /* image_header.watcher: it has said all, or was sent away */

/* image_header.costs_known */
enum cost_source {
    COST_CLOCK = 1,  /* task_clock_ns: the process's CPU clock */
    COST_RUSAGE = 2, /* the faults, switches and max_rss: getrusage */
};

enum free_verdict_counter {
    BAD_FREE_DUPLICATE,
    BAD_FREE_MISALIGNED,
    BAD_FREE_BAD,
    BAD_FREE_FOREIGN,
    BAD_FREE_COUNT
};

struct image_header {
    uint64_t magic; /* RTC_IMAGE_MAGIC; written last */
    uint32_t image;
    uint32_t parent; /* image number, 0 = none or unknown */
    uint32_t pid;
    uint32_t ppid;
    uint32_t how;           /* enum image_how */
    _Atomic uint32_t state; /* enum image_state */
    _Atomic uint32_t flags;
    uint32_t header_bytes; /* area_head excluded: where the first segment begins behind it */
    uint64_t start_ns;     /* CLOCK_REALTIME */
    uint64_t end_ns;
    uint32_t end_how; /* enum image_end */
    int32_t end_status;
    uint64_t heap_base;                /* address of unit 0 in this image's address space */
    _Atomic uint64_t heap_bytes;       /* how far the heap has grown */
    uint32_t first_thread;             /* records of lower thread numbers were inherited */
    uint32_t first_depot_chunk;        /* lower chunks are the parent's */
    _Atomic uint64_t private_segments; /* segments that the file had no room for */
    _Atomic uint64_t fork_count;
    _Atomic uint64_t slab_copies;      /* slabs copied because of a fork */
    _Atomic uint64_t handler_allocs;   /* served in a signal handler that interrupted us */
    _Atomic uint64_t bootstrap_allocs; /* served before we could record anything */
    _Atomic uint64_t bad_frees[BAD_FREE_COUNT];
    _Atomic uint64_t unchecked_children; /* exec without our entries, seen */
    uint32_t lease; /* index + 1 of the lease by which this image reads its parent, 0 = none */
    uint16_t malloc_fill;          /* byte that new blocks are filled with, + 1; 0 = they are not */
    uint16_t free_fill;            /* the same of freed ones */
    uint64_t missing_features;     /* what the machine lacks: bit n = line n of features.def */
    _Atomic uint64_t depot_nodes;  /* made by this image */
    _Atomic uint64_t depot_stacks; /* of them, those that are the end of a stack */
    _Atomic uint64_t depot_bytes;  /* nodes and what finds them */
    _Atomic uint64_t pc_count;     /* return addresses seen, when the depot grew last */
    _Atomic uint64_t pc_bytes;     /* what is kept of them in the process */
    uint64_t quarantine_bytes;     /* of each thread */
    uint32_t stack_frames;         /* that are kept of each stack; the depot may hold more */
    uint32_t checks;               /* CHECK_*: what was looked for */
    _Atomic uint64_t
        errors_unrecorded;       /* found beyond error_limit places, or without memory for them */
    _Atomic uint64_t peak_bytes; /* most that was in use at a time, asked-for bytes */
    _Atomic uint64_t segment_bytes; /* of records in the file and beside it */
    uint64_t task_clock_ns;         /* what the process used, when it said goodbye; of a forked */
    uint64_t minor_faults;          /* child its own only.  See costs_known */
    uint64_t major_faults;
    uint64_t voluntary_switches;
    uint64_t involuntary_switches;
    uint64_t max_rss_bytes;
    uint32_t costs_known;         /* enum cost_source of what stands above */
    uint32_t error_limit;         /* places kept of this image */
    _Atomic uint32_t leak_check;  /* enum leak_check; written last of what belongs to it */
    uint32_t threads_not_stopped; /* that did not stop for it: their registers are not known */
    uint64_t leak_ns;             /* that it took; minor version 3 */
    uint64_t root_bytes;          /* that it looked at for pointers, blocks excluded */
    uint64_t root_bytes_skipped;  /* that could not be read, or were never touched */
    uint16_t
        threads_unresponsive; /* of those unheard, that keep every signal out; minor version 4, as what follows */
    uint16_t threads_waiting; /* of those unheard, in a system call; minor version 7 */
    _Atomic uint32_t
        marks; /* that this image has made: new_blocks of leaks are those since the last */
    _Atomic uint32_t leak_checks; /* that it made in mid-run */
    _Atomic uint32_t
        scanner; /* pid of who will tell of this process when it is killed; 0, or SCANNER_DONE */
    _Atomic uint32_t private_kinds; /* of private_segments: bit n = SEGMENT_*; minor version 7 */
    _Atomic uint32_t
        errors_unwritten; /* places with errors that the file had no room for; minor version 7 */
    char exe[1024];       /* path, NUL-terminated */
    char argv[2048];      /* arguments, each NUL-terminated; cut at the end */
    uint32_t argv_bytes;
    uint32_t argc;
    char name[64]; /* prctl name of the main thread at start */
};

/* ---- segments -------------------------------------------------------------------------------- */

#define RTC_SEGMENT_ALIGN 64u

enum segment_kind {
    SEGMENT_SLAB = 1,    /* block records of one slab; index = unit number */
    SEGMENT_LARGE = 2,   /* large_records; index = running number */
    SEGMENT_DEPOT = 3,   /* depot_nodes; index = chunk number */
    SEGMENT_THREADS = 4, /* thread_records; index = chunk number */
    SEGMENT_MODULES = 5, /* module_records; index = chunk number */
    SEGMENT_ERRORS = 6,  /* error_records; index = chunk number */
    SEGMENT_LEAKS = 7,   /* leak_groups; index = chunk number; minor version 3, as all of leaks */
    SEGMENT_ROOTS = 8,   /* root_records; index = chunk number */
    /* minor version 4: checks in mid-run, which are vacant when they have been told */
    SEGMENT_LEAK_CHECKS = 9,  /* one leak_check_record; index = number of the check */
    SEGMENT_CHECK_LEAKS = 10, /* as LEAKS and ROOTS, of the check whose number is the epoch */
    SEGMENT_CHECK_ROOTS = 11,
    SEGMENT_TEXTS = 12,         /* text_records; index = chunk number; minor version 4 */
    SEGMENT_CLIENT_BLOCKS = 13, /* recorded_blocks; index = chunk number; minor version 5 */
    SEGMENT_MAPPINGS =
        14, /* map_regions, or zeros; index = leaf number; epoch odd: being changed; minor version 5 */
    SEGMENT_MAP_SUM = 15,    /* one map_sum; minor version 5 */
    SEGMENT_MARKS = 16,      /* mark_records; minor version 5 */
    SEGMENT_DISPATCHED = 17, /* one dispatch_record; minor version 6 */
    SEGMENT_COSTS = 18,      /* one cost_record; minor version 6 */
    SEGMENT_KIND_COUNT
};

enum segment_state {
    SEGMENT_BUILDING = 0,
    SEGMENT_CURRENT = 1,
    SEGMENT_SUPERSEDED = 2, /* a newer copy exists; kept for those who may still read it */
    SEGMENT_VACANT = 3,     /* its bytes are waiting for reuse */
};

struct segment {
    uint32_t magic; /* RTC_SEGMENT_MAGIC */
    uint16_t kind;
    uint16_t item_bytes; /* stride of the items behind this header */
    _Atomic uint32_t state;
    uint32_t image;
    uint32_t bytes;         /* the whole segment, a multiple of RTC_SEGMENT_ALIGN */
    uint32_t capacity;      /* items that fit */
    _Atomic uint32_t count; /* items published, from the front; slabs: = capacity */
    _Atomic uint32_t epoch;
    uint64_t index;
    uint32_t slot_bytes; /* SLAB: distance of two blocks */
    uint32_t units;      /* SLAB: length in units */
    uint64_t reserved[2];
};

static_assert(sizeof(struct run_header) <= RTC_AREA_TABLE_OFFSET, "on-file layout");
static_assert(sizeof(struct area_entry) == 16, "on-file layout");
static_assert(sizeof(struct lease) == 32, "on-file layout");
static_assert(sizeof(struct unchecked_record) == 256, "on-file layout");
static_assert(sizeof(struct area_head) == 32, "on-file layout");
static_assert(sizeof(struct image_header) == 3520, "on-file layout");
static_assert(sizeof(struct segment) == 64, "on-file layout");

#include "records.h"

#endif
