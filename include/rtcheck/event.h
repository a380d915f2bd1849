/*
 * event.h - memory events: what a program does to its address space, told to handlers.
 *
 * The contract is that of UCX's ucm (its names with rtc_event_ in place of ucm_), so that code written
 * for it carries over; where this one differs it says so.  Calls are seen because our library stands in
 * front of libc (LD_PRELOAD): no code is patched.  What libc does for itself (stacks of threads, its
 * own heap, loading of libraries), raw system calls, and what libraries do that dlmopen has loaded
 * into a namespace with a libc of its own, are not seen, but with the option events=all
 * (rtc_event_dispatched says what it costs).  Not seen by anybody is what the kernel does of its
 * own: a madvise that it was given by io_uring (IORING_OP_MADVISE), pages of a file that is cut
 * short or has a hole punched.  Mappings of the runtime itself never make events, but for the heap
 * that it serves malloc from: see below.
 *
 * A program links and runs without the runtime: every function is a weak symbol, NULL where the
 * runtime is not there.  Ask once, e.g. `if (rtc_event_set_handler)`.  (With clang a program has to be
 * position-independent to find it, as it is by default.)
 *
 * Unless a function says otherwise: addresses and sizes are in bytes; ints that are status return 0 or
 * a negative errno value and leave errno alone; it may be called from any thread, and not from signal
 * handlers.
 *
 * Callbacks run in the thread that makes the call, with no lock held; so they may run in several
 * threads at once.  A callback returns (no longjmp out of it), waits for nobody who may allocate or
 * register, and allocates nothing where the event may come from an allocator.  It may call everything
 * that makes events itself; those are told to the other handlers, not to one that runs already in
 * this thread.  errno is the caller's: what a callback leaves there is forgotten.
 *
 * Forks: a child has its parent's handlers.  A thread that was in a callback when another one forked is
 * not in the child, and nobody waits for it there.
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
 * Kinds of events, for masks.  A call of the program is a native event; VM_* are aggregates, made of
 * any native one that changes what is mapped:
 *
 *   native           VM_UNMAPPED before, of                        VM_MAPPED after success, of
 *   MMAP             what MAP_FIXED replaces (address not NULL)    the new mapping
 *   MUNMAP           the range                                     -
 *   MREMAP           the old range (unless old_size is 0), and     the new range; with
 *                    what MREMAP_FIXED replaces                    MREMAP_DONTUNMAP the old one, too
 *   SHMAT            what SHM_REMAP replaces                       the attachment
 *   SHMDT            the attachment                                -
 *   SBRK, BRK        what is given back                            what is added
 *   MADVISE          DONTNEED, FREE, REMOVE: the range             -
 *   REMAP_FILE_PAGES the range                                     the range
 *   MPROTECT, MLOCK, MSYNC: none
 *
 * Ranges are whole pages, rounded as the kernel rounds them; an empty one, or one that the kernel
 * refuses by its numbers alone (unaligned, size 0), is not announced.  The range of VM_MAPPED is the
 * result and the size that the caller gave, also where a handler changed the size.
 * MAP_FIXED_NOREPLACE replaces nothing.  A call that would map over memory that the runtime uses is
 * not made: it fails with ENOMEM, what was announced is cancelled, and its native event is not
 * told.
 *
 * When the call then fails, VM_CANCELLED tells what of an announced range is still mapped as it was.
 * (ucm leaves its users to believe that it is gone.)  A kernel may fail MAP_FIXED and
 * MREMAP_FIXED having unmapped what was in their place; so after those it is asked.  Of several
 * mappings, MREMAP_FIXED may have moved some when it fails: VM_MAPPED then tells what is at their new
 * place, and may tell of something there that was not touched, too.
 */
/*
 * The heap.  Memory that malloc gives and free takes stays where and what it is, and nothing is told of
 * it.  But VM_UNMAPPED tells of pages of free memory before they go back to the system, in a free or realloc,
 * and VM_MAPPED of what the heap has grown by, or uses again of that, before the malloc that made it do so
 * returns; both without a native event.  (Of many pieces at once it may tell with what lies
 * between.)  So what is registered somewhere by its address is either the same memory as ever or
 * was told to be gone.  (A heap in the run file, heap=file, gives nothing back.)
 */
enum rtc_event_type {
    RTC_EVENT_NONE = 0,
    RTC_EVENT_MMAP = 1 << 0, /* mmap, mmap64 */
    RTC_EVENT_MUNMAP = 1 << 1,
    RTC_EVENT_MREMAP = 1 << 2,
    RTC_EVENT_SHMAT = 1 << 3,
    RTC_EVENT_SHMDT = 1 << 4,
    RTC_EVENT_SBRK = 1 << 5,
    /* and posix_madvise, which does nothing for DONTNEED; process_madvise of oneself, one for each range */
    RTC_EVENT_MADVISE = 1 << 6,
    RTC_EVENT_BRK = 1 << 7,
    /* not in ucm */
    RTC_EVENT_MPROTECT = 1 << 8, /* and pkey_mprotect */
    RTC_EVENT_MLOCK = 1 << 9,    /* mlock, mlock2, munlock, mlockall, munlockall */
    RTC_EVENT_MSYNC = 1 << 10,
    RTC_EVENT_REMAP_FILE_PAGES = 1 << 11,

    RTC_EVENT_VM_MAPPED = 1 << 16,
    RTC_EVENT_VM_UNMAPPED = 1 << 17,
    RTC_EVENT_VM_CANCELLED = 1 << 18, /* not in ucm */

    /* memory of devices and private allocators: announced by rtc_mem_type_alloc and _free */
    RTC_EVENT_MEM_TYPE_ALLOC = 1 << 20,
    RTC_EVENT_MEM_TYPE_FREE = 1 << 21,

    /* with the mask given to rtc_event_set_handler */
    RTC_EVENT_FLAG_NO_INSTALL = 1 << 24,
    RTC_EVENT_FLAG_EXISTING_ALLOC = 1 << 25
};

enum rtc_event_lock_call {
    RTC_EVENT_CALL_MLOCK,
    RTC_EVENT_CALL_MLOCK2,
    RTC_EVENT_CALL_MUNLOCK,
    RTC_EVENT_CALL_MLOCKALL, /* of no range */
    RTC_EVENT_CALL_MUNLOCKALL
};

/*
 * What the call was given, and its result, which begins as the invalid one: MAP_FAILED for MMAP,
 * MREMAP, SHMAT and SBRK, -1 for the others.
 *
 * A handler may change the fields: later ones and the call itself see that.  It may set the result
 * only while that is invalid, and should do nothing of lasting effect while it is valid: then the
 * operation has been performed.  One with a negative priority may so perform it itself, and the call
 * is not made.  Fields of VM_* and MEM_TYPE_* are to be read only: each handler gets its own copy.
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
        void *new_address; /* with MREMAP_FIXED, and a wish with MREMAP_DONTUNMAP */
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
        void *addr; /* NULL: a question, no change */
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
        int flags; /* of mlock2 and mlockall */
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
        int mem_type, sys_dev; /* numbers of the announcer's own */
        unsigned mem_flags;
    } mem_type;
};

typedef union rtc_event rtc_event_t;

/* `event` is valid for the time of the call only. */
typedef void (*rtc_event_callback)(unsigned type, union rtc_event *event, void *arg);

/* ---- options --------------------------------------------------------------------------------- */

/*
 * What of ucm's configuration means something here, and what does not:
 *
 *   EVENTS                      enable, below
 *   LOG_LEVEL                   no effect, because the runtime prints nothing
 *   MMAP_HOOK_MODE              no effect, because there is one way: symbols, at load time; and events=all
 *   BISTRO_FORCE_FAR_JUMP,
 *   BISTRO_GRACE_DURATION       no effect, because no code is patched
 *   MALLOC_HOOKS, MALLOC_RELOC,
 *   ALLOC_ALIGN,
 *   DYNAMIC_MMAP_THRESH,
 *   MALLOC_TRIM_THRESHOLD_,
 *   MALLOC_MMAP_THRESHOLD_      no effect, because malloc is the runtime's in any case (mallopt says 1 and does nothing)
 *   CUDA_HOOK_MODE              no effect, because devices' memory is announced (rtc_mem_type_alloc)
 *   DLOPEN_PROCESS_RPATH        always so: rtc_dlopen keeps its caller's search path
 *   MODULE_UNLOAD_PREVENT_MODE  always so: the runtime is never unloaded
 *   ucm_global_opts,
 *   ucm_set_global_opts         rtc_event_init, once; what it has set cannot be read
 *
 * ucm looks at each registration whether somebody has overwritten what it has patched, and patches
 * it again.  There is nothing of the kind here, because nothing is patched: rtc_event_test says who
 * stands in front.
 */
struct rtc_event_options {
    size_t size; /* sizeof(struct rtc_event_options), for later ones to grow */
    int enable;  /* 0: handlers of anything but nothing are refused; default 1 */
};

/*
 * Sets the options, NULL: the defaults.  Only the first call has an effect; without one the defaults
 * hold.  -EINVAL: the size is not known.
 */
RTC_API int rtc_event_init(const struct rtc_event_options *options);

/* ---- handlers -------------------------------------------------------------------------------- */

/*
 * From now on `callback` is told of `events`, lowest priority first, those of equal priority in the
 * order of their registration; those below 0 before the call is made, the others after it.
 *
 * The calls of these events are seen from then on ("installed"), but not by:
 *   FLAG_NO_INSTALL       they are seen if another handler has them seen, or once had (what is installed stays so),
 *                         or by rtc_mmap and so on
 *   an external event     (rtc_event_set_external)
 * FLAG_EXISTING_ALLOC: within this call the handler is also told of what exists already: VM_MAPPED of
 * each mapping in /proc/self/maps (none where it cannot be read) and of the heap, MEM_TYPE_ALLOC of what was
 * announced and not freed.  What comes into being meanwhile may be told twice, never not at all.
 *
 * -EINVAL: unknown bits, or no callback.  -ENOTSUP: events are disabled.  -ENOMEM.  -EDEADLK: called
 * from a callback.  A mask without events registers nothing and always succeeds.  `arg` is the caller's
 * to keep alive.
 */
RTC_API int rtc_event_set_handler(unsigned events, int priority, rtc_event_callback callback,
                                  void *arg);

/*
 * Takes `events` from every registration of callback with arg; one without events is gone.  When it
 * returns no thread runs the callback for them any more, so `arg` may be freed; it waits for those
 * that do.  -EDEADLK: called from a callback.  -ENOMEM: nothing was changed.
 */
RTC_API int rtc_event_unset_handler(unsigned events, rtc_event_callback callback, void *arg);

/*
 * The program sees to these events itself: it calls rtc_vm_mmap and rtc_vm_munmap (or rtc_mmap and
 * so on).  Handlers registered later do not install them.  unset: later ones do again.
 * -EINVAL, -EDEADLK as above.
 */
RTC_API int rtc_event_set_external(unsigned events);
RTC_API int rtc_event_unset_external(unsigned events);

/*
 * Makes each call as the program would, and looks which events it leads to; of those that were asked
 * for and are installed, all have to come: 0.  -ENOTSUP: `*missing`, when it is not NULL, has those
 * that did not.  As the program would: by the word of its own (in its global offset table) that its
 * calls of the function go through, so that who has changed that is found, too; of what the program
 * itself never calls, by the name.  Words of its libraries are not looked at.
 * mmap and the like are really performed, on memory of the test's own; brk and sbrk only ask,
 * mlockall is asked for nothing and fails, munlockall unlocks nothing: the test's handler says that
 * it was performed, and where it may not come to that it is tried only if nothing is locked.  Other
 * handlers see these calls.
 * -EDEADLK, -ENOMEM as above.
 */
RTC_API int rtc_event_test(unsigned events, unsigned *missing);

/*
 * The same of those that are external: each call has to lead to the event, by the program's doing.  Calls by
 * names of libc's own (__mmap and so on) are left out.
 */
RTC_API int rtc_event_test_external(unsigned events, unsigned *missing);

/*
 * The runtime keeps a map of what is mapped, from all calls of these functions, events installed or not, for
 * what it reports.  This compares the map with what the kernel has, and mends it: how many ranges there
 * were that differ, made, taken away or changed behind our back since the first such call or the last
 * comparison.  Threads' stacks and libraries are among them: libc and the loader map them unseen.
 *
 * -EAGAIN: another thread was changing something; what may have been on its way was not counted, nor taken
 * into the map.  Other negative values: the kernel cannot be asked, e.g. -EPERM in a sandbox.
 */
RTC_API long rtc_event_compare(void);

/*
 * With the option events=all, every system call of every thread is looked at (by syscall user
 * dispatch): those that change the address space and came by none of these functions lead to the
 * same events.  libc's and the loader's own are among them, made while they hold locks: a callback
 * must not load a library or begin a thread.  Such callbacks run in a signal handler.  What code of
 * libc's or the loader's maps by itself is no finding (biu-map) of the program's; what a copy of
 * libc does that was linked into the program or a library cannot be told from it.  io_setup and
 * io_destroy make VM_MAPPED and VM_UNMAPPED of their ring, and no native event.  Not told are
 * brk(NULL), map_shadow_stack and what arch_prctl or PR_SET_MM move; who unmaps the stack that he
 * stands on is told of by VM_UNMAPPED alone.
 */
struct rtc_event_dispatched {
    size_t size;    /* sizeof(struct rtc_event_dispatched), for later ones to grow */
    uint64_t calls; /* of this process, so far */
    uint64_t
        told; /* of them, those that change the address space and came by none of these functions */
    uint64_t uncovered; /* threads that go on without, e.g. in a sandbox */
    unsigned call_ns;   /* what one costs more, as `measured` calls at start have shown */
    unsigned measured;
};

/*
 * -ENODATA: events=all was not asked for.  -EINVAL: the size is not known.  Other negative values: there is no
 * such thing here, and why: -ENOTSUP, no kernel for it (Linux 5.11); -EPERM, it is not allowed.
 */
RTC_API int rtc_event_dispatched(struct rtc_event_dispatched *out);

/* The name of one event, as in the enumeration ("VM_MAPPED"); NULL: it is none.  Signal-safe. */
RTC_API const char *rtc_event_name(unsigned event);

/* ---- calls without events -------------------------------------------------------------------- */

/*
 * libc's functions, or what stands between us and libc; semantics and errno are theirs, and so is
 * their safety in signal handlers.  They go into the map as all others, and leave the heap as it is.
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
 * The call and all handlers of its events, installed or not; otherwise as libc's.  In signal handlers
 * they may be called if the callbacks may.  rtc_dlopen is dlopen: a search for a library uses its
 * caller's RPATH or RUNPATH.
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

/* Tell the handlers of VM_MAPPED and VM_UNMAPPED: that and before it is done, the range as given. */
RTC_API void rtc_vm_mmap(void *address, size_t size);
RTC_API void rtc_vm_munmap(void *address, size_t size);

/*
 * Memory of a kind of its own has been made, is about to be freed.  Numbers are the caller's own;
 * they come back in the events, those of an allocation also at its free.  A free of what was not
 * announced is told with the address alone, and size 0.  An allocation that there is no memory to
 * remember is told now, and not replayed.  One at an address that was announced and not freed does
 * not replace the first: both are remembered and replayed, and the next free ends the younger one.
 */
RTC_API void rtc_mem_type_alloc(void *address, size_t size, int mem_type, int sys_dev,
                                unsigned mem_flags);
RTC_API void rtc_mem_type_free(void *address);

#ifdef __cplusplus
}
#endif

#endif
