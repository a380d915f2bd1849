/*
 * Overwrites its stack with words that may lead a walk astray, allocates, and puts it right again:
 * on the main stack and on a thread's.
 *
 *     smash ROUNDS
 *
 * rtc-build: -O1 -fno-omit-frame-pointer -fno-stack-protector -pthread
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NOINLINE __attribute__((noinline))
#define NO_TAIL_CALL __asm__ volatile("" ::: "memory")
#define LEVELS 12
#define WORDS 4096

static unsigned long rounds, done;
static char *forbidden; /* a page that cannot be read */
static uintptr_t saved[WORDS];

static uint64_t state = 88172645463325252ull;

static uint64_t chance(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static NOINLINE void far_frame(void)
{
    char volatile room[60000];
    room[chance() % sizeof room] = 1;
    free(malloc(10));
}

/* A word as found on a program's stack, or an invalid one. */
static uintptr_t word(uintptr_t stack)
{
    static const char text[8] = "overflow";
    uintptr_t w;
    switch (chance() % 14) {
    case 0:
        return 0;
    case 1:
        return chance();
    case 2:
        return chance() >> 17;
    case 3:
        return chance() % 100000;
    case 4:
        memcpy(&w, text, sizeof w);
        return w;
    case 5:
        return (uintptr_t)forbidden + chance() % 4096;
    case 6:
        return (uintptr_t)qsort + chance() % 600;
    case 7:
        return (uintptr_t)printf + chance() % 100000;
    case 8:
        return (uintptr_t)far_frame + chance() % 64;
    case 9:
        return (uintptr_t)&saved[chance() % WORDS];
    case 10:
        return stack + chance() % 4096 * 8;
    case 11:
        return stack + chance() % 512 * 8;
    case 12:
        return stack - chance() % 512;
    default:
        return (uintptr_t)forbidden - chance() % 65536 * 8;
    }
}

static NOINLINE void allocate(void)
{
    void *volatile p = malloc(64);
    free(p);
}

/* All words from our own return address, or our caller's rbp, to `high`; some of them, or all. */
static NOINLINE void scramble(const uintptr_t *high)
{
    uintptr_t *at = __builtin_frame_address(0);
    size_t n = (size_t)(high - at) < WORDS ? (size_t)(high - at) : WORDS;
    unsigned of = 1u << chance() % 6;
    memcpy(saved, at, n * sizeof *at);
    for (size_t i = 0; i < n; i++)
        if (chance() % of == 0)
            at[i] = word((uintptr_t)at);
    allocate();
    memcpy(at, saved, n * sizeof *at);
    done++;
}

static NOINLINE void dive(unsigned levels, const uintptr_t *high)
{
    if (levels)
        dive(levels - 1, high);
    else
        scramble(high);
    NO_TAIL_CALL;
}

static NOINLINE void on_this_stack(void)
{
    uintptr_t volatile high[2] = {0, 0};
    for (unsigned long i = 0; i < rounds; i++) {
        allocate();
        dive(i % LEVELS, (const uintptr_t *)high);
        far_frame();
    }
}

static void *in_thread(void *unused)
{
    on_this_stack();
    return unused;
}

int main(int argc, char **argv)
{
    rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    forbidden = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    forbidden += 1 << 19;
    setvbuf(stdout, NULL, _IONBF, 0);
    printf("main stack:");
    on_this_stack();
    printf(" %lu\nthread:", done);
    pthread_t thread;
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
    printf(" %lu\n", done);
    return 0;
}
