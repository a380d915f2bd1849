/*
 * stack.c - where the stack ends that a stack pointer lies on.
 *
 * A walk that a smashed stack has led astray must not read beyond it.  libc does not tell where a
 * thread's stack ends without allocating, but: the main thread's ends with the program's name,
 * and that of every other thread with the thread's control block, which %fs points to - also on
 * memory that the program brought.  Other stacks (signals', coroutines') have no known end.
 */
#include "unwinder_priv.h"

#include <sys/auxv.h>
#include <sys/resource.h>

#define GAP_BYTES (128ull << 20) /* at least that much below the main stack is nobody else's */

struct stacks stacks;

void stacks_start(void)
{
    uintptr_t name = getauxval(AT_EXECFN);
    uint64_t limit = os_limit(RLIMIT_STACK);
    stacks.bytes = limit == UINT64_MAX || limit < GAP_BYTES ? GAP_BYTES : limit;
    stacks.main_high = name ? align_up(name + 1, PAGE_BYTES) : 0;
}
