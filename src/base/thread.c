/*
 * thread.c - the two thread-local variables, and the mask of events that have callbacks.  The TLS
 * model is initial-exec (by build flag): an access is a load relative to the thread pointer and
 * never enters the loader.
 */
#include "base.h"

__thread struct thread *self;
__thread uint32_t self_state;
_Atomic uint32_t notify_wanted;
