/*
 * test_block_races.c - races of two changes to one block, and readers that must not mix two lives:
 * interrupted after every single instruction, and with threads.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include "shadow.h"

#include <cmocka.h>

#define STACKS(alloc, release) ((uint64_t)(alloc) << 32 | (release))

/* A life's size, alloc stack and (complemented) free stack are its number. */
static bool is_of_one_life(uint64_t word, uint64_t stacks)
{
    uint32_t life = (uint32_t)(stacks >> 32), freed = (uint32_t)stacks;
    if (word_state(word) == BLOCK_NEVER)
        return true; /* no information */
    if (word_size(word) != (life & BLOCK_SIZE_MASK))
        return false;
    return word_state(word) == BLOCK_LIVE    ? freed == 0
           : word_state(word) == BLOCK_FREED ? freed == 0 || freed == ~life
                                             : freed == ~life;
}

/* ---- single stepping ------------------------------------------------------------------------- */

#if defined(__SANITIZE_THREAD__)
#define STEPPABLE 0 /* its runtime does not work with the trap flag */
#elif defined(__has_feature)
#define STEPPABLE !__has_feature(thread_sanitizer)
#else
#define STEPPABLE 1
#endif

/*
 * `victim` runs with the trap flag set; after its n-th instruction `intruder` runs in the signal
 * handler, for every n.  So races that threads hit once in a million times happen here every time.
 */
#if STEPPABLE
static void (*intruder)(void), (*later)(void); /* NULL: none */
static long before_intrusion, until_later;     /* in instructions */
static bool intruded;

#define TRAP_FLAG 0x100

static void on_step(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    if (--before_intrusion > 0)
        return;
    intruder();
    intruded = true;
    if (later) {
        intruder = later;
        later = NULL;
        before_intrusion = until_later;
        return;
    }
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG; /* then at full speed */
}

#define SET_TRAP_FLAG(operation)                                  \
    __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; " operation \
                     "; popfq; lea 128(%%rsp), %%rsp" ::          \
                         : "memory", "cc")

/* Repeat prepare, interrupted victim, check.  Return the number of instructions. */
static long step_through(void (*prepare)(void), void (*victim)(void), void (*intrude)(void),
                         void (*check)(void))
{
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO}, old;
    sigaction(SIGTRAP, &action, &old);
    intruder = intrude;
    long n = 0;
    do {
        prepare();
        before_intrusion = ++n;
        intruded = false;
        SET_TRAP_FLAG("orq $0x100, (%%rsp)");
        victim();
        SET_TRAP_FLAG("andq $~0x100, (%%rsp)");
        if (intruded)
            check();
    } while (intruded);
    sigaction(SIGTRAP, &old, NULL);
    return n - 1;
}

static struct {
    struct block_record block;
    bool won[2];
    uint64_t was[2], word, stacks;
    bool accepted;
} stage;

static void be(uint32_t life, enum block_state state)
{
    uint64_t was;
    memset(&stage, 0, sizeof stage);
    block_publish(&stage.block, &(struct block_birth){.size = life, .stack = life});
    if (state != BLOCK_LIVE)
        block_retire(&stage.block, 7, ~life, &was);
    if (state == BLOCK_FREE)
        block_forget(&stage.block);
}

static void be_live(void)
{
    be(1, BLOCK_LIVE);
}
static void be_freed(void)
{
    be(1, BLOCK_FREED);
}
static void be_free(void)
{
    be(1, BLOCK_FREE);
}

static void free_first(void)
{
    stage.won[0] = block_retire(&stage.block, 1, 101, &stage.was[0]);
}
static void free_second(void)
{
    stage.won[1] = block_retire(&stage.block, 2, 102, &stage.was[1]);
}

static void one_won(void)
{
    uint32_t winner = stage.won[1], loser = !winner;
    assert_int_equal(stage.won[0] + stage.won[1], 1);
    assert_int_equal(word_state(stage.was[winner]), BLOCK_LIVE);
    assert_int_equal(word_state(stage.was[loser]), BLOCK_FREED);
    assert_int_equal(word_thread(stage.block.word), winner + 1);
    assert_true(stage.block.stacks == STACKS(1, 101 + winner));
}

static void retire_against_retire(void **state)
{
    (void)state;
    assert_true(step_through(be_live, free_first, free_second, one_won) > 10);
}

static void resize_it(void)
{
    stage.won[0] =
        block_resize(&stage.block, &(struct block_birth){.size = 2, .stack = 2}, &stage.was[0]);
}

/* The free comes before, after, or in the middle: then it is refused, and the block stays live. */
static void one_or_the_other(void)
{
    assert_true(stage.won[0] || stage.won[1]);
    assert_int_equal(word_state(stage.block.word), stage.won[1] ? BLOCK_FREED : BLOCK_LIVE);
    assert_true(stage.block.stacks >> 32 == (stage.won[0] ? 2 : 1));
}

static void resize_against_retire(void **state)
{
    (void)state;
    assert_true(step_through(be_live, resize_it, free_second, one_or_the_other) > 10);
    assert_true(step_through(be_live, free_second, resize_it, one_or_the_other) > 10);
}

static void publish_it(void)
{
    block_publish(&stage.block, &(struct block_birth){.size = 2, .stack = 2});
}

static void free_it(void)
{
    uint64_t was;
    block_retire(&stage.block, 7, ~1u, &was);
}

static void forget_it(void)
{
    block_forget(&stage.block);
}

static void live_on(void)
{
    free_it();
    forget_it();
    publish_it();
}

static void read_it(void)
{
    stage.accepted = block_read(&stage.block, &stage.word, &stage.stacks);
}

static void no_mixture(void)
{
    assert_true(!stage.accepted || is_of_one_life(stage.word, stage.stacks));
}

static void reader_against_writers(void **state)
{
    (void)state;
    static const struct {
        void (*prepare)(void);
        void (*write)(void);
    } rows[] = {{be_free, publish_it},
                {be_live, resize_it},
                {be_live, free_it},
                {be_freed, forget_it},
                {be_live, live_on}};
    for (size_t i = 0; i < countof(rows); i++) {
        assert_true(step_through(rows[i].prepare, rows[i].write, read_it, no_mixture) > 3);
        assert_true(step_through(rows[i].prepare, read_it, rows[i].write, no_mixture) > 3);
    }
}

/* Lives of one size, whose words repeat after 64; the stack of each is its number. */
static uint32_t lives;

static void next_life(void)
{
    free_it();
    forget_it();
    block_publish(&stage.block, &(struct block_birth){.size = 9, .stack = ++lives});
}

static void come_round(void)
{
    for (uint32_t i = 0; i < BLOCK_GEN_MASK; i++)
        next_life();
}

static void be_first(void)
{
    memset(&stage, 0, sizeof stage);
    intruder = next_life;
    later = come_round;
    lives = 1;
    block_publish(&stage.block, &(struct block_birth){.size = 9, .stack = lives});
}

static void stacks_of_its_generation(void)
{
    assert_true(!stage.accepted ||
                (stage.stacks >> 32 & BLOCK_GEN_MASK) == word_generation(stage.word));
}

/* One life passes between two reads, and then as many as make the word equal again. */
static void reader_of_a_word_that_comes_round(void **state)
{
    (void)state;
    for (until_later = 1; until_later < 30; until_later++)
        assert_true(step_through(be_first, read_it, next_life, stacks_of_its_generation) > 3);
}
#endif

/* ---- threads -------------------------------------------------------------------------------- */

#define RACERS 3u
#define BLOCKS 4096u
#ifdef RTC_SANITIZED
#define ROUNDS 8u /* fewer: a sanitizer is slow */
#else
#define ROUNDS 40u
#endif

static struct {
    pthread_barrier_t read_epoch;
    struct block_record block[BLOCKS];
    _Atomic uint32_t wins[BLOCKS];
    _Atomic uint32_t wrong;
} race;

/* All threads free the blocks in one order: losers are faster and catch up with the winner. */
static void free_all(uint32_t me, uint32_t round)
{
    for (uint32_t i = 0; i < BLOCKS; i++) {
        uint64_t was;
        bool won = block_retire(&race.block[i], me + 1, 100 + me, &was);
        race.wins[i] += won;
        race.wrong += word_state(was) != (won ? BLOCK_LIVE : BLOCK_FREED); /* losers see it won */
        race.wrong += word_size(was) != round + 1;
    }
}

static void *race_for_all(void *number)
{
    uint32_t me = (uint32_t)(uintptr_t)number;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const struct block_birth life = {.stack = round, .size = round + 1};
        for (uint32_t i = me; i < BLOCKS; i += RACERS)
            block_publish(&race.block[i], &life);
        pthread_barrier_wait(&race.read_epoch);
        free_all(me, round);
        pthread_barrier_wait(&race.read_epoch);
        for (uint32_t i = me; i < BLOCKS; i += RACERS) {
            uint32_t winner = word_thread(race.block[i].word) - 1;
            race.wrong += race.block[i].stacks != STACKS(round, 100 + winner);
        }
        pthread_barrier_wait(&race.read_epoch);
    }
    return NULL;
}

static void one_winner(void **state)
{
    (void)state;
    pthread_t thread[RACERS];
    pthread_barrier_init(&race.read_epoch, NULL, RACERS);
    for (uintptr_t i = 0; i < RACERS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, race_for_all, (void *)i), 0);
    for (uint32_t i = 0; i < RACERS; i++)
        pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&race.read_epoch);
    assert_int_equal(race.wrong, 0);
    for (uint32_t i = 0; i < BLOCKS; i++)
        assert_int_equal(race.wins[i], ROUNDS);
}

#ifdef RTC_SANITIZED
#define PICTURES 60000u
#else
#define PICTURES 300000u
#endif
#define CHANGES 200u /* between two snapshots: otherwise the writer was hardly running */

static struct block_record churned;
static _Atomic bool enough;

static void *churn(void *unused)
{
    (void)unused;
    for (uint32_t life = 1; !atomic_load_explicit(&enough, memory_order_relaxed); life++) {
        uint64_t was;
        struct block_birth b = {.size = life, .stack = life};
        block_publish(&churned, &b);
        b.size = b.stack = ++life;
        block_resize(&churned, &b, &was);
        block_retire(&churned, 1, ~life, &was);
        block_forget(&churned);
    }
    return NULL;
}

static void pictures_of_one_life(void **state)
{
    (void)state;
    pthread_t thread;
    uint32_t seen = 0, changes = 0, torn = 0;
    uint64_t word, stacks, last = 0;
    assert_int_equal(pthread_create(&thread, NULL, churn, NULL), 0);
    while (seen < PICTURES || changes < CHANGES) {
        if (!block_read(&churned, &word, &stacks) || !word)
            continue;
        torn += !is_of_one_life(word, stacks);
        changes += word != last;
        last = word;
        seen++;
    }
    atomic_store(&enough, true);
    pthread_join(thread, NULL);
    assert_int_equal(torn, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#if STEPPABLE
        cmocka_unit_test(retire_against_retire),
        cmocka_unit_test(resize_against_retire),
        cmocka_unit_test(reader_against_writers),
        cmocka_unit_test(reader_of_a_word_that_comes_round),
#endif
        cmocka_unit_test(one_winner),
        cmocka_unit_test(pictures_of_one_life),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
