/*
 * thread.c - the beginning and the end of a thread, as its allocator sees them.
 *
 * A thread is registered by its first operation.  Its end is announced by a thread-specific key;
 * the key is made in our constructor, early, so that its number is small and setting it needs no
 * memory.  libc goes on freeing for the thread after that: see threads.c, limbo.
 */
#include "core.h"

#include <pthread.h>

static pthread_key_t key;
static bool key_ready;
static void (*ending)(void); /* NULL: nobody wants to know */

void thread_on_exit(void (*hook)(void))
{
    ending = hook;
}

/* Other keys' destructors may still free: come again in the last rounds only. */
static void thread_end(void *rounds)
{
    uintptr_t round = (uintptr_t)rounds;
    nonlocal_exit(
        JUMP_ENDS); /* it may have been ended in a callback, and the frames of that are gone */
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
    quarantine_drain(t, s.write_epoch);
    slab_drain(t);
    section_end(&s);
    self_state |= SELF_GONE;
    self = NULL;
    threads_remove(t);
}

/* The main thread, which is there already, ends with the process. */
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
    if (t && key_ready)
        pthread_setspecific(key, (void *)1); /* without it: its struct is not used again */
    return t;
}
