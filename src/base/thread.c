/*
 * thread.c - the two words of thread-local storage, and what is asked of all threads.  Initial-exec
 * (by build flag): its access is a load relative to the thread pointer and can never enter the
 * loader.
 */
#include "base.h"

__thread struct thread *self;
__thread uint32_t self_state;
_Atomic uint32_t notify_wanted;
