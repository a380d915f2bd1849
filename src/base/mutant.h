/*
 * mutant.h - mutation testing: runtimes that lack one check, to prove that the tests detect it
 * (tests/crimes, counters).
 *
 * cmake -DRTC_MUTANT=NO_DUF builds one.  MUTANT(NO_DUF) is true in that build and false in all
 * others.
 */
#ifndef MUTANT_H
#define MUTANT_H

#ifdef RTC_MUTANT
enum mutant {
    MUTANT_NO_DUF = 1, /* double free */
    MUTANT_NO_MAF,     /* free of a pointer inside a block */
    MUTANT_NO_BAF,     /* free of an address outside all blocks */
    MUTANT_NO_FAMILY,  /* mismatch of allocation and free functions */
    MUTANT_NO_SIZE,    /* mismatch of the size passed to a sized free */
    MUTANT_NO_AFTER,   /* bytes past the end of blocks */
    MUTANT_NO_BEFORE,  /* the byte before a block */
    MUTANT_NO_FILL,    /* bytes of freed blocks */
    MUTANT_NO_SWEEP,   /* the sweep of all blocks at exit */
    MUTANT_NO_OOM,     /* out of memory */
    MUTANT_NO_REGION,  /* kind of an address outside all blocks */
    /*
     * In a forked child: were the inherited records already untrusted in its parent?
     * (tests/stress).
     */
    MUTANT_NO_UNTRUSTED,
    /* In a snapshot of all counters: did a thread count meanwhile? (tests/counters). */
    MUTANT_NO_RECHECK,
    /* In such a snapshot: the counters of a thread now, not at the handshake (tests/counters). */
    MUTANT_NO_HANDSHAKE,
    /* heap=file, before a fork: a private mapping of the heap (tests/stress). */
    MUTANT_NO_PRIVATE,
};
#define MUTANT_NAMED_(name) MUTANT_##name
#define MUTANT_NAMED(name) MUTANT_NAMED_(name)
#define MUTANT(name) (MUTANT_##name == MUTANT_NAMED(RTC_MUTANT))
#else
#define MUTANT(name) 0
#endif

#endif
