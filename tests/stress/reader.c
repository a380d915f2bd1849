/*
 * reader.c - an outside process reads the records of slots that are being churned.
 *
 *     reader READS [naive]
 *
 * rtc-build: -DRTC_RECORD_WIDE
 *
 * Compiled with shadow/block.c itself, as the room's has no third word.  Four writer processes,
 * more than the machine has processors, take the slots they own through life after life; the
 * alloc stack of a life is its full generation, the free stack the complement.  A read that
 * block_read accepts must have a word and stacks of one life.  A timer interrupts the reader
 * all the time and sometimes lets the writers run, so that slots change between its loads.  It
 * reads until CHANGED_MIN slots have changed under a read; with fewer the test would prove
 * nothing.
 *
 * A word identifies its life by six bits only; two lives 64 apart have equal words, and either
 * one's stacks are valid.  The third word, read before and after, bounds the possible lives.
 *
 * `naive` reads without checking the word again, until a read is torn, which the driver expects.
 */
#include "../../shadow/block.c"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef RTC_RECORD_WIDE
#error "the judge needs the full generation"
#endif

#define SLOTS 8u
#define WRITERS 4u
#define ALARM_US 100
#define ALARMS_PER_YIELD 16u
#define CHANGED_MIN 200u
#define SECONDS_MAX 120 /* more than READS take */

struct wide_record {
    struct block_record block;
    _Atomic uint64_t generation;
    uint64_t pad;
};
static_assert(sizeof(struct wide_record) == 32, "the stride that block.c assumes");

struct tally {
    uint64_t accepted;
    uint64_t retried;
    uint64_t changed; /* accepted although the slot changed: the interesting ones */
    uint64_t torn;
};

static _Noreturn void churn(struct wide_record *slots, unsigned writer)
{
    struct block_birth birth = {.family = FAMILY_MALLOC, .mark = MARK_FIRST, .size = 24};
    uint32_t generation[SLOTS] = {0};
    uint64_t was;
    for (;;) {
        for (unsigned i = writer; i < SLOTS; i += WRITERS) {
            birth.stack = ++generation[i];
            block_publish(&slots[i].block, &birth);
            if (!block_retire(&slots[i].block, 0, ~generation[i], &was))
                _exit(3);
            block_forget(&slots[i].block);
        }
    }
}

static bool read_naively(const struct block_record *b, uint64_t *word, uint64_t *stacks)
{
    struct block_record *r = (struct block_record *)(uintptr_t)b;
    *word = atomic_load_explicit(&r->word, memory_order_acquire);
    *stacks = atomic_load_explicit(&r->stacks, memory_order_acquire);
    return true;
}

/* Are the stacks those of the life in the word? */
static bool is_of_one_life(uint64_t word, uint64_t stacks, uint64_t from, uint64_t to)
{
    uint32_t life = (uint32_t)(stacks >> 32), freed = (uint32_t)stacks;
    switch (word_state(word)) {
    case BLOCK_NEVER:
        return true; /* being written: no information */
    case BLOCK_LIVE:
        if (freed != 0)
            return false;
        break;
    case BLOCK_FREED:
        if (freed != 0 && freed != (uint32_t)~life)
            return false;
        break;
    case BLOCK_FREE:
        if (freed != (uint32_t)~life)
            return false;
        break;
    default:
        return false;
    }
    return (life & BLOCK_GEN_MASK) == word_generation(word) && life >= from && life <= to;
}

static void read_slot(struct wide_record *slot, bool naive, struct tally *t)
{
    uint64_t word, stacks;
    uint64_t from = atomic_load_explicit(&slot->generation, memory_order_acquire);
    bool accepted = naive ? read_naively(&slot->block, &word, &stacks)
                          : block_read(&slot->block, &word, &stacks);
    if (!accepted) {
        t->retried++;
        return;
    }
    /* The next life's number is written after its stacks and before its word: at most one more. */
    atomic_thread_fence(memory_order_acquire);
    uint64_t to = atomic_load_explicit(&slot->generation, memory_order_acquire) + 1;
    t->accepted++;
    t->changed += to != from + 1;
    if (is_of_one_life(word, stacks, from, to))
        return;
    if (t->torn++ < 3)
        fprintf(stderr, "reader: word %#lx with stacks %#lx, generation %lu to %lu\n", word, stacks,
                from, to - 1);
}

static void on_alarm(int signal)
{
    static unsigned alarms;
    (void)signal;
    if (++alarms % ALARMS_PER_YIELD == 0)
        sched_yield();
}

static void interrupt_often(void)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, ALARM_US}, {0, ALARM_US}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
}

static pid_t start(struct wide_record *slots, unsigned i)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    churn(slots, i);
}

static bool is_enough(const struct tally *t, uint64_t reads, bool naive)
{
    if (naive)
        return t->torn > 0;
    return t->accepted >= reads && t->changed >= CHANGED_MIN;
}

int main(int argc, char **argv)
{
    uint64_t reads = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    bool naive = argc > 2;
    struct wide_record *slots = mmap(NULL, SLOTS * sizeof *slots, PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct tally t = {0};
    pid_t pid[WRITERS];
    if (slots == MAP_FAILED)
        return 2;
    for (unsigned i = 0; i < WRITERS; i++)
        if ((pid[i] = start(slots, i)) < 0)
            return 2;
    for (unsigned i = 0; i < SLOTS; i++)
        while (atomic_load(&slots[i].generation) < 100)
            usleep(100);
    interrupt_often();
    time_t give_up = time(NULL) + SECONDS_MAX + (time_t)(reads / 2000000);
    for (uint64_t i = 0; !is_enough(&t, reads, naive); i++) {
        read_slot(&slots[i % SLOTS], naive, &t);
        if (i % 65536 == 0 && time(NULL) > give_up)
            break;
    }
    for (unsigned i = 0; i < WRITERS; i++)
        kill(pid[i], SIGKILL);
    while (wait(NULL) > 0)
        ;
    printf("%lu accepted, %lu refused, %lu while the slot changed, %lu torn\n", t.accepted,
           t.retried, t.changed, t.torn);
    return t.torn ? 1 : 0;
}
