/*
 * stack.c - the end of the stack that contains a stack pointer.
 *
 * A walk over a corrupt stack must not read beyond its end.  libc cannot report the end of a
 * thread's stack without allocating.  But the main thread's stack ends with the program's name.
 * Every other thread's stack ends with its thread control block, to which %fs points, also on a
 * stack provided by the program.  Other stacks (of signals, coroutines) have unknown ends.
 */
#include "unwinder_priv.h"

#include <sys/auxv.h>
#include <sys/resource.h>

#define GAP_BYTES (128ull << 20) /* minimum distance of other mappings below the main stack */

struct stacks stacks;

void stacks_start(void)
{
    uintptr_t name = getauxval(AT_EXECFN);
    uint64_t limit = os_limit(RLIMIT_STACK);
    stacks.bytes = limit == UINT64_MAX || limit < GAP_BYTES ? GAP_BYTES : limit;
    stacks.main_high = name ? align_up(name + 1, PAGE_BYTES) : 0;
}
