/*
 * calls.c - `rtcheck selftest --events[=all] [-v]`: test which calls that change the address space
 * are reported as memory events on this machine.
 *
 * This code runs in a process that has the runtime.  It makes each call as a program would, and
 * records the events that a handler receives.  Missing events show that another library interposes the
 * runtime's functions, or patches libc.
 *
 * -v also tests calls that no interposer of libc sees.  The comparison with the kernel's maps
 * (rtc_event_compare) finds their new mappings.  With =all, the option events=all is set, which
 * reports these calls, and its cost is printed.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "format/bits.h"
#include "rtcheck/event.h"
#include "system_call.h"
#include "selftest.h"

enum { STATUS_NOT_COVERED = 1 };

#define PAGE ((size_t)sysconf(_SC_PAGESIZE))
#define PLAIN (MAP_PRIVATE | MAP_ANONYMOUS)
#define READ_WRITE (PROT_READ | PROT_WRITE)
#define EVENTS 0x370fffu /* all of them */

static unsigned seen;

static void note(unsigned type, union rtc_event *e, void *unused)
{
    (void)e, (void)unused;
    seen |= type;
}

/* ---- the calls ------------------------------------------------------------------------------- */

/* Four pages for the other calls, and a System V shared memory segment. */
static struct {
    char *at;
    int segment;
    void *attached;
} scene = {.at = MAP_FAILED, .segment = -1, .attached = MAP_FAILED};

/* libc's alias of a function with two leading underscores; its type is that of `name`. */
#define UNDERSCORED(name)                          \
    __typeof__(&name) name##_too;                  \
    do {                                           \
        void *f = dlsym(RTLD_DEFAULT, "__" #name); \
        memcpy(&name##_too, &f, sizeof f);         \
    } while (0)

static void call_mmap(void)
{
    scene.at = mmap(NULL, 4 * PAGE, READ_WRITE, PLAIN, -1, 0);
}

static void call_mmap64(void)
{
    mmap64(scene.at, PAGE, READ_WRITE, PLAIN | MAP_FIXED, -1, 0);
}

static void call_underscored_mmap(void)
{
    UNDERSCORED(mmap);
    mmap_too(scene.at, PAGE, READ_WRITE, PLAIN | MAP_FIXED, -1, 0);
}

static void call_mprotect(void)
{
    mprotect(scene.at, PAGE, PROT_READ);
}

static void call_underscored_mprotect(void)
{
    UNDERSCORED(mprotect);
    mprotect_too(scene.at, PAGE, PROT_READ);
}

static void call_pkey_mprotect(void)
{
    pkey_mprotect(scene.at, PAGE, READ_WRITE, -1);
}

static void call_madvise(void)
{
    madvise(scene.at, PAGE, MADV_DONTNEED);
}

static void call_underscored_madvise(void)
{
    UNDERSCORED(madvise);
    madvise_too(scene.at, PAGE, MADV_DONTNEED);
}

static void call_posix_madvise(void)
{
    posix_madvise(scene.at, PAGE, POSIX_MADV_SEQUENTIAL);
}

/* Looked up by name: libc has it since 2.36, the runtime always. */
static void call_process_madvise(void)
{
    ssize_t (*by)(int, const struct iovec *, size_t, int, unsigned);
    void *f = dlsym(RTLD_DEFAULT, "process_madvise");
    struct iovec range = {scene.at, PAGE};
    int process = (int)syscall(SYS_pidfd_open, getpid(), 0);

    memcpy(&by, &f, sizeof f);
    if (f)
        by(process, &range, 1, MADV_COLD, 0);
    if (process >= 0)
        close(process);
}

static void call_mlock(void)
{
    mlock(scene.at, PAGE);
}

static void call_mlock2(void)
{
    mlock2(scene.at, PAGE, 0);
}

static void call_munlock(void)
{
    munlock(scene.at, PAGE);
}

/* mlockall(0) fails with EINVAL, and is reported all the same. */
static void call_mlockall(void)
{
    mlockall(0);
}

static void call_munlockall(void)
{
    munlockall();
}

static void call_msync(void)
{
    msync(scene.at, PAGE, MS_ASYNC);
}

/* Fails, because the memory is no file mapping; it is reported all the same. */
static void call_remap_file_pages(void)
{
    remap_file_pages(scene.at, PAGE, 0, 0, 0);
}

static void call_mremap(void)
{
    mremap(scene.at, 4 * PAGE, 3 * PAGE, 0);
}

static void call_munmap(void)
{
    munmap(scene.at + 2 * PAGE, PAGE);
}

static void call_underscored_munmap(void)
{
    UNDERSCORED(munmap);
    munmap_too(scene.at + PAGE, PAGE);
}

static void call_shmat(void)
{
    scene.segment = shmget(IPC_PRIVATE, PAGE, 0600);
    scene.attached = shmat(scene.segment, NULL, 0);
}

static void call_shmdt(void)
{
    shmdt(scene.attached);
}

/* Replaces the remaining page. */
static void call_shmat_over(void)
{
    shmat(scene.segment, scene.at, SHM_REMAP);
    if (scene.segment >= 0)
        shmctl(scene.segment, IPC_RMID, NULL);
}

static void call_sbrk(void)
{
    (void)sbrk((intptr_t)PAGE);
}

static void call_brk(void)
{
    char *now = sbrk(0);
    (void)brk(now - PAGE);
}

#define COMES RTC_EVENT_VM_MAPPED
#define GOES RTC_EVENT_VM_UNMAPPED

/* In the order of execution. */
static const struct {
    const char *name;
    void (*call)(void);
    unsigned events; /* that the call must cause */
} calls[] = {
    {"mmap", call_mmap, RTC_EVENT_MMAP | COMES},
    {"mmap64", call_mmap64, RTC_EVENT_MMAP | GOES | COMES},
    {"__mmap", call_underscored_mmap, RTC_EVENT_MMAP | GOES | COMES},
    {"mprotect", call_mprotect, RTC_EVENT_MPROTECT},
    {"__mprotect", call_underscored_mprotect, RTC_EVENT_MPROTECT},
    {"pkey_mprotect", call_pkey_mprotect, RTC_EVENT_MPROTECT},
    {"madvise", call_madvise, RTC_EVENT_MADVISE | GOES},
    {"__madvise", call_underscored_madvise, RTC_EVENT_MADVISE | GOES},
    {"posix_madvise", call_posix_madvise, RTC_EVENT_MADVISE},
    {"process_madvise", call_process_madvise, RTC_EVENT_MADVISE},
    {"mlock", call_mlock, RTC_EVENT_MLOCK},
    {"mlock2", call_mlock2, RTC_EVENT_MLOCK},
    {"munlock", call_munlock, RTC_EVENT_MLOCK},
    {"mlockall", call_mlockall, RTC_EVENT_MLOCK},
    {"munlockall", call_munlockall, RTC_EVENT_MLOCK},
    {"msync", call_msync, RTC_EVENT_MSYNC},
    {"remap_file_pages", call_remap_file_pages, RTC_EVENT_REMAP_FILE_PAGES},
    {"mremap", call_mremap, RTC_EVENT_MREMAP | GOES | COMES},
    {"munmap", call_munmap, RTC_EVENT_MUNMAP | GOES},
    {"__munmap", call_underscored_munmap, RTC_EVENT_MUNMAP | GOES},
    {"shmat", call_shmat, RTC_EVENT_SHMAT | COMES},
    {"shmdt", call_shmdt, RTC_EVENT_SHMDT | GOES},
    {"shmat with SHM_REMAP", call_shmat_over, RTC_EVENT_SHMAT | GOES | COMES},
    {"sbrk", call_sbrk, RTC_EVENT_SBRK | COMES},
    {"brk", call_brk, RTC_EVENT_BRK | GOES},
};

static void missing_put(unsigned missing)
{
    const char *before = " (no ";

    for (unsigned event = 1; event; event <<= 1)
        if (missing & event) {
            printf("%s%s", before, rtc_event_name(event));
            before = ", ";
        }
    puts(")");
}

/* Return the number of calls that are not covered. */
static unsigned try_calls(void)
{
    unsigned lacking = 0;

    for (size_t i = 0; i < countof(calls); i++) {
        seen = 0;
        calls[i].call();
        unsigned missing = calls[i].events & ~seen;
        printf("  %-24s  %s", calls[i].name, missing ? "NOT covered" : "covered");
        if (missing)
            missing_put(missing);
        else
            putchar('\n');
        lacking += missing != 0;
    }
    return lacking;
}

/* ---- calls that interposition cannot see ----------------------------------------------------- */

/* The inlined system call of a statically linked mmap. */
static void linked_copy(void)
{
    system_call6(SYS_mmap, 0, (long)PAGE, PROT_READ, PLAIN, -1, 0);
}

static void *call_raw(void *unused)
{
    syscall(SYS_mmap, NULL, 3 * PAGE, PROT_NONE, PLAIN, -1, 0);
    return unused;
}

static void raw_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, call_raw, NULL) == 0)
        pthread_join(thread, NULL);
}

static void *nothing(void *unused)
{
    return unused;
}

static void thread_stack(void)
{
    pthread_t thread;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 64 << 20); /* larger than the stacks that libc caches */
    if (pthread_create(&thread, &attr, nothing, NULL) == 0)
        pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
}

static void loaded_library(void)
{
    (void)dlopen("libutil.so.1", RTLD_NOW);
}

static void *(*mmap_of_another)(void *, size_t, int, int, int, off_t);

/* dlmopen loads another libc into a new namespace of the loader. */
static void enter_namespace(void)
{
    void *libc = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW),
         *f = libc ? dlsym(libc, "mmap") : NULL;
    memcpy(&mmap_of_another, &f, sizeof f);
}

static void library_in_namespace(void)
{
    if (mmap_of_another)
        mmap_of_another(NULL, 3 * PAGE, PROT_NONE, PLAIN, -1, 0);
}

static const struct {
    const char *name;
    void (*act)(void);
} unseen[] = {
    {"statically linked copy", linked_copy},
    {"thread with raw syscalls", raw_thread},
    {"libc's own: stacks", thread_stack},
    {"loader's own: libraries", loaded_library},
    {"library in a namespace", library_in_namespace}, /* by dlmopen */
};

static void try_unseen(bool all)
{
    puts(all ? "Calls that come by no function of libc's:" : "What cannot be seen:");
    enter_namespace();
    for (size_t i = 0; i < countof(unseen); i++) {
        rtc_event_compare();
        seen = 0;
        unseen[i].act();
        long found = rtc_event_compare();
        if (seen & COMES)
            printf("  %-24s  covered\n", unseen[i].name);
        else
            printf("  %-24s  NOT covered; %s by comparing\n", unseen[i].name,
                   found > 0 ? "found" : "not found");
    }
    bool done = selftest_ring(&seen);
    printf("  %-24s  %s\n", "madvise by io_uring",
           !done         ? "not possible here"
           : seen & GOES ? "covered"
                         : "NOT covered; not found by comparing");
}

/* Is events=all in force?  Print whether it is available and what it costs, if it was requested. */
static bool print_dispatched(void)
{
    struct rtc_event_dispatched d = {.size = sizeof d};
    int err = rtc_event_dispatched(&d);

    if (err == -ENOTSUP)
        puts("events=all: not available: no syscall user dispatch in this kernel (Linux 5.11)");
    else if (err != 0 && err != -ENODATA)
        printf("events=all: not available: %s\n", strerror(-err));
    else if (err == 0)
        printf(
            "events=all: %llu calls dispatched, ~%u ns each (measured at start, with %u calls)\n",
            (unsigned long long)d.calls, d.call_ns, d.measured);
    return err == 0;
}

int selftest_calls(bool verbose)
{
    if (!rtc_event_set_handler || rtc_event_set_handler(EVENTS, -1, note, NULL)) {
        fputs("rtcheck: the runtime is not there\n", stderr);
        return STATUS_NOT_IN_CONTROL;
    }
    puts("Memory events of calls:");
    unsigned lacking = try_calls();
    if (verbose)
        try_unseen(print_dispatched());
    printf("%u of %zu calls are not covered\n", lacking, countof(calls));
    return fflush(stdout) != 0 || ferror(stdout) ? STATUS_SETUP : lacking ? STATUS_NOT_COVERED : 0;
}
