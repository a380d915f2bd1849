/*
 * child.h - a program about to be executed: can the runtime check it, and which environment does it
 * get?
 *
 * All functions are async-signal-safe, work in vfork children, and change nothing but counters in
 * the run file.  In a sandbox no file can be examined; only the state before it was entered is
 * used.
 */
#ifndef CHILD_H
#define CHILD_H

#include <alloca.h>
#include <fcntl.h>

#include "init.h"

struct child {
    struct environment env;
    enum unchecked_reason why; /* UNCHECKED_NONE: it will be checked, or unknown */
    bool is_found;             /* its file could be opened */
    bool is_counted;
    struct unchecked_record *record;
    void *room; /* mapped memory for its environment, if it is too large for the stack */
    size_t room_bytes;
};

/* Named as for execveat: a path, or (path "") a descriptor. */
void child_by_path(struct child *c, int folder, const char *path, char *const *envp);
/* Searched in PATH, as by execvp. */
void child_by_name(struct child *c, const char *file, char *const *envp);

#define CHILD_STACK_BYTES 16384u /* maximum on the stack */

ALWAYS_INLINE size_t child_stack_bytes(const struct child *c)
{
    size_t bytes = environment_room(&c->env);
    return bytes <= CHILD_STACK_BYTES ? bytes : 1;
}

/*
 * Memory for the new environment: `stack` (child_stack_bytes of it), or mapped.  NULL: no memory.
 */
void *child_room(struct child *c, void *stack);
/*
 * The environment for the program: the given one, or a changed copy built in `room`, which has
 * environment_room(&c->env) bytes.
 */
char *const *child_environment(struct child *c, void *room);
/* Call after the call has returned: a spawn, or (failed) an exec or a spawn. */
void child_end(struct child *c, bool failed);
/* Call before a sandbox is entered. */
void child_before_sandbox(void);

#endif
