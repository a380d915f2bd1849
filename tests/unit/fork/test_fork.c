/*
 * test_fork.c - the snapshots that a forked child may trust.
 *
 * Another thread enters a critical section at each instruction of fork_prepare and fork_parent, as
 * a thread does that has waited the maximum time for the fork, and stays inside until the fork is
 * over.  The child sees the records as of the end of fork_prepare.  The lease must be torn if one
 * of them changes afterwards and that thread is inside at this moment.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "../run_here.h"
#include "../step.h"

#include <cmocka.h>

#define CLASS 4u
#ifdef RTC_SANITIZED
#define STRIDE 101u /* that build has several times as many instructions */
#else
#define STRIDE 13u /* distance of the tested instructions; the first one varies */
#endif

enum order { REST, ENTER, LEAVE, ENDED };

static struct {
    _Atomic enum order order; /* for the other thread; REST when it is done */
    bool inside;
    uint32_t write_epoch; /* its section's */
    struct found block;
    uint32_t size; /* size that it writes next */
    uint64_t step, at;
} play;

static struct found make_block(void)
{
    void *p = slab_take_hot(self, CLASS);
    MUST(p);
    struct found f = pool_find(p);
    block_publish(pool_record(&f, epoch_page->epoch),
                  &(struct block_birth){.mark = MARK_FIRST, .size = 5});
    return f;
}

/* ---- the other thread ------------------------------------------------------------------------ */

static void write_record(void)
{
    uint64_t was;
    struct block_birth birth = {.mark = MARK_FIRST, .size = 1 + ++play.size % 60};
    MUST(block_resize(pool_record(&play.block, play.write_epoch), &birth, &was));
}

/* Like section_begin_slow, but without waiting. */
static void enter(void)
{
    atomic_store(&self->crit, (uintptr_t)&play);
    atomic_thread_fence(memory_order_seq_cst);
    play.write_epoch = atomic_load(&epoch_page->epoch);
    play.inside = play.write_epoch != 0 || fork_enter_anyway();
    if (!play.inside) {
        atomic_store(&self->crit, 0);
        return;
    }
    play.write_epoch = play.write_epoch ? play.write_epoch : fork_epoch();
    write_record();
}

static void leave(void)
{
    if (play.inside)
        write_record();
    play.inside = false;
    atomic_store(&self->crit, 0);
}

static void *other_thread(void *unused)
{
    MUST(threads_register() == self && self);
    for (enum order now = REST; now != ENDED; now = atomic_load(&play.order)) {
        if (now == ENTER)
            enter();
        else if (now == LEAVE)
            leave();
        if (now != REST)
            atomic_store(&play.order, REST);
        sched_yield();
    }
    return unused;
}

static void other_does(enum order order)
{
    atomic_store(&play.order, order);
    while (order != ENDED && atomic_load(&play.order) != REST)
        sched_yield();
}

static pthread_t begin(void)
{
    pthread_t id;
    run_here();
    play.block = make_block();
    MUST(pthread_create(&id, NULL, other_thread, NULL) == 0);
    while (threads_alive() < 2)
        sched_yield();
    return id;
}

/* ---- at each instruction --------------------------------------------------------------------- */

static void at_a_step(int signal)
{
    (void)signal;
    if (play.step++ == play.at)
        other_does(ENTER);
}

static struct lease *lease_of_the_fork(void)
{
    for (uint32_t i = 0; i < run_header()->lease_count; i++)
        if (atomic_load(&run_leases()[i].state) == LEASE_FORKING)
            return &run_leases()[i];
    return NULL;
}

/* One fork, without the system call; return the number of its instructions. */
static uint64_t fork_with_entry_at(uint64_t at)
{
    play.step = 0;
    play.at = at;
    steps_begin();
    fork_prepare();
    steps_end();
    struct lease *l = lease_of_the_fork();
    MUST(l);
    bool inside = play.inside;
    const struct block_record *seen = pool_look(&play.block, 0);
    uint64_t word = atomic_load(&((struct block_record *)(uintptr_t)seen)->word), now, stacks;
    steps_begin();
    fork_parent();
    steps_end();
    other_does(LEAVE);
    MUST(block_read(seen, &now, &stacks));
    if (inside || now != word)
        MUST(atomic_load(&l->torn) == TORN_YES);
    fork_pid(-1);
    return play.step;
}

static void at_each_step(void)
{
    pthread_t id = begin();
    os_enter_sandbox(); /* a sandbox blocks no signal, including SIGTRAP */
    fence_entries = true;
    signal(SIGTRAP, at_a_step);
    uint64_t steps = fork_with_entry_at(UINT64_MAX);
    MUST(steps > 500);
    for (uint64_t at = steps % STRIDE; at < steps; at += STRIDE)
        fork_with_entry_at(at);
    other_does(ENDED);
    pthread_join(id, NULL);
}
IN_CHILD(at_each_step)

/* ---- descendants ----------------------------------------------------------------------------- */

static enum block_state state_here(struct found f)
{
    uint64_t word, stacks;
    MUST(block_read(pool_record(&f, epoch_page->epoch), &word, &stacks));
    return word_state(word);
}

static bool is_unsure_here(void)
{
    return atomic_load(&image()->flags) & IMAGE_INHERITED_UNSURE;
}

/* The parent's fork lock is free in the child, hence not in the thread's list of locks. */
static void child_holds_nothing(void)
{
    pid_t child;
    begin();
    MUST(self->locks == 0);
    if (fork_here(&child)) {
        MUST(self->locks == 0);
        _exit(0);
    }
    MUST(self->locks == 0);
    child_succeeds(child);
}
IN_CHILD(child_holds_nothing)

/* By a quiescent fork a grandchild gets the state that the child got by its own fork. */
static void grandchild_has(enum block_state wanted)
{
    pid_t child, grandchild;
    if (fork_here(&child)) {
        struct found own = make_block();
        if (fork_here(&grandchild)) {
            MUST(state_here(play.block) == wanted && state_here(own) == BLOCK_LIVE);
            MUST(is_unsure_here() == (wanted == BLOCK_INHERITED));
            _exit(0);
        }
        child_succeeds(grandchild);
        _exit(0);
    }
    child_succeeds(child);
}

static void of_a_quiescent_parent(void)
{
    begin();
    grandchild_has(BLOCK_LIVE);
}
IN_CHILD(of_a_quiescent_parent)

static void of_a_parent_with_a_writer(void)
{
    begin();
    other_does(ENTER);
    grandchild_has(BLOCK_INHERITED);
}
IN_CHILD(of_a_parent_with_a_writer)

static void wait_for(int end)
{
    char byte;
    MUST(read(end, &byte, 1) == 1);
}

/* The writer runs after child and grandchild have become images, and before they read. */
static void of_a_parent_torn_late(void)
{
    int begun[2], torn[2];
    pid_t child, grandchild;
    begin();
    MUST(pipe(begun) == 0 && pipe(torn) == 0);
    fork_prepare();
    child = fork();
    close(child ? begun[1] : begun[0]); /* so that a reader gets end-of-file if the writer fails */
    close(child ? torn[0] : torn[1]);
    if (child == 0) {
        fork_child();
        fork_begin_child();
        bool last = fork_here(&grandchild);
        MUST(!is_unsure_here() && write(begun[1], "b", 1) == 1);
        wait_for(torn[0]);
        MUST(state_here(play.block) == BLOCK_INHERITED && is_unsure_here());
        if (!last)
            child_succeeds(grandchild);
        _exit(0);
    }
    wait_for(begun[0]);
    wait_for(begun[0]);
    other_does(ENTER);
    MUST(play.inside && write(torn[1], "tt", 2) == 2);
    fork_parent();
    fork_pid(child);
    child_succeeds(child);
}
IN_CHILD(of_a_parent_torn_late)

/* A fork that the runtime does not see, during one that it sees: its child has no lease. */
static void amid_another_fork(void)
{
    pid_t child;
    begin();
    fork_prepare();
    if (fork_unseen(&child)) {
        MUST(state_here(play.block) == BLOCK_INHERITED && is_unsure_here());
        _exit(0);
    }
    child_succeeds(child);
    MUST(atomic_load(&lease_of_the_fork()->child) == 0);
    fork_parent();
}
IN_CHILD(amid_another_fork)

/* ThreadSanitizer delays signals, and ends forked children of a process with threads. */
int main(void)
{
#ifdef __SANITIZE_THREAD__
    return 0;
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_at_each_step),
        cmocka_unit_test(test_child_holds_nothing),
        cmocka_unit_test(test_of_a_quiescent_parent),
        cmocka_unit_test(test_of_a_parent_with_a_writer),
        cmocka_unit_test(test_of_a_parent_torn_late),
        cmocka_unit_test(test_amid_another_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
