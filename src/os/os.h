/*
 * os.h - interface of os: all system calls and kernel interfaces that the runtime uses.
 * (base/lock.c is below os and has the futex call of locks.)
 *
 * The functions issue raw system calls: no errno, no cancellation, no libc state.  They return
 * -errno.  All are thread-safe and async-signal-safe.
 *
 * After start-up only these system calls are issued without a condition.  So a program may enter a
 * seccomp filter made for itself and an ordinary allocator:
 *     mmap munmap mprotect madvise futex gettid getpid clock_gettime sched_yield exit_group
 * All others are issued at start-up, or later only while the program has entered no sandbox
 * (os_sandboxed).  The launcher reports the work that is skipped in a sandbox.
 *
 * Data: the features of this machine, detected once (probe.c); the address ranges of the runtime
 * (own.c), in a table without a lock.  index.h is a hash table whose owner provides the lock.
 *
 * Locks: none.  os_lock is a futex without rank, for rooms that need a lock outside of sections.
 */
#ifndef OS_H
#define OS_H

#include <sys/resource.h>
#include <sys/stat.h>

#include "base.h"
#include "libc.h"

/* ---- features: what a kernel or libc may lack ------------------------------------------------ */

enum os_feature {
#define FEATURE(id, name) OS_##id,
#include "format/features.def"
#undef FEATURE
    OS_FEATURE_COUNT
};

/* Read the test switches from the environment.  Call it before all other functions of os. */
void os_start(char *const *envp);

bool os_has(enum os_feature f);
/* Record that the machine lacks f. */
void os_mark_missing(enum os_feature f);
uint64_t os_missing_features(void); /* mask, for the image header */

/* Record that the program has entered a system call filter, or may have. */
void os_enter_sandbox(void);
bool os_sandboxed(void);
/* Clear that state in the detached process, which is not in the sandbox of the ended program. */
void os_exit_sandbox(void);

/* The start of random numbers in tests; 0: not set. */
uint64_t os_test_seed(void);

/* Does valgrind run the program, with a tool that does not replace malloc? */
bool os_by_valgrind(void);

/* ---- memory ---------------------------------------------------------------------------------- */

bool os_failed(const void *p); /* did os_reserve or os_map return an error? */

/*
 * Reserve address space without memory.  `hint` may be NULL.  `fixed`: exactly at `hint`, or fail.
 */
void *os_reserve(void *hint, size_t bytes, bool fixed);
/* Replace a mapping of the runtime by a reservation. */
void *os_replace(void *at, size_t bytes);
/* Map zeroed private memory, readable and writable. */
void *os_map(size_t bytes);
/*
 * Move a mapping made by os_map over `to`, in place of what is mapped there: no thread sees a state
 * in between.  On an error the mapping may still exist, but no longer counts as the runtime's.
 */
int os_move_over(void *from, size_t bytes, void *to);
/* The same with a part of a mapping of the runtime; it counts as the runtime's as before. */
int os_move_part(void *from, size_t bytes, void *to);
/*
 * Reserve [offset, offset + bytes) of a file as shared memory, without access rights.  `at`: a
 * reservation of the runtime to replace, or NULL.
 */
void *os_reserve_file(void *at, int fd, size_t bytes, uint64_t offset);
/*
 * Map the pages of `from`, a part of one shared file mapping, a second time: over `to`, a reservation of
 * the runtime, with the protection of `from`.
 */
int os_map_again(void *from, size_t bytes, void *to);
/*
 * Replace a mapping of the runtime by a private mapping of a file.  No thread sees a state in between.
 */
int os_replace_by_copy(void *at, size_t bytes, int protection, int fd, uint64_t offset);
/*
 * Map a part of a file.  `at`: exactly there, or fail; NULL: anywhere.  `protection` as for mmap; shared:
 * not a private copy.
 */
void *os_map_file(void *at, size_t bytes, int protection, bool shared, int fd, uint64_t offset);
int os_unmap(void *at, size_t bytes); /* all of a mapping made by one call */
/*
 * Enumerate the runtime's own address ranges: all mappings made above that still exist, and those
 * passed to os_note_own.  Returns the part above `at` of the first range that ends above `at`;
 * UINTPTR_MAX twice: no more ranges.
 */
void os_next_own(uintptr_t at, uintptr_t *start, uintptr_t *end);
void os_note_own(const void *at, size_t bytes);
/*
 * Give the whole pages of a range to the program.  false: the table is full, and the range may stay
 * recorded as the runtime's.
 */
bool os_disown(uintptr_t start, uintptr_t end);
int os_allow(void *at, size_t bytes);                   /* read and write */
int os_read_only(void *at, size_t bytes);               /* read */
int os_protect(void *at, size_t bytes, int protection); /* `protection` as for mprotect */
/*
 * Release pages and make them inaccessible without a mapping of their own (MADV_GUARD_INSTALL), and
 * the reverse.  Pages of a file keep their contents.
 */
int os_guard(void *at, size_t bytes);
int os_unguard(void *at, size_t bytes);
/*
 * Allocate the pages of a file mapping, so that a full file system is an error here instead of a
 * SIGBUS in the program.  The range must be writable.
 */
int os_populate(void *at, size_t bytes);
/*
 * Put a mapping of a file in memory on transparent huge pages (MADV_COLLAPSE), whatever is configured
 * for shared memory.  Each needs at least one populated page; its other pages become populated.
 */
int os_collapse(void *at, size_t bytes);
/* Is the page of an address readable?  Also valid for non-canonical addresses. */
bool os_is_readable(uintptr_t at);
/*
 * Does the address belong to the program or the runtime, and not to valgrind, which shares the
 * process?
 */
bool os_is_of_program(uintptr_t at);
/*
 * Copy memory of the program that may be unreadable.  Returns the number of bytes copied: it stops
 * at the first unreadable page.  The buffers must not overlap.
 */
size_t os_copy(void *to, const void *from, size_t bytes);
int os_release(void *at, size_t bytes); /* private memory: back to zero pages (MADV_DONTNEED) */
/* Shared memory: punches a hole in the file (MADV_REMOVE). */
int os_release_file(void *at, size_t bytes);
/* Permit or forbid transparent huge pages for private memory. */
void os_huge(void *at, size_t bytes);
void os_no_huge(void *at, size_t bytes);
/* Leave memory out of core dumps; os_dump reverses that. */
void os_dont_dump(void *at, size_t bytes);
void os_dump(void *at, size_t bytes);
int os_wipe_on_fork(void *at, size_t bytes);
/*
 * The page at *page_at that the kernel clears at a fork (MADV_WIPEONFORK); the first caller makes
 * it.  Without kernel support: `instead`, zeroed memory that the caller clears.
 */
void *os_make_wiped_page(_Atomic(void *) *page_at, void *instead);

ALWAYS_INLINE void *os_wiped_page(_Atomic(void *) *page_at, void *instead)
{
    void *page = atomic_load_explicit(page_at, memory_order_acquire);
    return likely(page) ? page : os_make_wiped_page(page_at, instead);
}

/* ---- the helper stack (helper_stack.c) ------------------------------------------------------- */

/*
 * Call f(about) on this thread's helper stack, with signals blocked, or on the caller's stack if no
 * helper stack is available.  f must not call the program, nor enter or leave a critical section.
 */
void helper_call(void (*f)(void *), void *about);
/*
 * Does this thread run on its helper stack?  Program code runs there only as the handler of a
 * synchronous fault.
 */
bool helper_is_here(void);
/* The stack pointer of this thread on the program's stack. */
uintptr_t helper_program_sp(void);
/*
 * Release the helper stack after siglongjmp has left it.  `intact`: the jump happens now, so the
 * frames below are still readable; signals that they have blocked are unblocked.
 */
void helper_abandon(bool intact);
void helper_start(void);

/* ---- processes, time, waiting ---------------------------------------------------------------- */

uint32_t os_pid(void);
/* The checked process: in a process that serves it (os_serve) that process, else this one. */
uint32_t os_program_pid(void);
uint32_t os_ppid(void);
uint32_t os_tid(void);
uint32_t os_uid(void); /* effective */
uint32_t os_gid(void);
uint64_t os_clock_ns(void); /* monotonic */
uint64_t os_wall_clock_ns(void);
void os_yield(void);
/*
 * Block signals during start-up steps that a handler could leave half done by siglongjmp.  Does
 * nothing in a sandbox, where the call may be forbidden.
 */
struct os_signals {
    uint64_t before;
    bool blocked;
};
void os_block_signals(struct os_signals *s);
/* From now on os_block_signals does not block this signal; 0: it blocks all. */
void os_never_block(int signal);
void os_restore_signals(const struct os_signals *s);
void os_block_more(uint64_t mask); /* add to the mask; sigreturn restores it */
void os_unblock(int signal);       /* does nothing in a sandbox */
/* The calling thread's alternate signal stack.  false: none, or unknown in a sandbox. */
bool os_alternate_stack(uintptr_t *start, uintptr_t *end);
/* Set it; bytes 0: disable it.  -EPERM: the thread runs on its alternate stack, or in a sandbox. */
int os_set_alternate_stack(uintptr_t start, size_t bytes);
/* Does the thread run on its alternate signal stack?  In a sandbox it is unknown: true. */
bool os_on_alternate_stack(void);
/* Sleep while *word == value, at most ns (0: no limit).  `shared`: across processes. */
void os_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns, bool shared);
void os_wake(_Atomic uint32_t *word, bool shared);
/*
 * A mutex of one word, initially 0.  It is for data outside critical sections, where base's locks
 * must not be used.
 */
void os_lock(_Atomic uint32_t *word);
void os_unlock(_Atomic uint32_t *word);
/*
 * A full memory barrier in every thread of this process.  false: not available; put a fence into
 * each entry of a critical section instead.
 */
bool os_barrier_ready(void);
void os_barrier(void);
bool os_process_gone(uint32_t pid); /* false if unknown */
/* Does a pidfd refer to this process, or a thread of it?  true if unknown. */
bool os_is_this_process(int pidfd);
bool os_child_ended(uint32_t pid); /* like os_process_gone, for a child, which may be a zombie */
uint32_t os_pid_namespace(void);   /* 0: unknown */
/* From now on pids belong to another namespace: os_process_gone returns false. */
void os_pids_are_foreign(bool foreign);
_Noreturn void os_exit_now(int status);

/* ---- files (start-up and the very end) ------------------------------------------------------- */

int os_open(const char *path, int flags, unsigned mode);
int os_open_at(int folder, const char *path, int flags);
int os_close(int fd);
bool os_can_read(const char *path); /* may this process open it, with its effective ids? */
int os_stat_fd(int fd, struct stat *st);
int os_stat(const char *path, struct stat *st);
uint64_t os_room_of(
    const char *path); /* bytes that its file system has left; UINT64_MAX: unknown, or no limit */
bool os_is_in_memory(int fd); /* is the file in a file system without a disk (tmpfs)? */
int os_truncate(int fd, uint64_t bytes);
/* Allocate the blocks of [0, bytes) of a file, and make it that long. */
int os_allocate(int fd, uint64_t bytes);
int os_memory_file(const char *name); /* a memfd */
/* The working directory; its length with the NUL, or -errno. */
long os_working_directory(char *buffer, size_t bytes);
int os_unlink(const char *path);
int os_rename(const char *from, const char *to);
long os_read(int fd, void *buffer, size_t bytes);
long os_read_at(int fd, void *buffer, size_t bytes, uint64_t at);
long os_write(int fd, const void *buffer, size_t bytes);
long os_write_at(int fd, const void *buffer, size_t bytes, uint64_t offset);
long os_read_link(const char *path, char *buffer, size_t bytes);
uint64_t os_limit(int resource); /* soft limit; UINT64_MAX: none */
uint64_t os_data_bytes(void);    /* writable private memory of this process; 0: unknown */
/* Send a signal to this thread, such as SIGTRAP or SIGSTOP.  Does nothing in a sandbox. */
void os_signal_self(int signal);
/* Is a debugger attached to this process?  In a sandbox: false. */
bool os_is_traced(void);
bool os_is_locked(void); /* does the process have locked memory (mlock)? true if unknown */
/* Resources used by the process; false: unknown. */
bool os_usage(struct rusage *usage);
uint64_t os_cpu_clock_ns(void);     /* CPU time of all threads */
uint64_t os_own_cpu_clock_ns(void); /* CPU time of the calling thread */
/*
 * The time-stamp counter.  Do not read it in a sandbox: seccomp strict mode disables it, and
 * reading it then kills the process.
 */
ALWAYS_INLINE uint64_t os_ticks(void)
{
    return processor_ticks();
}
/*
 * The time-stamp counter after all earlier instructions have completed.  Without the fence a
 * pending load would count as part of the next interval.
 */
ALWAYS_INLINE uint64_t os_ticks_after(void)
{
    return processor_ticks_after();
}

struct mapping {
    uintptr_t start, end;
    bool readable;
    bool writable;  /* and readable */
    bool guard;     /* PROT_NONE */
    int protection; /* as for mprotect */
    bool shared;
    uint32_t major, minor; /* of the file system */
    uint64_t offset, inode;
    char path[104]; /* or "[heap]" and the like; if longer, only its end */
};

/* The mapping that contains an address.  1: found; 0: nothing is mapped there; -errno: unknown. */
int os_mapping_of(uintptr_t at, struct mapping *m);

/*
 * The absolute path of the file mapped at an address, also if it was unlinked since.  `room`
 * includes the NUL.  Returns its length; 0: no file, path too long, or unknown.
 */
size_t os_mapped_file(uintptr_t at, char *path, size_t room);

/* Is every page of the range mapped?  true if unknown. */
bool os_all_mapped(uintptr_t at, size_t bytes);

/* The start of the heap area of brk; 0: unknown. */
uintptr_t os_break_start(void);
/* Size of a System V shared memory segment, in whole pages; 0: unknown. */
uint64_t os_shared_segment_bytes(int id);

/*
 * Enumerate all mappings in order of address.  Not in a sandbox.  Mappings made meanwhile may be
 * missing.  The struct is small because it lies on a stack of perhaps 8 KiB.
 */
struct mappings {
    int fd;
    uint32_t at, end;
    char piece[1024];
};

int os_mappings_open(struct mappings *all); /* -errno: not available */
bool os_mappings_next(struct mappings *all, struct mapping *m);
void os_mappings_close(struct mappings *all);

/*
 * The state of each page of [start, start + count pages): state[n] becomes a set of these bits.  0:
 * never written, discarded, not mapped, or a guard (MADV_GUARD_INSTALL).  Linux before 6.15 reports
 * a guard, and every Linux a page with a hardware error, as swapped out.  Return false if unknown.
 */
#define PAGE_IN_MEMORY 1u
#define PAGE_IN_SWAP 2u
#define PAGE_OF_FILE 4u /* not a private copy */

struct pages {
    int fd;
};

bool os_pages_open(struct pages *p);
bool os_pages_look(const struct pages *p, uintptr_t start, uint32_t count, uint8_t *state);
void os_pages_close(struct pages *p);
/*
 * Which pages are resident, by mincore: private ones that were written and are not swapped out, and
 * those of a shared mapping whose contents are in memory, also if this mapping has not used them.
 * Return false if a page is not mapped.
 */
bool os_pages_resident(uintptr_t start, uint32_t count, uint8_t *resident);
bool os_swap_in_use(void); /* is anything swapped out?  true if unknown */
/*
 * Copy memory of this process that may be unmapped meanwhile, or past the end of its file.  Returns
 * the number of bytes; <= 0: none.  Not in a sandbox.
 */
long os_read_memory(uintptr_t at, void *buffer, size_t bytes);
void os_host_name(char *buffer, size_t room);
void os_thread_name(char buffer[16]);

/* ---- a detached helper process (detached.c; at start-up, and in that process) ---------------- */

int os_process_fd(uint32_t pid);   /* a pidfd: readable after the process has ended; -errno */
bool os_is_reaper(void);           /* are orphans reparented to this process? true if unknown */
bool os_same_pid_namespace(void);  /* are new children in this pid namespace? false if unknown */
void os_reap_silent(uint32_t pid); /* wait for a child that sends no signal at its end */
void os_signal_process(uint32_t pid, int signal);
/*
 * In the helper process: leave the session and the working directory, close all descriptors but
 * `keep`, and set the process name.  `will_print`: keep the working directory and stderr.  Returns
 * a signalfd for `signal`, or -errno.
 */
int os_detach(const char *name, int keep, bool will_print, int signal);
/* Closes fd 2 unless that process has the same file as its fd 2. */
void os_keep_stderr_of(uint32_t pid);
/* Wait for the first event.  `signals`: the descriptor returned by os_detach. */
enum os_watch { OS_WATCH_TIMEOUT, OS_WATCH_PROGRAM_ENDED, OS_WATCH_SIGNALLED };
enum os_watch os_watch_program(int signals, unsigned ms);
bool os_has_memory_of(uint32_t pid); /* false: it has called exec */
/*
 * In the helper process: from now on functions about threads mean those of process `pid`, which has the same
 * memory, and os_sandboxed is false: a sandbox of the program does not apply here.
 */
void os_serve(uint32_t pid);
/*
 * Fork: returns 0 in the child, or its pidfd (close-on-exec), or -errno.  *pid: its number.  The child ends with the caller, and its
 * end sends no signal.  The kernel copies the memory as it is at one moment, even while other threads of the
 * memory run: pages are write-protected one by one, and a thread that writes to one waits until the fork is over.
 */
int os_fork_snapshot(uint32_t *pid);
/* Wait until the child of os_fork_snapshot has ended.  false: the program ended first; the child is killed. */
bool os_wait_snapshot(int child);
void os_end_snapshot(int child); /* kill it */
/* Zeroed memory that a child of os_fork_snapshot shares; pages are allocated when they are used. */
void *os_map_shared(size_t bytes);

/* ---- performance counters (perf.c; only at the program's request, and outside a sandbox) ----- */

struct perf_event_attr;

/*
 * Open an event with close-on-exec; -errno.  pid 0: the calling thread; `cpu`, `group` -1: any,
 * none.
 */
int os_perf_open(const struct perf_event_attr *attr, int pid, int cpu, int group);
int os_perf_control(int fd, unsigned long request, const void *argument); /* ioctl; 0 or -errno */
/* Send `signal` to that thread at each overflow. */
int os_perf_notify(int fd, uint32_t tid, int signal);
/*
 * The event's id, which distinguishes it from a later file with the same descriptor number; -errno:
 * not an event.
 */
int os_perf_id(int fd, uint64_t *id);
long os_perf_read(int fd, uint64_t *words, size_t bytes);
void os_perf_close(int fd);
bool os_perf_paranoid(int64_t *level); /* false: unknown */
/* Read the beginning of a file, NUL-terminated.  Returns the number of bytes, or -errno. */
long os_read_text(const char *path, char *buffer, size_t room);
/*
 * A socket pair with close-on-exec.  A write after the other end was closed fails without SIGPIPE.
 */
int os_pair(int ends[2]);
/* CPU time of a thread of this process; resource usage of the calling thread. */
bool os_thread_cpu_ns(uint32_t tid, uint64_t *ns);
bool os_thread_usage(struct rusage *usage);
/* The time a thread has waited for a processor; -errno: not readable. */
int os_thread_wait_ns(uint32_t tid, uint64_t *ns);
/* The processor's model name; false: unknown. */
bool os_processor_name(char *buffer, size_t room);

/* ---- threads and signals (at the very end) --------------------------------------------------- */

/* Call visit with each name in a folder that does not begin with a dot.  -errno: not readable. */
int os_each_name(const char *folder, void (*visit)(const char *name, void *about), void *about);
/* Call visit with the tid of each thread of this process.  -errno: not readable. */
int os_each_thread(void (*visit)(uint32_t tid, void *about), void *about);
uint32_t os_threads(void); /* number of threads; 0: unknown */
#define OS_CALL_ARGUMENTS 6u

/* A thread that sleeps in the kernel. */
struct os_waiting {
    bool in_call; /* in a system call: number and argument are set; false: in a page fault */
    uint64_t number, argument[OS_CALL_ARGUMENTS];
    uintptr_t futex; /* the futex word it waits for; 0: another call */
    /* The kernel restarts the call transparently after a handler with SA_RESTART. */
    bool is_repeated;
    uintptr_t sp;
};
/* false: the thread runs or has ended, or the kernel does not report its state. */
bool os_thread_waits(uint32_t tid, struct os_waiting *w);
bool os_thread_blocks(uint32_t tid, int signal); /* is `signal` in the thread's mask? */
uintptr_t os_thread_list(uint32_t tid);          /* address of its robust mutex list; 0: unknown */
enum os_thread_state {
    OS_THREAD_WAITS, /* in the kernel; or unknown */
    OS_THREAD_RUNS,  /* or is runnable */
    OS_THREAD_OVER,  /* the main thread stays listed until all threads have ended */
};
enum os_thread_state os_thread_state(uint32_t tid);

typedef void (*os_handler)(int signal, void *info, void *context); /* info: a siginfo_t */

/* A kernel signal action, set without libc's knowledge; restored by os_restore_action. */
struct os_action {
    uint64_t handler, flags, restorer, mask; /* as in the kernel's struct sigaction */
};

/* All signals are blocked in the handler, except `unblocked` (0: none). */
int os_take_signal(int signal, os_handler handler, int flags, int unblocked,
                   struct os_action *before);
void os_restore_action(int signal, const struct os_action *before);
int os_action_of(int signal, struct os_action *now);
os_handler os_handler_of(const struct os_action *action); /* NULL: default or ignored */
bool os_is_default(const struct os_action *action);
/*
 * In a handler of a signal that was sent: send it again as it was, and block it also after the handler
 * has returned, so it stays pending.
 */
void os_keep_pending(int signal, const void *info, void *context);
/* Queue a signal for one thread; siginfo has SI_QUEUE and `value`. */
int os_signal_thread(uint32_t tid, int signal, void *value);
/*
 * In a handler: has this signal, or one just before it, made a system call fail with EINTR?  The
 * kernel does not save the call's number.  So a call is repeatable only if two conditions hold.
 * The instruction that loads the number must precede the syscall instruction directly.  And a call
 * of that number must have no effect if it fails with EINTR.  A relative time limit starts again
 * with the repetition.
 */
enum os_interrupted {
    OS_NO_CALL,
    OS_CALL_REPEATABLE,
    OS_CALL_ENDED, /* the call will return EINTR */
};
enum os_interrupted os_interrupted_call(const void *context);
void os_repeat_call(
    void *context); /* for OS_CALL_REPEATABLE: the return of the handler restarts the call */

/* ---- syscall user dispatch (dispatch.c) ------------------------------------------------------ */

/*
 * Arm syscall user dispatch.  From now on each system call instruction of the calling thread
 * outside of [start, start + bytes) raises SIGSYS instead of entering the kernel.  Children are
 * armed as described at os_dispatch_pass.  `before`: the previous action of SIGSYS.  -errno: not
 * supported; nothing has changed.
 */
int os_dispatch_start(os_handler handler, uintptr_t start, uint64_t bytes,
                      struct os_action *before);
int os_dispatch_arm(void); /* arm the calling thread, too */
void os_dispatch_disarm(void);
void os_dispatch_on_stack(
    void); /* from now on the SIGSYS handler runs on the thread's alternate stack, if it has one */
uint64_t os_dispatch_missed(void); /* threads that could not be armed at their start */
/* Was the SIGSYS raised by user dispatch?  *foreign: the call does not use the machine's own ABI. */
bool os_is_dispatched(const void *info, bool *foreign);

/*
 * In the handler: resume the thread so that it makes the call itself, on its own stack and with its
 * own signal mask.  Kernel and program see no difference.  false: the call cannot be made so.
 */
bool os_dispatch_pass(void *context);
/* Like os_dispatch_pass, but saves nothing on the stack. */
bool os_dispatch_pass_stackless(void *context);
/*
 * Like os_dispatch_pass, but with another value of that argument (0..5) during the call: a pointer
 * to a copy of the `bytes` of `data`.
 */
#define OS_DISPATCH_DATA 32u
void os_dispatch_pass_changed(void *context, unsigned argument, const void *data, size_t bytes);
/* Skip the call: `result` becomes its result. */
void os_dispatch_return(void *context, long result);
/* Make the thread execute the call instruction again, after it was disarmed. */
void os_dispatch_repeat(void *context);
/*
 * Read an argument in the program's memory.  false: unreadable; pass the call on, so that the
 * kernel reports the error.
 */
bool os_dispatch_look(long at, void *out, size_t bytes);
void os_dispatch_call(const void *context, long *number, long argument[6]);
/* Remove SIGSYS from the mask that the handler's return restores. */
void os_dispatch_unblock(void *context);
uintptr_t os_dispatch_sp(const void *context);
/* As if the program had called a function at the call instruction. */
struct entry os_dispatch_entry(const void *context);
/* Issue a system call on behalf of the program. */
long os_pass(long number, long a, long b, long c, long d, long e, long f);

#endif
