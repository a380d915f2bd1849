/*
 * records.h - what the segments of a run file hold: one kind of item for each kind of segment (format.h).
 *
 * A struct keeps its size within a major version: a later minor one takes its fields from what is reserved,
 * which is 0 in files of earlier ones.  What is atomic may change while others read; what is
 * published last says that the rest of its item is there.
 */
#ifndef RTCHECK_RECORDS_H
#define RTCHECK_RECORDS_H

#include <assert.h>
#include <stdint.h>

/* ---- block records --------------------------------------------------------------------------- */

/*
 * state:3 | family:3 | flags:2 | mark:8 | generation:6 | thread:18 | size:18 | align:6   (low to high)
 *
 * align is 1 + the binary logarithm of the alignment that was asked for; 0 = none, or not known; minor version 7.
 *
 * malloc: word = (NEVER, gen); release fence; stacks; store-release word = (LIVE, gen+1, ...)
 * free:   compare-and-swap word LIVE -> FREED: the winner frees, a loser is the duplicate free
 * reader: word, stacks, word; equal = consistent
 */
enum block_state {
    BLOCK_NEVER = 0, /* never given out, or its record is being written */
    BLOCK_LIVE = 1,
    BLOCK_FREED = 2,     /* in quarantine */
    BLOCK_FREE = 3,      /* left the quarantine: forgotten, may be given out again */
    BLOCK_INHERITED = 4, /* the parent's; what it was at the fork is not known for sure */
};

enum block_family {
    FAMILY_MALLOC = 0,
    FAMILY_NEW = 1,
    FAMILY_NEW_ARRAY = 2,
    FAMILY_ALIGNED =
        3, /* memalign, posix_memalign, aligned_alloc, valloc, pvalloc: free() frees it */
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
#define BLOCK_ALIGN_SHIFT 58
#define BLOCK_STATE_MASK 0x7u
#define BLOCK_FAMILY_MASK 0x7u
#define BLOCK_FLAGS_MASK 0x3u
#define BLOCK_MARK_MASK 0xffu
#define BLOCK_GEN_MASK 0x3fu
#define BLOCK_THREAD_MASK 0x3ffffu
#define BLOCK_SIZE_MASK 0x3ffffu
#define BLOCK_ALIGN_MASK 0x3fu

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
    _Atomic uint64_t request;    /* bytes asked for */
    uint64_t unit;               /* where it starts, in units from heap_base */
    uint64_t units;              /* how many it occupies */
    uint64_t epoch;              /* of two items for one unit the higher epoch counts */
    _Atomic uint64_t superseded; /* not 0: a newer copy exists; kept for a child that may read it */
    uint64_t
        lead; /* bytes before the block in its first unit: the left redzone ends there; minor version 7 */
};

/* A block that the program has made itself, wherever.  word's size field is 0. */
struct client_block_record {
    struct block_record block;
    _Atomic uint64_t start;
    _Atomic uint64_t bytes;
};

/* ---- the other items ------------------------------------------------------------------------- */

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
    STACK_WHOLE = 0,     /* the thread began there */
    STACK_CUT = 1,       /* there are more */
    STACK_NO_INFO = 2,   /* code without call frame information, and without a frame pointer */
    STACK_OFF_STACK = 3, /* the next frame would not be on the stack: it is damaged, or unusual */
    STACK_BUDGET = 4,    /* the depot is nearly full: only the innermost are kept */
    STACK_END_COUNT
};

#define DEPOT_ROOT 0xffffffffu
#define RTC_STACK_FRAMES 64u /* that a reader goes by; there may be more, and they may be stale */

#define THREAD_CHUNK 64u

struct thread_record {
    _Atomic uint32_t
        tid; /* 0: the place is unused, or holds the sum of threads whose records were used again */
    uint32_t number; /* as in block words, where no other thread has it; 0: numbers ran out */
    _Atomic uint32_t gone;
    uint32_t pad;
    char name[16];
    _Atomic uint64_t allocs;
    _Atomic uint64_t frees;
    _Atomic uint64_t alloc_bytes;
    _Atomic uint64_t free_bytes;
    uint64_t
        control_block; /* lies in, or just above, the thread's stack; 0: main's; minor version 2 */
    /*
     * of a forked child's first one: what its process had in use then, which no thread of it
     * allocated; minor version 6
     */
    uint64_t inherited_blocks, inherited_bytes;
    _Atomic uint64_t
        reallocs; /* resizes, each of which is one of allocs and of frees; minor version 6 */
    uint64_t reserved[4];
};

struct module_record {
    uint64_t bias;
    uint64_t start; /* mapped range that was seen */
    uint64_t end;
    uint32_t build_id_bytes;
    uint8_t build_id[20];
    char path[448];    /* NUL-terminated */
    uint32_t number;   /* as in depot_node.pc; of two records with one number the later counts */
    uint32_t loaded;   /* when it was seen first, and when its unloading was; 0 = it is loaded.  */
    uint32_t unloaded; /* Counted over all loads and unloads of a process and its ancestors */
    uint32_t pad;
};

/* ---- errors ---------------------------------------------------------------------------------- */

enum error_kind {
    ERROR_NONE = 0, /* being written */
#define ERROR(id, value, ...) ERROR_##id = (value),
#include "rtcheck/findings.def"
    ERROR_KIND_COUNT
};

enum finding_class { FINDING_PROBLEM, FINDING_WARNING, FINDING_NOTE };

static inline enum finding_class error_class(uint32_t kind)
{
    switch (kind) {
#define ERROR(id, value, class, ...) \
    case ERROR_##id:                 \
        return FINDING_##class;
#include "rtcheck/findings.def"
    }
    return FINDING_NOTE;
}

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
    DAMAGE_AFTER = 1,  /* behind the block */
    DAMAGE_BEFORE = 2, /* before it: `block` is the one that it was found by */
    DAMAGE_INSIDE = 3, /* in a block that had been freed */
    DAMAGE_COUNT
};

/* What an address is that belongs to no block of ours. */
enum error_region {
    REGION_NONE = 0,            /* there is a block, or no address at all (oom) */
    REGION_UNKNOWN = 1,         /* could not be asked: in a sandbox */
    REGION_NULL = 2,            /* so low that it is NULL and something */
    REGION_UNMAPPED = 3,        /* no memory */
    REGION_STACK = 4,           /* of the thread that called */
    REGION_STACK_OTHER = 5,     /* of another one: region_thread */
    REGION_STACK_ENDED = 6,     /* of one that is over: region_thread */
    REGION_STACK_ALTERNATE = 7, /* the calling thread's stack for signal handlers */
    REGION_MODULE = 8, /* program or library: region_module, and the address minus its bias */
    REGION_MAPPED = 9, /* other memory of the program's: region_start, _end, region_path */
    REGION_HEAP = 10,  /* of our heap, but of no block that there ever was */
    REGION_LIBC = 11,  /* a block of libc's own allocator */
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
    uint64_t time_ns; /* CLOCK_REALTIME */
    uint64_t address; /* that was given; wua: of the first damaged byte */
    uint64_t
        bytes; /* oom: asked for; bum: to unmap; mis: the size that was given, 0 = none; wua: from the */
               /* first damaged byte to behind the last */
    uint32_t stack;       /* of the call; wua at eviction or exit: 0 */
    uint32_t thread;      /* that called; 0 = not known */
    uint64_t block;       /* the block that it is about or inside of; 0 = none */
    uint64_t block_bytes; /* asked for */
    uint32_t
        block_state; /* enum block_state before the call; FREE: its record may be of later life */
    uint32_t block_family; /* enum block_family */
    uint32_t block_thread; /* of its last transition: who allocated, or (freed) who freed it */
    uint32_t alloc_stack;
    uint32_t free_stack; /* of the first free; 0 = not freed or not known */
    uint32_t damage;     /* enum error_damage */
    uint32_t region;     /* enum error_region */
    uint32_t region_thread;
    uint32_t region_module; /* number as in module_record, 0 = not known */
    uint32_t found_bytes;   /* how many of found[] are valid */
    uint64_t
        region_start; /* of the mapping or module, or (bum) of the first that is not mapped; 0 = not known */
    uint64_t region_end;
    uint8_t found[ERROR_BYTES_FOUND]; /* wua: what is there, from the first damaged byte on */
    char region_path[104]; /* of the mapping, NUL-terminated; its end when it is longer */
    uint64_t region_bias;  /* module: address - bias = its offset */
    uint64_t
        align; /* bal, mis: the alignment that was given, 0 = none; minor version 7, as what follows */
    uint64_t block_align; /* that the block was asked for with, 0 = none, or not known */
    uint64_t reserved[7];
};

/* ---- leaks ----------------------------------------------------------------------------------- */

/* Was it asked, at the end, which blocks the program can still get at? */
enum leak_check {
    LEAKS_NOT_REQUESTED = 0,
    LEAKS_FOUND = 1,     /* yes: the groups are all there are */
    LEAKS_NO_MEMORY = 2, /* no: there was none for it */
    LEAKS_SANDBOX = 3,   /* no: the process may not ask what it has mapped */
    LEAKS_BUSY = 4,      /* no: a thread would not leave the allocator */
    LEAKS_NO_PROC = 5,   /* no: no file of /proc could be opened */
    LEAKS_CUT = 6,       /* yes, but the file had no room for all of the groups; minor version 7 */
    LEAKS_CHECK_COUNT
};

/* Was the search done?  What it found may be cut. */
static inline int leak_check_was_made(uint32_t check)
{
    return check == LEAKS_FOUND || check == LEAKS_CUT;
}

/* How the program can still get at a block. */
enum reach {
    REACH_NONE = 0,      /* no block */
    REACH_REACHABLE = 1, /* through pointers to starts of blocks, from a root on: in use */
    REACH_INTERIOR = 2,  /* aib: only through a pointer to its inside */
    REACH_REGISTER = 3,  /* air: only through a register of a thread */
    REACH_INDIRECT = 4,  /* only through a block that is INTERIOR, REGISTER or BEHIND */
    REACH_LOST = 5,      /* mel: not at all */
    REACH_CYCLE = 6,     /* mel: only through itself; one of each circle stands for it */
    REACH_LOST_INDIRECT =
        7, /* mel, indirect: only through a block that is LOST, CIRCLE or LOST_BEHIND */
    REACH_COUNT
};

/* What holds the pointer that a block was found by. */
enum witness {
    WITNESS_NONE = 0,
    WITNESS_ROOT = 1,     /* memory at `at`, which lies in root `root` */
    WITNESS_BLOCK = 2,    /* memory at `at`, which lies in the block at `from` */
    WITNESS_REGISTER = 3, /* register number `at` of `thread` */
    WITNESS_SELF =
        4, /* nobody else: a rule of the runtime's says that it is in use, as of ignored ones */
    WITNESS_COUNT
};

/* Registers have DWARF's numbers; from here on words of what the kernel saves beside them. */
#define WITNESS_VECTOR 16u

/* All blocks of one allocating stack that are reached alike, and how the first of them is. */
struct leak_group {
    uint32_t stack;         /* that allocated them; 0 = not known */
    _Atomic uint32_t reach; /* enum reach; published last, 0 = being written */
    uint64_t blocks;
    uint64_t bytes;      /* asked for */
    uint64_t new_blocks; /* of them, allocated since the last mark */
    uint64_t new_bytes;
    uint64_t indirect_blocks; /* found through these alone: BEHIND or LOST_BEHIND */
    uint64_t indirect_bytes;
    uint64_t block; /* the first of them */
    uint64_t block_bytes;
    uint64_t value; /* the pointer to it; minus block = how far inside */
    uint64_t at;    /* where that lies: see enum witness */
    uint64_t from;  /* the block that it lies in */
    uint64_t from_bytes;
    uint32_t from_stack;
    uint32_t witness; /* enum witness */
    uint32_t root;    /* number of the root_record, from 1 */
    uint32_t thread;  /* that allocated the first; of a REGISTER, whose that is */
    uint64_t
        frame_pc; /* on a stack: the function whose frame `at` lies in, as depot_node.pc, 0 = not known */
    uint64_t
        frame_cfa; /* and its canonical frame address; without a frame_pc: where the outermost ends, below `at` */
    uint64_t frame_sp; /* and its stack pointer; minor version 4, as what follows */
    uint64_t
        control_block; /* no frame: of the thread whose thread-local storage lies there; 0: nobody's */
    uint32_t on_thread; /* whose frame or thread-local storage it is; 0 = not known */
    uint32_t pad;
};

enum root_kind {
    ROOT_NONE = 0,
    ROOT_STACK = 1,  /* of `thread`, from its stack pointer up */
    ROOT_MODULE = 2, /* writable data of a program or library */
    ROOT_MAPPED = 3, /* other writable memory of the program's */
    ROOT_GIVEN = 4,  /* named by the program: a root region */
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
    char path[104]; /* of the mapping, NUL-terminated; its end when it is longer */
    uint64_t reserved;
};

/* leak_check_record.flags */
#define LEAK_CHECK_NEW 1u /* only what is new is to be told */
#define LEAK_CHECK_AT_END \
    2u /* it was the one at the end: nothing is told yet but how much there is to be told */

/* A check that the program has asked for, and that somebody is to tell now. */
struct leak_check_record {
    _Atomic uint32_t number; /* from 1 in each image; published last, 0 = being made */
    uint32_t result;         /* enum leak_check */
    /*
     * By who tells it: 1 and how many of the leaks rules have hidden; AT_END: and how many nobody
     * hides.  0: not yet.
     */
    _Atomic uint32_t reported;
    uint32_t flags;               /* LEAK_CHECK_* */
    uint32_t thread;              /* that asked */
    uint32_t threads_not_stopped; /* this and what follows as in the image header */
    uint64_t ns;
    uint64_t root_bytes;
    uint64_t root_bytes_skipped;
    uint32_t threads_waiting; /* of those unheard, in a system call; minor version 7 */
    uint32_t reserved0;
    uint64_t reserved[3];
};

/* ---- mappings -------------------------------------------------------------------------------- */

enum map_origin {
    MAP_NOT_RECORDED = 0, /* not by the runtime */
    MAP_EXISTED = 1,      /* it was there when the program first changed something */
    MAP_CALLED = 2, /* by a call that was seen: of the program, or of a library that it uses */
    MAP_UNSEEN = 3, /* by libc or the loader for themselves, or found later: by a raw system call */
    MAP_ORIGIN_COUNT
};

#define MAP_FILE_UNKNOWN \
    UINT64_MAX /* map_region.device: of some file, or shared; nobody has looked yet */

/*
 * A range of what is mapped, alike in all that follows.  A process that was killed may leave one that
 * is half written: readers leave out what cannot be.
 */
struct map_region {
    uint64_t start, end;
    uint64_t offset;        /* in the file; 0 where there is none */
    uint64_t inode, device; /* both 0: anonymous; of shared memory the inode is the segment's id */
    uint32_t stack;         /* of the call that mapped it; 0 = not known */
    uint32_t
        call; /* its number in this process and its ancestors; pieces of one mapping have the same; 0 = none */
    uint32_t thread;    /* that called */
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
    _Atomic uint64_t
        mapped; /* calls that mapped something: mmap, shmat; brk and sbrk when it grows */
    _Atomic uint64_t unmapped; /* calls that unmapped something */
    _Atomic uint64_t
        unseen; /* calls in handlers that interrupted us, or that gave up waiting: left to be found */
    _Atomic uint64_t bytes, peak_bytes; /* of what calls have mapped */
    _Atomic uint64_t compared;          /* how often this was compared with what the kernel has */
    _Atomic uint64_t unseen_objects,
        unseen_stacks;              /* ranges that it had more: of objects; stacks of threads; */
    _Atomic uint64_t unseen_others; /* and others */
    _Atomic uint64_t unseen_unmapped,
        unseen_changed; /* that it had no more; that were not what they had been */
    _Atomic uint64_t
        rebuilt; /* how often the map was made anew, as a handler had left it half changed */
    uint64_t reserved[3];
};

/* What came of events=all. */
struct dispatch_record {
    int32_t error;     /* -errno: there is none here */
    uint32_t call_ns;  /* what a call costs more */
    uint32_t measured; /* by so many, at start */
    uint32_t reserved;
    _Atomic uint64_t calls; /* that were dispatched, when last written down */
    _Atomic uint64_t
        reported; /* of them, those that change what is mapped and came by no function of ours */
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

/* ---- our own share of the costs -------------------------------------------------------------- */

/* What the runtime was doing. */
enum cost_work {
    COST_ALLOCATE = 0,
    COST_FREE = 1,
    COST_RESIZE = 2, /* realloc, also what it allocates, copies and frees */
    COST_EVENTS =
        3, /* a change of what is mapped: what is noted of it, before the call or behind it */
    COST_OPERATION_COUNT = 4,
    COST_UNWIND = 4,     /* the stacks of these */
    COST_QUARANTINE = 5, /* blocks that are freed enter, others leave */
    COST_SCAN = 6,       /* at the end or by request: damage, leaks, what is mapped */
    COST_START = 7,
    COST_WORK_COUNT
};

/*
 * Some operations - of the first four - are timed and stand for others: ticks of the processor's clock,
 * faults and operations are estimates of all.  ns are of a CPU clock, of what is timed each time.
 * Of scan and start all faults are counted (0: by a runtime that did not yet).
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
    uint32_t every;        /* one in so many is timed, in the end; 0: none */
    uint32_t clock_ticks;  /* that reading the clock takes: they are in nothing of this */
    _Atomic uint64_t rate; /* ticks per ns, in 1 / 2^20; 0 = not known yet */
    _Atomic uint64_t
        disturbed; /* were to be timed, and lost the processor: the next one stands for them */
    _Atomic uint64_t
        kernel_ticks;         /* of the ticks of whole operations, in system calls that were ours */
    _Atomic uint32_t stopped; /* a sandbox was entered: since then nothing is timed */
    uint32_t pad;
    struct cost_done whole[COST_OPERATION_COUNT]; /* operations, from beginning to end */
    struct cost_done work[COST_WORK_COUNT]; /* others of them, piece by piece: which part is what */
    _Atomic uint64_t alloc_times[COST_TIMES]; /* operations, as above */
    _Atomic uint64_t free_times[COST_TIMES];
    uint64_t reserved[7];
};

/* ---- what there is to say in the program's own words ----------------------------------------- */

enum text_kind {
    TEXT_NONE = 0,
    TEXT_UNKNOWN_SETTING = 1, /* "key=value" of __lsan_default_options, which means nothing here */
    TEXT_SUPPRESSIONS = 2,    /* a piece of what __lsan_default_suppressions gives */
    TEXT_KIND_COUNT
};

#define TEXT_PIECES_MAX 8192u
#define TEXT_PIECE_BYTES 119u

struct text_record {
    uint32_t kind;  /* enum text_kind; others: of a later minor version */
    uint32_t piece; /* of one text, from 0: all are full but the last, which is not */
    char text[120]; /* NUL-terminated; cut at the end */
};

/* ---- what the launcher has found out --------------------------------------------------------- */

/* What it costs with the runtime and without, of so many pairs of runs. */
enum measured_what {
    MEASURED_WALL, /* seconds */
    MEASURED_CPU,  /* seconds */
    MEASURED_RSS,  /* bytes, the most */
    MEASURED_FAULTS,
    MEASURED_COUNT
};

struct measured_value {
    double with, without; /* medians */
    double ratio, low,
        high; /* of each pair's ratio the median, and where that lies for sure, nearly */
    double least_with, least_without; /* of all */
};

struct measured {
    uint32_t pairs; /* 0: nothing was measured */
    uint32_t otherwise,
        otherwise_without; /* runs that ended with another status than the one that is reported */
    uint32_t pad;
    double sure; /* how likely it is that the medians lie within their bounds */
    struct measured_value of[MEASURED_COUNT];
};

#define LAUNCHER_COUNTERS_MAX 32u
#define LAUNCHER_NAME_BYTES 128u
#define LAUNCHER_TEXT_BYTES 256u

/* launcher_counter.flags */
#define LAUNCHER_KNOWN 0x01u     /* else there is no number */
#define LAUNCHER_SCALED 0x02u    /* an estimate: it had a counter for running_ns of enabled_ns */
#define LAUNCHER_TIME 0x04u      /* in nanoseconds */
#define LAUNCHER_USER_ONLY 0x08u /* the kernel's part might not be counted */
#define LAUNCHER_CYCLES 0x10u    /* of the processor, in both modes */

struct launcher_counter {
    uint64_t value, enabled_ns, running_ns;
    uint32_t flags;
    uint32_t pad;
    char name[LAUNCHER_NAME_BYTES];
    char text[LAUNCHER_TEXT_BYTES]; /* where the number is from; why there is none */
};

/* No segment: run_header.launcher_offset says where it is. */
struct launcher_record {
    uint32_t counters;
    uint32_t pad;
    struct measured measured;
    struct launcher_counter counter[LAUNCHER_COUNTERS_MAX];
};

static_assert(sizeof(struct block_record) == 16, "on-file layout");
static_assert(sizeof(struct large_record) == 64, "on-file layout");
static_assert(sizeof(struct client_block_record) == 32, "on-file layout");
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
static_assert(sizeof(struct cost_record) == 2368, "on-file layout");
static_assert(sizeof(struct launcher_counter) == 416, "on-file layout");
static_assert(sizeof(struct launcher_record) == 13568, "on-file layout");
static_assert(BLOCK_SIZE_SHIFT + 18 == BLOCK_ALIGN_SHIFT && BLOCK_ALIGN_SHIFT + 6 == 64,
              "the word's fields fill it");

#endif
