/*
 * oracle.h - every stack that the runtime takes is compared with libunwind's.
 *
 * Only a build configured with -DRTC_ORACLE=ON has it (and defines RTC_ORACLE).  There the runtime
 * calls oracle_check after every operation that took a stack: in the thread that took it, outside
 * its critical sections, while the interceptor's frame is still live.
 *
 * The file that RTC_ORACLE_OUT names (made by `run`) takes the results of all processes of a run.
 */
#ifndef ORACLE_H
#define ORACLE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Innermost first; the first one is the interceptor's caller.  pc: the return address, or where a
 * signal interrupted; sp: the stack pointer there, that is the CFA of the frame one further in.
 */
struct oracle_frame {
    uintptr_t pc, sp;
};

/* Why a stack has no more frames. */
enum oracle_end {
    ORACLE_OUTERMOST,  /* its last frame has no caller */
    ORACLE_CUT_DEPTH,  /* as many as are kept */
    ORACLE_NO_INFO,    /* nobody says how to go on */
    ORACLE_LEFT_STACK, /* the next frame would not be on a stack */
    ORACLE_OTHER,
};

/*
 * kept: taken over from the thread's trace, else by a walk that remembers nothing.  decoded: the
 * pcs that the depot gives for the id that was stored with the operation, innermost first.
 */
void oracle_check(const struct oracle_frame *frame, unsigned count, enum oracle_end end, bool kept,
                  const uintptr_t *decoded, unsigned decoded_count);

#endif
