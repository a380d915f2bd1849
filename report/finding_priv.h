/*
 * finding_priv.h - what is known of errors and leaks.
 */
#ifndef FINDING_PRIV_H
#define FINDING_PRIV_H

#include "image_priv.h"
#include "site_priv.h"

/* What an address is that is no block's: error_record's, with the module looked up. */
struct region {
    uint32_t what; /* enum error_region */
    uint32_t module;
    uint64_t offset; /* of the address, in the module */
    uint64_t start;
    uint64_t end;
    char path[sizeof(((struct error_record *)0)->region_path)];
    struct thread thread;
};

/* Why a finding is not told, after report_suppress and report_compare. */
struct disposition {
    uint32_t suppressed_by; /* the number of a rule, from 1; 0: of none */
    bool is_known;          /* by a baseline */
};

static inline bool is_hidden(const struct disposition *disposition)
{
    return disposition->suppressed_by != 0 || disposition->is_known;
}

/* One place of errors of one kind, in all the processes that had it: error_record, outside its file. */
struct error {
    char id[ID_BYTES];
    uint32_t kind; /* enum error_kind */
    uint32_t entry;
    uint64_t count; /* of all processes; what follows is of the first */
    uint32_t image;
    uint64_t time_ns;
    uint64_t address;
    uint64_t bytes;
    uint64_t align;       /* that was given, of bal and mis; 0: none */
    uint64_t block_align; /* that the block was asked for with; 0: none, or not known */
    uint32_t stack;       /* sites, or NO_SITE */
    uint32_t alloc_stack;
    uint32_t free_stack;
    uint64_t block;
    uint64_t block_bytes;
    uint32_t block_state;
    uint32_t block_family;
    uint32_t damage;
    struct thread thread;
    struct thread block_thread;
    struct region region;
    uint32_t found_bytes;
    uint8_t found[ERROR_BYTES_FOUND];
    struct image_numbers images;
    struct disposition disposition;
};

/* What a leak is called. */
enum leak_class {
    CLASS_LOST,              /* mel */
    CLASS_INDIRECT,          /* mel, behind another */
    CLASS_INTERIOR,          /* aib */
    CLASS_REGISTER,          /* air */
    CLASS_UNSURE,            /* nowhere to be seen, but a thread may have it in a register: air */
    CLASS_POSSIBLY_INDIRECT, /* behind one of these three: told there */
    CLASS_REACHABLE,         /* biu */
    CLASS_MAPPED,            /* biu-map: no blocks, but ranges that were mapped */
    CLASS_COUNT
};

/* A place in a function's frame, and the stack pointer there: from the frame's canonical address. */
struct in_frame {
    int64_t at;
    int64_t sp; /* 0: not known */
};

/* Who points to a block. */
struct holder {
    uint32_t what;   /* enum witness */
    uint32_t root;   /* enum root_kind; ROOT_NONE: there is none, or it is not known */
    uint64_t inside; /* how far in the block it points */
    uint64_t at;     /* where it lies: an address, or the number of a register */
    struct region
        *region;       /* of a ROOT or REGISTER: where in a root, or whose register; else NULL */
    uint32_t function; /* the one whose frame it lies in: a site of one frame, or NO_SITE */
    struct in_frame in_frame;
    bool is_above_frames;   /* of all that its thread has on that stack */
    uint64_t control_block; /* of the thread whose thread-local storage lies there; 0: nobody's */
    uint32_t program;       /* the module whose thread-local variables end there; NO_MODULE */
    uint64_t from;          /* the block that it lies in */
    uint64_t from_bytes;
    uint32_t from_stack; /* a site, or NO_SITE */
};

/*
 * Blocks from one place that are reached alike, in all the processes that had them: leak_group,
 * outside its file.
 */
struct leak {
    char id[ID_BYTES];
    enum leak_class class;
    uint32_t site;   /* or NO_SITE */
    uint64_t blocks; /* 0: an inherited one, which others are behind */
    uint64_t bytes;
    uint64_t new_blocks;
    uint64_t new_bytes;
    uint64_t indirect_blocks;
    uint64_t indirect_bytes;
    uint32_t image; /* what follows is of the first */
    bool is_cycle;
    uint64_t block;
    uint64_t block_bytes;
    struct thread thread;
    struct holder holder;
    struct image_numbers images;
    struct disposition disposition;
};

/* What all leaks of a kind come to, those behind a possible one included. */
struct leak_sum {
    uint64_t places;
    uint64_t blocks;
    uint64_t bytes;
    uint64_t new_blocks;
};

#define LEAKS_MAX 200000u /* of one report, and roots of one process: what is more is counted */

#endif
