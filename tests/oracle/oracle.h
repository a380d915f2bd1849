/*
 * oracle.h - compares every stack that the runtime takes with libunwind's.
 *
 * It is only part of builds configured with -DRTC_ORACLE=ON, which defines RTC_ORACLE.  There the
 * runtime calls oracle_check after every operation that took a stack: in the thread that took it,
 * outside its critical sections, while the interceptor's frame is still live.
 *
 * The file named by RTC_ORACLE_OUT (made by `run`) gets the results of all processes of a run.
 */
#ifndef ORACLE_H
#define ORACLE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Innermost first; the first one is the interceptor's caller.  pc: the return address, or where a
 * signal interrupted; sp: the stack pointer there, which is the CFA of the next inner frame.
 */
struct oracle_frame {
    uintptr_t pc, sp;
};

/* Why a stack has no further frames. */
enum oracle_end {
    ORACLE_OUTERMOST,  /* its last frame has no caller */
    ORACLE_CUT_DEPTH,  /* the maximum number of frames */
    ORACLE_NO_INFO,    /* no CFI, and no rule for the caller */
    ORACLE_LEFT_STACK, /* the next frame would be outside of the stack */
    ORACLE_OTHER,
};

/*
 * kept: taken from the thread's stack cache, else by a complete walk.  decoded: the pcs that the
 * depot returns for the id that was stored with the operation, innermost first.
 */
void oracle_check(const struct oracle_frame *frame, unsigned count, enum oracle_end end, bool kept,
                  const uintptr_t *decoded, unsigned decoded_count);

#endif
