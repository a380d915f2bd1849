/*
 * processor.c - facts of the processor, read once.
 */
#include "processor.h"

#include <cpuid.h>

uint32_t processor_counters(void)
{
    unsigned a, b, c, d;
    if (__get_cpuid_count(0xa, 0, &a, &b, &c, &d) &&
        (a & 0xff)) /* Intel: architectural monitoring */
        return a >> 8 & 0xff;
    if (__get_cpuid_count(0x80000022, 0, &a, &b, &c, &d) && (b & 0xf)) /* AMD: PerfMonV2 */
        return b & 0xf;
    /* AMD before: bit 23 (PerfCtrExtCore): six counters. */
    if (__get_cpuid(0x80000001, &a, &b, &c, &d))
        return c >> 23 & 1 ? 6 : 0;
    return 0;
}

/*
 * valgrind's client request RUNNING_ON_VALGRIND (valgrind.h).  Natively the four rotations and the
 * exchange have no effect.
 */
bool processor_is_valgrind(void)
{
    const uint64_t request[6] = {0x1001};
    uint64_t depth = 0;
    __asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi\n"
                     "    xchgq %%rbx, %%rbx"
                     : "+d"(depth)
                     : "a"(request)
                     : "cc", "memory");
    return depth;
}
