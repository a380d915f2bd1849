/*
 * init.h - the interface of init: options, start-up, environment, threads, the loader, fatal
 * signals, hooks into the end of an image.
 *
 * The first call of any kind starts the runtime, without a call into libc (init_start); what needs
 * libc waits for our constructor (init_constructed).  One thread starts; until it has ended, calls
 * get bootstrap memory.  Nothing in this file concerns single blocks.
 *
 * It includes the interfaces of the other rooms of this floor:
 *
 *   section.h      critical sections            costs.h          rtcheck's own cost
 *   track.h        allocations, stacks          notify.h         notifications to the program
 *   errors.h       error records                srcu.h           SRCU for callback tables
 *   descriptors.h  --track-fds
 *   annotations.h  leak annotations             next.h           originals of interposed functions
 *   mapped.h       the mapping table            nonlocal_exit.h  cleanup after longjmp
 *   vmmalloc.h     in place of libvmmalloc
 *
 * Data: `rt`, `next` and `loader_range` are constant after our constructor; `init_hooks` is a
 * constant of preload.c, by which this floor calls exit, a room above it.
 *
 * Locks: none of its own.  Objects are looked up by loader_find, without the dynamic loader's lock.
 */
#ifndef INIT_H
#define INIT_H

#include "costs.h"
#include "descriptors.h"
#include "errors.h"
#include "guarded.h"
#include "notify.h"
#include "annotations.h"
#include "nonlocal_exit.h"
#include "mapped.h"
#include "next.h"
#include "heap.h"
#include "section.h"
#include "track.h"
#include "srcu.h"
#include "unwinder.h"
#include "vmmalloc.h"

/* ---- options.c ------------------------------------------------------------------------------- */

enum on_error {
    ON_ERROR_CONTINUE,
    ON_ERROR_STOP,
    ON_ERROR_ABORT,
    ON_ERROR_DEBUGGER,
    ON_ERROR_EXIT
};

#define ERROR_LIMIT_MAX 10000u
#define ERROR_LIMIT_DEFAULT 1000u

struct options {
    enum on_error on_error;
    enum track_fds track_fds;
    bool access;           /* check calls of libc's functions (src/boundary) */
    uint32_t access_every; /* one of so many of a place that calls them often */
    int error_exitcode;    /* -1: not set */
    struct guard_options guard;
    uint32_t error_limit; /* error sites recorded per image */
    bool trace_children;
    bool leaks, leak_check, mel_at_exit; /* leaks are searched for only if all three are set */
    bool strict_interior;
    bool run_libc_freeres, run_cxx_freeres; /* at exit */
    bool witness;
    bool keep;
    bool heap_in_file;
    bool has_heap;   /* private or file is given */
    bool all_events; /* events=all: dispatch every system call */
    uint64_t heap_bytes;
    bool has_pool_size; /* as heap=file, unless has_heap */
    enum fork_heap fork;
    uint32_t cost_every; /* one of so many operations is timed; 0: none */
    uint32_t frames;     /* per stack, at most RTC_STACK_FRAMES; 0: no stacks */
    char pool_dir[256];
    bool access_full; /* and the program's own loads and stores, in copies of its code */
    char plans[256];  /* folder of the plans for that */
    char skip[256];   /* patterns of programs that are not checked, separated by commas */
};

/*
 * Parse key=value:key=value (blanks also separate) into *o and pool_knobs. Unknown keys and bad
 * values are ignored: the launcher or the reporter diagnoses them.
 */
void options_read(struct options *o, const char *text);
/* RTCHECK_POOL_SIZE: like pool-size, but a bad value is 0. */
void options_read_pool_size(struct options *o, const char *text);
/* Is heap=file wanted?  pool-size alone requests it, too. */
bool options_want_heap_in_file(const struct options *o);

/* ---- start.c --------------------------------------------------------------------------------- */

/* Constant after start-up. */
struct runtime {
    struct options options;
    bool by_launcher;
    bool no_check_at_end; /* the program requested no leak scan at its end */
    struct drop_in drop_in;
    /* entries for the environment of the next image; "": none */
    char preload[1024];  /* our library's path */
    char run_file[1024]; /* RTCHECK_RUN_FILE=... for the next image */
};

extern HIDDEN struct runtime rt;

/* Are leak scans enabled? The program can disable only the scan at its end. */
ALWAYS_INLINE bool wants_leaks(void)
{
    return rt.options.leaks && rt.options.leak_check && rt.options.mel_at_exit && !run_is_cut();
}

ALWAYS_INLINE bool wants_leaks_at_end(void)
{
    return wants_leaks() && !rt.no_check_at_end;
}

/*
 * Start the runtime, at the first call of any of its functions. false: not yet possible (no
 * environment, or start-up is in progress). The caller then uses bootstrap memory.
 */
bool init_start(void);
/* From our constructor: libc is initialized, no other threads exist. */
void init_constructed(char **envp);
bool init_is_started(void);

/* ---- environment.c --------------------------------------------------------------------------- */

/* If a launcher set our entries, save them and remove them from envp. */
void environment_take(char **envp);

/* The environment of the program's next image, and the entries in it that concern us. */
struct environment {
    char *const *given; /* NULL: it has no entries */
    size_t count;
    const char *preload; /* the value of LD_PRELOAD, NULL: none */
    size_t preload_bytes;
    const char *runtime_word; /* the word in it that names our library; NULL: none */
    size_t runtime_bytes;
    bool readable; /* false: exec fails with these entries, and must be given them unchanged */
};

/* The next four functions are signal-safe, use no memory or locks, and work in vfork children. */
void environment_read(struct environment *e, char *const *envp);
/* Bytes of `room` that the next two functions need. e must be readable. */
size_t environment_room(const struct environment *e);
/* Build in `room` the entries with ours added. */
char *const *environment_with_runtime(const struct environment *e, void *room);
/*
 * Build in `room` the entries without our library, which must be in e (e->runtime_word). Other
 * libraries stay in LD_PRELOAD.
 */
char *const *environment_without_runtime(const struct environment *e, void *room);

/* ---- thread.c -------------------------------------------------------------------------------- */

void thread_keys_ready(void); /* from the constructor */
struct thread *thread_register(void);
/*
 * Set the function that each registered thread calls near its end, outside of sections. Call once,
 * from the constructor.
 */
void thread_on_exit(void (*hook)(void));

/* ---- loader.c -------------------------------------------------------------------------------- */

struct loader_range {
    uintptr_t start;
    uint64_t bytes;
};

extern HIDDEN struct loader_range loader_range; /* the loader's own code; constant after start-up */

void loader_start(void);       /* at first use */
void loader_constructed(void); /* from the constructor: libc is usable */
/* The path by which the loader found this library; NULL: unknown.  Also before loader_start. */
const char *loader_own_path(void);
/* The program's dynamic section (ElfW(Dyn)) and its load bias; NULL: it has none. */
const void *loader_dynamic(uintptr_t *bias);
/* Find the object that contains an address. Signal-safe. */
bool loader_find(uintptr_t pc, struct object *out);

/* Look up an object's symbol in its dynamic table; 0: not found. The object must stay loaded. */
uintptr_t loader_symbol(const struct object *o, const char *name);

ALWAYS_INLINE bool loader_called(const struct entry *at)
{
    return at->pc - loader_range.start < loader_range.bytes;
}

/*
 * Calls of the loader, which map or unmap objects. Inside a section, before the stack of the call
 * is taken.
 */
void loader_allocates(void);
void loader_frees(const void *p);

/* ---- fatal.c: signals that end the process by default ---------------------------------------- */

struct fatal_signal {
    int signal;
    const void *info;    /* siginfo_t */
    const void *context; /* ucontext_t: what the signal interrupted */
};

struct fatal_hooks {
    void (*killed)(const struct fatal_signal *s);
    void (*cut)(bool survived); /* the run file was truncated; survived: the program continues */
    void (*heap_lost)(void);    /* heap=file: a page of the heap; the program cannot continue */
};
void fatal_start(const struct fatal_hooks *given); /* from the constructor */
void fatal_withdraw(void);                         /* before the program enters a sandbox */
/*
 * guard_fault.c.  Is the SIGSEGV a bad access at a guard?  Then it is recorded, and the access can be
 * repeated.
 */
bool guard_fault(const void *info, void *context);
/*
 * Record a bad access that has faulted, with the stack of `from`.  `may_be_libcs`: not one that libc has
 * made for a call that src/boundary checks.
 */
struct access;
void fault_record(struct access *a, const struct caller *from, bool may_be_libcs,
                  const void *context);
/*
 * handlers.c.  The program has set this signal's action: call its handler by one of ours, if code runs
 * in copies; all actions.
 */
void handlers_wrap(int signal);
void handlers_wrap_all(void);
/* Call a handler of the program, for the signal that has interrupted `context`. */
void handlers_call(const struct os_action *action, int signal, void *info, void *context);
/* The handler of the program that `handler` calls for this signal, or `handler`. */
const void *handlers_program(int signal, const void *handler);
/* object_records.c.  Record the objects that run in copies, and those that do not. */
void objects_record(void);
/* translated_fault.c.  Is the SIGSEGV that of a check in relocated code?  Then the program can continue. */
bool translated_fault(void *info, void *context);
/*
 * Signal-safe, all three. Does our handler replace this signal's default? Is this handler ours?
 * Install ours.
 */
bool fatal_covers(int signal);
bool fatal_is_own(const void *handler);
void fatal_install(int signal);
/* After the section that a fatal signal interrupted: send that signal again. */
void fatal_deliver_postponed(void);
/*
 * The program's action that our handler replaces: the default, with the flags and the mask that the
 * program set.  SIGSEGV: also a handler of the program, which ours calls.
 */
const struct os_action *fatal_program_action(int signal);

/* ---- signal_stack.c: alternate signal stacks for fatal signals ------------------------------- */

void signal_stack_start(void); /* when our handlers are installed; also for the calling thread */
void signal_stack_begin(struct thread *t); /* the calling thread is registered */
void signal_stack_end(struct thread *t);   /* and ends */
void signal_stack_restore(void);           /* the program has disabled its own */
/* The program sets its first alternate stack. */
void signal_stack_withdraw(void);
/* Is the address in one of ours? */
bool signal_stack_is_own(uintptr_t at);
/*
 * SA_ONSTACK in the program's actions: is it to be removed, was it removed from that of a signal;
 * note whether the program's handler has it.
 */
bool signal_stack_removes(uintptr_t caller);
bool signal_stack_hides(int signal);
void signal_stack_note(int signal, bool wants);

/* ---- hooks into exit (finish.c), set by the composition root --------------------------------- */

/* A call of the exec family. */
struct exec_call {
    const void *given[3];    /* file, arguments and environment; NULL: not passed by address */
    const char *const *list; /* variadic arguments, copied to an array of ours; else NULL */
    size_t list_count;
};

struct init_hooks {
    int (*finish)(enum image_end how, int status); /* returns the status to end with */
    /* Call before an exec. true: call exec_failed if the exec fails. */
    bool (*prepare_exec)(const struct exec_call *call);
    void (*exec_failed)(void);
};

/* A constant of the composition root, so it is valid before any constructor runs. */
extern HIDDEN const struct init_hooks init_hooks;

#endif
