/*
 * os.h - ALL that the runtime asks of Linux.
 *
 * Raw system calls: no errno, no cancellation, no libc state.  Functions return -errno.  All are
 * signal- and thread-safe.
 *
 * Two lists.  After start-up, and for ever, only these are issued, so that a program may enter a
 * system call filter made for itself and an ordinary allocator:
 *     mmap munmap mprotect madvise futex gettid getpid clock_gettime sched_yield exit_group
 * The others are used at start-up, or later only while the program has entered no sandbox
 * (os_sandboxed); what is then left undone is said by the launcher.
 */
#ifndef OS_H
#define OS_H

#include <sys/resource.h>
#include <sys/stat.h>

#include "base.h"

/* ---- features: what a kernel or libc may lack ------------------------------------------------ */

enum os_feature {
#define FEATURE(id, name) OS_##id,
#include "rtcheck/features.def"
#undef FEATURE
    OS_FEATURE_COUNT
};

/* Reads the test switches from the environment; call before anything else of os. */
void os_start(char *const *envp);

bool os_has(enum os_feature f);
/* Notes that the machine lacks f. */
void os_mark_missing(enum os_feature f);
uint64_t os_missing_features(void); /* mask, for the image header */

/* The program has entered a system call filter, or may have. */
void os_enter_sandbox(void);
bool os_sandboxed(void);
/* Of a process that is not in it: the program's was, and is gone. */
void os_exit_sandbox(void);

/* valgrind runs the program, by a tool that leaves malloc to us. */
bool os_by_valgrind(void);

/* ---- memory ---------------------------------------------------------------------------------- */

bool os_failed(const void *p); /* is what os_reserve and os_map returned an error? */

/* Address space without memory behind it; `hint` may be NULL.  fixed = exactly there or fail. */
void *os_reserve(void *hint, size_t bytes, bool fixed);
/* A reservation in place of a mapping of ours. */
void *os_replace(void *at, size_t bytes);
/* Zeroed private memory, ready for use. */
void *os_map(size_t bytes);
/*
 * Reserves [offset, offset + bytes) of a file as shared memory, inaccessible as yet; `at`: in place
 * of a reservation of ours, or NULL.
 */
void *os_reserve_file(void *at, int fd, size_t bytes, uint64_t offset);
int os_unmap(void *at, size_t bytes); /* all of what one call gave */
/*
 * What of the address space is ours: all of the above, as long as it is mapped, and what is noted.  The
 * first such part that ends above `at`, from there on; UINTPTR_MAX twice: there is none.
 */
void os_next_own(uintptr_t at, uintptr_t *start, uintptr_t *end);
void os_note_own(const void *at, size_t bytes);
/* Whole pages of it are the program's from now on.  false: they may stay ours (the table is full). */
bool os_disown(uintptr_t start, uintptr_t end);
int os_allow(void *at, size_t bytes);                   /* read and write */
int os_read_only(void *at, size_t bytes);               /* read */
int os_protect(void *at, size_t bytes, int protection); /* as mprotect has it */
/*
 * Makes file pages real, so that a full file system is an error here and not a signal in the
 * program.  The range must be writable.
 */
int os_populate(void *at, size_t bytes);
/* Is the page around an address readable?  Also for addresses that no page can have. */
bool os_is_readable(uintptr_t at);
/* Is it the program's, or ours?  valgrind's own memory is mapped in the process, too. */
bool os_is_of_program(uintptr_t at);
/*
 * Copies memory of the program that may not be readable; returns how many bytes, fewer at the first page that is not.
 * `to` may not overlap.
 */
size_t os_copy(void *to, const void *from, size_t bytes);
int os_release(void *at, size_t bytes); /* private memory: back to zero pages */
/* Is this function of libc's code just this system call, as it was built? */
bool os_is_plain_call(const void *function, uint32_t number);
int os_release_file(void *at, size_t bytes); /* shared memory: punches the hole */
/* The kernel may, or must not, back private memory with huge pages. */
void os_huge(void *at, size_t bytes);
void os_no_huge(void *at, size_t bytes);
void os_dont_dump(void *at, size_t bytes);
int os_wipe_on_fork(void *at, size_t bytes);
/*
 * The page that the kernel wipes at a fork, made by the first who asks for that of this `place`.  Where it
 * cannot be wiped, `instead`: zeros of the caller's own.
 */
void *os_make_wiped_page(_Atomic(void *) *page_at, void *instead);

ALWAYS_INLINE void *os_wiped_page(_Atomic(void *) *page_at, void *instead)
{
    void *page = atomic_load_explicit(page_at, memory_order_acquire);
    return likely(page) ? page : os_make_wiped_page(page_at, instead);
}

/* ---- a stack of our own (helper_stack.c) ----------------------------------------------------- */

/*
 * Calls f(about) on this thread's helper stack, with signals blocked; on the caller's where there
 * is none to be had.  f must not call the program, nor enter or leave a critical section.
 */
void helper_call(void (*f)(void *), void *about);
/*
 * Does this thread run on its helper stack?  Of the program that can be a handler of a fault only.
 */
bool helper_is_here(void);
/* The stack pointer of this thread on the program's stack. */
uintptr_t helper_program_sp(void);
/*
 * What was going on there was left by siglongjmp; `intact`: just now, so the frames that led there
 * are intact, and signals that they have blocked are not any more.
 */
void helper_abandon(bool intact);
void helper_start(void);

/* ---- processes, time, waiting ---------------------------------------------------------------- */

uint32_t os_pid(void);
uint32_t os_ppid(void);
uint32_t os_tid(void);
uint32_t os_uid(void); /* effective */
uint32_t os_gid(void);
uint64_t os_clock_ns(void); /* monotonic */
uint64_t os_wall_clock_ns(void);
void os_yield(void);
/*
 * Keeps handlers out for a while: start-up steps that one could leave by siglongjmp half done.
 * In a sandbox it may be forbidden and is left out.
 */
struct os_signals {
    uint64_t before;
    bool blocked;
};
void os_block_signals(struct os_signals *s);
void os_restore_signals(const struct os_signals *s);
void os_block_more(uint64_t mask); /* these, until a handler returns */
/* The calling thread's alternate signal stack; false: it has none, or it cannot be asked. */
bool os_alternate_stack(uintptr_t *start, uintptr_t *end);
/* Are we on the alternate signal stack?  In a sandbox it cannot be asked: yes. */
bool os_on_alternate_stack(void);
/* Sleeps while *word == value, at most ns (0 = for ever); shared = across processes. */
void os_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns, bool shared);
void os_wake(_Atomic uint32_t *word, bool shared);
/*
 * A mutex of one word, 0 at first: where base's locks are not for, as what it guards is told by no
 * section.
 */
void os_lock(_Atomic uint32_t *word);
void os_unlock(_Atomic uint32_t *word);
/* A full barrier in every thread of this process; false: not available, fence on each entry. */
bool os_barrier_ready(void);
void os_barrier(void);
bool os_process_gone(uint32_t pid); /* false when in doubt */
/* Does a pidfd mean this process, or a thread of it?  true also when it cannot be asked. */
bool os_is_this_process(int pidfd);
bool os_child_ended(uint32_t pid); /* the same of a child of ours, which may be a zombie */
uint32_t os_pid_namespace(void);   /* 0 = not known */
/* From now on pids are those of another namespace: nobody is known to be gone. */
void os_pids_are_foreign(bool foreign);
_Noreturn void os_exit_now(int status);

/* ---- files (start-up and the very end) ------------------------------------------------------- */

int os_open(const char *path, int flags, unsigned mode);
int os_open_at(int folder, const char *path, int flags);
int os_close(int fd);
bool os_can_read(const char *path); /* may this process open it, by its effective ids? */
int os_stat_fd(int fd, struct stat *st);
int os_stat(const char *path, struct stat *st);
int os_truncate(int fd, uint64_t bytes);
int os_unlink(const char *path);
int os_rename(const char *from, const char *to);
long os_read(int fd, void *buffer, size_t bytes);
long os_read_at(int fd, void *buffer, size_t bytes, uint64_t at);
long os_write(int fd, const void *buffer, size_t bytes);
long os_write_at(int fd, const void *buffer, size_t bytes, uint64_t offset);
long os_read_link(const char *path, char *buffer, size_t bytes);
uint64_t os_limit(int resource); /* soft limit; UINT64_MAX = none */
uint64_t os_data_bytes(void);    /* writable private memory of this process; 0 = not known */
/* Stops, or ends by SIGTRAP or SIGSTOP, this process; nothing in a sandbox. */
void os_signal_self(int signal);
/* Is somebody debugging this process?  In a sandbox: no. */
bool os_is_traced(void);
bool os_is_locked(void); /* is memory of the process, as far as can be known? */
/* What the process has used; false: it cannot be asked. */
bool os_usage(struct rusage *usage);
uint64_t os_cpu_clock_ns(void);     /* of all its threads */
uint64_t os_own_cpu_clock_ns(void); /* of the calling thread */
/* The processor's clock.  Not in a sandbox, of which one kind forbids it: reading is a process's end then. */
ALWAYS_INLINE uint64_t os_ticks(void)
{
    return __builtin_ia32_rdtsc();
}
/* The same when all that was begun before is done: else what waits for memory looks as if it came later. */
ALWAYS_INLINE uint64_t os_ticks_after(void)
{
    __builtin_ia32_lfence();
    return __builtin_ia32_rdtsc();
}

struct mapping {
    uintptr_t start, end;
    bool readable;
    bool writable;  /* and readable */
    bool guard;     /* may not be touched at all */
    int protection; /* as mprotect has it */
    bool shared;
    uint32_t major, minor; /* of the file system */
    uint64_t offset, inode;
    char path[104]; /* or "[heap]" and the like; its end when it is longer */
};

/* The mapping around an address.  1; 0: nothing is mapped there; -errno: it cannot be asked. */
int os_mapping_of(uintptr_t at, struct mapping *m);

/*
 * The absolute path of the file that is mapped at an address, also where it was unlinked since;
 * `room` bytes with the NUL.  Its length; 0: none is, it does not fit, or it cannot be asked.
 */
size_t os_mapped_file(uintptr_t at, char *path, size_t room);

/* Is something mapped at each page there?  true also when it cannot be asked. */
bool os_all_mapped(uintptr_t at, size_t bytes);

/* The lowest that the break may be; 0: it cannot be asked. */
uintptr_t os_break_start(void);
/* Bytes of a shared memory segment, whole pages; 0: it cannot be asked. */
uint64_t os_shared_segment_bytes(int id);

/*
 * All of them, by address.  Not in a sandbox; what is mapped meanwhile may be missing.  Small, for
 * it lies on the stack, perhaps a handler's of 8 KiB.
 */
struct mappings {
    int fd;
    uint32_t at, end;
    char piece[1024];
};

int os_mappings_open(struct mappings *all); /* -errno: they cannot be asked for */
bool os_mappings_next(struct mappings *all, struct mapping *m);
void os_mappings_close(struct mappings *all);

/*
 * Which pages of [start, start + count pages) hold something, in memory or swapped out: page n's byte
 * of `held` becomes 1 or 0.  false: it cannot be asked.
 */
struct pages {
    int fd;
};

bool os_pages_open(struct pages *p);
bool os_pages_populated(const struct pages *p, uintptr_t start, uint32_t count, uint8_t *populated);
void os_pages_close(struct pages *p);
/*
 * Copies memory of this process that may be taken away, or have no file behind it any more: how many
 * bytes; <= 0: none could be.  Not in a sandbox.
 */
long os_read_memory(uintptr_t at, void *buffer, size_t bytes);
void os_host_name(char *buffer, size_t room);
void os_thread_name(char buffer[16]);

/* ---- a process beside the program (detached.c; start-up, and its own life) ---------------------- */

int os_process_fd(uint32_t pid); /* can be read from when the process is gone; -errno */
bool os_is_reaper(void); /* do orphans become children of this process?  true when in doubt */
bool os_same_pid_namespace(void);  /* in its own pid namespace?  false when in doubt */
void os_reap_silent(uint32_t pid); /* waits for a child that sends no signal when it ends */
void os_signal_process(uint32_t pid, int signal);
/*
 * In that process: leaves the session, the folder and all descriptors but `keep`, gets a name; `will_print`:
 * folder and stderr stay.  A descriptor to be told of `signal` by, or -errno.
 */
int os_detach(const char *name, int keep, bool will_print, int signal);
void os_keep_stderr_of(uint32_t pid); /* closes it unless it is still that process's */
/* Then: waits for what happens first.  `signals`: that descriptor. */
enum os_watch { OS_WATCH_TIMEOUT, OS_WATCH_PROGRAM_ENDED, OS_WATCH_SIGNALLED };
enum os_watch os_watch_program(int signals, unsigned ms);
bool os_has_memory_of(uint32_t pid); /* false: it went on in a memory of its own, by exec */

/* ---- counters (perf.c; when the program asks for some, and is in no sandbox) ----------------- */

struct perf_event_attr;

/* A descriptor, closed on exec; -errno.  pid 0: the calling thread; `cpu`, `group` -1: any, none. */
int os_perf_open(const struct perf_event_attr *attr, int pid, int cpu, int group);
int os_perf_control(int fd, unsigned long request, const void *argument); /* ioctl; 0 or -errno */
/* Overflows are to send `signal` to that thread. */
int os_perf_notify(int fd, uint32_t tid, int signal);
/* What tells this counter from any other file that may have its number later; -errno: it is none. */
int os_perf_id(int fd, uint64_t *id);
long os_perf_read(int fd, uint64_t *words, size_t bytes);
void os_perf_close(int fd);
bool os_perf_paranoid(int64_t *level); /* false: it cannot be asked */
/* The beginning of a file, NUL-terminated: how many bytes; -errno: it cannot be read. */
long os_read_text(const char *path, char *buffer, size_t room);
/* Two ends, closed on exec; who writes when the other one is gone gets an error, and no signal. */
int os_pair(int ends[2]);
/* CPU time of a thread of this process; resources that the calling thread has used. */
bool os_thread_cpu_ns(uint32_t tid, uint64_t *ns);
bool os_thread_usage(struct rusage *usage);
/* How long a thread has waited for a processor; -errno: it cannot be read. */
int os_thread_wait_ns(uint32_t tid, uint64_t *ns);
/* Counters of the processor that any event may use, as it says itself; 0: nobody knows. */
uint32_t os_processor_counters(void);
/* Its name; false: it cannot be asked. */
bool os_processor_name(char *buffer, size_t room);

/* ---- threads and signals (the very end) ------------------------------------------------------ */

/* Calls visit with each name in a folder but those that begin with a dot; -errno: it cannot be read. */
int os_each_name(const char *folder, void (*visit)(const char *name, void *about), void *about);
/* Calls visit with the tid of each thread of this process; -errno: they cannot be asked for. */
int os_each_thread(void (*visit)(uint32_t tid, void *about), void *about);
uint32_t os_threads(void); /* how many there are; 0: it cannot be asked */
#define OS_CALL_ARGUMENTS 6u

/* A thread that sleeps in the kernel. */
struct os_waiting {
    bool in_call; /* in a system call, whose number and arguments are set; else in a page fault */
    uint64_t number, argument[OS_CALL_ARGUMENTS];
    uintptr_t futex;  /* the word that it waits on; 0: another call */
    bool is_repeated; /* the kernel repeats the call after a handler with SA_RESTART, unnoticed */
    uintptr_t sp;
};
/* false: the thread runs or is gone, or the kernel does not report it. */
bool os_thread_waits(uint32_t tid, struct os_waiting *w);
bool os_thread_blocks(uint32_t tid, int signal); /* does the thread have `signal` in its mask? */
uintptr_t os_thread_list(uint32_t tid); /* where its list of robust mutexes is; 0: nobody knows */
enum os_thread_state {
    OS_THREAD_WAITS, /* in the kernel; or nobody may ask */
    OS_THREAD_RUNS,  /* or would, if there were a processor for it */
    OS_THREAD_OVER,  /* main's stays listed until all are */
};
enum os_thread_state os_thread_state(uint32_t tid);

typedef void (*os_handler)(int signal, void *info, void *context); /* info: a siginfo_t */

void os_signal_return(void); /* where handlers that the runtime has set return to; never called */

/* Sets an action behind libc's back; what it was comes back by os_restore_action. */
struct os_action {
    uint64_t handler, flags, restorer, mask; /* as the kernel has them */
};

#define OS_SIGNAL_SETXID 33 /* libc's own: its functions never block it */

int os_take_signal(int signal, os_handler handler, int flags, struct os_action *before);
void os_restore_action(int signal, const struct os_action *before);
int os_action_of(int signal, struct os_action *now);
os_handler os_handler_of(const struct os_action *action); /* NULL: default, or ignored */
bool os_is_default(const struct os_action *action);
/* Sends a signal to one thread; `value` arrives in its siginfo, with SI_QUEUE. */
int os_signal_thread(uint32_t tid, int signal, void *value);
/*
 * In a handler: has the signal, or one just before it, made a system call fail with EINTR?  The kernel
 * does not keep the call's number: the call can be repeated if the instruction that loads the number
 * stands right before the system call, and if a call of that number has done nothing when it fails
 * so.  A time limit relative to the call's begin then counts from the repetition.
 */
enum os_interrupted {
    OS_NO_CALL,
    OS_CALL_REPEATABLE,
    OS_CALL_ENDED, /* it will return EINTR */
};
enum os_interrupted os_interrupted_call(const void *context);
void os_repeat_call(
    void *context); /* of a REPEATABLE one: the handler's return makes the call again */

/* ---- every system call of a thread (dispatch.c) ---------------------------------------------- */

/*
 * From now on each system call that the calling thread makes by an instruction outside of [start, start +
 * bytes) becomes a SIGSYS, whose handler gets it undone; so do those of its children that share
 * what it stands on (os_dispatch_pass).  `before`: what SIGSYS led to.  -errno: there is no such
 * thing here; nothing has changed.
 */
int os_dispatch_start(os_handler handler, uintptr_t start, uint64_t bytes,
                      struct os_action *before);
int os_dispatch_arm(void); /* the calling thread, too */
void os_dispatch_disarm(void);
#define OS_SIGNAL_CANCEL \
    32 /* libc's; kept out: a handler that is left by it would leave its event half told */
void os_dispatch_on_stack(
    void); /* from now on the handler runs on alternate stacks, where there are any */
uint64_t os_dispatch_missed(void); /* threads that could not be armed when they began */
/* Is it one of those, made as programs for x86-64 do, or (*foreign) in another manner? */
bool os_is_dispatched(const void *info, bool *foreign);

/*
 * In the handler: the call is made behind it, where it would have been, as far as the kernel and the program
 * can tell: on its stack, with its signal mask.  false: it is one that cannot be made so.
 */
bool os_dispatch_pass(void *context);
/* The same, without anything kept on the stack. */
bool os_dispatch_pass_stackless(void *context);
/*
 * The same with that argument (0..5) for the time of the call only; `bytes` of `data` lie where it
 * points to.
 */
#define OS_DISPATCH_DATA 32u
void os_dispatch_pass_changed(void *context, unsigned argument, const void *data, size_t bytes);
/* It has been made: its result. */
void os_dispatch_return(void *context, long result);
/* It is made once more, by a thread that is not armed any more. */
void os_dispatch_repeat(void *context);
/* What the program points to; false: the kernel is to say what is wrong with it. */
bool os_dispatch_look(long at, void *out, size_t bytes);
void os_dispatch_call(const void *context, long *number, long argument[6]);
void os_dispatch_unblock(void *context); /* SIGSYS, where a handler returns to */
uintptr_t os_dispatch_sp(const void *context);
struct entry os_dispatch_entry(const void *context); /* as if it had called a function */
/* A call that the program has made, for it. */
long os_pass(long number, long a, long b, long c, long d, long e, long f);

#endif
