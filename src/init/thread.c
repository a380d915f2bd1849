/*
 * thread.c - registration and end of a thread.
 *
 * A thread is registered by its first operation. The destructor of a thread-specific key detects
 * its end. Our constructor makes the key early: then its number is small, and setting it needs no
 * memory. After that libc still frees memory of the thread: see the fallback thread in threads.c.
 */
#include "init.h"

#include <pthread.h>

static pthread_key_t key;
static bool key_ready;
static void (*ending)(void); /* NULL: no hook is set */

void thread_on_exit(void (*hook)(void))
{
    ending = hook;
}

/* Other keys' destructors may still free: wait for one of the last rounds. */
static void thread_end(void *rounds)
{
    uintptr_t round = (uintptr_t)rounds;
    /* It may have ended in a callback, and the callback's frames are gone. */
    nonlocal_exit(JUMP_ENDS);
    if (round < PTHREAD_DESTRUCTOR_ITERATIONS - 1) {
        pthread_setspecific(key, (void *)(round + 1));
        return;
    }
    struct section s;
    notify_program(&(struct notification){.event = NOTIFY_THREAD_EXIT});
    if (ending)
        ending();
    if (!self || !section_begin(&s))
        return;
    struct thread *t = s.t;
    signal_stack_end(t);
    quarantine_drain(t, s.write_epoch);
    slab_drain(t);
    section_end(&s);
    self_state |= SELF_GONE;
    self = NULL;
    vmmalloc_log(VMMALLOC_CALLS, "thread ends:", os_tid(), "");
    /* A handler that allocates would wait for the lock that its own thread holds. */
    struct os_signals signals;
    os_block_signals(&signals);
    threads_remove(t);
    os_restore_signals(&signals);
}

/* The main thread exists already, and ends with the process: its key is not set. */
void thread_keys_ready(void)
{
    key_ready = pthread_key_create(&key, thread_end) == 0;
}

struct thread *thread_register(void)
{
    struct os_signals signals;
    os_block_signals(&signals);
    struct thread *t = threads_register();
    os_restore_signals(&signals);
    if (t)
        signal_stack_begin(t);
    if (t)
        vmmalloc_log(VMMALLOC_CALLS, "thread begins:", os_tid(), "");
    if (t && key_ready)
        pthread_setspecific(key, (void *)1); /* if that fails, its struct is not reused */
    return t;
}
