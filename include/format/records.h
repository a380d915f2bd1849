/*
 * records.h - the items of the segments of a run file: one type for each kind of segment
 * (format.h).
 *
 * A struct keeps its size within a major version.  A later minor version uses reserved fields,
 * which are 0 in files of earlier versions.  Atomic fields may change while other processes read.
 * A field that is published last guarantees that the other fields of its item are valid.
 */
#ifndef RTCHECK_RECORDS_H
#define RTCHECK_RECORDS_H

#include <assert.h>
#include <stdint.h>

/* ---- block records --------------------------------------------------------------------------- */

/*
 * state:3 | family:3 | flags:2 | mark:8 | generation:6 | thread:18 | size:18 | align:6   (low to high)
 *
 * align is 1 + the binary logarithm of the requested alignment; 0 = none, or unknown; minor version
 * 7.
 *
 * malloc: word = (NEVER, gen); release fence; stacks; store-release word = (LIVE, gen+1, ...)
 * free:   compare-and-swap word LIVE -> FREED: the winner frees, a loser is a double free
 * reader: word, stacks, word; equal = consistent
 */
enum block_state {
    BLOCK_NEVER = 0, /* never allocated, or its record is being written */
    BLOCK_LIVE = 1,
    BLOCK_FREED = 2,     /* in quarantine */
    BLOCK_FREE = 3,      /* after quarantine: available for allocation */
    BLOCK_INHERITED = 4, /* the parent's; its state at the fork is not known reliably */
};

enum block_family {
    FAMILY_MALLOC = 0,
    FAMILY_NEW = 1,
    FAMILY_NEW_ARRAY = 2,
    FAMILY_ALIGNED =
        3, /* memalign, posix_memalign, aligned_alloc, valloc, pvalloc: freed by free() */
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

#define BLOCK_FLAG_IN_HANDLER 1u /* allocated by a handler that interrupted the allocator */
#define BLOCK_FLAG_ROOT 2u       /* never a leak: allocated by the loader, or ignored by request */

/* mark 0 = inherited at a fork; an image's own blocks start with mark 1 */
#define MARK_INHERITED 0u
#define MARK_FIRST 1u

struct block_record {
    _Atomic uint64_t word;   /* see above; published last */
    _Atomic uint64_t stacks; /* alloc stack << 32 | free stack: depot ids, 0 = none */
};

/*
 * A block with its own pages; the item of SEGMENT_LARGE.  The size field of `word` is 0: see
 * request.
 */
struct large_record {
    struct block_record block;
    _Atomic uint64_t request;    /* requested bytes */
    uint64_t unit;               /* its first unit, counted from heap_base */
    uint64_t units;              /* number of its units */
    uint64_t epoch;              /* of two items for one unit the higher epoch is valid */
    _Atomic uint64_t superseded; /* not 0: a newer copy exists; kept for a child that may read it */
    /* bytes before the block in its first unit, which end with the left redzone; minor version 7 */
    uint64_t lead;
};

/* A client block, at any address.  The size field of `word` is 0. */
struct client_block_record {
    struct block_record block;
    _Atomic uint64_t start;
    _Atomic uint64_t bytes;
};

/* ---- stacks, threads, modules ---------------------------------------------------------------- */

/* Stack id = chunk << DEPOT_CHUNK_SHIFT | index in the chunk + 1. */
#define DEPOT_CHUNK_SHIFT 10
#define DEPOT_CHUNK_NODES 1020u

struct depot_node {
    _Atomic uint64_t pc; /* see below; published last, 0 = the writer was killed before */
    uint32_t parent;
    uint32_t tag; /* upper half of the hash of all frames up to this one */
};

/*
 * pc: the return address of a call or, with DEPOT_PC_EXACT, the instruction interrupted by a
 * signal.  The upper bits are the number of its module, 0 = none or unknown.
 */
#define DEPOT_PC_EXACT (1ull << 47)
#define DEPOT_MODULE_SHIFT 48

/* Why a stack ends; the outermost node's parent is DEPOT_ROOT - this value. */
enum stack_end {
    STACK_WHOLE = 0,     /* the thread's first frame */
    STACK_CUT = 1,       /* more frames exist */
    STACK_NO_INFO = 2,   /* code without call frame information (CFI) and frame pointer */
    STACK_OFF_STACK = 3, /* the next frame would be outside of the stack: damaged, or unusual */
    STACK_BUDGET = 4,    /* the depot is nearly full: only the innermost frames are kept */
    STACK_END_COUNT
};

#define DEPOT_ROOT 0xffffffffu
#define RTC_STACK_FRAMES 64u /* limit for readers; further frames may exist, and may be stale */

#define THREAD_CHUNK 64u

struct thread_record {
    _Atomic uint32_t tid; /* 0: the slot is unused, or has the sum of threads with reused records */
    uint32_t number;      /* as in block words, unique; 0: no numbers were left */
    _Atomic uint32_t gone;
    uint32_t pad;
    char name[16];
    _Atomic uint64_t allocs;
    _Atomic uint64_t frees;
    _Atomic uint64_t alloc_bytes;
    _Atomic uint64_t free_bytes;
    /* in or directly above the thread's stack; 0: main thread; minor version 2 */
    uint64_t control_block;
    /*
     * For the first thread of a forked child: the blocks in use of its process at the fork, not
     * allocated by a thread of the child; minor version 6
     */
    uint64_t inherited_blocks, inherited_bytes;
    _Atomic uint64_t reallocs; /* resizes, also counted in allocs and frees; minor version 6 */
    uint64_t reserved[4];
};

struct module_record {
    uint64_t bias;
    uint64_t start; /* mapped range that was seen */
    uint64_t end;
    uint32_t build_id_bytes;
    uint8_t build_id[20];
    char path[448];    /* NUL-terminated */
    uint32_t number;   /* as in depot_node.pc; of two records with one number the later is valid */
    uint32_t loaded;   /* sequence numbers of its first sighting and its unloading; 0 = loaded. */
    uint32_t unloaded; /* Counts all loads and unloads of a process and its ancestors */
    uint32_t pad;
};

/* ---- errors ---------------------------------------------------------------------------------- */

enum error_kind {
    ERROR_NONE = 0, /* being written */
#define ERROR(id, value, ...) ERROR_##id = (value),
#include "format/findings.def"
    ERROR_KIND_COUNT
};

enum finding_class { FINDING_PROBLEM, FINDING_WARNING, FINDING_NOTE };

static inline enum finding_class error_class(uint32_t kind)
{
    switch (kind) {
#define ERROR(id, value, class, ...) \
    case ERROR_##id:                 \
        return FINDING_##class;
#include "format/findings.def"
    }
    return FINDING_NOTE;
}

/* The allocator function that found the error: entries.def. */
enum error_entry {
    ENTRY_NONE = 0,
#define ENTRY(id, name) ENTRY_##id,
#include "entries.def"
#undef ENTRY
    ENTRY_COUNT
};

/* How the instruction of a crash accessed memory. */
enum crash_access { ACCESS_UNKNOWN, ACCESS_READ, ACCESS_WRITE, ACCESS_EXECUTE, ACCESS_COUNT };

#define CRASH_HAS_ADDRESS 1u   /* `address` is valid */
#define CRASH_IS_MAPPED 2u     /* the page is mapped; the access is not permitted */
#define CRASH_NON_CANONICAL 4u /* no page can be mapped there; `address` was computed */
#define CRASH_OF_FILL 8u       /* the address came from the fill of freed memory */
#define CRASH_OF_STACK 16u     /* just below the end of the stack: stack overflow */
#define CRASH_WAS_UNMAPPED 32u /* by the call `entry`, with the stack free_stack; minor version 9 */
/*
 * `address` is outside of `block`: a freed block to which a register or the stack still points, and
 * from which `address` was probably read; minor version 10
 */
#define CRASH_LIKELY_BLOCK 64u
/*
 * `address` is outside of `block`, and was read from it: its fill names the block.  A live block is a
 * later one in its slot, or the same with uninitialised memory; minor version 15
 */
#define CRASH_NAMED_BLOCK 128u
#define CRASH_OF_NEW_FILL 256u /* `address` came from the fill of new memory; minor version 15 */
#define CRASH_POISONED 512u    /* rua, wua: the program has poisoned the memory; minor version 16 */

/* Location of a damaged byte (ERROR_WUA). */
enum error_damage {
    DAMAGE_NONE = 0,
    DAMAGE_AFTER = 1,  /* past the end of the block */
    DAMAGE_BEFORE = 2, /* before the start of a block: `block` is the block that was checked */
    DAMAGE_INSIDE = 3, /* in a freed block */
    DAMAGE_COUNT
};

/* Classification of an address outside of our blocks. */
enum error_region {
    REGION_NONE = 0,            /* there is a block, or no address at all (oom) */
    REGION_UNKNOWN = 1,         /* mappings cannot be read: in a sandbox */
    REGION_NULL = 2,            /* NULL plus a small offset */
    REGION_UNMAPPED = 3,        /* not mapped */
    REGION_STACK = 4,           /* of the calling thread */
    REGION_STACK_OTHER = 5,     /* of another thread: region_thread */
    REGION_STACK_ENDED = 6,     /* of a thread that has ended: region_thread */
    REGION_STACK_ALTERNATE = 7, /* the calling thread's alternate signal stack */
    REGION_MODULE = 8, /* program or library: region_module, and the address minus its bias */
    REGION_MAPPED = 9, /* other memory of the program: region_start, _end, region_path */
    REGION_HEAP = 10,  /* in our heap, but never part of a block */
    REGION_LIBC = 11,  /* a block of libc's own allocator */
    REGION_COUNT
};

#define ERROR_CHUNK 16u
#define ERROR_BYTES_FOUND 16u

/*
 * A site with errors of one kind.  The details are those of the first error.  The site of a wua that
 * was detected afterwards (`damage`) is the allocation of its block; of other errors, the call.
 */
struct error_record {
    _Atomic uint32_t kind; /* enum error_kind; published last, constant */
    uint32_t entry;        /* enum error_entry */
    _Atomic uint64_t count;
    uint64_t time_ns; /* CLOCK_REALTIME */
    uint64_t
        address; /* argument of the call; rua, wua: the first byte that was refused or damaged; */
                 /* fdc, fdl: the descriptor */
    uint64_t
        bytes; /* oom: requested; bum: to unmap; mis: the size passed, 0 = none; ovl: copied; rua, */
               /* wua: from the first such byte to the end of the last; rui: uninitialised ones */
    uint32_t stack;       /* of the call; wua at eviction or exit: 0 */
    uint32_t thread;      /* the calling thread; 0 = unknown */
    uint64_t block;       /* the block at or around the address; 0 = none */
    uint64_t block_bytes; /* requested */
    uint32_t
        block_state; /* enum block_state before the call; FREE: its record may be of a later life */
    uint32_t block_family; /* enum block_family */
    /* of its last transition: the allocating or (freed) the freeing thread */
    uint32_t block_thread;
    uint32_t alloc_stack;
    uint32_t free_stack; /* of the first free; 0 = not freed or unknown */
    uint32_t damage;     /* enum error_damage */
    uint32_t region;     /* enum error_region */
    uint32_t region_thread;
    uint32_t region_module; /* number as in module_record, 0 = unknown */
    uint32_t found_bytes;   /* number of valid bytes in found[] */
    /* of the mapping or module, or (bum) of the first unmapped range; ovl: the source; rui: */
    /* where the read begins; 0 = unknown, or (rui) an argument */
    uint64_t region_start;
    uint64_t region_end;
    uint8_t found[ERROR_BYTES_FOUND]; /* wua: memory content from the first damaged byte on */
    char region_path[104]; /* of the mapping, NUL-terminated; a longer path keeps its end */
    uint64_t region_bias;  /* module: address - bias = its offset */
    uint64_t
        align; /* bal, mis: the alignment passed, 0 = none; minor version 7, as the fields below */
    uint64_t block_align; /* requested alignment of the block, 0 = none or unknown */
    /* crash: minor version 8, as the fields below; `address` is the accessed address */
    uint64_t pc;           /* of the interrupted instruction */
    uint32_t signal;       /* 0: no crash */
    int32_t signal_code;   /* si_code */
    uint32_t access;       /* enum crash_access */
    uint32_t access_bytes; /* 0 = unknown */
    uint32_t crash_flags;  /* CRASH_* */
    uint32_t sender;       /* si_pid, if a process sent the signal; else 0 */
    /* fdc, fdl: the calls that opened and first closed it, enum error_entry; minor version 11 */
    uint32_t opener, closer;
    /* rua, wua of a call (damage is 0): bytes of the whole access, ending with `address + bytes`; */
    /* rui: bytes that were read; minor version 13 */
    uint64_t access_length;
    /* wua that was detected afterwards, between two blocks: the allocation of the other block, which */
    /* the write may have been meant for; minor version 15 */
    uint32_t other_alloc_stack;
    uint32_t reserved[1];
};

#define CRASH_REGISTERS 40u
#define CRASH_EXCEPTION_BYTES 128u

/* Registers and exception at a crash.  Its error_record has the same thread and pc. */
struct crash_record {
    uint64_t pc;
    uint32_t thread;
    uint32_t registers; /* number of valid values */
    /* by DWARF number, up to the instruction pointer; then the flags */
    uint64_t value[CRASH_REGISTERS];
    /* SIGABRT: mangled type of the exception that the thread handles; "": none, or not known */
    char exception[CRASH_EXCEPTION_BYTES];
    uint64_t reserved[6];
};

/* ---- leaks ----------------------------------------------------------------------------------- */

/* Result of a leak check. */
enum leak_check {
    LEAKS_NOT_REQUESTED = 0,
    LEAKS_FOUND = 1,     /* made: the groups are complete */
    LEAKS_NO_MEMORY = 2, /* not made: no memory for the scan */
    LEAKS_SANDBOX = 3,   /* not made: a sandboxed process cannot read its mappings */
    LEAKS_BUSY = 4,      /* not made: a thread did not leave the allocator */
    LEAKS_NO_PROC = 5,   /* not made: no file of /proc could be opened */
    LEAKS_CUT = 6,       /* made, but the file had no room for all groups; minor version 7 */
    LEAKS_CHECK_COUNT
};

/* Was the scan made?  Its results may be truncated. */
static inline int leak_check_was_made(uint32_t check)
{
    return check == LEAKS_FOUND || check == LEAKS_CUT;
}

/* Reachability of a block. */
enum reach {
    REACH_NONE = 0,          /* no block */
    REACH_REACHABLE = 1,     /* by pointers to starts of blocks, from a root: still reachable */
    REACH_INTERIOR = 2,      /* aib: only by an interior pointer */
    REACH_REGISTER = 3,      /* air: only by a register of a thread */
    REACH_INDIRECT = 4,      /* only from an INTERIOR, REGISTER or INDIRECT block */
    REACH_LOST = 5,          /* mel: unreachable */
    REACH_CYCLE = 6,         /* mel: only from its own cycle, for which one block is counted */
    REACH_LOST_INDIRECT = 7, /* mel, indirect: only from a LOST, CYCLE or LOST_INDIRECT block */
    REACH_COUNT
};

/* Location of the pointer by which a block was found (the referrer). */
enum witness {
    WITNESS_NONE = 0,
    WITNESS_ROOT = 1,  /* memory at `at`, in root `root` */
    WITNESS_BLOCK = 2, /* memory at `at`, in the block at `from` */
    /* register `at` of `thread`: a DWARF number; from DWARF_VECTORS on (machine.h): words of the
     * kernel's saved vector state */
    WITNESS_REGISTER = 3,
    WITNESS_SELF =
        4, /* no pointer: reachable by a rule of the runtime, for example an ignored block */
    WITNESS_COUNT
};

/* All blocks with the same allocation stack and reachability, and an example block. */
struct leak_group {
    uint32_t stack;         /* the allocation stack; 0 = unknown */
    _Atomic uint32_t reach; /* enum reach; published last, 0 = being written */
    uint64_t blocks;
    uint64_t bytes;      /* requested */
    uint64_t new_blocks; /* of these, allocated since the last mark */
    uint64_t new_bytes;
    uint64_t indirect_blocks; /* found only from these blocks: INDIRECT or LOST_INDIRECT */
    uint64_t indirect_bytes;
    uint64_t block; /* the example */
    uint64_t block_bytes;
    uint64_t value; /* the pointer to it; minus block = offset in the block */
    uint64_t at;    /* location of the pointer: see enum witness */
    uint64_t from;  /* the block that contains it */
    uint64_t from_bytes;
    uint32_t from_stack;
    uint32_t witness; /* enum witness */
    uint32_t root;    /* number of the root_record, from 1 */
    uint32_t thread;  /* that allocated the example; REGISTER: thread of the register */
    uint64_t
        frame_pc; /* on a stack: function of the frame around `at`, as depot_node.pc, 0 = unknown */
    /* its canonical frame address; without frame_pc: end of the outermost frame, below `at` */
    uint64_t frame_cfa;
    uint64_t frame_sp;      /* its stack pointer; minor version 4, as the fields below */
    uint64_t control_block; /* no frame: of the thread with this thread-local storage; 0: none */
    uint32_t on_thread;     /* owner of the frame or thread-local storage; 0 = unknown */
    uint32_t pad;
};

enum root_kind {
    ROOT_NONE = 0,
    ROOT_STACK = 1,  /* of `thread`, from its stack pointer upwards */
    ROOT_MODULE = 2, /* writable data of a program or library */
    ROOT_MAPPED = 3, /* other writable memory of the program */
    ROOT_GIVEN = 4,  /* a root region registered by the program */
    ROOT_KIND_COUNT
};

struct root_record {
    uint64_t start;
    uint64_t end;
    uint64_t bias;   /* module: address - bias = its offset */
    uint32_t kind;   /* enum root_kind; published last, 0 = being written */
    uint32_t thread; /* stacks: the owner; 0 = unknown */
    uint32_t module; /* number as in module_record, 0 = unknown */
    uint32_t pad;
    char path[104]; /* of the mapping, NUL-terminated; a longer path keeps its end */
    uint64_t reserved;
};

/* leak_check_record.flags */
#define LEAK_CHECK_NEW 1u /* report only new blocks */
#define LEAK_CHECK_REQUESTED \
    4u /* requested by another process, which reports it; minor version 18 */
#define LEAK_CHECK_AT_END \
    2u /* the check at the end: only the number of unsuppressed leaks is requested */

/* A check requested by the program, to be reported now. */
struct leak_check_record {
    _Atomic uint32_t number; /* from 1 in each image; published last, 0 = being written */
    uint32_t result;         /* enum leak_check */
    /*
     * Set by the reporter. 1 + the number of leaks that rules hide; with AT_END: 1 + the number
     * that no rule hides. 0: not reported yet.
     */
    _Atomic uint32_t reported;
    uint32_t flags;               /* LEAK_CHECK_* */
    uint32_t thread;              /* the requesting thread */
    uint32_t threads_not_stopped; /* this and the following fields: as in the image header */
    uint64_t ns;
    uint64_t root_bytes;
    uint64_t root_bytes_skipped;
    uint32_t threads_waiting; /* of these, threads in a system call; minor version 7 */
    uint32_t reserved0;
    uint64_t pause_ns; /* how long allocations waited; 0: not measured; minor version 18 */
    uint64_t reserved[2];
};

/* ---- mappings -------------------------------------------------------------------------------- */

enum map_origin {
    MAP_NOT_RECORDED = 0, /* not set by the runtime */
    MAP_EXISTED = 1,      /* existed before the program's first change */
    MAP_CALLED = 2,       /* by a call that was seen: of the program, or of one of its libraries */
    MAP_UNSEEN = 3, /* internally by libc or the loader, or found later: by a raw system call */
    MAP_ORIGIN_COUNT
};

#define MAP_FILE_UNKNOWN \
    UINT64_MAX /* map_region.device: a file or shared memory, not looked up yet */

/*
 * A range of mapped memory with equal attributes.  A killed process may leave a half-written range:
 * readers skip invalid ones.
 */
struct map_region {
    uint64_t start, end;
    uint64_t offset;        /* in the file; 0 without a file */
    uint64_t inode, device; /* both 0: anonymous; shared memory: inode is the segment's id */
    uint32_t stack;         /* of the call that mapped it; 0 = unknown */
    /* its number in this process and its ancestors; equal for pieces of one mapping; 0 = none */
    uint32_t call;
    uint32_t thread;    /* the calling thread */
    uint8_t protection; /* as for mprotect */
    uint8_t shared;
    uint8_t origin; /* enum map_origin */
    uint8_t mark;   /* as in block words */
};

/* map_sum.flags */
#define MAP_SUM_KNOWN 1u    /* the initial mappings were read from the kernel */
#define MAP_SUM_FULL 2u     /* some ranges did not fit into the table */
#define MAP_SUM_COMPARED 4u /* the final mappings were read, too */

/* Statistics of an image's calls that change mappings. */
struct map_sum {
    uint32_t flags;
    uint32_t first_call;       /* ranges with lower numbers are inherited */
    _Atomic uint64_t mapped;   /* calls that mapped memory: mmap, shmat; brk and sbrk if it grows */
    _Atomic uint64_t unmapped; /* calls that unmapped memory */
    _Atomic uint64_t
        unseen; /* calls not recorded: in handlers that interrupted us, or after a wait timed out */
    _Atomic uint64_t bytes, peak_bytes; /* mapped by calls */
    _Atomic uint64_t compared;          /* number of comparisons with the kernel's mappings */
    _Atomic uint64_t unseen_objects,
        unseen_stacks; /* additional ranges in the kernel's: of modules; stacks of threads; */
    _Atomic uint64_t unseen_others;                   /* and others */
    _Atomic uint64_t unseen_unmapped, unseen_changed; /* missing in the kernel's; changed */
    _Atomic uint64_t
        rebuilt; /* the table was rebuilt, because a handler had left it half changed */
    uint64_t reserved[3];
};

/* Statistics of events=all. */
struct dispatch_record {
    int32_t error;     /* -errno: not available */
    uint32_t call_ns;  /* additional cost of a call */
    uint32_t measured; /* number of calls measured at start */
    uint32_t reserved;
    _Atomic uint64_t calls;     /* dispatched calls, at the last update */
    _Atomic uint64_t reported;  /* of these, changes of mappings that no function of ours made */
    _Atomic uint64_t uncovered; /* threads that continued without dispatch */
    uint64_t reserved2[3];
};

/* Memory in use when a mark began. */
struct mark_record {
    uint32_t mark; /* as in block words */
    uint32_t reserved;
    uint64_t time_ns; /* CLOCK_REALTIME */
    uint64_t blocks;  /* in use, allocated or inherited by the process */
    uint64_t bytes;
    uint64_t allocs;
    uint64_t mapped_bytes; /* by calls */
};

/* ---- cost of the runtime --------------------------------------------------------------------- */

/* Activities of the runtime. */
enum cost_work {
    COST_ALLOCATE = 0,
    COST_FREE = 1,
    COST_RESIZE = 2, /* realloc, including its allocation, copy and free */
    COST_EVENTS = 3, /* recording a change of mappings, before or after the call */
    COST_OPERATION_COUNT = 4,
    COST_UNWIND = 4,     /* stack traces for these */
    COST_QUARANTINE = 5, /* entering and leaving the quarantine */
    COST_SCAN = 6,       /* at the end or on demand: damage, leaks, mappings */
    COST_START = 7,
    COST_WORK_COUNT
};

/*
 * A sample of the operations (the first four) is timed. ticks of the processor's clock, faults and
 * operations are extrapolated. ns is CPU time of work that is always timed.  Faults of scan and
 * start are counted completely (0: in files of earlier runtimes).
 */
struct cost_done {
    _Atomic uint64_t timed;
    _Atomic uint64_t operations;
    _Atomic uint64_t ticks;
    _Atomic uint64_t faults; /* page faults during the work */
    _Atomic uint64_t ns;
};

/* Histogram of durations in ticks: each bucket is a quarter of an octave. */
#define COST_TIMES 112u

struct cost_record {
    uint32_t every;        /* final sampling interval in operations; 0: no timing */
    uint32_t clock_ticks;  /* cost of reading the clock, excluded from all values */
    _Atomic uint64_t rate; /* ticks per ns, in 1 / 2^20; 0 = not known yet */
    /* samples lost because the thread was preempted: the next sample replaces them */
    _Atomic uint64_t disturbed;
    _Atomic uint64_t
        kernel_ticks;         /* of the ticks of whole operations: in the runtime's system calls */
    _Atomic uint32_t stopped; /* a sandbox was entered: no timing since then */
    uint32_t pad;
    struct cost_done whole[COST_OPERATION_COUNT]; /* operations, from start to end */
    struct cost_done work[COST_WORK_COUNT];       /* other samples, timed by part */
    _Atomic uint64_t alloc_times[COST_TIMES];     /* of operations, see above */
    _Atomic uint64_t free_times[COST_TIMES];
    uint64_t reserved[7];
};

/* ---- texts of the program -------------------------------------------------------------------- */

enum text_kind {
    TEXT_NONE = 0,
    TEXT_UNKNOWN_SETTING = 1, /* unsupported "key=value" of __lsan_default_options */
    TEXT_SUPPRESSIONS = 2,    /* a piece of the text of __lsan_default_suppressions */
    TEXT_KIND_COUNT
};

#define TEXT_PIECES_MAX 8192u
#define TEXT_PIECE_BYTES 119u

struct text_record {
    uint32_t kind;  /* enum text_kind; others: defined by a later minor version */
    uint32_t piece; /* index in its text, from 0: all pieces are full, except the last */
    char text[120]; /* NUL-terminated; truncated */
};

/* ---- objects with --access=full --------------------------------------------------------------- */

/* Why an object runs its own code. */
enum native_reason {
    NATIVE_NOT = 0, /* it runs in a checked copy */
#define NATIVE(id, code, text) NATIVE_##id,
#include "format/native.def"
#undef NATIVE
    NATIVE_COUNT
};

#define OBJECT_STATES 16u

/* An object that was loaded when the process started (--access=full); minor version 16. */
struct object_record {
    uint32_t native; /* enum native_reason; others: defined by a later minor version */
    uint32_t build_id_bytes;
    uint8_t build_id[20];
    uint32_t pad;
    uint64_t text_bytes; /* of its executable segments */
    /* of its plan: bytes of functions, by enum plan_state; 0: no plan was used */
    uint64_t function_bytes[OBJECT_STATES];
    uint64_t outside_bytes; /* that no function contains */
    char path[336];         /* NUL-terminated; a longer path is truncated */
};

static_assert(sizeof(struct object_record) == 512, "on-file layout");
static_assert(sizeof(struct block_record) == 16, "on-file layout");
static_assert(sizeof(struct large_record) == 64, "on-file layout");
static_assert(sizeof(struct client_block_record) == 32, "on-file layout");
static_assert(sizeof(struct depot_node) == 16, "on-file layout");
static_assert(sizeof(struct thread_record) == 128, "on-file layout");
static_assert(sizeof(struct module_record) == 512, "on-file layout");
static_assert(sizeof(struct error_record) == 320, "on-file layout");
static_assert(sizeof(struct crash_record) == 512, "on-file layout");
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
static_assert(BLOCK_SIZE_SHIFT + 18 == BLOCK_ALIGN_SHIFT && BLOCK_ALIGN_SHIFT + 6 == 64,
              "the word's fields fill it");

#endif
