/*
 * scribble.c - preloaded by tests/launch with RTC_VARY_SCRIBBLE=1: before main runs, the stack below its frame holds
 * non-zero words.  A test that reads words without having written them then fails in every run.
 */
/* rtc-build: shared */
#include <stdint.h>
#include <stddef.h>

#define SCRIBBLED_BYTES 65536

__attribute__((constructor, noinline)) static void scribble(void)
{
    volatile uint64_t below[SCRIBBLED_BYTES / sizeof(uint64_t)];
    uint64_t word = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < sizeof below / sizeof below[0]; i++) {
        word = word * 6364136223846793005u + 1442695040888963407u;
        below[i] = word | 1;
    }
    __asm__ volatile("" ::"r"(below) : "memory");
}
