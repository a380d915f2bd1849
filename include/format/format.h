/*
 * format.h - the run file: the interface between the checked process and its readers.
 *
 * A run file is one sparse file.  A kept copy ends after its last data (run_header.kept_bytes).
 * The file contains one run.  Every process image (the root, forked children, exec'd programs) is
 * numbered, and owns whole areas of the file.  An area is claimed by one atomic operation.
 *
 *   offset 0                area_bytes            2*area_bytes
 *   | area 0: the run       | area 1              | area 2              | ...
 *   | run_header            | area_head (4 KiB)   | area_head           |
 *   | area table            | image_header        | segment, segment .. |
 *   | lease table           | segment, segment .. |                     |
 *   | unchecked table       |                     |                     |
 *                             first area of image    a further area of an image
 *
 * Segments in an area follow each other without gaps.  Each has a 64-byte header with its kind and
 * length. area_head.used_bytes is the end of the last segment.  Records are identified by (image,
 * segment): the file contains no pointers.  All data is little-endian and of fixed width.  With
 * heap=file, the heap follows the last area (run_header.heap_offset).  Data known only to the
 * launcher (launcher_record.h) is written after the tables, before the file is kept.
 *
 * Publication.  Every append is published by one release store (used_bytes, count, or the state
 * word of a record).  So a process killed at any instruction loses only unpublished data.  Readers
 * do not trust the file: shadow/verify.c defines a valid file, and only verified parts are read.
 *
 * Fork.  A child starts with its parent's records, and reads them in the parent's area until it
 * first writes one.  Then it copies that slab's records into its own segment.  The parent copies
 * likewise while a child that can read the old copy lives (a lease).  `epoch` orders the copies: of
 * two CURRENT segments of one image for one slab, the higher epoch is valid.
 */
#ifndef RTCHECK_FORMAT_H
#define RTCHECK_FORMAT_H

#include <assert.h>
#include <stdint.h>

#include "fill_word.h"

#define RTC_RUN_MAGIC 0x006b636568637472ull   /* "rtcheck\0" */
#define RTC_AREA_MAGIC 0x61657261u            /* "area" */
#define RTC_IMAGE_MAGIC 0x6567616d69637472ull /* "rtcimage" */
#define RTC_SEGMENT_MAGIC 0x74676573u         /* "segt" */

/*
 * A reader accepts exactly its own major version, and any minor version.  A minor version only adds
 * fields where earlier ones have zeros, or segment kinds, which older readers skip.
 */
#define RTC_VERSION_MAJOR 1u
#define RTC_VERSION_MINOR 18u

#define RTC_AREA_TABLE_OFFSET 8192u /* from the start of the file */
#define RTC_AREA_BYTES \
    (4ull << 20) /* size chosen by the launcher and the runtime; readers accept any power of two */
#define RTC_AREA_COUNT_MAX 16384u
#define RTC_LEASE_COUNT 4096u
#define RTC_UNCHECKED_COUNT 64u
#define RTC_UNIT_SHIFT 16 /* slabs consist of units of 64 KiB; slab number = unit number */
#define RTC_FILE_BYTES_MAX (1ull << 44)
#define RTC_HEAP_BYTES_MIN (4ull << 20) /* heap=file; half of it is enough for a program to start */
#define RTC_HEAP_BYTES_MAX (1ull << 41)
#define RTC_POOL_BYTES (256ull << 30) /* default of pool-size */
#define RTC_HEAPS_MAX 64u             /* heap=file: heaps in the file, one for each process */
/*
 * The header and tables of every valid file are within these first 408 KiB, for all header values.
 * So a reader can copy them to memory before it verifies them.
 */
#define RTC_RUN_HEAD_BYTES                                                    \
    (RTC_AREA_TABLE_OFFSET + RTC_AREA_COUNT_MAX * sizeof(struct area_entry) + \
     RTC_LEASE_COUNT * sizeof(struct lease) +                                 \
     RTC_UNCHECKED_COUNT * sizeof(struct unchecked_record) +                  \
     RTC_HEAPS_MAX * sizeof(struct heap_slot))

/* ---- area 0: the run ------------------------------------------------------------------------- */

enum run_mode { RUN_BY_LAUNCHER = 1, RUN_BY_HAND = 2 };

/* Sums of images with reclaimed areas, added by the process that reclaims them. */
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
    uint64_t features; /* none yet; a reader of this version reports unknown bits */
    uint64_t file_bytes;
    uint64_t area_bytes;
    uint32_t area_count; /* including area 0 */
    uint32_t lease_count;
    uint64_t area_table_offset;
    uint64_t lease_table_offset;
    uint64_t heap_offset;  /* offset of the first heap with heap=file; else 0 */
    uint64_t heap_bytes;   /* of each */
    uint64_t start_ns;     /* CLOCK_REALTIME */
    uint32_t mode;         /* enum run_mode */
    uint32_t uid;          /* of the user that made the file */
    uint32_t launcher_pid; /* 0 without a launcher */
    uint32_t pad0;
    _Atomic uint32_t next_area;         /* areas from this index on were never claimed */
    _Atomic uint32_t next_image;        /* last image number assigned */
    _Atomic uint32_t doorbell;          /* futex: woken when an image starts or ends */
    _Atomic uint32_t reported;          /* futex: set by the reporter of a run without a launcher */
    _Atomic uint32_t unrecorded_images; /* images for which no area was free */
    /* minor versions before 17, with one heap: pid of the image that has it */
    _Atomic uint32_t heap_taken;
    struct run_tally reclaimed; /* images without details in the file */
    _Atomic uint32_t
        pid_namespace; /* of the first image: other pids are not comparable; 0 = unknown */
    _Atomic uint32_t error_sites; /* number of error sites in all images so far; minor version 2 */
    _Atomic uint32_t
        checks_requested; /* leak checks on demand with a report, so far; minor version 4 */
    _Atomic uint32_t checks_reported; /* futex: changes when a check was reported */
    /* an image is or was a subreaper: no post-mortem scanners; minor version 4 */
    _Atomic uint32_t adopts_orphans;
    /* exit status requested by the reporter, without a launcher; 0: keep the program's */
    _Atomic uint32_t status_requested;
    /* offset of a launcher_record in area 0, at the end of the run; 0 = none; minor version 6 */
    uint64_t launcher_offset;
    uint64_t unchecked_offset; /* of unchecked_records in area 0; 0 = none; minor version 7 */
    /* no launcher: errno if pool_dir or RTCHECK_POOL_DIR was unusable; else 0; minor version 7 */
    uint32_t pool_dir_error;
    /* errno if heap=file failed; EINVAL: heap_size is too small; else 0; minor version 7 */
    uint32_t heap_error;
    /* length of a kept copy, the rest is zeros; 0 = the file is complete; minor version 7 */
    uint64_t kept_bytes;
    uint64_t heap_table_offset; /* of heap_slots in area 0; 0 = none; minor version 17 */
    uint32_t heap_count;        /* adjacent heaps from heap_offset on */
    uint32_t pad1;
    /* NUL-terminated, its beginning if it is longer; "": the file is a memfd; minor version 17 */
    char folder[128];
    uint64_t reserved[1];
    char host[64];      /* NUL-terminated */
    char options[1024]; /* RTCHECK_OPTIONS grammar, NUL-terminated; the launcher's options */
};

enum area_state {
    AREA_FREE = 0,       /* never used, or reclaimed and empty */
    AREA_CLAIMED = 1,    /* owned by the image in the same word */
    AREA_RECLAIMING = 2, /* being emptied by the process that has set this */
};

/* One per area.  `owner` = state << 32 | image number, changed by compare-and-swap only. */
struct area_entry {
    _Atomic uint64_t owner;
    _Atomic uint32_t populated_bytes; /* upper limit of the data in the area */
    _Atomic uint32_t pid; /* process of the image; 0: it has ended, and its areas are kept */
};

/*
 * heap=file: a heap in the file.  `owner` = pid << 32 | image number, changed by compare-and-swap.  The
 * image number is 0 until the image has one.
 */
struct heap_slot {
    _Atomic uint64_t owner; /* 0: free, and its part of the file is a hole */
};

enum lease_state {
    LEASE_FREE = 0,
    LEASE_FORKING = 1, /* taken by a parent about to fork; the pid is not known yet */
    LEASE_HELD = 2,    /* a child may read its parent's records */
    LEASE_EXECED = 3,  /* the child has exec'd: only readers of the child's records still use it */
};

enum lease_torn {
    TORN_OPEN = 0, /* the fork is in progress */
    TORN_YES = 1,  /* the parent wrote after the snapshot: records not copied yet are unreliable */
    TORN_CLOSED = 2, /* the parent did not, and no longer can */
};

#define COPIED_ALL UINT32_MAX /* the parent may change its heap again */

/* "Child `pid` of image `parent` may read every copy of the parent's up to `epoch`." */
struct lease {
    _Atomic uint32_t state;
    _Atomic uint32_t pid;
    uint32_t parent; /* image number */
    uint32_t epoch;
    _Atomic uint32_t torn;   /* enum lease_torn */
    _Atomic uint32_t child;  /* image number, if the child has one */
    _Atomic uint32_t copied; /* heap=file: grows while the child copies the heap, then COPIED_ALL */
    uint32_t heap;           /* heap=file: 1 + number of the heap that is the child's; 0: none */
};

/* Why a program started by the run is not checked. */
enum unchecked_reason {
    UNCHECKED_NONE = 0,
#define UNCHECKED(id, code, text) UNCHECKED_##id,
#include "unchecked.def"
#undef UNCHECKED
    UNCHECKED_COUNT
};

/* value of unchecked_record.reason during a write of the record */
#define UNCHECKED_WRITING UINT32_MAX

/* unchecked_record.flags */
/* the program is a script: the reason applies to its interpreter */
#define UNCHECKED_INTERPRETER 1u

/* A program that was started without being checked.  Records are never removed. */
struct unchecked_record {
    _Atomic uint32_t reason; /* enum unchecked_reason; published last; 0: free */
    uint32_t flags;          /* UNCHECKED_* */
    _Atomic uint64_t count;  /* number of starts; 0: each exec failed */
    char path[240];          /* NUL-terminated; a longer path keeps its end */
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
    IMAGE_ENDING = 2,   /* orderly end: end_how, end_status, end_ns are valid */
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
#define IMAGE_OWN_MALLOC 0x02u /* it is not: the program has its own */
#define IMAGE_SANDBOXED 0x04u  /* seccomp filter seen: no new kinds of system calls since */
#define IMAGE_INHERITED_UNSURE \
    0x08u /* inherited records are unreliable: the fork was unseen or torn */
/* some records did not fit into the file: see private_segments */
#define IMAGE_METADATA_PRIVATE 0x10u
#define IMAGE_HEAP_IN_FILE 0x20u
#define IMAGE_RECORD_WIDE 0x40u /* records of 32 bytes (debug: full generation in the third word) */
#define IMAGE_BY_HAND 0x80u
#define IMAGE_POST_MORTEM \
    0x100u /* it was killed, and its leaks were found by the scanner; minor version 4 */
#define IMAGE_HANDLER_STARVED \
    0x200u /* memory reserved for handlers that interrupt us was exhausted; minor version 6 */
/* 0x400u: minor version 6, no longer used by readers */
#define IMAGE_FAULT_OF_FREED \
    0x800u /* killed at an address read from freed memory (by its fill); minor version 7 */
#define IMAGE_GUARDS_BOUNDED 0x2000u /* blocks were not guarded, because of vm.max_map_count */
/* a block with one of the stacks of --guard-stacks was guarded; minor version 15 */
#define IMAGE_GUARDED_STACK 0x4000u
/* --access=full, and no object of it runs in a checked copy; minor version 15 */
#define IMAGE_WITHOUT_COPIES 0x8000u
/* heap=file: a fork made its heap private, the file has the contents of then; minor version 17 */
#define IMAGE_HEAP_LEFT 0x10000u
#define IMAGE_PYTHON_MALLOC 0x1000u /* PYTHONMALLOC makes python use malloc; minor version 12 */

/* image_header.checks: minor version 2; 0 in files of earlier versions */
#define CHECK_MADE 0x01u        /* the field is valid */
#define CHECK_REDZONES 0x02u    /* redzones after and before blocks are compared */
#define CHECK_FREED 0x04u       /* the fill of freed blocks is compared */
#define CHECK_LEAKS 0x08u       /* a leak check is made at the end; minor version 4 */
#define CHECK_POST_MORTEM 0x10u /* also if it is killed */

#define SCANNER_DONE UINT32_MAX /* image_header.scanner: it has finished, or was dismissed */

/* image_header.costs_known */
enum cost_source {
    COST_CLOCK = 1,  /* task_clock_ns: the process's CPU clock */
    COST_RUSAGE = 2, /* faults, switches and max_rss: getrusage */
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
    uint32_t header_bytes; /* without the area_head: the first segment follows it */
    uint64_t start_ns;     /* CLOCK_REALTIME */
    uint64_t end_ns;
    uint32_t end_how; /* enum image_end */
    int32_t end_status;
    uint64_t heap_base;                /* address of unit 0 in this image's address space */
    _Atomic uint64_t heap_bytes;       /* current size of the heap */
    uint32_t first_thread;             /* records with lower thread numbers are inherited */
    uint32_t first_depot_chunk;        /* lower chunks are the parent's */
    _Atomic uint64_t private_segments; /* segments that did not fit into the file */
    _Atomic uint64_t fork_count;
    _Atomic uint64_t slab_copies; /* slabs copied because of a fork */
    /* allocations in a signal handler that interrupted the allocator */
    _Atomic uint64_t handler_allocs;
    _Atomic uint64_t bootstrap_allocs; /* allocations before records were possible */
    _Atomic uint64_t bad_frees[BAD_FREE_COUNT];
    _Atomic uint64_t unchecked_children; /* exec calls seen without our environment entries */
    uint32_t lease;       /* index + 1 of the lease for reading the parent's records, 0 = none */
    uint16_t malloc_fill; /* fill byte of new blocks + 1; 0 = no fill; or FILL_OF_BLOCK + 1 */
    uint16_t free_fill;   /* of freed blocks */
    uint64_t missing_features; /* features that the machine lacks: bit n = line n of features.def */
    _Atomic uint64_t depot_nodes;  /* made by this image */
    _Atomic uint64_t depot_stacks; /* of these, innermost nodes of a stack */
    _Atomic uint64_t depot_bytes;  /* nodes and their index */
    _Atomic uint64_t pc_count;     /* distinct return addresses, when the depot last grew */
    _Atomic uint64_t pc_bytes;     /* private memory for return addresses */
    uint64_t quarantine_bytes;     /* of each thread */
    uint32_t stack_frames;         /* limit of frames for each stack; the depot may have more */
    uint32_t checks;               /* CHECK_*: checks that were made */
    _Atomic uint64_t
        errors_unrecorded;          /* found beyond error_limit sites, or without memory for them */
    _Atomic uint64_t peak_bytes;    /* maximum of the requested bytes in use */
    _Atomic uint64_t segment_bytes; /* records in the file and in private memory */
    uint64_t task_clock_ns;         /* resource usage at the orderly end; of a forked */
    uint64_t minor_faults;          /* child only its own.  See costs_known */
    uint64_t major_faults;
    uint64_t voluntary_switches;
    uint64_t involuntary_switches;
    uint64_t max_rss_bytes;
    uint32_t costs_known;         /* enum cost_source of the fields above */
    uint32_t error_limit;         /* limit of error sites for this image */
    _Atomic uint32_t leak_check;  /* enum leak_check; published after the fields below */
    uint32_t threads_not_stopped; /* their registers are unknown */
    uint64_t leak_ns;             /* duration of the check; minor version 3 */
    uint64_t root_bytes;          /* bytes scanned for pointers, without blocks */
    uint64_t root_bytes_skipped;  /* unreadable or never written */
    /* of these, threads that block the signal; minor version 4, as the fields below */
    uint16_t threads_unresponsive;
    uint16_t threads_waiting; /* of these, threads in a system call; minor version 7 */
    _Atomic uint32_t
        marks; /* marks set by this image: leaks' new_blocks are those since the last mark */
    _Atomic uint32_t leak_checks; /* leak checks on demand */
    _Atomic uint32_t scanner;     /* pid of the post-mortem scanner; 0, or SCANNER_DONE */
    /* kinds of private_segments: bit n = SEGMENT_*; minor version 7 */
    _Atomic uint32_t private_kinds;
    _Atomic uint32_t
        errors_unwritten; /* error sites that did not fit into the file; minor version 7 */
    char exe[1024];       /* path, NUL-terminated */
    char argv[2048];      /* arguments, each NUL-terminated; truncated */
    uint32_t argv_bytes;
    uint32_t argc;
    char name[32]; /* prctl name of the main thread at start */
    /*
     * Leak checks that other processes request of the scanner: numbers of the last request and of the last one
     * served, which is a futex.  Minor version 18.
     */
    _Atomic uint32_t check_requested, check_served;
    uint32_t reserved[6];
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
    /* leak_groups; index = chunk number; minor version 3, like all leak records */
    SEGMENT_LEAKS = 7,
    SEGMENT_ROOTS = 8, /* root_records; index = chunk number */
    /* minor version 4: checks on demand; vacant after their report */
    SEGMENT_LEAK_CHECKS = 9,  /* one leak_check_record; index = number of the check */
    SEGMENT_CHECK_LEAKS = 10, /* as LEAKS and ROOTS, of the check with the number `epoch` */
    SEGMENT_CHECK_ROOTS = 11,
    SEGMENT_TEXTS = 12,         /* text_records; index = chunk number; minor version 4 */
    SEGMENT_CLIENT_BLOCKS = 13, /* client_block_records; index = chunk number; minor version 5 */
    /* map_regions, or zeros; index = leaf number; odd epoch: being changed; minor version 5 */
    SEGMENT_MAPPINGS = 14,
    SEGMENT_MAP_SUM = 15,    /* one map_sum; minor version 5 */
    SEGMENT_MARKS = 16,      /* mark_records; minor version 5 */
    SEGMENT_DISPATCHED = 17, /* one dispatch_record; minor version 6 */
    SEGMENT_COSTS = 18,      /* one cost_record; minor version 6 */
    SEGMENT_CRASHES = 19,    /* one crash_record; index = number of the crash; minor version 9 */
    SEGMENT_OBJECTS = 20,    /* object_records; minor version 15 */
    SEGMENT_KIND_COUNT
};

enum segment_state {
    SEGMENT_BUILDING = 0,
    SEGMENT_CURRENT = 1,
    SEGMENT_SUPERSEDED = 2, /* a newer copy exists; kept for other readers */
    SEGMENT_VACANT = 3,     /* its bytes can be reused */
};

struct segment {
    uint32_t magic; /* RTC_SEGMENT_MAGIC */
    uint16_t kind;
    uint16_t item_bytes; /* stride of the items after this header */
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

#include "launcher_record.h"
#include "records.h"

#endif
