/*
 * shell.c - system, popen and wordexp, for which libc starts a shell.
 *
 * libc does so through hidden symbols, with the environment in `environ`.  So our entries are added
 * to `environ` for the duration of the call ("lent").  Other threads may read the environment
 * meanwhile, without a lock and beyond the end of the call.  So the lent environment lies in memory
 * that is not freed, and reused only many calls later.
 */
#include "intercept.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "child.h"

#define ROOMS 16u

static struct {
    struct lock lock;
    uint32_t borrowers;
    char **before, **own; /* while `borrowers` is not 0 */
    uint32_t next;
    struct {
        void *at;
        size_t bytes;
    } room[ROOMS];
} shell = {.lock = LOCK_INIT(RANK_ENVIRONMENT)};

/* NULL: no memory. */
static void *next_room(size_t bytes)
{
    uint32_t i = shell.next++ % ROOMS;
    if (shell.room[i].bytes < bytes) {
        void *at = os_map(align_up(bytes, PAGE_BYTES));
        if (os_failed(at))
            return NULL;
        if (shell.room[i].at)
            os_unmap(shell.room[i].at, shell.room[i].bytes);
        shell.room[i].at = at;
        shell.room[i].bytes = align_up(bytes, PAGE_BYTES);
    }
    return shell.room[i].at;
}

/* false: take_back has nothing to do. */
static bool lend(void)
{
    struct section s;
    struct child shells;
    child_by_path(&shells, AT_FDCWD, "/bin/sh", environ);
    if (!shells.env.readable || !section_begin(&s))
        return false;
    lock_take(&shell.lock);
    if (shell.borrowers++ == 0) {
        shell.before = environ;
        shell.own = (char **)(uintptr_t)child_environment(&shells,
                                                          next_room(environment_room(&shells.env)));
        environ = shell.own;
    }
    lock_drop(&shell.lock);
    section_end(&s);
    return true;
}

/*
 * If another thread has changed the environment meanwhile, its change is kept, and only our entries
 * are removed.
 */
static void give_back(void)
{
    if (environ == shell.own)
        environ = shell.before;
    else if (shell.own != shell.before)
        environment_take(environ);
}

/* Also runs if the calling thread is cancelled. */
static void take_back(void *lent)
{
    struct section s;
    if (!*(bool *)lent || !section_begin(&s))
        return;
    lock_take(&shell.lock);
    if (--shell.borrowers == 0)
        give_back();
    lock_drop(&shell.lock);
    section_end(&s);
}

void shell_after_fork(void)
{
    lock_reset(&shell.lock);
    if (shell.borrowers) /* other threads, which do not exist in the child */
        give_back();
    shell.borrowers = 0;
}

#define WITH_ENVIRONMENT(result, call)          \
    do {                                        \
        bool lent = lend();                     \
        pthread_cleanup_push(take_back, &lent); \
        (result) = (call);                      \
        pthread_cleanup_pop(1);                 \
    } while (0)

EXPORT int system(const char *command)
{
    int status;
    WITH_ENVIRONMENT(status, NEXT(system)(command));
    return status;
}

int fileno_unlocked(void *stream);

/* For popen, which src/boundary exports (system_calls.def). */
HIDDEN void *intercepted_popen(const char *command, const char *mode);
void *intercepted_popen(const char *command, const char *mode)
{
    void *file;
    WITH_ENVIRONMENT(file, NEXT(popen)(command, mode));
    if (file)
        descriptor_opened(fileno_unlocked(file), ENTRY_POPEN, CALLER);
    return file;
}

EXPORT int wordexp(const char *words, void *out, int flags);
EXPORT int wordexp(const char *words, void *out, int flags)
{
    int err;
    WITH_ENVIRONMENT(err, NEXT(wordexp)(words, out, flags));
    return err;
}
