/*
 * child.c - decides whether a program about to be executed gets our environment entries.
 *
 * Its file is examined by the rules that the launcher uses for the first program
 * (shadow/program.h).  Our entries would harm some programs that cannot be checked.  The loader of
 * another libc fails.  32-bit glibc prints an error, and so does a loader that cannot open our
 * library (after chroot, in a container).  These programs get an environment without our entries.
 * Static programs ignore LD_PRELOAD, and their children may be checked again, so they keep the
 * entries.
 *
 * Programs that --trace-children-skip excludes get no entries either, so that what they start is not
 * checked.
 *
 * The location of the program is not always known: file actions of posix_spawn may change its
 * working directory.  A program that is not found here is treated as checkable.
 */
#include "child.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "program.h"

#define PATH_ROOM 1024u
#define DEFAULT_PATH "/bin:/usr/bin" /* libc's default */

static bool hidden_in_sandbox; /* the library was not readable when the sandbox was entered */

/* ---- the program's file --------------------------------------------------------------------- */

static long read_program(const struct program_file *file, void *to, size_t bytes, uint64_t at)
{
    return os_read_at(file->fd, to, bytes, at);
}

/*
 * Open the file of a descriptor that may not be readable itself (O_PATH).  Its path is stored in
 * `name`.
 */
static int open_descriptor(int fd, char name[PATH_ROOM])
{
    char path[32];
    struct text t = text_begin(path, sizeof path);
    text_put(&t, "/proc/self/fd/");
    text_decimal(&t, (uint64_t)fd);
    text_end(&t);
    long n = os_read_link(path, name, PATH_ROOM - 1);
    name[n > 0 ? n : 0] = '\0';
    return os_open(path, O_RDONLY | O_NONBLOCK, 0);
}

/* By its descriptor, or < 0 by its path: a program may be executable and not readable. */
static bool is_runnable(int fd, const char *path)
{
    struct stat st;
    return (fd < 0 ? os_stat(path, &st) : os_stat_fd(fd, &st)) == 0 && S_ISREG(st.st_mode) &&
           st.st_mode & 0111;
}

static bool is_missing(int fd)
{
    return fd == -ENOENT || fd == -ENOTDIR;
}

/*
 * Open a candidate of the PATH search, "dir/file": as os_open, -ENOENT if it is no program.  Its
 * path is stored in `path`.
 */
static int open_candidate(const char *folder, size_t n, const char *file, char path[PATH_ROOM])
{
    struct text t = text_begin(path, PATH_ROOM);
    text_put_n(&t, folder, n);
    text_put(&t, n ? "/" : "");
    text_put(&t, file);
    if (text_end(&t) == path + PATH_ROOM - 1)
        return -ENOENT; /* cut off */
    int fd = os_open(path, O_RDONLY | O_NONBLOCK, 0);
    if (is_runnable(fd, path))
        return fd;
    if (fd >= 0)
        os_close(fd);
    return -ENOENT;
}

static int open_in_path(const char *file, char path[PATH_ROOM])
{
    const char *at = DEFAULT_PATH;
    for (char **e = environ; e && *e; e++)
        if (text_starts(*e, "PATH=")) {
            at = *e + sizeof "PATH=" - 1;
            break;
        }
    for (;; at++) {
        size_t n = 0;
        while (at[n] && at[n] != ':')
            n++;
        int fd = open_candidate(at, n, file, path);
        if (!is_missing(fd) || !at[n])
            return fd;
        at += n;
    }
}

/* ---- why the program cannot be checked ------------------------------------------------------ */

static bool gains_privileges(int fd)
{
    struct stat st;
    if (os_stat_fd(fd, &st))
        return false;
    return (st.st_mode & S_ISUID && st.st_uid != os_uid()) ||
           (st.st_mode & S_ISGID && st.st_mode & S_IXGRP && st.st_gid != os_gid());
}

static bool is_hidden(const struct child *c)
{
    char path[PATH_ROOM];
    const char *word = rt.by_launcher ? rt.preload : c->env.runtime_word;
    size_t n = rt.by_launcher ? text_length(rt.preload) : c->env.runtime_bytes;
    struct text t = text_begin(path, sizeof path);
    text_put_n(&t, word, n);
    bool whole = text_end(&t) < path + sizeof path - 1, is_path = false;
    for (size_t i = 0; i < n; i++)
        is_path = is_path || word[i] == '/'; /* else the loader searches for it */
    return whole && is_path && !os_can_read(path);
}

/*
 * Find the reason why a file cannot be checked; closes the descriptor.  *flags: the reason applies
 * to a script's interpreter.
 */
static enum unchecked_reason examine(const struct child *c, int fd, uint32_t *flags)
{
    struct program program;
    for (uint32_t depth = 0; fd >= 0 && depth <= PROGRAM_SCRIPT_DEPTH; depth++) {
        program_examine(&(struct program_file){read_program, fd}, &program);
        bool privileged = program.is_elf && gains_privileges(fd);
        os_close(fd);
        *flags = depth ? UNCHECKED_INTERPRETER : 0;
        if (program.why)
            return program.why;
        if (privileged)
            return UNCHECKED_PRIVILEGES;
        if (!program.is_script)
            break;
        fd = os_open(program.detail, O_RDONLY | O_NONBLOCK, 0);
    }
    *flags = 0;
    return is_hidden(c) ? UNCHECKED_NO_LIBRARY : UNCHECKED_NONE;
}

/* Does all of `text` match the pattern, of n bytes with * and ?? */
static bool matches(const char *pattern, size_t n, const char *text)
{
    size_t at = 0, star = n, back = 0, i = 0;
    while (text[i]) {
        if (at < n && pattern[at] == '*') {
            star = at++;
            back = i;
        } else if (at < n && (pattern[at] == '?' || pattern[at] == text[i])) {
            at++;
            i++;
        } else if (star < n) { /* the last star takes one byte more */
            at = star + 1;
            i = ++back;
        } else {
            return false;
        }
    }
    while (at < n && pattern[at] == '*')
        at++;
    return at == n;
}

/* --trace-children-skip */
static bool is_skipped(const char *path)
{
    for (const char *pattern = rt.options.skip; *pattern;) {
        size_t n = 0;
        while (pattern[n] && pattern[n] != ',')
            n++;
        if (n > 0 && matches(pattern, n, path))
            return true;
        pattern += n + (pattern[n] == ',');
    }
    return false;
}

/* Examine and close the descriptor; < 0: the file could not be opened, as by os_open. */
static void look_at(struct child *c, int fd, const char *path)
{
    uint32_t flags = 0;
    c->is_found = fd >= 0;
    if (is_missing(fd))
        return;
    if (c->is_found)
        c->why = examine(c, fd, &flags);
    if (is_skipped(path)) {
        c->why = UNCHECKED_SKIPPED;
        flags = 0;
    }
    if (!c->why)
        return;
    c->is_counted = true;
    c->record = unchecked_note(path, c->why, flags);
}

/* ---- interface ------------------------------------------------------------------------------ */

/* false: the child is not to be checked, or no file can be examined. */
static bool begin(struct child *c, char *const *envp)
{
    bool started = init_start(); /* may remove our entries from envp */
    memset(c, 0, sizeof *c);
    environment_read(&c->env, envp);
    if (!started || !c->env.readable ||
        !(rt.by_launcher ? rt.options.trace_children : c->env.runtime_word != NULL))
        return false;
    if (os_sandboxed() && hidden_in_sandbox)
        c->why = UNCHECKED_NO_LIBRARY;
    return !os_sandboxed();
}

/* false: not readable, or longer than `out`. */
static bool copy_path(char out[PATH_ROOM], const char *path)
{
    size_t got = os_copy(out, path, PATH_ROOM);
    for (size_t i = 0; i < got; i++)
        if (!out[i])
            return true;
    return false;
}

void child_by_path(struct child *c, int folder, const char *path, char *const *envp)
{
    char name[PATH_ROOM];
    if (!begin(c, envp) || !copy_path(name, path))
        return;
    int fd =
        *name ? os_open_at(folder, name, O_RDONLY | O_NONBLOCK) : open_descriptor(folder, name);
    look_at(c, fd, name);
}

void child_by_name(struct child *c, const char *file, char *const *envp)
{
    char name[PATH_ROOM], path[PATH_ROOM];
    bool is_path = false;
    if (!begin(c, envp) || !copy_path(name, file) || !*name)
        return;
    for (const char *s = name; *s; s++)
        is_path = is_path || *s == '/';
    if (is_path)
        look_at(c, os_open(name, O_RDONLY | O_NONBLOCK, 0), name);
    else
        look_at(c, open_in_path(name, path), path);
}

/* Must it have no entries of ours: would they harm the program, or is it not to be checked? */
static bool is_harmed(const struct child *c)
{
    return c->why == UNCHECKED_SKIPPED || c->why == UNCHECKED_MACHINE ||
           c->why == UNCHECKED_LOADER || c->why == UNCHECKED_SANITIZER ||
           c->why == UNCHECKED_NO_LIBRARY;
}

/*
 * A vfork child that calls exec successfully leaks the mapping in its parent.  That requires an
 * environment of a thousand entries or more, which is rare.
 */
void *child_room(struct child *c, void *stack)
{
    size_t bytes = environment_room(&c->env);
    if (bytes <= CHILD_STACK_BYTES || !c->env.readable)
        return stack;
    void *room = os_map(align_up(bytes, PAGE_BYTES));
    if (os_failed(room))
        return NULL;
    c->room = room;
    c->room_bytes = align_up(bytes, PAGE_BYTES);
    return room;
}

char *const *child_environment(struct child *c, void *room)
{
    bool add = rt.by_launcher && rt.options.trace_children && !c->env.runtime_word && !is_harmed(c);
    bool remove = c->env.runtime_word && is_harmed(c);
    if (!c->env.readable || !(add || remove))
        return c->env.given;
    if (!room) {
        c->is_counted = true;
        c->record = unchecked_note("", UNCHECKED_NO_MEMORY, 0);
        return c->env.given;
    }
    return add ? environment_with_runtime(&c->env, room)
               : environment_without_runtime(&c->env, room);
}

void child_end(struct child *c, bool failed)
{
    if (c->room)
        os_unmap(c->room, c->room_bytes);
    if (failed && c->is_counted)
        unchecked_withdraw(c->record);
}

void child_before_sandbox(void)
{
    struct child c = {.why = UNCHECKED_NONE};
    if (os_sandboxed() || !init_is_started())
        return;
    environment_read(&c.env, environ);
    if (rt.by_launcher || c.env.runtime_word)
        hidden_in_sandbox = is_hidden(&c);
}
