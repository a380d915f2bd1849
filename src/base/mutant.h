/*
 * mutant.h - runtimes that lack one check, built to prove that the tests would notice
 * (tests/crimes, counters).
 *
 * cmake -DRTC_MUTANT=NO_DUF makes one; MUTANT(NO_DUF) is true in it, and false everywhere else.
 */
#ifndef MUTANT_H
#define MUTANT_H

#ifdef RTC_MUTANT
enum mutant {
    MUTANT_NO_DUF = 1, /* free of a free block */
    MUTANT_NO_MAF,     /* free inside a block */
    MUTANT_NO_BAF,     /* free of no block */
    MUTANT_NO_FAMILY,  /* does the free fit the allocation? */
    MUTANT_NO_SIZE,    /* does the size that is told fit? */
    MUTANT_NO_AFTER,   /* bytes behind blocks */
    MUTANT_NO_BEFORE,  /* the byte before a block */
    MUTANT_NO_FILL,    /* bytes of freed blocks */
    MUTANT_NO_SWEEP,   /* the look at all blocks at the end */
    MUTANT_NO_OOM,     /* no memory */
    MUTANT_NO_REGION,  /* what an address is that is no block's */
    MUTANT_NO_DOUBT, /* in a forked child: did its parent trust what it inherited? (tests/stress) */
    MUTANT_NO_RECHECK, /* of a moment of all counters: was anybody counting meanwhile? (tests/counters) */
};
#define MUTANT_NAMED_(name) MUTANT_##name
#define MUTANT_NAMED(name) MUTANT_NAMED_(name)
#define MUTANT(name) (MUTANT_##name == MUTANT_NAMED(RTC_MUTANT))
#else
#define MUTANT(name) 0
#endif

#endif
