/*
 * child.h - a program that is about to be executed: can the runtime be in it, and with what environment is it started?
 *
 * All of it is signal-safe, works in vfork children, and changes nothing but counters in the run file.  In a sandbox
 * no file can be looked at: then only what was known before it was entered counts.
 */
#ifndef CHILD_H
#define CHILD_H

#include <alloca.h>
#include <fcntl.h>

#include "core.h"

struct child {
    struct environment env;
    enum unchecked_reason why; /* NONE: it will be checked, or that is not known */
    bool is_found;             /* its file was opened */
    bool is_counted;
    struct unchecked_record *record;
    void *room; /* of its environment, where that is not on the stack */
    size_t room_bytes;
};

/* As execveat names it: a path, or (path "") a descriptor. */
void child_by_path(struct child *c, int folder, const char *path, char *const *envp);
/* As execvp finds it. */
void child_by_name(struct child *c, const char *file, char *const *envp);

#define CHILD_STACK_BYTES 16384u /* more than that is not put on the stack */

ALWAYS_INLINE size_t child_stack_bytes(const struct child *c)
{
    size_t bytes = environment_room(&c->env);
    return bytes <= CHILD_STACK_BYTES ? bytes : 1;
}

/* Room for its environment: `stack`, child_stack_bytes of it, or mapped.  NULL: there is none. */
void *child_room(struct child *c, void *stack);
/* What it is to be started with; built in `room`, environment_room(&c->env) bytes, if it is not what was given. */
char *const *child_environment(struct child *c, void *room);
/* The call has returned: a spawn, or (failed) an exec or a spawn. */
void child_end(struct child *c, bool failed);
/* A sandbox is about to be entered. */
void child_before_sandbox(void);

#endif
