/*
 * torn.c - forks while other threads move blocks about; the child checks the inherited blocks.
 *
 *     torn TRIALS fork|_Fork|clone|unseen [twice]
 *
 * `clone` is syscall(SYS_clone), `unseen` the instruction itself, which no library intercepts.
 *
 * The kernel's snapshot of the program's own tables is the truth: every thread's stores are
 * included up to some point and not beyond.  A place marked LIVE there is a live block in the
 * child, and the child's free of it is right; a place marked EMPTY was freed.  Places in between
 * are in flight and prove nothing.
 *
 * The child checks the contents of all live blocks, allocates on top (no new block may overlap a
 * live one), resizes and frees them.  None of these frees may be counted as wrong.  With `twice` it
 * first frees blocks again that were freed shortly before the snapshot: all of these must be
 * counted.  A line for each child has the numbers.  Each leaves LEFT blocks behind.
 */
#include "unseen.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WRITERS 3u
#define PLACES 96u
#define FRESH 200u
#define LEFT 3u
#define RECENT 300u /* frees of one writer: less than a quarantine holds */

enum place_state { EMPTY_NEW, EMPTY, LIVE, IN_FLIGHT };

struct place {
    _Atomic uint32_t state; /* enum place_state */
    uint32_t bytes;
    uint8_t *block;    /* the last one, also when EMPTY */
    uint64_t freed_as; /* number of that free, counted by its writer */
};

struct writer {
    uint64_t random;
    _Atomic uint64_t frees;
    struct place place[PLACES];
};

/* Results of the current child; shared with it. */
struct outcome {
    uint64_t freed_twice;
    uint64_t inherited;
};

static struct writer writers[WRITERS];
static volatile struct outcome *outcome;
static int twice;

static uint64_t draw(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

static void set(struct place *p, enum place_state state)
{
    atomic_store_explicit(&p->state, state, memory_order_release);
}

static void fill(uint8_t *block, uint32_t bytes)
{
    memset(block, (uint8_t)(bytes ^ 0x5a), bytes);
}

static int is_filled(const uint8_t *block, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++)
        if (block[i] != (uint8_t)(bytes ^ 0x5a))
            return 0;
    return 1;
}

static void take(struct writer *w, struct place *p)
{
    set(p, IN_FLIGHT);
    uint32_t bytes = 24 + (uint32_t)(draw(&w->random) % 8) * 40;
    uint8_t *block = malloc(bytes);
    if (!block)
        abort();
    fill(block, bytes);
    p->block = block;
    p->bytes = bytes;
    set(p, LIVE);
}

static void drop(struct writer *w, struct place *p)
{
    set(p, IN_FLIGHT);
    free(p->block);
    p->freed_as = atomic_fetch_add_explicit(&w->frees, 1, memory_order_relaxed);
    set(p, EMPTY);
}

static _Noreturn void write_for_ever(struct writer *w)
{
    for (;;) {
        struct place *p = &w->place[draw(&w->random) % PLACES];
        if (p->state == LIVE)
            drop(w, p);
        else
            take(w, p);
    }
}

static void *writer_thread(void *arg)
{
    write_for_ever(arg);
}

/* ---- the child ---------------------------------------------------------------------------- */

static void must(int good, int code)
{
    if (!good)
        _exit(code);
}

/* Has any place of any writer the same block, live or in flight? */
static int is_spoken_for(const struct place *own)
{
    for (unsigned w = 0; w < WRITERS; w++)
        for (unsigned i = 0; i < PLACES; i++) {
            const struct place *p = &writers[w].place[i];
            if (p != own && p->block == own->block)
                return 1;
        }
    return 0;
}

static void free_again(struct writer *w)
{
    uint64_t frees = atomic_load(&w->frees);
    for (unsigned i = 0; i < PLACES; i++) {
        struct place *p = &w->place[i];
        if (p->state != EMPTY || p->freed_as + RECENT < frees || is_spoken_for(p))
            continue;
        outcome->freed_twice++;
        free(p->block);
    }
}

static void check_inherited(const struct writer *w)
{
    for (unsigned i = 0; i < PLACES; i++)
        if (w->place[i].state == LIVE)
            must(is_filled(w->place[i].block, w->place[i].bytes), 11);
}

/* Blocks of the inherited sizes, repeatedly: they must not overlap live ones. */
static void allocate_on_top(void)
{
    uint8_t *fresh[FRESH];
    for (unsigned i = 0; i < FRESH; i++) {
        uint32_t bytes = 24 + i % 8 * 40;
        fresh[i] = malloc(bytes);
        must(fresh[i] != NULL, 12);
        memset(fresh[i], 0xee, bytes);
    }
    for (unsigned w = 0; w < WRITERS; w++)
        check_inherited(&writers[w]);
    for (unsigned i = 0; i < FRESH; i++)
        free(fresh[i]);
}

static void resize_and_free(struct writer *w)
{
    for (unsigned i = 0; i < PLACES; i++) {
        struct place *p = &w->place[i];
        if (p->state != LIVE)
            continue;
        outcome->inherited++;
        if (i % 2) {
            uint8_t *moved = realloc(p->block, p->bytes + 100);
            must(moved && is_filled(moved, p->bytes), 13);
            p->block = moved;
        }
        free(p->block);
    }
}

__attribute__((noinline)) static void torn_leave(void)
{
    for (unsigned i = 0; i < LEFT; i++) {
        void *volatile left = malloc(77);
        must(left != NULL, 14);
    }
}

static _Noreturn void judge(void)
{
    alarm(5); /* a torn list may have a cycle */
    for (unsigned w = 0; twice && w < WRITERS; w++)
        free_again(&writers[w]);
    for (unsigned w = 0; w < WRITERS; w++)
        check_inherited(&writers[w]);
    allocate_on_top();
    for (unsigned w = 0; w < WRITERS; w++)
        resize_and_free(&writers[w]);
    torn_leave();
    _exit(0);
}

/* ---- the parent --------------------------------------------------------------------------- */

static pid_t fork_as(const char *kind)
{
    if (strcmp(kind, "fork") == 0)
        return fork();
    if (strcmp(kind, "_Fork") == 0)
        return _Fork();
    if (strcmp(kind, "clone") == 0)
        return (pid_t)syscall(SYS_clone, SIGCHLD, 0L, 0L, 0L, 0L);
    return clone_unseen();
}

/* Status of the child, 0 = good. */
static int try_once(const char *kind, uint64_t *random)
{
    struct timespec nap = {0, (long)(draw(random) % 200000)};
    int status;
    nanosleep(&nap, NULL);
    outcome->freed_twice = outcome->inherited = 0;
    pid_t pid = fork_as(kind);
    if (pid == 0)
        judge();
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return 98;
    printf("child %d twice %lu inherited %lu\n", (int)pid, outcome->freed_twice,
           outcome->inherited);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    static char buffer[1 << 20]; /* stdio's own would be the children's business, too */
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    unsigned long trials = strtoul(argv[1], NULL, 10), bad = 0;
    uint64_t random = 88172645463325252u;
    pthread_t id;
    twice = argc > 3;
    outcome = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (outcome == MAP_FAILED)
        return 3;
    for (unsigned w = 0; w < WRITERS; w++) {
        writers[w].random = draw(&random) | 1;
        if (pthread_create(&id, NULL, writer_thread, &writers[w]) != 0)
            return 3;
    }
    for (unsigned long i = 0; i < trials; i++) {
        int code = try_once(argv[2], &random);
        bad += code != 0;
        if (code && bad <= 5)
            fprintf(stderr, "torn: child of trial %lu ended with %d\n", i, code);
    }
    printf("trials %lu bad %lu left %lu\n", trials, bad, trials * LEFT);
    fflush(stdout);
    _exit(bad != 0);
}
