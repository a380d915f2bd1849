/*
 * scrub.h - for programs that lose a block: clear the stack below the caller's frame, and the
 * registers, of values of earlier calls.
 */
#ifndef SCRUB_H
#define SCRUB_H

#include <stddef.h>

#define NOINLINE __attribute__((noinline))

#ifndef SCRUB_BYTES
#define SCRUB_BYTES 16384
#endif

static NOINLINE void scrub(void)
{
    volatile char room[SCRUB_BYTES];
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = 0;
    __asm__ volatile(
        "xor %%eax, %%eax; xor %%ecx, %%ecx; xor %%edx, %%edx; xor %%esi, %%esi; xor %%edi, %%edi;"
        "xor %%r8d, %%r8d; xor %%r9d, %%r9d; xor %%r10d, %%r10d; xor %%r11d, %%r11d;"
        "pxor %%xmm0, %%xmm0; pxor %%xmm1, %%xmm1; pxor %%xmm2, %%xmm2; pxor %%xmm3, %%xmm3;"
        "pxor %%xmm4, %%xmm4; pxor %%xmm5, %%xmm5; pxor %%xmm6, %%xmm6; pxor %%xmm7, %%xmm7" ::
            : "eax", "ecx", "edx", "esi", "edi", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2",
              "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "cc");
}

#endif
