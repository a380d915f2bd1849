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

#define GAP_BYTES (128ull << 20)   /* at least that much below the main stack is nobody else's */
#define UNKNOWN_BYTES (1ull << 20) /* of a stack whose end is not known */

static struct {
    uintptr_t main_low, main_high;
    uintptr_t thread_bytes; /* no thread's stack is larger, else it is one of unknown end */
} stacks;

void stacks_start(void)
{
    uintptr_t name = getauxval(AT_EXECFN);
    uint64_t limit = os_limit(RLIMIT_STACK);
    if (name)
        stacks.main_high = align_up(name + 1, PAGE_BYTES);
    uint64_t below = limit == UINT64_MAX || limit < GAP_BYTES ? GAP_BYTES : limit;
    stacks.main_low = stacks.main_high > below ? stacks.main_high - below : 0;
    stacks.thread_bytes = limit == UINT64_MAX || limit < GAP_BYTES ? GAP_BYTES : limit;
}

uintptr_t stack_high(uintptr_t sp, bool *known)
{
    uintptr_t control = (uintptr_t)__builtin_thread_pointer();
    *known = true;
    if (sp >= stacks.main_low && sp < stacks.main_high)
        return stacks.main_high;
    if (sp < control && control - sp < stacks.thread_bytes)
        return control;
    *known = false;
    return sp + UNKNOWN_BYTES;
}
