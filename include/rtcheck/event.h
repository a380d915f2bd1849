/*
 * event.h - memory events: handlers are notified when a program changes its address space.
 *
 * The interface is that of UCX's ucm, with the prefix rtc_event_ instead of ucm_; rtcheck/ucm.h has
 * ucm's own names.  Differences are documented.  Calls are intercepted because our library
 * precedes libc in symbol lookup (LD_PRELOAD): no code is patched.  The following are not
 * intercepted, except with the option events=all (rtc_event_dispatched returns its cost):
 *
 *   - libc's internal calls (stacks of threads, its own heap, loading of libraries);
 *   - raw system calls;
 *   - calls by libraries that dlmopen has loaded into a namespace with its own libc.
 *
 * No tool can intercept changes by the kernel: a madvise passed to io_uring (IORING_OP_MADVISE), or
 * pages of a file that is truncated or has a hole punched.  Mappings of the runtime itself never
 * cause events, except the heap for malloc: see below.
 *
 * A program links and runs without the runtime: every function is a weak symbol, NULL without the
 * runtime.  Test one, e.g. `if (rtc_event_set_handler)`.  (With clang the program must be
 * position-independent, the default, to find it.)
 *
 * Unless a function documents otherwise: sizes are in bytes; a status of type int is 0 or a
 * negative errno value, and errno is unchanged; any thread may call it, but not signal handlers.
 *
 * Callbacks run in the thread that makes the call, with no lock held, so they may run in several
 * threads concurrently.  A callback must return (no longjmp) and must not wait for threads that may
 * allocate or register.  It must not allocate if an allocator may cause the event.  It may make
 * calls that cause events.  Handlers that are already running in this thread are not notified of
 * these.  The callback's errno is discarded.
 *
 * Forks: a child has its parent's handlers.  A thread that was in a callback when another thread
 * forked does not exist in the child, and no function waits for it there.
 */
#ifndef RTCHECK_EVENT_H
#define RTCHECK_EVENT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "api.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Event types, for masks.  A call of the program is a native event.  VM_* events are aggregates,
 * derived from every native event that changes mappings:
 *
 *   native           VM_UNMAPPED, before the call     VM_MAPPED, afterwards
 *   MMAP             the part replaced by MAP_FIXED   the new mapping
 *                    (address not NULL)
 *   MUNMAP           the range                        -
 *   MREMAP           the old range (unless old_size   the new range; with
 *                    is 0), and the part replaced     MREMAP_DONTUNMAP the
 *                    by MREMAP_FIXED                  old one, too
 *   SHMAT            the part replaced by SHM_REMAP   the attachment
 *   SHMDT            the attachment                   -
 *   SBRK, BRK        the part returned                the part added
 *   MADVISE          the range, with DONTNEED, FREE   -
 *                    or REMOVE
 *   REMAP_FILE_PAGES the range                        the range
 *   MPROTECT, MLOCK, MSYNC: none
 *
 * Ranges are whole pages, rounded like in the kernel.  An empty range, or one that the kernel
 * refuses for its values alone (unaligned, size 0), is not announced.  The range of VM_MAPPED is
 * the result and the size that the caller passed, also if a handler changed the size.
 * MAP_FIXED_NOREPLACE replaces nothing.  A call that would map over memory of the runtime is not
 * made: it fails with ENOMEM, announced ranges are cancelled, and there is no native event.
 *
 * If the call then fails, VM_CANCELLED has the part of an announced range that is still mapped
 * unchanged.  (ucm's users must assume that it is gone.)  The kernel may fail MAP_FIXED and
 * MREMAP_FIXED after it has unmapped the target, so afterwards the mappings are read.  A failed
 * MREMAP_FIXED of several mappings may have moved some of them.  VM_MAPPED then has the mappings at
 * the new address, perhaps with some that were not changed.
 */
/*
 * The heap.  Memory from malloc keeps its address and pages until free, and causes no events.
 * VM_UNMAPPED announces pages of free memory before they are returned to the system, in a free or
 * realloc.  VM_MAPPED announces memory by which the heap has grown, or returned memory that it uses
 * again, before that malloc returns; a large block that grows the heap is in one range as a whole.  Both come without a native event, and may combine several
 * pieces with the memory between them.  So a registration by address is either still valid or was
 * announced as unmapped.  (With heap=file no memory is returned while handlers are registered.)
 */
enum rtc_event_type {
    RTC_EVENT_NONE = 0,
    RTC_EVENT_MMAP = 1 << 0, /* mmap, mmap64 */
    RTC_EVENT_MUNMAP = 1 << 1,
    RTC_EVENT_MREMAP = 1 << 2,
    RTC_EVENT_SHMAT = 1 << 3,
    RTC_EVENT_SHMDT = 1 << 4,
    RTC_EVENT_SBRK = 1 << 5,
    /*
     * also posix_madvise, which ignores DONTNEED, and process_madvise of this process, one event
     * for each range
     */
    RTC_EVENT_MADVISE = 1 << 6,
    RTC_EVENT_BRK = 1 << 7,
    /* not in ucm */
    RTC_EVENT_MPROTECT = 1 << 8, /* also pkey_mprotect */
    RTC_EVENT_MLOCK = 1 << 9,    /* mlock, mlock2, munlock, mlockall, munlockall */
    RTC_EVENT_MSYNC = 1 << 10,
    RTC_EVENT_REMAP_FILE_PAGES = 1 << 11,

    RTC_EVENT_VM_MAPPED = 1 << 16,
    RTC_EVENT_VM_UNMAPPED = 1 << 17,
    RTC_EVENT_VM_CANCELLED = 1 << 18, /* not in ucm */

    /* memory of devices and private allocators: announced by rtc_mem_type_alloc and _free */
    RTC_EVENT_MEM_TYPE_ALLOC = 1 << 20,
    RTC_EVENT_MEM_TYPE_FREE = 1 << 21,

    /* flags in the mask for rtc_event_set_handler */
    RTC_EVENT_FLAG_NO_INSTALL = 1 << 24,
    RTC_EVENT_FLAG_EXISTING_ALLOC = 1 << 25
};

enum rtc_event_lock_call {
    RTC_EVENT_CALL_MLOCK,
    RTC_EVENT_CALL_MLOCK2,
    RTC_EVENT_CALL_MUNLOCK,
    RTC_EVENT_CALL_MLOCKALL, /* has no range */
    RTC_EVENT_CALL_MUNLOCKALL
};

/*
 * The arguments of the call, and its result.  The result is invalid at first: MAP_FAILED for MMAP,
 * MREMAP, SHMAT and SBRK, -1 for the others.
 *
 * A handler may change the fields for later handlers and for the call itself.  It may set the
 * result only while it is invalid.  A valid result means that the operation has been performed;
 * then handlers should not make lasting changes.  So a handler with a negative priority may perform
 * the operation itself, and the call is not made.  Fields of VM_* and MEM_TYPE_* are read-only:
 * each handler gets its own copy.
 */
union rtc_event {
    struct {
        void *result;
        void *address;
        size_t size;
        int prot, flags, fd;
        off_t offset;
    } mmap;
    struct {
        int result;
        void *address;
        size_t size;
    } munmap;
    struct {
        void *result;
        void *address;
        size_t old_size, new_size;
        int flags;
        void *new_address; /* with MREMAP_FIXED; a hint with MREMAP_DONTUNMAP */
    } mremap;
    struct {
        void *result;
        int shmid;
        const void *shmaddr;
        int shmflg;
    } shmat;
    struct {
        int result;
        const void *shmaddr;
    } shmdt;
    struct {
        void *result;
        intptr_t increment;
    } sbrk;
    struct {
        int result;
        void *addr; /* NULL: a query, no change */
    } brk;
    struct {
        int result;
        void *addr;
        size_t length;
        int advice;
    } madvise;
    struct {
        int result;
        void *address;
        size_t size;
        int prot;
        int pkey; /* -1: none */
    } mprotect;
    struct {
        int result;
        enum rtc_event_lock_call call;
        void *address;
        size_t size;
        int flags; /* for mlock2 and mlockall */
    } mlock;
    struct {
        int result;
        void *address;
        size_t size;
        int flags;
    } msync;
    struct {
        int result;
        void *address;
        size_t size;
        int prot;
        size_t pgoff; /* in pages */
        int flags;
    } remap_file_pages;
    struct {
        void *address;
        size_t size;
    } vm_mapped, vm_unmapped, vm_cancelled;
    struct {
        void *address;
        size_t size;
        int mem_type, sys_dev; /* chosen by the caller of rtc_mem_type_alloc */
        unsigned mem_flags;
    } mem_type;
};

typedef union rtc_event rtc_event_t;

/* `event` is valid only during the call. */
typedef void (*rtc_event_callback)(unsigned type, union rtc_event *event, void *arg);

/* ---- options --------------------------------------------------------------------------------- */

/*
 * ucm's configuration options, and their equivalents here (rtcheck/ucm.h has ucm's own names, and
 * reads UCX_MEM_*):
 *
 *   EVENTS                      `enable`, below
 *   LOG_LEVEL                   not here, where nothing is printed; in ucm.h
 *   MMAP_HOOK_MODE              symbols are the only way, at load time; and events=all.  none is
 *                               RTC_EVENT_FLAG_NO_INSTALL
 *   DLOPEN_PROCESS_RPATH        always on: rtc_dlopen uses its caller's search path
 *   MODULE_UNLOAD_PREVENT_MODE  always on: the runtime is never unloaded
 *   ucm_global_opts,
 *   ucm_set_global_opts         rtc_event_init, once; ucm.h has both
 *
 * No option: no code is patched (BISTRO_*), now or later; malloc is always the runtime's (MALLOC_*,
 * ALLOC_ALIGN, DYNAMIC_MMAP_THRESH); device memory is announced by rtc_mem_type_alloc
 * (CUDA_HOOK_MODE).
 *
 * At each registration ucm checks whether its patches were overwritten, and patches again.  That is
 * not needed here, because nothing is patched: rtc_event_test shows whether another interceptor
 * comes first.
 */
struct rtc_event_options {
    size_t size; /* sizeof(struct rtc_event_options), for extensions */
    int enable;  /* 0: refuse handlers that have events; default 1 */
};

/*
 * Set the options; NULL: the defaults.  Only the first call has an effect; without a call the
 * defaults apply. -EINVAL: unknown size.
 */
RTC_API int rtc_event_init(const struct rtc_event_options *options);

/* ---- handlers -------------------------------------------------------------------------------- */

/*
 * Register `callback` for `events`.  Callbacks run in order of priority, lowest first, and of
 * registration.  Those with a priority below 0 run before the call is made, the others after it.
 *
 * The calls of these events are intercepted from then on ("installed"), except:
 *   FLAG_NO_INSTALL       intercepted only if another handler installs or has installed them, or by
 *                         rtc_mmap and so on
 *   an external event     (rtc_event_set_external)
 *
 * FLAG_EXISTING_ALLOC: during this call the callback also gets existing objects.  These are
 * VM_MAPPED for each mapping in /proc/self/maps (none if it cannot be read) and for the heap.
 * Announced memory that was not freed is MEM_TYPE_ALLOC.  Objects created meanwhile may be
 * notified twice, but at least once.
 *
 * -EINVAL: unknown bits, or no callback. -ENOTSUP: events are disabled. -ENOMEM. -EDEADLK: called
 * from a callback.  A mask without events registers nothing and always succeeds.  The caller must
 * keep `arg` valid.
 */
RTC_API int rtc_event_set_handler(unsigned events, int priority, rtc_event_callback callback,
                                  void *arg);

/*
 * Remove `events` from every registration of callback with arg; a registration without events is
 * deleted.  On return no thread runs the callback for them, so `arg` may be freed: it waits for
 * running callbacks. -EDEADLK: called from a callback. -ENOMEM: nothing was changed.
 */
RTC_API int rtc_event_unset_handler(unsigned events, rtc_event_callback callback, void *arg);

/*
 * The program announces these events itself: it calls rtc_vm_mmap and rtc_vm_munmap (or rtc_mmap
 * and so on).  Handlers registered later do not install them. unset: later handlers install them
 * again. -EINVAL, -EDEADLK as above.
 */
RTC_API int rtc_event_set_external(unsigned events);
RTC_API int rtc_event_unset_external(unsigned events);

/*
 * Make each call like the program, and check that it causes its events.  Return 0 if all requested
 * and installed events occur. -ENOTSUP: some do not; `*missing`, unless NULL, receives them.  The
 * test calls through the program's own entry in its global offset table, so a changed entry is
 * detected.  A function that the program never calls is called by name.  The tables of libraries
 * are not tested.
 *
 * mmap and similar calls are performed on memory of the test. brk and sbrk only query. mlockall is
 * called without flags and fails.  For munlockall the test's handler sets the result, so nothing is
 * unlocked; if that is not possible, it is tested only if nothing is locked.  Other handlers are
 * notified of these calls. -EDEADLK, -ENOMEM as above.
 */
RTC_API int rtc_event_test(unsigned events, unsigned *missing);

/*
 * The same for external events: each call must cause the event, by the program's interception.
 * libc's internal names (__mmap and so on) are not tested.
 */
RTC_API int rtc_event_test_external(unsigned events, unsigned *missing);

/*
 * The runtime keeps a table of mappings for its reports, from all calls of these functions,
 * installed or not.  This function compares the table with the kernel's mappings, and corrects it.
 * Return the number of ranges that differ: mapped, unmapped or changed by calls not intercepted,
 * since the first such call or the last comparison.  Threads' stacks and libraries are included,
 * because libc and the loader map them internally.
 *
 * -EAGAIN: another thread was changing mappings; ranges that may be affected are neither counted
 * nor corrected.  Other negative values: the kernel's mappings cannot be read, e.g. -EPERM in a
 * sandbox.
 */
RTC_API long rtc_event_compare(void);

/*
 * With the option events=all, every system call of every thread is intercepted (by syscall user
 * dispatch).  System calls that change the address space and do not come from these functions cause
 * the same events.
 *
 *   - They include internal calls of libc and the loader, made while these hold locks.  So a
 *     callback must not load a library or create a thread.  Such callbacks run in a signal handler.
 *   - Mappings made internally by libc or the loader are not reported as the program's (biu-map).
 *     A statically linked copy of libc in the program or a library cannot be distinguished from it.
 *   - io_setup and io_destroy cause VM_MAPPED and VM_UNMAPPED for their ring, and no native event.
 *   - brk(NULL), map_shadow_stack and the effects of arch_prctl and PR_SET_MM cause no events.
 *   - A thread that unmaps the stack it runs on causes only VM_UNMAPPED.
 */
struct rtc_event_dispatched {
    size_t size;        /* sizeof(struct rtc_event_dispatched), for extensions */
    uint64_t calls;     /* of this process, so far */
    uint64_t told;      /* of these: changes of the address space, not by these functions */
    uint64_t uncovered; /* threads that continue without interception, e.g. in a sandbox */
    unsigned call_ns;   /* additional cost of a call, from `measured` calls at start */
    unsigned measured;
};

/*
 * -ENODATA: events=all is not set. -EINVAL: unknown size.  Other negative values: not available,
 * -ENOTSUP because of the kernel (needs Linux 5.11), -EPERM because it is not permitted.
 */
RTC_API int rtc_event_dispatched(struct rtc_event_dispatched *out);

/* The name of one event, as in the enumeration ("VM_MAPPED"), or NULL.  Async-signal-safe. */
RTC_API const char *rtc_event_name(unsigned event);

/* ---- calls without events -------------------------------------------------------------------- */

/*
 * Call libc's function, or another library's that overrides it.  Semantics, errno and
 * async-signal-safety are those of that function.  The table of mappings is updated as for all
 * other calls; the heap is not changed.
 */
RTC_API void *rtc_orig_mmap(void *address, size_t size, int prot, int flags, int fd, off_t offset);
RTC_API int rtc_orig_munmap(void *address, size_t size);
RTC_API void *rtc_orig_mremap(void *address, size_t old_size, size_t new_size, int flags, ...);
RTC_API void *rtc_orig_shmat(int shmid, const void *shmaddr, int shmflg);
RTC_API int rtc_orig_shmdt(const void *shmaddr);
RTC_API void *rtc_orig_sbrk(intptr_t increment);
RTC_API int rtc_orig_brk(void *addr);
RTC_API int rtc_orig_madvise(void *addr, size_t length, int advice);

/* ---- calls with events ----------------------------------------------------------------------- */

/*
 * Call the function and all handlers of its events, installed or not; otherwise like libc's.
 * Signal handlers may call these functions if the callbacks are async-signal-safe. rtc_dlopen
 * searches a library by its caller's RPATH or RUNPATH.
 */
RTC_API void *rtc_mmap(void *address, size_t size, int prot, int flags, int fd, off_t offset);
RTC_API int rtc_munmap(void *address, size_t size);
RTC_API void *rtc_mremap(void *address, size_t old_size, size_t new_size, int flags, ...);
RTC_API void *rtc_shmat(int shmid, const void *shmaddr, int shmflg);
RTC_API int rtc_shmdt(const void *shmaddr);
RTC_API void *rtc_sbrk(intptr_t increment);
RTC_API int rtc_brk(void *addr);
RTC_API int rtc_madvise(void *addr, size_t length, int advice);
RTC_API void *rtc_dlopen(const char *file, int flags);

/* ---- events without calls -------------------------------------------------------------------- */

/*
 * Announce VM_MAPPED after, or VM_UNMAPPED before, the operation.  The range is passed on
 * unchanged.
 */
RTC_API void rtc_vm_mmap(void *address, size_t size);
RTC_API void rtc_vm_munmap(void *address, size_t size);

/*
 * Announce that special memory was allocated, or is about to be freed.  The caller chooses the
 * numbers.  They are passed to handlers, those of an allocation also at its free.  A free of memory
 * that was not announced has only the address, and size 0.  If there is no memory to record an
 * allocation, it is announced now, but not replayed.  A second allocation at an address that was
 * not freed does not replace the first: both are recorded and replayed, and the next free ends the
 * later one.
 */
RTC_API void rtc_mem_type_alloc(void *address, size_t size, int mem_type, int sys_dev,
                                unsigned mem_flags);
RTC_API void rtc_mem_type_free(void *address);

#ifdef __cplusplus
}
#endif

#endif
