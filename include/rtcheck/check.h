/*
 * check.h - what a program can tell the leak checker, and ask it.  For C and C++.
 *
 * A program that uses it needs no library of ours, neither to be linked nor to run: each function looks
 * whether a checker is in the process (the runtime that `rtcheck PROGRAM` or LD_PRELOAD brings), and
 * where there is none does nothing and says so by its result, 0 or as stated.  The cost is then that of
 * a comparison.
 *
 * All sizes are in bytes.  All functions may be called by any thread at any time, and by a forked
 * child, which speaks for itself alone; errno stays as it is.  Those that say so are signal-safe; the
 * others do nothing in a handler that interrupted the allocator.  Nothing is owned: no function keeps
 * or frees what it is given.
 *
 * A linker other than GNU's may need -Wl,-z,dynamic-undefined-weak in a program that is not
 * position-independent, else the checker is not found.
 */
#ifndef RTCHECK_CHECK_H
#define RTCHECK_CHECK_H

#include <stddef.h>
#include <stdint.h>

#if defined __x86_64__ && defined __GNUC__
/* Through the table that the loader fills, in any kind of program: 0 where nobody has the name. */
#define RTC_FIND_(function, name) \
    __asm__(".weak " name "\n\tmovq " name "@GOTPCREL(%%rip), %0" : "=r"(function))
#define RTC_INLINE_ static __inline__ __attribute__((always_inline, unused))
#else /* where the checker does not run */
#define RTC_FIND_(function, name) ((function) = 0)
#define RTC_INLINE_ static inline
#endif

/* ---- blocks that are no leaks ---------------------------------------------------------------- */

/*
 * What the calling thread allocates between rtc_disable and rtc_enable is no leak, nor is what these
 * blocks hold.  Pairs nest, and count for each thread alone; a new thread begins outside.  A block that
 * is resized meanwhile counts as allocated.  Signal-safe.  As __lsan_disable and __lsan_enable; an
 * rtc_enable too many does nothing.  1: there is a checker.
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
 * The block that `p` points into is no leak, nor is what it holds; it stays so when it is resized.
 * As __lsan_ignore_object.  0: p points into no block that is in use (or there is no checker).
 */
RTC_INLINE_ int rtc_ignore(const void *p)
{
    int (*function)(const void *);
    RTC_FIND_(function, "__rtc_ignore");
    return function ? function(p) : 0;
}

/* ---- memory that holds pointers -------------------------------------------------------------- */

/*
 * Pointers in this memory count, wherever it is; what of it cannot be read is left out, at each check
 * anew.  Needed for memory that is not searched: mapped read-only, or written by others; data,
 * stacks and writable mappings are searched anyhow.  Regions may overlap; one that was added n times is
 * removed n times, with the same start and size.  As __lsan_register_root_region and
 * __lsan_unregister_root_region; they are meant for few.
 * 0: no bytes, no memory for it; remove: there is no such region (or no checker).
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

/* ---- blocks that the program makes itself ---------------------------------------------------- */

/*
 * Who cuts memory into blocks himself - an arena's, a pool's, of malloc's or mapped or data - can
 * say which they are.  Each is from then on a block as one of malloc's: lost or in use, told of
 * with the stack that recorded it, ignored if the thread ignores what it allocates, found inside of
 * by a pointer; pointers in it count if something leads to it.  Memory around such blocks is what
 * it was before.  A block of malloc's that they lie in is in use as long as there are some in it.
 *
 * With rtc_record_malloc(p, bytes) the memory at p has been given out, with rtc_record_free(p) it was given
 * back; rtc_record_realloc does both, and with `from` NULL the first.  A free of what is not recorded, or was
 * freed before, is an error that is told of like those of free (baf, duf, maf).  rtc_record_free_all: all
 * blocks that begin in this memory are given back, by a reset of an arena; the answer is how many.  What lies
 * in a block of malloc's ends with that without a word - also when it is resized -, and what lies in memory
 * that is not mapped any more; before other memory is mapped there it is to be given back.
 *
 * Sizes and addresses may be any.  A block that lies in another one that is recorded is not
 * recorded: say it of the inner or of the outer ones.
 * 1: done.  0: as said; or it is not within one block of malloc's nor outside of all, or there is
 * no memory to note it; or NULL is freed (or there is no checker).
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
 * This memory, of an allocator's own, is not searched for pointers, but for blocks in it that are recorded; a
 * block of malloc's that lies in it as a whole is neither lost nor in use.  For free lists, headers that are
 * linked, caches of what was given back, and for the allocator's pointer to the start of its arena,
 * which is one to the first block there.  Regions may overlap; one that was hidden n times is shown
 * n times, with the same start and size; one in a block of malloc's ends with that.
 * 0: no bytes, not within one block of malloc's nor outside of all, no memory for it; show: there is no such
 * region (or no checker).
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

/* What p points into. */
enum {
    RTC_BLOCK_NONE = 0,
    RTC_BLOCK_HEAP = 1,    /* a block of malloc's or new's, that is in use */
    RTC_BLOCK_RECORDED = 2 /* one that is recorded */
};

struct rtc_block {
    const void *start;
    size_t bytes;
};

/* Which block is p in, the innermost?  *block (may be NULL) is filled unless it is RTC_BLOCK_NONE. */
RTC_INLINE_ int rtc_check_block(const void *p, struct rtc_block *block)
{
    int (*function)(const void *, struct rtc_block *, size_t);
    RTC_FIND_(function, "__rtc_check_block");
    return function ? function(p, block, sizeof *block) : (int)RTC_BLOCK_NONE;
}

/* ---- leaks, now ------------------------------------------------------------------------------ */

/* How to check, or-ed. */
enum {
    RTC_ALL = 0,
    RTC_NEW = 1,  /* only what was allocated since the last mark or report is counted and told of */
    RTC_QUIET = 2 /* told to nobody but the caller; no mark begins */
};

/* Why nothing is known. */
enum {
    RTC_NOT_CHECKED =
        -1, /* no checker, or it is not to look for leaks; or called in a vfork child or in a */
            /* handler that interrupted a check */
    RTC_NO_MEMORY = -2, /* none for the search */
    RTC_SANDBOX = -3,   /* the program may not ask any more what it has mapped */
    RTC_BUSY =
        -4, /* a thread, or who was interrupted by this handler, would not leave the allocator */
    RTC_NO_PROC = -5 /* no file of /proc could be opened: too many are open, or it is not there */
};

struct rtc_leak_sum {
    uint64_t blocks, bytes;
    uint64_t new_blocks, new_bytes; /* of them, allocated since the last mark or report */
};

struct rtc_leaks {
    struct rtc_leak_sum definite;  /* nobody can get at them */
    struct rtc_leak_sum indirect;  /* only through others that are leaked */
    struct rtc_leak_sum possible;  /* only by pointers to their inside, and what is behind those */
    struct rtc_leak_sum reachable; /* in use */
};

/*
 * Which blocks can the program still get at?  The other threads are stopped for it by a signal (33,
 * which libc keeps for itself) and go on before anything is told; the whole takes as long as the check
 * at the end.  A system call of theirs that the kernel does not take up again may end with EINTR as
 * signal(7) says of handlers with SA_RESTART: poll, epoll_wait, nanosleep, semop, sockets with a
 * timeout.  A thread that blocks even this signal, or gets no processor for long, is not waited for: what is
 * lost may be in a register of its, and counts as possible then.
 *
 * Unless RTC_QUIET the report stands where the one at the end would (stderr, --log-file) before the call
 * returns - which takes at most 10 s with the launcher, 30 s by hand - and a new mark begins.  Of a
 * report by hand the environment is read: not while another thread changes it.  Signals wait meanwhile.
 *
 * *leaks (may be NULL) becomes what was found, unless the answer is negative.  The answer: blocks of
 * definite and indirect, with RTC_NEW the new ones of them; negative: why nothing is known.  As
 * __lsan_do_recoverable_leak_check, which tells and answers 0 or 1.
 */
RTC_INLINE_ long rtc_check_leaks(unsigned how, struct rtc_leaks *leaks)
{
    long (*function)(unsigned, struct rtc_leaks *, size_t);
    RTC_FIND_(function, "__rtc_check_leaks");
    return function ? function(how, leaks, sizeof *leaks) : (long)RTC_NOT_CHECKED;
}

/*
 * From now on blocks are new: checks, and the report at the end, tell them apart from those before.  0: it
 * is the 255th of this process, and of its ancestors by fork, reports included - what comes then stays
 * new - (or there is no checker).
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

/* rtc_disable for as long as it lives, in the thread that made it. */
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
