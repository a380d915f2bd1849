/*
 * finding.h - errors and leaks, as a report holds them.
 */
#ifndef FINDING_H
#define FINDING_H

#include "image.h"
#include "site.h"

/* The memory at an address outside all blocks: as in error_record, with the module looked up. */
struct region {
    uint32_t what; /* enum error_region */
    uint32_t module;
    uint64_t offset; /* of the address, from the module's bias */
    uint64_t start;
    uint64_t end;
    char path[sizeof(((struct error_record *)0)->region_path)];
    struct thread thread;
};

/* Why a finding is not shown; set by report_suppress, report_compare and report_filter. */
struct disposition {
    uint32_t suppressed_by; /* the number of a rule, from 1; 0: none */
    bool is_known;          /* within its count in the baseline */
    bool is_filtered;       /* left out by --only-module and the like */
};

static inline bool is_hidden(const struct disposition *disposition)
{
    return disposition->suppressed_by != 0 || disposition->is_known || disposition->is_filtered;
}

/* Of a crash; see error_record. */
struct crash {
    uint64_t pc;
    uint32_t signal;
    int32_t code;
    uint32_t access; /* enum crash_access */
    uint32_t access_bytes;
    uint32_t flags; /* CRASH_* */
    uint32_t sender;
    uint32_t record; /* its crash_record: an index of report.crashes, plus 1; 0: none */
};

/* One error site: errors of one kind in all processes that had it. Made from error_records. */
struct error {
    char id[ID_BYTES];
    uint32_t kind; /* enum error_kind */
    uint32_t entry;
    uint64_t count; /* in all processes; the fields below are of the first error */
    uint32_t image;
    uint64_t time_ns;
    uint64_t address;
    uint64_t bytes;
    uint64_t align;       /* argument of the call, for bal and mis; 0: none */
    uint64_t block_align; /* requested for the block; 0: none, or not known */
    uint32_t stack;       /* sites, or NO_SITE */
    uint32_t alloc_stack;
    uint32_t free_stack;
    uint32_t other_alloc_stack; /* of the block on the other side of the damaged bytes */
    uint64_t block;
    uint64_t block_bytes;
    uint32_t block_state;
    uint32_t block_family;
    uint32_t damage;
    uint64_t
        access_length; /* rua, wua by a call: bytes of the whole access, which `bytes` ends; rui; else 0 */
    struct thread thread;
    struct thread block_thread;
    struct region region;
    uint32_t found_bytes;
    uint8_t found[ERROR_BYTES_FOUND];
    struct crash crash;
    uint32_t opener, closer; /* fdc, fdl: enum error_entry */
    struct image_numbers images;
    struct disposition disposition;
};

/* A bad write that was detected afterwards, by its traces: the code that wrote is not known. */
static inline bool error_is_late(const struct error *e)
{
    return e->kind == ERROR_WUA && e->access_length == 0;
}

/* A bad read or write by the call at e->stack. */
static inline bool error_is_access(const struct error *e)
{
    return e->kind == ERROR_RUA || (e->kind == ERROR_WUA && e->access_length > 0);
}

/* An error in how the function e->entry was called, beside those of the allocator. */
static inline bool error_is_by_call(const struct error *e)
{
    return error_is_access(e) || e->kind == ERROR_OVL || e->kind == ERROR_RUI;
}

/* Classes of leaks. */
enum leak_class {
    CLASS_LOST,              /* mel: definitely lost */
    CLASS_INDIRECT,          /* mel: indirectly lost */
    CLASS_INTERIOR,          /* aib: only pointers to its inside */
    CLASS_REGISTER,          /* air: only in a register */
    CLASS_UNSURE,            /* air: lost, unless in a register of a thread not stopped */
    CLASS_POSSIBLY_INDIRECT, /* reached from one of these three only; shown there */
    CLASS_REACHABLE,         /* biu: still reachable */
    CLASS_MAPPED,            /* biu-map: ranges still mapped, not blocks */
    CLASS_COUNT
};

/* A position in a function's frame, and the stack pointer there: offsets from the CFA. */
struct in_frame {
    int64_t at;
    int64_t sp; /* 0: not known */
};

/* The referrer of a block: the pointer to it. */
struct holder {
    uint32_t what;         /* enum witness */
    uint32_t root;         /* enum root_kind; ROOT_NONE: no root, or not known */
    uint64_t inside;       /* offset in the block that it points to */
    uint64_t at;           /* where the pointer is: an address, or the number of a register */
    struct region *region; /* ROOT: where in it; REGISTER: its thread; else NULL */
    uint32_t function;     /* the function with this frame: a site of one frame, or NO_SITE */
    struct in_frame in_frame;
    bool is_above_frames;   /* above all frames of its thread on that stack */
    uint64_t control_block; /* of the thread whose TLS is there; 0: none */
    uint32_t program;       /* the module whose TLS ends there; NO_MODULE */
    uint64_t from;          /* the block that has the pointer in it */
    uint64_t from_bytes;
    uint32_t from_stack; /* a site, or NO_SITE */
};

/* Blocks of one site and class, in all processes that had them. Made from leak_groups. */
struct leak {
    char id[ID_BYTES];
    enum leak_class class;
    uint32_t site;   /* or NO_SITE */
    uint64_t blocks; /* 0: an inherited block, with others indirectly lost */
    uint64_t bytes;
    uint64_t new_blocks;
    uint64_t new_bytes;
    uint64_t indirect_blocks;
    uint64_t indirect_bytes;
    uint32_t image; /* the fields below are of the first block */
    bool is_cycle;
    uint64_t block;
    uint64_t block_bytes;
    struct thread thread;
    struct holder holder;
    struct image_numbers images;
    struct disposition disposition;
};

/* Sums over all leaks of a kind; possible leaks include CLASS_POSSIBLY_INDIRECT. */
struct leak_sum {
    uint64_t places;
    uint64_t blocks;
    uint64_t bytes;
    uint64_t new_blocks;
};

#define LEAKS_MAX 200000u /* leaks of a report, roots of a process; more are only counted */

#endif
