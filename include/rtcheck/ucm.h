/*
 * ucm.h - the names of UCX's memory hooks (ucm/api/ucm.h), over rtcheck/event.h.
 *
 * A client of ucm compiles with this header in place of ucm's and of those ucs headers that ucm's
 * includes.  Nothing is linked: each function is defined here, and calls the runtime if it is
 * there.  Without the runtime registrations fail with UCS_ERR_UNSUPPORTED, and ucm_mmap and its
 * like call libc.
 *
 * Semantics are those of rtcheck/event.h, which also lists the differences.  No code is patched:
 * calls are intercepted by symbols, at load time, so nothing is installed later.  Instead each
 * registration tests whether the calls of its events reach the runtime.  If another library comes
 * first, the registration fails with UCS_ERR_UNSUPPORTED, and a warning has the missing events and
 * the file of that library.  ucm_test_events does the same.
 *
 * The environment, read at the first call of a function of ucm (the names are ucm's, values as
 * there):
 *
 *   UCX_MEM_EVENTS=n             registrations of events fail
 *   UCX_MEM_MMAP_HOOK_MODE=none  installs nothing, as UCM_EVENT_FLAG_NO_INSTALL; reloc and bistro
 *                                have the runtime's way
 *   UCX_MEM_LOG_LEVEL            fatal, error, warn (the default), info, debug, trace: what is
 *                                printed to stderr
 *
 * Other variables of ucm are accepted, and one line of level warn lists those that are set.  They
 * select ways of patching, or properties of ucm's own malloc, which the runtime's replaces.
 */
#ifndef RTCHECK_UCM_H
#define RTCHECK_UCM_H

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "event.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- types of ucs ---------------------------------------------------------------------------- */

/* Define RTC_UCM_WITH_UCS if UCX's own headers of these types are included before. */
#ifndef RTC_UCM_WITH_UCS
typedef enum {
    UCS_OK = 0,
    UCS_ERR_NO_MEMORY = -4,
    UCS_ERR_INVALID_PARAM = -5,
    UCS_ERR_BUSY = -15,
    UCS_ERR_UNSUPPORTED = -22
} ucs_status_t;

typedef enum {
    UCS_LOG_LEVEL_FATAL,
    UCS_LOG_LEVEL_ERROR,
    UCS_LOG_LEVEL_WARN,
    UCS_LOG_LEVEL_DIAG,
    UCS_LOG_LEVEL_INFO,
    UCS_LOG_LEVEL_DEBUG,
    UCS_LOG_LEVEL_TRACE,
    UCS_LOG_LEVEL_TRACE_REQ,
    UCS_LOG_LEVEL_TRACE_DATA,
    UCS_LOG_LEVEL_TRACE_ASYNC,
    UCS_LOG_LEVEL_TRACE_FUNC,
    UCS_LOG_LEVEL_TRACE_POLL,
    UCS_LOG_LEVEL_LAST,
    UCS_LOG_LEVEL_PRINT
} ucs_log_level_t;

typedef enum {
    UCS_MEMORY_TYPE_HOST,
    UCS_MEMORY_TYPE_CUDA,
    UCS_MEMORY_TYPE_CUDA_MANAGED,
    UCS_MEMORY_TYPE_ROCM,
    UCS_MEMORY_TYPE_ROCM_MANAGED,
    UCS_MEMORY_TYPE_RDMA,
    UCS_MEMORY_TYPE_ZE_HOST,
    UCS_MEMORY_TYPE_ZE_DEVICE,
    UCS_MEMORY_TYPE_ZE_MANAGED,
    UCS_MEMORY_TYPE_LAST,
    UCS_MEMORY_TYPE_UNKNOWN = UCS_MEMORY_TYPE_LAST
} ucs_memory_type_t;
#endif

/* ---- events ---------------------------------------------------------------------------------- */

typedef enum ucm_event_type {
    UCM_EVENT_NONE = 0,
    UCM_EVENT_MMAP = RTC_EVENT_MMAP,
    UCM_EVENT_MUNMAP = RTC_EVENT_MUNMAP,
    UCM_EVENT_MREMAP = RTC_EVENT_MREMAP,
    UCM_EVENT_SHMAT = RTC_EVENT_SHMAT,
    UCM_EVENT_SHMDT = RTC_EVENT_SHMDT,
    UCM_EVENT_SBRK = RTC_EVENT_SBRK,
    UCM_EVENT_MADVISE = RTC_EVENT_MADVISE,
    UCM_EVENT_BRK = RTC_EVENT_BRK,
    UCM_EVENT_VM_MAPPED = RTC_EVENT_VM_MAPPED,
    UCM_EVENT_VM_UNMAPPED = RTC_EVENT_VM_UNMAPPED,
    UCM_EVENT_MEM_TYPE_ALLOC = RTC_EVENT_MEM_TYPE_ALLOC,
    UCM_EVENT_MEM_TYPE_FREE = RTC_EVENT_MEM_TYPE_FREE,
    UCM_EVENT_FLAG_NO_INSTALL = RTC_EVENT_FLAG_NO_INSTALL,
    UCM_EVENT_FLAG_EXISTING_ALLOC = RTC_EVENT_FLAG_EXISTING_ALLOC
} ucm_event_type_t;

typedef enum ucm_mmap_hook_mode {
    UCM_MMAP_HOOK_NONE,
    UCM_MMAP_HOOK_RELOC,
    UCM_MMAP_HOOK_BISTRO,
    UCM_MMAP_HOOK_LAST
} ucm_mmap_hook_mode_t;

typedef enum ucm_module_unload_prevent_mode {
    UCM_UNLOAD_PREVENT_MODE_LAZY,
    UCM_UNLOAD_PREVENT_MODE_NOW,
    UCM_UNLOAD_PREVENT_MODE_NONE,
    UCM_UNLOAD_PREVENT_MODE_LAST
} ucm_module_unload_prevent_mode_t;

/* The layout of union rtc_event, which has further members. */
typedef union ucm_event {
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
        void *new_address;
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
        void *addr;
        size_t length;
        int advice;
    } madvise;
    struct {
        int result;
        void *addr;
    } brk;
    struct {
        void *address;
        size_t size;
    } vm_mapped, vm_unmapped;
    struct {
        void *address;
        size_t size;
        ucs_memory_type_t mem_type;
        int sys_dev;
        unsigned mem_flags;
    } mem_type;
} ucm_event_t;

typedef void (*ucm_event_callback_t)(ucm_event_type_t event_type, ucm_event_t *event, void *arg);

/* ---- options --------------------------------------------------------------------------------- */

/* log_level, enable_events and mmap_hook_mode have an effect: see above. */
typedef struct ucm_global_config {
    ucs_log_level_t log_level;
    int enable_events;
    ucm_mmap_hook_mode_t mmap_hook_mode;
    int enable_malloc_hooks;
    int enable_malloc_reloc;
    int cuda_hook_modes;
    int enable_dynamic_mmap_thresh;
    size_t alloc_alignment;
    int dlopen_process_rpath;
    int module_unload_prevent_mode;
    int bistro_force_far_jump;
} ucm_global_config_t;

#define RTC_UCM_INLINE static inline __attribute__((unused))
#define RTC_UCM_SHARED __attribute__((weak)) /* one object of all files that include this header */

RTC_UCM_SHARED ucm_global_config_t ucm_global_opts = {
    UCS_LOG_LEVEL_WARN,           1, UCM_MMAP_HOOK_BISTRO, 1, 0, 0, 1, 16, 1,
    UCM_UNLOAD_PREVENT_MODE_LAZY, 0};
RTC_UCM_SHARED int rtc_ucm_read, rtc_ucm_configured;

/* ---- libc's functions, by names that no other declaration can contradict --------------------- */

extern void *rtc_ucm_mmap(void *, size_t, int, int, int, off_t) __asm__("mmap");
extern int rtc_ucm_munmap(void *, size_t) __asm__("munmap");
extern void *rtc_ucm_mremap(void *, size_t, size_t, int, void *) __asm__("mremap");
extern void *rtc_ucm_shmat(int, const void *, int) __asm__("shmat");
extern int rtc_ucm_shmdt(const void *) __asm__("shmdt");
extern void *rtc_ucm_sbrk(intptr_t) __asm__("sbrk");
extern int rtc_ucm_brk(void *) __asm__("brk");
extern int rtc_ucm_madvise(void *, size_t, int) __asm__("madvise");
extern void *rtc_ucm_dlopen(const char *, int) __asm__("dlopen");
extern void *rtc_ucm_dlsym(void *, const char *) __asm__("dlsym");
extern ssize_t rtc_ucm_write(int, const void *, size_t) __asm__("write");
struct rtc_ucm_place {
    const char *file;
    void *base;
    const char *name;
    void *address;
};
extern int rtc_ucm_dladdr(const void *, struct rtc_ucm_place *) __asm__("dladdr");

/* ---- messages, the environment --------------------------------------------------------------- */

RTC_UCM_INLINE void rtc_ucm_log(ucs_log_level_t level, const char *text, const char *more)
{
    char line[512];
    if (level > ucm_global_opts.log_level)
        return;
    int n = snprintf(line, sizeof line, "rtcheck: ucm: %s%.400s\n", text, more);
    if (rtc_ucm_write(2, line, n < (int)sizeof line ? (size_t)n : sizeof line - 1) < 0)
        return;
}

RTC_UCM_INLINE void rtc_ucm_add(char *list, size_t room, const char *word)
{
    size_t n = strlen(list);
    snprintf(list + n, room - n, "%s%s", n ? ", " : "", word);
}

RTC_UCM_INLINE int rtc_ucm_is(const char *value, const char *const *words)
{
    for (; *words; words++) {
        size_t i = 0;
        while (value[i] && (value[i] | 0x20) == ((*words)[i] | 0x20))
            i++;
        if (!value[i] && !(*words)[i])
            return 1;
    }
    return 0;
}

RTC_UCM_INLINE void rtc_ucm_read_level(const char *value)
{
    static const char *const names[] = {"fatal", "error", "warn", "diag",  "info", "debug",
                                        "trace", "req",   "data", "async", "func", "poll"};
    for (unsigned i = 0; value && i < sizeof names / sizeof *names; i++) {
        const char *const word[] = {names[i], NULL};
        if (rtc_ucm_is(value, word))
            ucm_global_opts.log_level = (ucs_log_level_t)i;
    }
}

/* Read the environment, once. */
RTC_UCM_INLINE void rtc_ucm_start(void)
{
    static const char *const others[] = {"UCX_MEM_ALLOC_ALIGN",
                                         "UCX_MEM_MALLOC_HOOKS",
                                         "UCX_MEM_MALLOC_RELOC",
                                         "UCX_MEM_CUDA_HOOK_MODE",
                                         "UCX_MEM_DYNAMIC_MMAP_THRESH",
                                         "UCX_MEM_DLOPEN_PROCESS_RPATH",
                                         "UCX_MEM_MODULE_UNLOAD_PREVENT_MODE",
                                         "UCX_MEM_BISTRO_FORCE_FAR_JUMP",
                                         "UCX_MEM_BISTRO_GRACE_DURATION"};
    static const char *const no[] = {"n", "no", "0", "off", "false", NULL}, *const none[] = {"none",
                                                                                             NULL};
    char list[400] = "";
    if (__atomic_exchange_n(&rtc_ucm_read, 1, __ATOMIC_ACQ_REL))
        return;
    const char *events = getenv("UCX_MEM_EVENTS"), *mode = getenv("UCX_MEM_MMAP_HOOK_MODE");
    rtc_ucm_read_level(getenv("UCX_MEM_LOG_LEVEL"));
    if (events)
        ucm_global_opts.enable_events = !rtc_ucm_is(events, no);
    if (mode && rtc_ucm_is(mode, none))
        ucm_global_opts.mmap_hook_mode = UCM_MMAP_HOOK_NONE;
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
        if (getenv(others[i]))
            rtc_ucm_add(list, sizeof list, others[i]);
    if (list[0])
        rtc_ucm_log(UCS_LOG_LEVEL_WARN,
                    "no effect, because no code is patched and malloc is rtcheck's: ", list);
}

/* The first call has an effect; NULL: the options as they are. */
RTC_UCM_INLINE void ucm_set_global_opts(const ucm_global_config_t *ucm_opts)
{
    rtc_ucm_start();
    if (__atomic_exchange_n(&rtc_ucm_configured, 1, __ATOMIC_ACQ_REL))
        return;
    if (ucm_opts)
        ucm_global_opts = *ucm_opts;
}

RTC_UCM_INLINE void ucm_library_init(const ucm_global_config_t *ucm_opts)
{
    ucm_set_global_opts(ucm_opts);
}

/* ---- tests ----------------------------------------------------------------------------------- */

RTC_UCM_INLINE ucs_status_t rtc_ucm_status(int err)
{
    switch (err) {
    case 0:
        return UCS_OK;
    case -EINVAL:
        return UCS_ERR_INVALID_PARAM;
    case -ENOMEM:
        return UCS_ERR_NO_MEMORY;
    case -EDEADLK:
        return UCS_ERR_BUSY;
    default:
        return UCS_ERR_UNSUPPORTED;
    }
}

/* If another file's definition of this function comes before the runtime's: add that file. */
RTC_UCM_INLINE void rtc_ucm_add_function(char *list, size_t room, const char *function)
{
    char word[300];
    struct rtc_ucm_place first, own;
    void *f = rtc_ucm_dlsym(NULL, function), *test = rtc_ucm_dlsym(NULL, "rtc_event_test");
    if (!f || !rtc_ucm_dladdr(f, &first) || !rtc_ucm_dladdr(test, &own) || first.base == own.base)
        return;
    snprintf(word, sizeof word, "%s is that of %s", function, first.file);
    rtc_ucm_add(list, room, word);
}

RTC_UCM_INLINE void rtc_ucm_report(unsigned missing)
{
    static const char *const functions[] = {"mmap",  "munmap", "mremap", "shmat",
                                            "shmdt", "sbrk",   "brk",    "madvise"};
    char list[400] = "";
    for (unsigned bit = 0; bit < 32; bit++)
        if (missing >> bit & 1)
            rtc_ucm_add(list, sizeof list, rtc_event_name(1u << bit));
    for (unsigned i = 0; i < sizeof functions / sizeof *functions; i++)
        rtc_ucm_add_function(list, sizeof list, functions[i]);
    rtc_ucm_log(UCS_LOG_LEVEL_WARN, "events are missing: ", list);
}

/* `test` is NULL without the runtime. */
RTC_UCM_INLINE ucs_status_t rtc_ucm_test(int (*test)(unsigned, unsigned *), int events)
{
    unsigned missing = 0;
    rtc_ucm_start();
    if (!test)
        return UCS_ERR_UNSUPPORTED;
    int err = test((unsigned)events, &missing);
    if (missing)
        rtc_ucm_report(missing);
    return rtc_ucm_status(err);
}

/* Make each call, and check that it causes its events; those that handlers have installed. */
RTC_UCM_INLINE ucs_status_t ucm_test_events(int events)
{
    return rtc_ucm_test(rtc_event_test, events);
}

RTC_UCM_INLINE ucs_status_t ucm_test_external_events(int events)
{
    return rtc_ucm_test(rtc_event_test_external, events);
}

/* ---- handlers -------------------------------------------------------------------------------- */

typedef union {
    ucm_event_callback_t of_ucm;
    rtc_event_callback of_runtime;
} rtc_ucm_callback;

RTC_UCM_INLINE ucs_status_t ucm_set_event_handler(int events, int priority, ucm_event_callback_t cb,
                                                  void *arg)
{
    rtc_ucm_callback to;
    unsigned flags = RTC_EVENT_FLAG_NO_INSTALL | RTC_EVENT_FLAG_EXISTING_ALLOC;
    unsigned set = (unsigned)events, only = set & ~flags;
    to.of_ucm = cb;
    ucm_set_global_opts(NULL);
    if (only && !ucm_global_opts.enable_events)
        return UCS_ERR_UNSUPPORTED;
    if (!rtc_event_set_handler)
        return only ? UCS_ERR_UNSUPPORTED : UCS_OK;
    if (ucm_global_opts.mmap_hook_mode == UCM_MMAP_HOOK_NONE)
        set |= RTC_EVENT_FLAG_NO_INSTALL;
    int err = rtc_event_set_handler(set, priority, to.of_runtime, arg);
    if (err || !only || set & RTC_EVENT_FLAG_NO_INSTALL)
        return rtc_ucm_status(err);
    ucs_status_t status = ucm_test_events((int)only);
    if (status != UCS_OK)
        rtc_event_unset_handler(only, to.of_runtime, arg);
    return status;
}

RTC_UCM_INLINE void ucm_unset_event_handler(int events, ucm_event_callback_t cb, void *arg)
{
    rtc_ucm_callback to;
    to.of_ucm = cb;
    if (rtc_event_unset_handler)
        rtc_event_unset_handler((unsigned)events, to.of_runtime, arg);
}

RTC_UCM_INLINE void ucm_set_external_event(int events)
{
    if (rtc_event_set_external)
        rtc_event_set_external((unsigned)events);
}

RTC_UCM_INLINE void ucm_unset_external_event(int events)
{
    if (rtc_event_unset_external)
        rtc_event_unset_external((unsigned)events);
}

RTC_UCM_INLINE void ucm_vm_mmap(void *addr, size_t length)
{
    if (rtc_vm_mmap)
        rtc_vm_mmap(addr, length);
}

RTC_UCM_INLINE void ucm_vm_munmap(void *addr, size_t length)
{
    if (rtc_vm_munmap)
        rtc_vm_munmap(addr, length);
}

/* ---- calls: ucm_X with events, ucm_orig_X without -------------------------------------------- */

RTC_UCM_INLINE void *ucm_orig_mmap(void *addr, size_t length, int prot, int flags, int fd,
                                   off_t offset)
{
    return (rtc_orig_mmap ? rtc_orig_mmap : rtc_ucm_mmap)(addr, length, prot, flags, fd, offset);
}

RTC_UCM_INLINE void *ucm_mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset)
{
    return (rtc_mmap ? rtc_mmap : rtc_ucm_mmap)(addr, length, prot, flags, fd, offset);
}

RTC_UCM_INLINE int ucm_orig_munmap(void *addr, size_t length)
{
    return (rtc_orig_munmap ? rtc_orig_munmap : rtc_ucm_munmap)(addr, length);
}

RTC_UCM_INLINE int ucm_munmap(void *addr, size_t length)
{
    return (rtc_munmap ? rtc_munmap : rtc_ucm_munmap)(addr, length);
}

/* The last argument, new_address, may be missing. */
RTC_UCM_INLINE void *ucm_orig_mremap(void *old_address, size_t old_size, size_t new_size, int flags,
                                     ...)
{
    va_list ap;
    va_start(ap, flags);
    void *to = va_arg(ap, void *);
    va_end(ap);
    return rtc_orig_mremap ? rtc_orig_mremap(old_address, old_size, new_size, flags, to)
                           : rtc_ucm_mremap(old_address, old_size, new_size, flags, to);
}

RTC_UCM_INLINE void *ucm_mremap(void *old_address, size_t old_size, size_t new_size, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    void *to = va_arg(ap, void *);
    va_end(ap);
    return rtc_mremap ? rtc_mremap(old_address, old_size, new_size, flags, to)
                      : rtc_ucm_mremap(old_address, old_size, new_size, flags, to);
}

RTC_UCM_INLINE void *ucm_orig_shmat(int shmid, const void *shmaddr, int shmflg)
{
    return (rtc_orig_shmat ? rtc_orig_shmat : rtc_ucm_shmat)(shmid, shmaddr, shmflg);
}

RTC_UCM_INLINE void *ucm_shmat(int shmid, const void *shmaddr, int shmflg)
{
    return (rtc_shmat ? rtc_shmat : rtc_ucm_shmat)(shmid, shmaddr, shmflg);
}

RTC_UCM_INLINE int ucm_orig_shmdt(const void *shmaddr)
{
    return (rtc_orig_shmdt ? rtc_orig_shmdt : rtc_ucm_shmdt)(shmaddr);
}

RTC_UCM_INLINE int ucm_shmdt(const void *shmaddr)
{
    return (rtc_shmdt ? rtc_shmdt : rtc_ucm_shmdt)(shmaddr);
}

RTC_UCM_INLINE void *ucm_orig_sbrk(intptr_t increment)
{
    return (rtc_orig_sbrk ? rtc_orig_sbrk : rtc_ucm_sbrk)(increment);
}

RTC_UCM_INLINE void *ucm_sbrk(intptr_t increment)
{
    return (rtc_sbrk ? rtc_sbrk : rtc_ucm_sbrk)(increment);
}

RTC_UCM_INLINE int ucm_orig_brk(void *addr)
{
    return (rtc_orig_brk ? rtc_orig_brk : rtc_ucm_brk)(addr);
}

RTC_UCM_INLINE int ucm_brk(void *addr)
{
    return (rtc_brk ? rtc_brk : rtc_ucm_brk)(addr);
}

RTC_UCM_INLINE int ucm_orig_madvise(void *addr, size_t length, int advice)
{
    return (rtc_orig_madvise ? rtc_orig_madvise : rtc_ucm_madvise)(addr, length, advice);
}

RTC_UCM_INLINE int ucm_madvise(void *addr, size_t length, int advice)
{
    return (rtc_madvise ? rtc_madvise : rtc_ucm_madvise)(addr, length, advice);
}

RTC_UCM_INLINE void *ucm_dlopen(const char *filename, int flag)
{
    return (rtc_dlopen ? rtc_dlopen : rtc_ucm_dlopen)(filename, flag);
}

#ifdef __cplusplus
}
#endif

#endif
