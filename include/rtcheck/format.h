/*
 * format.h - THE contract between the checked process and everybody who reads what it left.
 *
 * A run file is one sparse file.  It holds a run: every process image (the root, forked children,
 * exec'd programs) is numbered and owns whole areas of it, claimed one atomic step at a time.
 *
 *   offset 0                area_bytes            2*area_bytes
 *   | area 0: the run       | area 1              | area 2              | ...
 *   | run_header            | area_head (4 KiB)   | area_head           |
 *   | area table            | image_header        | segment, segment .. |
 *   | lease table           | segment, segment .. |                     |
 *                             first area of image    a further area of an image
 *
 * Inside an area segments follow each other without a gap, each with a 64-byte header that says
 * what it is and how long; area_head.used_bytes says where the last one ends.  Records are named
 * by (image, segment): nothing in the file is a pointer, everything is little-endian and of fixed
 * width.  A run file with heap=file has the heap behind the last area (run_header.heap_offset).
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
#define RTC_VERSION_MINOR 6u

#define RTC_AREA_TABLE_OFFSET 8192u /* from the start of the file */
#define RTC_AREA_BYTES (4ull << 20) /* what the launcher and the runtime make; any power of two is read */
#define RTC_AREA_COUNT_MAX 16384u
#define RTC_LEASE_COUNT 4096u
#define RTC_UNIT_SHIFT 16 /* slabs are made of units of 64 KiB; slab number = unit number */
#define RTC_FILE_BYTES_MAX (1ull << 42)
/*
 * Header and tables of every file that is read lie within these first 392 KiB, whatever the header
 * says: a reader can have them in memory before it knows whether to believe it.
 */
#define RTC_RUN_HEAD_BYTES                                                    \
    (RTC_AREA_TABLE_OFFSET + RTC_AREA_COUNT_MAX * sizeof(struct area_entry) + \
     RTC_LEASE_COUNT * sizeof(struct lease))

/* ---- area 0: the run -------------------------------------------------------------------- */

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
    uint64_t start_ns;    /* CLOCK_REALTIME */
    uint32_t mode;        /* enum run_mode */
    uint32_t uid;         /* who made it */
    uint32_t launcher_pid; /* 0 by hand */
    uint32_t pad0;
    _Atomic uint32_t next_area;   /* areas at and above it were never claimed */
    _Atomic uint32_t next_image;  /* last image number given out */
    _Atomic uint32_t doorbell;    /* futex: rung when an image starts or ends */
    _Atomic uint32_t reported;    /* futex: set by the reporter of a run by hand */
    _Atomic uint32_t unrecorded_images; /* images that found no area */
    _Atomic uint32_t heap_taken; /* heap=file: pid of the image that has the heap in the file */
    struct run_tally taken_back; /* images whose details are no longer in the file */
    _Atomic uint32_t pid_namespace; /* the first image's: pids of others mean nothing there; 0 = not known */
    _Atomic uint32_t error_places; /* with errors, in all images so far; minor version 2 */
    _Atomic uint32_t checks_asked; /* leak checks in mid-run that were to be told, so far; minor version 4 */
    _Atomic uint32_t checks_told;  /* futex: changes when one was */
    _Atomic uint32_t adopts_orphans; /* an image of the run is a subreaper, or was: no witnesses; minor version 4 */
    _Atomic uint32_t status_asked; /* by hand, from the reporter: what findings have the program end with; 0: its own */
    uint64_t reserved[23];
    char host[64];      /* NUL-terminated */
    char options[1024]; /* RTCHECK_OPTIONS grammar, NUL-terminated; what the launcher was told */
};

enum area_state {
    AREA_FREE = 0,      /* never used, or taken back and empty */
    AREA_CLAIMED = 1,   /* belongs to the image in the same word */
    AREA_TAKING = 2,    /* being emptied by whoever set this */
};

/* One per area.  `owner` = state << 32 | image number, changed by compare-and-swap only. */
struct area_entry {
    _Atomic uint64_t owner;
    _Atomic uint32_t populated_bytes; /* how much of the area may hold data */
    _Atomic uint32_t pid;             /* whose process the image is */
};

enum lease_state {
    LEASE_FREE = 0,
    LEASE_FORKING = 1, /* taken by a parent about to fork; pid not known yet */
    LEASE_HELD = 2,    /* a child may read its parent's records */
    LEASE_LEFT = 3,    /* the child exec'd: only those who read the child's records still do */
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
    _Atomic uint32_t torn;  /* enum lease_torn */
    _Atomic uint32_t child; /* image number once the child has one */
    _Atomic uint32_t copied; /* heap=file: grows while the child copies the heap, then COPIED_ALL */
    uint32_t reserved;
};

/* ---- areas ------------------------------------------------------------------------------ */

#define RTC_AREA_HEAD_BYTES 4096u

struct area_head {
    uint32_t magic; /* RTC_AREA_MAGIC */
    uint32_t image;
    uint32_t ordinal;  /* 0 = the image's first area: an image_header follows this head */
    uint32_t area;     /* its own index */
    uint32_t previous; /* the image's previous area, 0 for the first */
    uint32_t pad;
    _Atomic uint64_t used_bytes; /* from the start of the area; published after each segment header */
};

enum image_how { IMAGE_ROOT = 1, IMAGE_FORK = 2, IMAGE_EXEC = 3, IMAGE_FORK_UNSEEN = 4 };

enum image_state {
    IMAGE_BUILDING = 0, /* not usable yet */
    IMAGE_OPEN = 1,     /* running, or killed */
    IMAGE_ENDING = 2,   /* said goodbye: end_how, end_status, end_ns are valid */
};

enum image_end { END_UNKNOWN = 0, END_EXIT = 1, END_EXIT_NOW = 2, END_QUICK_EXIT = 3, END_EXEC = 4 };

/* image_header.flags */
#define IMAGE_IN_CONTROL 0x01u       /* the program's malloc is ours, tested at start */
#define IMAGE_OWN_MALLOC 0x02u       /* it is not: the program brought its own */
#define IMAGE_SANDBOXED 0x04u        /* seccomp filter seen: no new kinds of system calls since */
#define IMAGE_INHERITED_UNSURE 0x08u /* inherited records could not be trusted (fork unseen or torn) */
#define IMAGE_METADATA_PRIVATE 0x10u /* some records did not fit the file: see private_segments */
#define IMAGE_HEAP_IN_FILE 0x20u
#define IMAGE_RECORD_WIDE 0x40u /* records of 32 bytes (debug: full generation in the third word) */
#define IMAGE_BY_HAND 0x80u
#define IMAGE_WITNESSED 0x100u /* it was killed, and what is said of leaks its witness found out; minor version 4 */

/* image_header.checks: minor version 2; before it none was made */
#define CHECK_MADE 0x01u     /* the field is there */
#define CHECK_REDZONES 0x02u /* bytes behind and before blocks are compared */
#define CHECK_FREED 0x04u    /* and the fill of freed ones */
#define CHECK_LEAKS 0x08u    /* leaks are to be looked for when it ends; minor version 4 */
#define CHECK_WITNESS 0x10u  /* also when it is killed */

#define WATCHER_DONE UINT32_MAX /* image_header.watcher: it has said all, or was sent away */

/* image_header.costs_known */
enum cost_source {
    COST_CLOCK = 1,  /* task_clock_ns: the process's CPU clock */
    COST_RUSAGE = 2, /* the faults, switches and max_rss: getrusage */
};

enum free_verdict_counter { LOST_DUPLICATE, LOST_MISALIGNED, LOST_BAD, LOST_FOREIGN, LOST_COUNT };

struct image_header {
    uint64_t magic; /* RTC_IMAGE_MAGIC; written last */
    uint32_t image;
    uint32_t parent; /* image number, 0 = none or unknown */
    uint32_t pid;
    uint32_t ppid;
    uint32_t how; /* enum image_how */
    _Atomic uint32_t state; /* enum image_state */
    _Atomic uint32_t flags;
    uint32_t header_bytes; /* area_head excluded: where the first segment begins behind it */
    uint64_t start_ns; /* CLOCK_REALTIME */
    uint64_t end_ns;
    uint32_t end_how; /* enum image_end */
    int32_t end_status;
    uint64_t heap_base; /* address of unit 0 in this image's address space */
    _Atomic uint64_t heap_bytes; /* how far the heap has grown */
    uint32_t first_thread; /* records of lower thread numbers were inherited */
    uint32_t first_depot_chunk; /* lower chunks are the parent's */
    _Atomic uint64_t private_segments; /* segments that had to live outside the file */
    _Atomic uint64_t fork_count;
    _Atomic uint64_t slab_copies;      /* slabs copied because of a fork */
    _Atomic uint64_t handler_allocs;   /* served in a signal handler that interrupted us */
    _Atomic uint64_t bootstrap_allocs; /* served before we could record anything */
    _Atomic uint64_t bad_frees[LOST_COUNT];
    _Atomic uint64_t unchecked_children; /* exec without our entries, seen */
    uint32_t lease; /* index + 1 of the lease by which this image reads its parent, 0 = none */
    uint16_t malloc_fill; /* byte that new blocks are filled with, + 1; 0 = they are not */
    uint16_t free_fill;   /* the same of freed ones */
    uint64_t lost_features; /* what the machine lacks: bit n = line n of features.def */
    _Atomic uint64_t depot_nodes;  /* made by this image */
    _Atomic uint64_t depot_stacks; /* of them, those that are the end of a stack */
    _Atomic uint64_t depot_bytes;  /* nodes and what finds them */
    _Atomic uint64_t pc_count;     /* return addresses seen, when the depot grew last */
    _Atomic uint64_t pc_bytes;     /* what is kept of them in the process */
    uint64_t quarantine_bytes;     /* of each thread */
    uint32_t stack_frames;         /* that are kept of each stack; the depot may hold more */
    uint32_t checks;               /* CHECK_*: what was looked for */
    _Atomic uint64_t errors_unrecorded; /* found beyond error_limit places, or without memory for them */
    _Atomic uint64_t peak_bytes;   /* most that was in use at a time, asked-for bytes */
    _Atomic uint64_t segment_bytes; /* of records in the file and beside it */
    uint64_t task_clock_ns;        /* what the process used, when it said goodbye; of a forked */
    uint64_t minor_faults;         /* child its own only.  See costs_known */
    uint64_t major_faults;
    uint64_t voluntary_switches;
    uint64_t involuntary_switches;
    uint64_t max_rss_bytes;
    uint32_t costs_known; /* enum cost_source of what stands above */
    uint32_t error_limit; /* places kept of this image */
    _Atomic uint32_t leak_check;   /* enum leak_check; written last of what belongs to it */
    uint32_t threads_unheard; /* that did not stop for it: their registers are not known */
    uint64_t leak_ns;         /* that it took; minor version 3 */
    uint64_t root_bytes;      /* that it looked at for pointers, blocks excluded */
    uint64_t root_bytes_skipped; /* that could not be read, or were never touched */
    uint32_t threads_deaf; /* of those unheard, that keep every signal out; minor version 4, as what follows */
    _Atomic uint32_t marks;       /* that this image has made: new_blocks of leaks are those since the last */
    _Atomic uint32_t leak_checks; /* that it made in mid-run */
    _Atomic uint32_t watcher;     /* pid of who will tell of this process when it is killed; 0, or WATCHER_DONE */
    uint64_t reserved[1];
    char exe[1024];   /* path, NUL-terminated */
    char argv[2048];  /* arguments, each NUL-terminated; cut at the end */
    uint32_t argv_bytes;
    uint32_t argc;
    char name[64]; /* prctl name of the main thread at start */
};

/* ---- segments --------------------------------------------------------------------------- */

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
    SEGMENT_LEAK_CHECKS = 9, /* one leak_check_record; index = number of the check */
    SEGMENT_CHECK_LEAKS = 10, /* as LEAKS and ROOTS, of the check whose number is the epoch */
    SEGMENT_CHECK_ROOTS = 11,
    SEGMENT_TEXTS = 12, /* text_records; index = chunk number; minor version 4 */
    SEGMENT_RECORDED = 13, /* recorded_blocks; index = chunk number; minor version 5 */
    SEGMENT_MAPPINGS = 14, /* map_regions, or zeros; index = leaf number; epoch odd: being changed; minor version 5 */
    SEGMENT_MAP_SUM = 15,  /* one map_sum; minor version 5 */
    SEGMENT_MARKS = 16,    /* mark_records; minor version 5 */
    SEGMENT_DISPATCHED = 17, /* one dispatch_record; minor version 6 */
    SEGMENT_COSTS = 18,    /* one cost_record; minor version 6 */
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
    uint32_t bytes; /* the whole segment, a multiple of RTC_SEGMENT_ALIGN */
    uint32_t capacity;      /* items that fit */
    _Atomic uint32_t count; /* items published, from the front; slabs: = capacity */
    _Atomic uint32_t epoch;
    uint64_t index;
    uint32_t slot_bytes; /* SLAB: distance of two blocks */
    uint32_t units;      /* SLAB: length in units */
    uint64_t reserved[2];
};

/* ---- block records ---------------------------------------------------------------------- */

/*
 * state:3 | family:3 | flags:2 | mark:8 | generation:6 | thread:18 | size:24   (low to high)
 *
 * malloc: word = (NEVER, gen); release fence; stacks; store-release word = (LIVE, gen+1, ...)
 * free:   compare-and-swap word LIVE -> FREED: the winner frees, a loser is the duplicate free
 * reader: word, stacks, word; equal = consistent
 */
enum block_state {
    BLOCK_NEVER = 0,     /* never given out, or its record is being written */
    BLOCK_LIVE = 1,
    BLOCK_FREED = 2,     /* in quarantine */
    BLOCK_FREE = 3,      /* left the quarantine: forgotten, may be given out again */
    BLOCK_INHERITED = 4, /* the parent's; what it was at the fork is not known for sure */
};

enum block_family {
    FAMILY_MALLOC = 0,
    FAMILY_NEW = 1,
    FAMILY_NEW_ARRAY = 2,
    FAMILY_ALIGNED = 3, /* memalign, posix_memalign, aligned_alloc, valloc, pvalloc: free() frees it */
    FAMILY_NEW_ALIGNED = 4,
    FAMILY_NEW_ARRAY_ALIGNED = 5,
    FAMILY_COUNT
};

#define BLOCK_STATE_SHIFT 0
#define BLOCK_FAMILY_SHIFT 3
#define BLOCK_FLAGS_SHIFT 6
#define BLOCK_MARK_SHIFT 8
#define BLOCK_GEN_SHIFT 16
#define BLOCK_THREAD_SHIFT 22
#define BLOCK_SIZE_SHIFT 40
#define BLOCK_STATE_MASK 0x7u
#define BLOCK_FAMILY_MASK 0x7u
#define BLOCK_FLAGS_MASK 0x3u
#define BLOCK_MARK_MASK 0xffu
#define BLOCK_GEN_MASK 0x3fu
#define BLOCK_THREAD_MASK 0x3ffffu
#define BLOCK_SIZE_MASK 0xffffffu

#define BLOCK_FLAG_IN_HANDLER 1u /* allocated by a handler that interrupted us */
#define BLOCK_FLAG_ROOT 2u /* no leak, whoever points to it: the loader's, or ignored by request */

/* mark 0 = inherited at a fork; an image's own blocks start with mark 1 */
#define MARK_INHERITED 0u
#define MARK_FIRST 1u

struct block_record {
    _Atomic uint64_t word;   /* see above; published last */
    _Atomic uint64_t stacks; /* alloc stack << 32 | free stack: depot ids, 0 = none */
};

/* A block of its own pages; the item of SEGMENT_LARGE.  word's size field is 0: see request. */
struct large_record {
    struct block_record block;
    _Atomic uint64_t request; /* bytes asked for */
    uint64_t unit;            /* where it starts, in units from heap_base */
    uint64_t units;           /* how many it occupies */
    uint64_t epoch;           /* of two items for one unit the higher epoch counts */
    _Atomic uint64_t superseded; /* not 0: a newer copy exists; kept for a child that may read it */
    uint64_t reserved;
};

/* A block that the program has made itself, wherever.  word's size field is 0. */
struct recorded_block {
    struct block_record block;
    _Atomic uint64_t start;
    _Atomic uint64_t bytes;
};

/* ---- the other items -------------------------------------------------------------------- */

/* Stack id = chunk << DEPOT_CHUNK_SHIFT | place + 1 within the chunk. */
#define DEPOT_CHUNK_SHIFT 10
#define DEPOT_CHUNK_NODES 1020u

struct depot_node {
    _Atomic uint64_t pc; /* see below; written last, 0 = the writer was killed on the way */
    uint32_t parent;
    uint32_t tag; /* upper half of the hash of all frames up to this one */
};

/*
 * pc: the return address of a call - or, with DEPOT_PC_EXACT, the instruction that a signal
 * interrupted - and above it the number of the module that it lies in, 0 = none or not known.
 */
#define DEPOT_PC_EXACT (1ull << 47)
#define DEPOT_MODULE_SHIFT 48

/* Why a stack has no further frames; the outermost node's parent is DEPOT_ROOT - that. */
enum stack_end {
    STACK_WHOLE = 0,   /* the thread began there */
    STACK_CUT = 1,     /* there are more */
    STACK_NO_INFO = 2, /* code without call frame information, and without a frame pointer */
    STACK_ASTRAY = 3,  /* the next frame would not be on the stack: it is damaged, or unusual */
    STACK_BUDGET = 4,  /* the depot is nearly full: only the innermost are kept */
    STACK_END_COUNT
};

#define DEPOT_ROOT 0xffffffffu
#define RTC_STACK_FRAMES 64u /* that a reader goes by; there may be more, and they may be stale */

#define THREAD_CHUNK 64u

struct thread_record {
    _Atomic uint32_t tid; /* 0 while the place is unused */
    uint32_t number;      /* as in block words */
    _Atomic uint32_t gone;
    uint32_t pad;
    char name[16];
    _Atomic uint64_t allocs;
    _Atomic uint64_t frees;
    _Atomic uint64_t alloc_bytes;
    _Atomic uint64_t free_bytes;
    uint64_t control_block; /* lies in, or just above, the thread's stack; 0: main's; minor version 2 */
    /* of a forked child's first one: what its process had in use then, which no thread of it allocated; minor version 6 */
    uint64_t inherited_blocks, inherited_bytes;
    _Atomic uint64_t reallocs; /* resizes, each of which is one of allocs and of frees; minor version 6 */
    uint64_t reserved[4];
};

struct module_record {
    uint64_t bias;
    uint64_t start; /* mapped range that was seen */
    uint64_t end;
    uint32_t build_id_bytes;
    uint8_t build_id[20];
    char path[448];  /* NUL-terminated */
    uint32_t number; /* as in depot_node.pc; of two records with one number the later counts */
    uint32_t loaded; /* when it was seen first, and when its unloading was; 0 = it is loaded.  */
    uint32_t unloaded; /* Counted over all loads and unloads of a process and its ancestors */
    uint32_t pad;
};

/* ---- errors ----------------------------------------------------------------------------- */

enum error_kind {
    ERROR_NONE = 0, /* being written */
    ERROR_BAF = 1,  /* free of what no allocation gave */
    ERROR_DUF = 2,  /* free of a block that is free */
    ERROR_MAF = 3,  /* free of an address inside a block */
    ERROR_MIS = 4,  /* freed by another family than made it, or with another size */
    ERROR_WUA = 5,  /* written where nothing is allocated; found afterwards */
    ERROR_OOM = 6,  /* more asked for than there is: a warning */
    ERROR_FOREIGN = 7, /* freed through us, and libc's: a note */
    ERROR_BUM = 8,  /* unmapped what is not mapped, or is in use by others: a warning; minor version 5 */
    ERROR_KIND_COUNT
};

/* Which function of the allocator found it: entries.def. */
enum error_entry {
    ENTRY_NONE = 0,
#define ENTRY(id, name) ENTRY_##id,
#include "entries.def"
#undef ENTRY
    ENTRY_COUNT
};

/* Where a damaged byte lies (ERROR_WUA). */
enum error_damage {
    DAMAGE_NONE = 0,
    DAMAGE_BEHIND = 1, /* behind the block */
    DAMAGE_BEFORE = 2, /* before it: `block` is the one that it was found by */
    DAMAGE_INSIDE = 3, /* in a block that had been freed */
    DAMAGE_COUNT
};

/* What an address is that belongs to no block of ours. */
enum error_region {
    REGION_NONE = 0,       /* there is a block, or no address at all (oom) */
    REGION_UNKNOWN = 1,    /* could not be asked: in a sandbox */
    REGION_NULL = 2,       /* so low that it is NULL and something */
    REGION_UNMAPPED = 3,   /* no memory */
    REGION_STACK = 4,      /* of the thread that called */
    REGION_STACK_OTHER = 5, /* of another one: region_thread */
    REGION_STACK_ENDED = 6, /* of one that is over: region_thread */
    REGION_STACK_ALTERNATE = 7, /* the calling thread's stack for signal handlers */
    REGION_MODULE = 8,     /* program or library: region_module, and the address minus its bias */
    REGION_MAPPED = 9,     /* other memory of the program's: region_start, _end, region_path */
    REGION_HEAP = 10,      /* of our heap, but of no block that there ever was */
    REGION_LIBC = 11,      /* a block of libc's own allocator */
    REGION_COUNT
};

#define ERROR_CHUNK 16u
#define ERROR_BYTES_FOUND 16u

/*
 * One place at which errors of one kind happened: what is told is the first of them.  The place of a
 * wua is where its block was allocated; of all others, the call.
 */
struct error_record {
    _Atomic uint32_t kind; /* enum error_kind; published last, does not change */
    uint32_t entry;        /* enum error_entry */
    _Atomic uint64_t count;
    uint64_t time_ns;      /* CLOCK_REALTIME */
    uint64_t address;      /* that was given; wua: of the first damaged byte */
    uint64_t bytes;        /* oom: asked for; bum: to unmap; mis: the size that was given, 0 = none; wua: from the */
                           /* first damaged byte to behind the last */
    uint32_t stack;        /* of the call; wua at eviction or exit: 0 */
    uint32_t thread;       /* that called; 0 = not known */
    uint64_t block;        /* the block that it is about or inside of; 0 = none */
    uint64_t block_bytes;  /* asked for */
    uint32_t block_state;  /* enum block_state before the call; FREE: its record may be of later life */
    uint32_t block_family; /* enum block_family */
    uint32_t block_thread; /* of its last transition: who allocated, or (freed) who freed it */
    uint32_t alloc_stack;
    uint32_t free_stack;   /* of the first free; 0 = not freed or not known */
    uint32_t damage;       /* enum error_damage */
    uint32_t region;       /* enum error_region */
    uint32_t region_thread;
    uint32_t region_module; /* number as in module_record, 0 = not known */
    uint32_t found_bytes;  /* how many of found[] are valid */
    uint64_t region_start; /* of the mapping or module, or (bum) of the first that is not mapped; 0 = not known */
    uint64_t region_end;
    uint8_t found[ERROR_BYTES_FOUND]; /* wua: what is there, from the first damaged byte on */
    char region_path[104]; /* of the mapping, NUL-terminated; its end when it is longer */
    uint64_t region_bias;  /* module: address - bias = its offset */
    uint64_t reserved[9];
};

/* ---- leaks ------------------------------------------------------------------------------ */

/* Was it asked, at the end, which blocks the program can still get at? */
enum leak_check {
    LEAKS_NOT_ASKED = 0,
    LEAKS_FOUND = 1,       /* yes: the groups are all there are */
    LEAKS_NO_MEMORY = 2,   /* no: there was none for it */
    LEAKS_SANDBOX = 3,     /* no: the process may not ask what it has mapped */
    LEAKS_BUSY = 4,        /* no: a thread would not leave the allocator */
    LEAKS_CHECK_COUNT
};

/* How the program can still get at a block. */
enum reach {
    REACH_NONE = 0,      /* no block */
    REACH_HELD = 1,      /* through pointers to starts of blocks, from a root on: in use */
    REACH_INTERIOR = 2,  /* aib: only through a pointer to its inside */
    REACH_REGISTER = 3,  /* air: only through a register of a thread */
    REACH_BEHIND = 4,    /* only through a block that is INTERIOR, REGISTER or BEHIND */
    REACH_LOST = 5,      /* mel: not at all */
    REACH_CIRCLE = 6,    /* mel: only through itself; one of each circle stands for it */
    REACH_LOST_BEHIND = 7, /* mel, indirect: only through a block that is LOST, CIRCLE or LOST_BEHIND */
    REACH_COUNT
};

/* What holds the pointer that a block was found by. */
enum witness {
    WITNESS_NOBODY = 0,
    WITNESS_ROOT = 1,     /* memory at `at`, which lies in root `root` */
    WITNESS_BLOCK = 2,    /* memory at `at`, which lies in the block at `from` */
    WITNESS_REGISTER = 3, /* register number `at` of `thread` */
    WITNESS_SELF = 4,     /* nobody else: a rule of the runtime's says that it is in use, as of ignored ones */
    WITNESS_COUNT
};

/* Registers have DWARF's numbers; from here on words of what the kernel saves beside them. */
#define WITNESS_VECTOR 16u

/* All blocks of one allocating stack that are reached alike, and how the first of them is. */
struct leak_group {
    uint32_t stack; /* that allocated them; 0 = not known */
    _Atomic uint32_t reach; /* enum reach; published last, 0 = being written */
    uint64_t blocks;
    uint64_t bytes;      /* asked for */
    uint64_t new_blocks; /* of them, allocated since the last mark */
    uint64_t new_bytes;
    uint64_t behind_blocks; /* found through these alone: BEHIND or LOST_BEHIND */
    uint64_t behind_bytes;
    uint64_t block;      /* the first of them */
    uint64_t block_bytes;
    uint64_t value;      /* the pointer to it; minus block = how far inside */
    uint64_t at;         /* where that lies: see enum witness */
    uint64_t from;       /* the block that it lies in */
    uint64_t from_bytes;
    uint32_t from_stack;
    uint32_t witness;    /* enum witness */
    uint32_t root;       /* number of the root_record, from 1 */
    uint32_t thread;     /* that allocated the first; of a REGISTER, whose that is */
    uint64_t frame_pc;   /* on a stack: the function whose frame `at` lies in, as depot_node.pc, 0 = not known */
    uint64_t frame_cfa;  /* and its canonical frame address; without a frame_pc: where the outermost ends, below `at` */
    uint64_t frame_sp;   /* and its stack pointer; minor version 4, as what follows */
    uint64_t control_block; /* no frame: of the thread whose thread-local storage lies there; 0: nobody's */
    uint32_t on_thread;  /* whose frame or thread-local storage it is; 0 = not known */
    uint32_t pad;
};

enum root_kind {
    ROOT_NONE = 0,
    ROOT_STACK = 1,   /* of `thread`, from its stack pointer up */
    ROOT_MODULE = 2,  /* writable data of a program or library */
    ROOT_MAPPED = 3,  /* other writable memory of the program's */
    ROOT_GIVEN = 4,   /* named by the program: a root region */
    ROOT_KIND_COUNT
};

struct root_record {
    uint64_t start;
    uint64_t end;
    uint64_t bias;   /* module: address - bias = its offset */
    uint32_t kind;   /* enum root_kind; published last, 0 = being written */
    uint32_t thread; /* stacks: whose; 0 = not known */
    uint32_t module; /* number as in module_record, 0 = not known */
    uint32_t pad;
    char path[104];  /* of the mapping, NUL-terminated; its end when it is longer */
    uint64_t reserved;
};

/* leak_check_record.flags */
#define LEAK_CHECK_NEW 1u /* only what is new is to be told */

/* A check that the program has asked for, and that somebody is to tell now. */
struct leak_check_record {
    _Atomic uint32_t number; /* from 1 in each image; published last, 0 = being made */
    uint32_t result;         /* enum leak_check */
    _Atomic uint32_t told;   /* by who tells it: 1 and how many of the leaks rules have hidden; 0: not yet */
    uint32_t flags;          /* LEAK_CHECK_* */
    uint32_t thread;         /* that asked */
    uint32_t threads_unheard; /* this and what follows as in the image header */
    uint64_t ns;
    uint64_t root_bytes;
    uint64_t root_bytes_skipped;
    uint64_t reserved[4];
};

/* ---- mappings ---------------------------------------------------------------------------- */

enum map_origin {
    MAP_UNTOLD = 0,  /* not by the runtime */
    MAP_EXISTED = 1, /* it was there when the program first changed something */
    MAP_CALLED = 2,  /* by a call that was seen: of the program, or of a library that it uses */
    MAP_BEHIND = 3,  /* found later: by libc or the loader for themselves, or by a raw system call */
    MAP_ORIGIN_COUNT
};

#define MAP_FILE_UNKNOWN UINT64_MAX /* map_region.device: of some file, or shared; nobody has looked yet */

/*
 * A range of what is mapped, alike in all that follows.  A process that was killed may leave one that
 * is half written: readers leave out what cannot be.
 */
struct map_region {
    uint64_t start, end;
    uint64_t offset; /* in the file; 0 where there is none */
    uint64_t inode, device; /* both 0: anonymous; of shared memory the inode is the segment's id */
    uint32_t stack;  /* of the call that mapped it; 0 = not known */
    uint32_t call;   /* its number in this process and its ancestors; pieces of one mapping have the same; 0 = none */
    uint32_t thread; /* that called */
    uint8_t protection; /* as mprotect has it */
    uint8_t shared;
    uint8_t origin; /* enum map_origin */
    uint8_t mark;   /* as in block words */
};

/* map_sum.flags */
#define MAP_SUM_KNOWN 1u    /* the kernel was asked what there was at first */
#define MAP_SUM_FULL 2u     /* there are ranges that no room was found for */
#define MAP_SUM_COMPARED 4u /* and what there was at the end */

/* What came of the calls of an image that change what is mapped. */
struct map_sum {
    uint32_t flags;
    uint32_t first_call; /* ranges of lower numbers are inherited */
    _Atomic uint64_t mapped; /* calls that mapped something: mmap, shmat; brk and sbrk when it grows */
    _Atomic uint64_t unmapped; /* calls that unmapped something */
    _Atomic uint64_t unseen; /* calls from handlers that interrupted us: left to be found */
    _Atomic uint64_t bytes, peak_bytes; /* of what calls have mapped */
    _Atomic uint64_t compared; /* how often this was compared with what the kernel has */
    _Atomic uint64_t behind_objects, behind_stacks; /* ranges that it had more: of objects; stacks of threads; */
    _Atomic uint64_t behind_others; /* and others */
    _Atomic uint64_t behind_gone, behind_changed; /* that it had no more; that were not what they had been */
    uint64_t reserved[4];
};

/* What came of events=all. */
struct dispatch_record {
    int32_t error;    /* -errno: there is none here */
    uint32_t call_ns; /* what a call costs more */
    uint32_t measured; /* by so many, at start */
    uint32_t reserved;
    _Atomic uint64_t calls;     /* that were dispatched, when last written down */
    _Atomic uint64_t told;      /* of them, those that change what is mapped and came by no function of ours */
    _Atomic uint64_t uncovered; /* threads that went on without */
    uint64_t reserved2[3];
};

/* How much there was when a mark began. */
struct mark_record {
    uint32_t mark; /* as in block words */
    uint32_t reserved;
    uint64_t time_ns; /* CLOCK_REALTIME */
    uint64_t blocks;  /* in use, of all that the process has allocated or inherited */
    uint64_t bytes;
    uint64_t allocs;
    uint64_t mapped_bytes; /* by calls */
};

/* ---- our own share of the costs ------------------------------------------------------------ */

/* What the runtime was doing. */
enum cost_work {
    COST_ALLOCATE = 0,
    COST_FREE = 1,
    COST_RESIZE = 2,     /* realloc, also what it allocates, copies and frees */
    COST_OPERATION_COUNT = 3,
    COST_UNWIND = 3,     /* the stacks of these */
    COST_QUARANTINE = 4, /* blocks that are freed enter, others leave */
    COST_SCAN = 5,       /* at the end or by request: damage, leaks, what is mapped */
    COST_START = 6,
    COST_WORK_COUNT
};

/*
 * Some operations - of the first three - are timed and stand for others: ticks of the processor's clock,
 * faults and operations are estimates of all.  ns are of a CPU clock, of what is timed each time.
 */
struct cost_done {
    _Atomic uint64_t timed;
    _Atomic uint64_t operations;
    _Atomic uint64_t ticks;
    _Atomic uint64_t faults; /* page faults in it */
    _Atomic uint64_t ns;
};

/* How long operations took: a quarter of an octave each, of ticks. */
#define COST_TIMES 112u

struct cost_record {
    uint32_t every;       /* one in so many is timed, in the end; 0: none */
    uint32_t clock_ticks; /* that reading the clock takes: they are in nothing of this */
    _Atomic uint64_t rate; /* ticks per ns, in 1 / 2^20; 0 = not known yet */
    _Atomic uint64_t disturbed; /* were to be timed, and lost the processor: the next one stands for them */
    _Atomic uint64_t kernel_ticks; /* of the ticks of whole operations, in system calls that were ours */
    _Atomic uint32_t stopped; /* a sandbox was entered: since then nothing is timed */
    uint32_t pad;
    struct cost_done whole[COST_OPERATION_COUNT]; /* operations, from beginning to end */
    struct cost_done work[COST_WORK_COUNT]; /* others of them, piece by piece: which part is what */
    _Atomic uint64_t alloc_times[COST_TIMES]; /* operations, as above */
    _Atomic uint64_t free_times[COST_TIMES];
    uint64_t reserved[7];
};

/* ---- what there is to say in the program's own words -------------------------------------- */

enum text_kind {
    TEXT_NONE = 0,
    TEXT_UNKNOWN_SETTING = 1, /* "key=value" of __lsan_default_options, which means nothing here */
    TEXT_SUPPRESSIONS = 2, /* a piece of what __lsan_default_suppressions gives */
    TEXT_KIND_COUNT
};

#define TEXT_PIECES_MAX 8192u
#define TEXT_PIECE_BYTES 119u

struct text_record {
    uint32_t kind; /* enum text_kind; others: of a later minor version */
    uint32_t piece; /* of one text, from 0: all are full but the last, which is not */
    char text[120]; /* NUL-terminated; cut at the end */
};

static_assert(sizeof(struct run_header) <= RTC_AREA_TABLE_OFFSET, "on-file layout");
static_assert(sizeof(struct area_entry) == 16, "on-file layout");
static_assert(sizeof(struct lease) == 32, "on-file layout");
static_assert(sizeof(struct area_head) == 32, "on-file layout");
static_assert(sizeof(struct image_header) == 3520, "on-file layout");
static_assert(sizeof(struct segment) == 64, "on-file layout");
static_assert(sizeof(struct block_record) == 16, "on-file layout");
static_assert(sizeof(struct large_record) == 64, "on-file layout");
static_assert(sizeof(struct recorded_block) == 32, "on-file layout");
static_assert(sizeof(struct depot_node) == 16, "on-file layout");
static_assert(sizeof(struct thread_record) == 128, "on-file layout");
static_assert(sizeof(struct module_record) == 512, "on-file layout");
static_assert(sizeof(struct error_record) == 320, "on-file layout");
static_assert(sizeof(struct leak_group) == 160, "on-file layout");
static_assert(sizeof(struct root_record) == 152, "on-file layout");
static_assert(sizeof(struct leak_check_record) == 80, "on-file layout");
static_assert(sizeof(struct text_record) == 128, "on-file layout");
static_assert(sizeof(((struct text_record *)0)->text) == TEXT_PIECE_BYTES + 1, "and its NUL");
static_assert(sizeof(struct map_region) == 56, "on-file layout");
static_assert(sizeof(struct map_sum) == 128, "on-file layout");
static_assert(sizeof(struct mark_record) == 48, "on-file layout");
static_assert(sizeof(struct dispatch_record) == 64, "on-file layout");
static_assert(sizeof(struct cost_record) == 2288, "on-file layout");

static_assert(BLOCK_SIZE_SHIFT + 24 == 64, "the word's fields fill it");

#endif
