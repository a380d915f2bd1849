/*
 * core.h - the door of core: start-up, the environment, the loader, signals, and how the image ends.
 *
 * What stands here knows of no single block; the rest of the door has its own headers:
 *
 *   section.h  critical sections                  costs.h   what of the run's costs is ours
 *   track.h    every allocation and its stack     notify.h   what the program is told of as it happens
 *   errors.h   what the program did wrong         srcu.h   tables of whom to tell
 *   annotations.h    what it says about leaks           next.h    the functions behind ours
 *   mapped.h   what is mapped                     nonlocal_exit.h    what a longjmp leaves
 */
#ifndef CORE_H
#define CORE_H

#include "costs.h"
#include "errors.h"
#include "notify.h"
#include "annotations.h"
#include "nonlocal_exit.h"
#include "mapped.h"
#include "next.h"
#include "pool.h"
#include "section.h"
#include "track.h"
#include "srcu.h"
#include "unwinder.h"

/* ---- options.c ------------------------------------------------------------------------------- */

enum on_error { ON_ERROR_CONTINUE, ON_ERROR_STOP, ON_ERROR_ABORT, ON_ERROR_DEBUGGER };

#define ERROR_LIMIT_MAX 10000u

struct options {
    enum on_error on_error;
    int error_exitcode;   /* -1: none is asked for */
    uint32_t error_limit; /* places with errors that are kept of each image */
    bool trace_children;
    bool leaks, leak_check, mel_at_exit; /* all of them: leaks are to be looked for at the end */
    bool strict_interior;
    bool witness;
    bool keep;
    bool heap_in_file;
    bool all_events; /* of every system call */
    uint64_t heap_bytes;
    uint32_t cost_every; /* one in so many operations is timed; 0: none */
    uint32_t frames;     /* of a stack, at most RTC_STACK_FRAMES; 0: none are taken */
    char pool_dir[256];
};

/*
 * Reads key=value:key=value (or separated by blanks); unknown keys and bad values are left to the
 * launcher or the reporter to complain of.  Also sets pool_knobs.
 */
void options_read(struct options *o, const char *text);

/* ---- start.c --------------------------------------------------------------------------------- */

/* Sealed after start-up. */
struct runtime {
    struct options options;
    bool by_launcher;
    bool no_check_at_end; /* the program has asked for that */
    /* what exec must find in the environment, "" = nothing */
    char preload[1024];  /* our library's path */
    char run_file[1024]; /* RTCHECK_RUN_FILE=... for the next image */
};

extern HIDDEN struct runtime rt;

/* In mid-run; at the end, too, unless the program has said that it is not to be. */
ALWAYS_INLINE bool wants_leaks(void)
{
    return rt.options.leaks && rt.options.leak_check && rt.options.mel_at_exit;
}

ALWAYS_INLINE bool wants_leaks_at_end(void)
{
    return wants_leaks() && !rt.no_check_at_end;
}

/*
 * First use, by whichever call comes first.  false: not yet possible (no environment), the caller
 * makes do with bootstrap memory.
 */
bool core_start(void);
/* From our constructor: libc works, threads do not exist yet. */
void core_constructed(char **envp);
bool core_is_started(void);

/* ---- environment.c --------------------------------------------------------------------------- */

/* Remembers our entries and, when a launcher made them, hides them from the program. */
void environment_take(char **envp);

/* An environment that the program gives its next image, as far as it concerns us. */
struct environment {
    char *const *given; /* NULL: it has no entries */
    size_t count;
    const char *preload; /* the value of LD_PRELOAD, NULL: none */
    size_t preload_bytes;
    const char *runtime_word; /* the word of it that is our library; NULL: there is none */
    size_t runtime_bytes;
    bool readable; /* false: exec fails with what was given, and is to fail with it */
};

/* These four: signal-safe, without memory or locks, also in vfork children. */
void environment_read(struct environment *e, char *const *envp);
/* The room that the following two need, in bytes; for what is readable. */
size_t environment_room(const struct environment *e);
/* It with our entries, built in `room`. */
char *const *environment_with_runtime(const struct environment *e, void *room);
/* It without them, where it has them (e->us): other libraries in LD_PRELOAD stay. */
char *const *environment_without_runtime(const struct environment *e, void *room);

/* ---- thread.c -------------------------------------------------------------------------------- */

void thread_keys_ready(void); /* from the constructor */
struct thread *thread_register(void);
/* Each registered thread calls it near its end, in no section; once, from the constructor. */
void thread_on_exit(void (*hook)(void));

/* ---- loader.c -------------------------------------------------------------------------------- */

struct loader_range {
    uintptr_t start;
    uint64_t bytes;
};

extern HIDDEN struct loader_range loader_range; /* the loader's own code; sealed after start-up */

void loader_start(void);       /* at first use */
void loader_constructed(void); /* libc works */
/* The program's dynamic section (ElfW(Dyn)), and its bias; NULL: it has none. */
const void *loader_dynamic(uintptr_t *bias);
/* The object around an address.  Signal-safe. */
bool loader_find(uintptr_t pc, struct object *out);

/* An object's symbol, by its dynamic table; 0: it has none of this name.  Only of one that stays loaded. */
uintptr_t loader_symbol(const struct object *o, const char *name);

ALWAYS_INLINE bool loader_called(const struct entry *at)
{
    return at->pc - loader_range.start < loader_range.bytes;
}

/* Its calls: objects come and go.  Inside a section, before the stack of the call is taken. */
void loader_allocates(void);
void loader_frees(const void *p);

/* ---- fatal.c: signals whose default is the end ----------------------------------------------- */

struct fatal_hooks {
    void (*killed)(const void *context); /* one has come; the ucontext of what it interrupted */
    void (*cut)(void);                   /* by our own doing: the run file is shorter than it was */
};
void fatal_start(const struct fatal_hooks *given); /* from the constructor */
void fatal_withdraw(void);                         /* a sandbox is about to be entered */
/* Signal-safe, all three: does ours stand in for this signal's default, is this ours, and: from now on. */
bool fatal_covers(int signal);
bool fatal_is_ours(const void *handler);
void fatal_install(int signal);
/* Behind the section in which one came. */
void fatal_deliver_postponed(void);
/* The default that ours stands in for, with the flags and the mask that the program gave it. */
const struct os_action *fatal_program_action(int signal);

/* ---- leave (finish.c), handed down by the composition root ----------------------------------- */

/* A call that is to replace the program. */
struct exec_call {
    const void *given[3]; /* file, arguments and environment; NULL: not by address */
    const char *const
        *list; /* of arguments that came one by one: where we have put them; else NULL */
    size_t list_count;
};

struct core_hooks {
    int (*finish)(enum image_end how, int status); /* returns the status to end with */
    /* An exec is about to be tried; true: it has to be said if it failed. */
    bool (*prepare_exec)(const struct exec_call *call);
    void (*exec_failed)(void);
};

/* Defined by the composition root: there before any constructor runs. */
extern HIDDEN const struct core_hooks core_hooks;

#endif
