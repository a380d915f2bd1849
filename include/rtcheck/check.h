/*
 * check.h - the leak checker's interface for programs: annotations, client blocks, checks on
 * demand.  For C and C++.
 *
 * A program that includes this header needs no library of ours, neither to link nor to run.  Each
 * function looks up the checker in the process: the runtime that `rtcheck PROGRAM` or LD_PRELOAD
 * brings.  Without a checker a function does nothing and returns 0, or the stated value.  The cost
 * is then one comparison.
 *
 * All sizes are in bytes.  Any thread may call any function at any time.  In a forked child, a call
 * affects only the child. errno is unchanged.  Functions marked signal-safe are async-signal-safe;
 * the others do nothing in a handler that has interrupted the allocator.  No function keeps or
 * frees the memory passed to it.
 *
 * A linker other than GNU's may need -Wl,-z,dynamic-undefined-weak in a program that is not
 * position-independent.  Without it the checker is not found.
 */
#ifndef RTCHECK_CHECK_H
#define RTCHECK_CHECK_H

#include <stddef.h>
#include <stdint.h>

#if defined __x86_64__ && defined __GNUC__
/*
 * Load the symbol's address from the global offset table, in any kind of program; 0 if undefined.
 */
#define RTC_FIND_(function, name) \
    __asm__(".weak " name "\n\tmovq " name "@GOTPCREL(%%rip), %0" : "=r"(function))
#define RTC_INLINE_ static __inline__ __attribute__((always_inline, unused))
#else /* platforms without a checker */
#define RTC_FIND_(function, name) ((function) = 0)
#define RTC_INLINE_ static inline
#endif

/* ---- ignored blocks -------------------------------------------------------------------------- */

/*
 * Blocks that the calling thread allocates between rtc_disable and rtc_enable are not leaks, nor
 * are blocks reachable from them.  Pairs nest and are counted for each thread; a new thread starts
 * enabled.  Resizing a block counts as allocating it.  Signal-safe.  Like __lsan_disable and
 * __lsan_enable, but an rtc_enable too many does nothing.  Return 1 if there is a checker.
 */
RTC_INLINE_ int rtc_disable(void)
{
    int (*function)(void);
    RTC_FIND_(function, "__rtc_disable");
    return function ? function() : 0;
}

RTC_INLINE_ int rtc_enable(void)
{
    int (*function)(void);
    RTC_FIND_(function, "__rtc_enable");
    return function ? function() : 0;
}

/*
 * Ignore the block that `p` points into, and blocks reachable from it; it stays ignored when it is
 * resized.  Like __lsan_ignore_object.  Return 0 if p does not point into a live block (or there is
 * no checker).
 */
RTC_INLINE_ int rtc_ignore(const void *p)
{
    int (*function)(const void *);
    RTC_FIND_(function, "__rtc_ignore");
    return function ? function(p) : 0;
}

/* ---- poisoned memory ------------------------------------------------------------------------- */

/*
 * The program must not access this memory until it is unpoisoned, e.g. a part of an arena that is not in
 * use.  Each load and store of it is reported with --access=full, and each call of a libc function that
 * is given a part of a block.  Otherwise nothing happens.  Blocks are unpoisoned when they are allocated.
 * Memory is described in granules of 8 bytes: of a granule that is poisoned in part, only the bytes before
 * the poison can stay accessible, else the whole granule does.  These are __asan_poison_memory_region and
 * __asan_unpoison_memory_region, so they work with AddressSanitizer, too.  Signal-safe.  Unlike other
 * functions they return nothing.
 */
RTC_INLINE_ void rtc_poison(const void *p, size_t bytes)
{
    void (*function)(const volatile void *, size_t);
    RTC_FIND_(function, "__asan_poison_memory_region");
    if (function)
        function(p, bytes);
}

RTC_INLINE_ void rtc_unpoison(const void *p, size_t bytes)
{
    void (*function)(const volatile void *, size_t);
    RTC_FIND_(function, "__asan_unpoison_memory_region");
    if (function)
        function(p, bytes);
}

/* ---- root regions ---------------------------------------------------------------------------- */

/*
 * Scan this memory for pointers, wherever it is.  Each check skips parts that cannot be read.  This
 * is needed for memory that is not scanned otherwise: mapped read-only, or written by other
 * processes.  Data, stacks and writable mappings are always scanned.  Regions may overlap.  A
 * region that was added n times must be removed n times, with the same start and size.  Like
 * __lsan_register_root_region and __lsan_unregister_root_region; meant for few regions.  Return 0
 * if bytes is 0, without memory, or if the region to remove does not exist (or there is no
 * checker).
 */
RTC_INLINE_ int rtc_add_root_region(const void *start, size_t bytes)
{
    int (*function)(const void *, size_t);
    RTC_FIND_(function, "__rtc_add_root_region");
    return function ? function(start, bytes) : 0;
}

RTC_INLINE_ int rtc_remove_root_region(const void *start, size_t bytes)
{
    int (*function)(const void *, size_t);
    RTC_FIND_(function, "__rtc_remove_root_region");
    return function ? function(start, bytes) : 0;
}

/* ---- client blocks (custom allocators) ------------------------------------------------------- */

/*
 * A program that divides memory into blocks itself (an arena or a pool, in memory from malloc, mmap
 * or data) can register these client blocks.  They are then treated like blocks from malloc: leaks
 * are reported with the stack that registered them, a thread's rtc_disable applies, and interior
 * pointers find them.  Pointers in a client block count only if the block is reachable.  Memory
 * around client blocks is treated as before.  A malloc block that contains client blocks is
 * reachable as long as it contains them.
 *
 * rtc_record_malloc(p, bytes) registers a block, and rtc_record_free(p) removes it.
 * rtc_record_realloc does both; with `from` NULL it only registers.  A free of an unregistered or
 * removed block is reported like an error of free (baf, duf, maf). rtc_record_free_all removes all
 * client blocks that start in this memory, for the reset of an arena, and returns their number.
 * Client blocks in a malloc block are removed silently when it is freed or resized.  So are those
 * in unmapped memory, but remove them before other memory is mapped there.
 *
 * Sizes and addresses need no alignment.  A block inside a registered client block is not
 * registered: register either the inner or the outer blocks.  Return 1 on success.  Return 0 in the
 * cases above, if the block is partly inside a malloc block, or without memory.  Return 0 also if
 * NULL is freed (or there is no checker).
 */
RTC_INLINE_ int rtc_record_malloc(const void *p, size_t bytes)
{
    int (*function)(const void *, size_t);
    RTC_FIND_(function, "__rtc_record_malloc");
    return function ? function(p, bytes) : 0;
}

RTC_INLINE_ int rtc_record_free(const void *p)
{
    int (*function)(const void *);
    RTC_FIND_(function, "__rtc_record_free");
    return function ? function(p) : 0;
}

RTC_INLINE_ int rtc_record_realloc(const void *from, const void *to, size_t bytes)
{
    int (*function)(const void *, const void *, size_t);
    RTC_FIND_(function, "__rtc_record_realloc");
    return function ? function(from, to, bytes) : 0;
}

RTC_INLINE_ size_t rtc_record_free_all(const void *start, size_t bytes)
{
    size_t (*function)(const void *, size_t);
    RTC_FIND_(function, "__rtc_record_free_all");
    return function ? function(start, bytes) : 0;
}

/*
 * Do not scan this memory of an allocator for pointers, except client blocks in it.  A malloc block
 * completely inside it is neither lost nor reachable.  Use it for free lists, linked headers and
 * caches of freed blocks.  Also hide the allocator's pointer to the start of its arena, which is a
 * pointer to the first block there.  Regions may overlap.  A region that was hidden n times must be
 * shown n times, with the same start and size.  A region in a malloc block ends with that block.
 * Return 0 if bytes is 0, if it is partly inside a malloc block, or without memory.  Return 0 also
 * if the region to show does not exist (or there is no checker).
 */
RTC_INLINE_ int rtc_hide_region(const void *start, size_t bytes)
{
    int (*function)(const void *, size_t);
    RTC_FIND_(function, "__rtc_hide_region");
    return function ? function(start, bytes) : 0;
}

RTC_INLINE_ int rtc_show_region(const void *start, size_t bytes)
{
    int (*function)(const void *, size_t);
    RTC_FIND_(function, "__rtc_show_region");
    return function ? function(start, bytes) : 0;
}

/* Results of rtc_check_block. */
enum {
    RTC_BLOCK_NONE = 0,
    RTC_BLOCK_HEAP = 1,    /* a live block from malloc or new */
    RTC_BLOCK_RECORDED = 2 /* a client block */
};

struct rtc_block {
    const void *start;
    size_t bytes;
};

/*
 * Find the innermost block that contains p.  Fill in *block (may be NULL) unless the result is
 * RTC_BLOCK_NONE.
 */
RTC_INLINE_ int rtc_check_block(const void *p, struct rtc_block *block)
{
    int (*function)(const void *, struct rtc_block *, size_t);
    RTC_FIND_(function, "__rtc_check_block");
    return function ? function(p, block, sizeof *block) : (int)RTC_BLOCK_NONE;
}

/* ---- leak checks on demand ------------------------------------------------------------------- */

/* Flags of rtc_check_leaks. */
enum {
    RTC_ALL = 0,
    RTC_NEW = 1,  /* count and report only blocks allocated since the last mark or report */
    RTC_QUIET = 2 /* no report, only the result for the caller; no new mark */
};

/* Why a check failed. */
enum {
    RTC_NOT_CHECKED =
        -1,             /* no checker, or leak checks are off; in a vfork child; or in a handler */
                        /* that has interrupted a check */
    RTC_NO_MEMORY = -2, /* no memory for the scan */
    RTC_SANDBOX = -3,   /* in a sandbox, the list of mappings cannot be read */
    RTC_BUSY = -4, /* a thread, or the code that this handler interrupted, stays in the allocator */
    RTC_NO_PROC = -5 /* no file of /proc could be opened: too many are open, or no /proc */
};

struct rtc_leak_sum {
    uint64_t blocks, bytes;
    uint64_t new_blocks, new_bytes; /* part of them: allocated since the last mark or report */
};

struct rtc_leaks {
    struct rtc_leak_sum definite;  /* definitely lost: unreachable */
    struct rtc_leak_sum indirect;  /* indirectly lost: reachable only from other lost blocks */
    struct rtc_leak_sum possible;  /* possibly lost: by interior pointers, or from such blocks */
    struct rtc_leak_sum reachable; /* still reachable */
};

/*
 * Find the blocks that are still reachable.  The other threads are stopped by a signal (33,
 * reserved by libc) and resume before the report.  The check takes as long as the one at the end.
 * A system call that the kernel does not restart may end with EINTR, as signal(7) describes for
 * handlers with SA_RESTART: poll, epoll_wait, nanosleep, semop, sockets with a timeout.  The wait
 * for a thread is bounded.  If a thread blocks even this signal, or is not scheduled for long, its
 * registers are unknown.  Then lost blocks count as possibly lost.
 *
 * Without RTC_QUIET, the report is written where the one at the end would be (stderr, --log-file),
 * before the call returns, and a new mark begins.  That takes at most 10 s with the launcher, and
 * 30 s without.  Without the launcher the environment is read: no other thread may change it
 * meanwhile.  Signals are blocked during the call.
 *
 * *leaks (may be NULL) receives the sums unless the result is negative.  Return the number of
 * definitely and indirectly lost blocks, with RTC_NEW only the new ones, or a negative RTC_ code.
 * Like __lsan_do_recoverable_leak_check, which reports and returns 0 or 1.
 */
RTC_INLINE_ long rtc_check_leaks(unsigned how, struct rtc_leaks *leaks)
{
    long (*function)(unsigned, struct rtc_leaks *, size_t);
    RTC_FIND_(function, "__rtc_check_leaks");
    return function ? function(how, leaks, sizeof *leaks) : (long)RTC_NOT_CHECKED;
}

/*
 * Start a new mark: checks, and the report at the end, distinguish blocks allocated from now on
 * from earlier ones.  Return 0 if this process and its ancestors by fork have used all 255 marks,
 * reports included; later blocks then stay new (or there is no checker).
 */
RTC_INLINE_ int rtc_mark(void)
{
    int (*function)(void);
    RTC_FIND_(function, "__rtc_mark");
    return function ? function() : 0;
}

#ifdef __cplusplus
namespace rtcheck
{

/* rtc_disable for the lifetime of the object, in the thread that created it. */
class disabler
{
  public:
    disabler()
    {
        rtc_disable();
    }
    ~disabler()
    {
        rtc_enable();
    }

  private:
    disabler(const disabler &);
    disabler &operator=(const disabler &);
};

} /* namespace rtcheck */
#endif

#endif
