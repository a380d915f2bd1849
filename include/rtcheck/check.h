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

#if defined __x86_64__ && defined __GNUC__
/* Through the table that the loader fills, in any kind of program: 0 where nobody has the name. */
#define RTC_FIND_(function, name) \
    __asm__(".weak " name "\n\tmovq " name "@GOTPCREL(%%rip), %0" : "=r"(function))
#define RTC_INLINE_ static __inline__ __attribute__((always_inline, unused))
#else /* where the checker does not run */
#define RTC_FIND_(function, name) ((function) = 0)
#define RTC_INLINE_ static inline
#endif

/* ---- blocks that are no leaks -------------------------------------------------------------------- */

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

/* ---- memory that holds pointers ------------------------------------------------------------------ */

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

#ifdef __cplusplus
namespace rtcheck {

/* rtc_disable for as long as it lives, in the thread that made it. */
class disabler {
public:
    disabler() { rtc_disable(); }
    ~disabler() { rtc_enable(); }

private:
    disabler(const disabler &);
    disabler &operator=(const disabler &);
};

} /* namespace rtcheck */
#endif

#endif
