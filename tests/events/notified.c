/*
 * notified.c - notifications of handlers under events=all: each call once, in every thread and child.
 *
 *     notified [ROW...]
 *     notified keeps       keeps a mapping that a system call has made, and a block of a handler's
 *
 * rtc-build: -pthread -fno-optimize-sibling-calls
 */
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>

#include "alone.h"
#include "rtcheck/event.h"

#define READ_WRITE (PROT_READ | PROT_WRITE)
#define PLAIN (MAP_PRIVATE | MAP_ANONYMOUS)

#define EVERY                                                                          \
    (RTC_EVENT_MMAP | RTC_EVENT_MUNMAP | RTC_EVENT_VM_MAPPED | RTC_EVENT_VM_UNMAPPED | \
     RTC_EVENT_VM_CANCELLED)

static _Atomic unsigned mapped, unmapped, came, gone, cancelled, advised;
static _Atomic size_t gone_bytes;
static _Atomic uintptr_t came_at; /* their sum */

static void note(unsigned type, union rtc_event *e, void *unused)
{
    (void)unused;
    mapped += type == RTC_EVENT_MMAP;
    unmapped += type == RTC_EVENT_MUNMAP;
    came += type == RTC_EVENT_VM_MAPPED;
    gone_bytes += type == RTC_EVENT_VM_UNMAPPED ? e->vm_unmapped.size : 0;
    came_at += type == RTC_EVENT_VM_MAPPED ? (uintptr_t)e->vm_mapped.address : 0;
    gone += type == RTC_EVENT_VM_UNMAPPED;
    cancelled += type == RTC_EVENT_VM_CANCELLED;
}

static void note_advice(unsigned type, union rtc_event *e, void *unused)
{
    (void)e, (void)unused;
    advised += type == RTC_EVENT_MADVISE;
}

static void listen(void)
{
    assert(rtc_event_set_handler(EVERY, 0, note, NULL) == 0);
}

static bool are(unsigned calls, unsigned ranges)
{
    bool good =
        mapped == calls && unmapped == calls && came == ranges && gone == ranges && !cancelled;
    mapped = unmapped = came = gone = cancelled = 0;
    return good;
}

static void raw_pair(void)
{
    void *at = (void *)syscall(SYS_mmap, NULL, 8192, READ_WRITE, PLAIN, -1, 0);
    assert(at != MAP_FAILED && syscall(SYS_munmap, at, 8192) == 0);
}

static void once(void)
{
    void *at = mmap(NULL, 8192, READ_WRITE, PLAIN, -1, 0);
    assert(munmap(at, 8192) == 0 && are(1, 1));
    raw_pair();
    assert(are(1, 1));
    at = rtc_mmap(NULL, 8192, READ_WRITE, PLAIN, -1, 0);
    assert(rtc_munmap(at, 8192) == 0 && are(1, 1));
    at = rtc_orig_mmap(NULL, 8192, READ_WRITE, PLAIN, -1, 0);
    assert(rtc_orig_munmap(at, 8192) == 0 && are(0, 0));
    raw_pair();
    assert(are(1, 1));
}

/* A failed call has events, and the range that it was to replace is still mapped. */
static void refused(void)
{
    char *at = mmap(NULL, 8192, READ_WRITE, PLAIN, -1, 0);
    mapped = came = 0;
    assert(syscall(SYS_mmap, at, 4096, READ_WRITE, MAP_PRIVATE | MAP_FIXED, 9999, 0) == -1 &&
           errno == EBADF);
    assert(mapped == 1 && came == 0 && gone == 1 && cancelled == 1);
}

static int raw_pair_as_child(void)
{
    are(0, 0);
    raw_pair();
    return are(1, 1) ? 0 : 1;
}

static void in_children(void)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(raw_pair_as_child());
    assert(waitpid(pid, &status, 0) == pid && status == 0);
    pid = _Fork();
    if (pid == 0)
        _exit(raw_pair_as_child());
    assert(waitpid(pid, &status, 0) == pid && status == 0);
    pid = (pid_t)syscall(SYS_fork);
    if (pid == 0)
        _exit(raw_pair_as_child());
    assert(waitpid(pid, &status, 0) == pid && status == 0);
}

static void *raw_pairs(void *unused)
{
    for (int i = 0; i < 100; i++)
        raw_pair();
    return unused;
}

static void in_threads(void)
{
    pthread_t thread[4];
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstack(&attr, malloc(1 << 16), 1 << 16);
    assert(pthread_create(&thread[0], &attr, raw_pairs, NULL) == 0 &&
           pthread_join(thread[0], NULL) == 0);
    assert(are(100, 100)); /* except for stacks, which libc maps and keeps */
    for (int i = 0; i < 4; i++)
        assert(pthread_create(&thread[i], NULL, raw_pairs, NULL) == 0);
    for (int i = 0; i < 4; i++)
        assert(pthread_join(thread[i], NULL) == 0);
    assert(unmapped >= 400 && mapped >= 400);
}

static void *raw_pairs_for_ever(void *unused)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    while (!unused) {
        register long r10 __asm__("r10") = PLAIN, r8 __asm__("r8") = -1, r9 __asm__("r9") = 0;
        long at = SYS_mmap;
        __asm__ volatile("syscall"
                         : "+a"(at)
                         : "D"(0l), "S"(4096l), "d"(1l), "r"(r10), "r"(r8), "r"(r9)
                         : "rcx", "r11", "memory");
        long nr = SYS_munmap;
        __asm__ volatile("syscall" : "+a"(nr) : "D"(at), "S"(4096l) : "rcx", "r11", "memory");
    }
    return unused;
}

/* A thread cancelled at any point leaves no event half delivered: the map is right, and removal does not wait. */
static void cancelled_anywhere(void)
{
    pthread_t thread;
    rtc_event_compare();
    for (int i = 0; i < 60; i++) {
        assert(pthread_create(&thread, NULL, raw_pairs_for_ever, NULL) == 0);
        usleep(500 + (unsigned)i * 37);
        assert(pthread_cancel(thread) == 0 && pthread_join(thread, NULL) == 0);
    }
    assert(rtc_event_compare() == 0 && rtc_event_unset_handler(EVERY, note, NULL) == 0);
}

/* Memory released by the heap has one event, and no call of the program's. */
static void heap_gives_back(void)
{
    void *block[16];
    assert(rtc_event_set_handler(RTC_EVENT_MADVISE, 0, note_advice, NULL) == 0);
    for (int i = 0; i < 16; i++)
        block[i] = memset(malloc(4 << 20), 1, 4 << 20);
    gone = 0;
    gone_bytes = 0;
    for (int i = 0; i < 16; i++)
        free(block[i]);
    assert(gone > 0 && gone_bytes <= 17u * (4 << 20) && advised == 0);
    madvise(block, 0, MADV_NORMAL);
    assert(advised == 1);
}

/* ---- every function, by libc and by a raw system call ----------------------------------------------------- */

static _Atomic unsigned seen[32]; /* by the number of the event's bit */

static void count(unsigned type, union rtc_event *e, void *unused)
{
    (void)e, (void)unused;
    seen[__builtin_ctz(type)]++;
}

/* Since the last time: `calls` events of this type, and none of any other. */
static void expect_events(unsigned type, unsigned calls, int line)
{
    for (unsigned bit = 0; bit < 32; bit++) {
        unsigned expected = 1u << bit == type ? calls : 0, found = atomic_exchange(&seen[bit], 0);
        if (found != expected) {
            fprintf(stderr, "line %d: %u events of type 0x%x instead of %u\n", line, found,
                    1u << bit, expected);
            _exit(1);
        }
    }
}
#define EXPECT_EVENTS(type, calls) expect_events(RTC_EVENT_##type, calls, __LINE__)

static void locks_and_msync(char *at)
{
    assert(msync(at, 4096, MS_SYNC) == 0 && syscall(SYS_msync, at, 4096, MS_ASYNC) == 0);
    EXPECT_EVENTS(MSYNC, 2);
    mlock(at, 4096); /* a limit may refuse it: there is an event in any case */
    mlock2(at, 4096, 0);
    munlock(at, 4096);
    mlockall(0);
    munlockall();
    EXPECT_EVENTS(MLOCK, 5);
}

static void advice(char *at)
{
    madvise(at, 4096, MADV_NORMAL);
    posix_madvise(at, 4096, POSIX_MADV_RANDOM);
    EXPECT_EVENTS(MADVISE, 2);
    assert(mprotect(at, 4096, PROT_READ) == 0 && mprotect(at, 4096, READ_WRITE) == 0);
    pkey_mprotect(at, 4096, READ_WRITE, -1);
    EXPECT_EVENTS(MPROTECT, 3);
}

static void shared_memory(void)
{
    int id = shmget(IPC_PRIVATE, 8192, IPC_CREAT | 0600);
    void *at = shmat(id, NULL, 0);
    shmctl(id, IPC_RMID, NULL);
    assert(at != (void *)-1);
    EXPECT_EVENTS(SHMAT, 1);
    assert(shmdt(at) == 0);
    EXPECT_EVENTS(SHMDT, 1);
}

static void each_once(void)
{
    assert(rtc_event_unset_handler(EVERY, note, NULL) == 0);
    assert(rtc_event_set_handler(0xfff, 0, count, NULL) == 0);
    char *at = mmap(NULL, 8192, READ_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert(at != MAP_FAILED);
    EXPECT_EVENTS(MMAP, 1);
    locks_and_msync(at);
    advice(at);
    remap_file_pages(at, 4096, 0, 1, 0);
    EXPECT_EVENTS(REMAP_FILE_PAGES, 1);
    at = mremap(at, 4096, 16384, MREMAP_MAYMOVE); /* the other page is another mapping by now */
    assert(at != MAP_FAILED);
    EXPECT_EVENTS(MREMAP, 1);
    assert(munmap(at, 16384) == 0);
    EXPECT_EVENTS(MUNMAP, 1);
    shared_memory();
    void *end = sbrk(4096);
    EXPECT_EVENTS(SBRK, 1);
    assert(brk(end) == 0);
    EXPECT_EVENTS(BRK, 1);
}

/* ---- calls that map, or discard, in their own ways ------------------------------------------------------ */

static long advise_oneself(void *at, size_t bytes)
{
    struct iovec range[2] = {{at, 4096}, {(char *)at + 4096, bytes - 4096}};
    int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
    assert(self >= 0);
    long done = syscall(SYS_process_madvise, self, range, 2, MADV_DONTNEED, 0);
    close(self);
    return done;
}

/* Kernels before 6.13 refuse this advice: then the reported ranges are still there. */
static void advised_oneself(void)
{
    char *at = memset(mmap(NULL, 16384, READ_WRITE, PLAIN, -1, 0), 7, 16384);
    assert(rtc_event_set_handler(RTC_EVENT_MADVISE, 0, note_advice, NULL) == 0);
    gone = advised = 0;
    gone_bytes = 0;
    long done = advise_oneself(at, 16384);
    assert(done == 16384 ? gone == 2 && gone_bytes == 16384 && advised == 2 && !cancelled &&
                               !at[0] && !at[16383]
                         : done == -1 && gone == 1 && advised == 1 && cancelled == 1 && at[0] == 7);
    assert(syscall(SYS_process_madvise, 9999, 8, 1, MADV_DONTNEED, 0) == -1 && errno == EFAULT);
}

/* Discard the stack below the current page: the runtime may have nothing there at that time. */
__attribute__((noinline)) static void discarded_below(void)
{
    char *here = (char *)((uintptr_t)__builtin_frame_address(0) & -4096ul) - 4096;
    volatile char deep[1 << 17];
    for (size_t i = 0; i < sizeof deep; i += 4096)
        deep[i] = 1;
    struct iovec below = {here - (1 << 16), 1 << 16};
    long self = syscall(SYS_pidfd_open, getpid(), 0), done = SYS_process_madvise;
    gone = 0;
    gone_bytes = 0;
    register long r10 __asm__("r10") = MADV_DONTNEED, r8 __asm__("r8") = 0;
    __asm__ volatile("movq %%rsp, %%rbx\n movq %5, %%rsp\n syscall\n movq %%rbx, %%rsp"
                     : "+a"(done)
                     : "D"(self), "S"(&below), "d"(1l), "r"(r10), "r"(here + 512), "r"(r8)
                     : "rbx", "rcx", "r11", "memory");
    assert(gone == 1 && gone_bytes == 1 << 16 && (done == 1 << 16 || done == -EINVAL));
}

static void ring_inherited(unsigned long context)
{
    are(0, 0);
    cancelled = 0;
    assert(syscall(SYS_io_destroy, context) == -1 && errno == EINVAL && gone == cancelled);
    _exit(0);
}

static void rings(void)
{
    unsigned long context = 0;
    int status;
    rtc_event_compare();
    assert(syscall(SYS_io_setup, 128, &context) == 0 && came == 1 && came_at == context);
    assert(rtc_event_compare() == 0);
    pid_t pid = fork();
    if (pid == 0)
        ring_inherited(context);
    assert(waitpid(pid, &status, 0) == pid && status == 0);
    assert(syscall(SYS_io_destroy, context) == 0 && gone == 1 && gone_bytes >= 4096 && !cancelled);
    assert(rtc_event_compare() == 0);
    assert(syscall(SYS_io_destroy, context) == -1 && errno == EINVAL && gone == 1);
}

/* As from a kernel without. */
static void no_dispatch_of_its_own(void)
{
    static char selector;
    assert(prctl(59 /* PR_SET_SYSCALL_USER_DISPATCH */, 1, 0, 0, &selector) == -1 &&
           errno == EINVAL);
    raw_pair();
    assert(are(1, 1));
}

/* ---- with early_thread.so: a thread that was there before the runtime ----------------------------------- */

void early_thread_raw_pair(void) __attribute__((weak));
long early_thread_reads(void) __attribute__((weak));

static void in_early_thread(void)
{
    if (!early_thread_raw_pair)
        return;
    early_thread_raw_pair();
    assert(are(1, 1));
    raise(SIGUSR2); /* its handler makes a call, with all signals blocked */
    assert(early_thread_reads() == 1);
}

/* ---- with between.so: a library between the runtime and libc, where signals come -------------------------- */

extern void (*between_us)(void) __attribute__((weak));
extern size_t between_bytes __attribute__((weak));
static size_t in_handler;
static void *next_handler;

static void map_in_handler(int signal)
{
    (void)signal;
    if (!next_handler)
        next_handler = (void *)syscall(SYS_mmap, NULL, in_handler, READ_WRITE, PLAIN, -1, 0);
    else
        assert(syscall(SYS_munmap, next_handler, in_handler) == 0);
}

static void raise_usr1(void)
{
    raise(SIGUSR1);
}

static void interrupted(size_t bytes, size_t room)
{
    in_handler = bytes;
    between_bytes = room;
    next_handler = NULL;
    came_at = 0;
    between_us = raise_usr1;
    void *at = mmap(NULL, 8192, READ_WRITE, PLAIN, -1, 0);
    assert(at != MAP_FAILED && came_at == (uintptr_t)at + (uintptr_t)next_handler);
    assert(munmap(at, 8192) == 0);
    between_us = NULL;
    assert(are(2, 2));
}

static int between(void)
{
    struct sigaction action = {.sa_handler = map_in_handler};
    if (!&between_us)
        return 3;
    listen();
    assert(sigaction(SIGUSR1, &action, NULL) == 0);
    interrupted(4096, 0);
    interrupted(4096, 32768);
    assert(rtc_event_compare() == 0);
    return 0;
}

/* ---- for the report ----------------------------------------------------------------------------------- */

static int pipes[2];
void *volatile kept;

__attribute__((noinline)) static void allocate_in_handler(int signal)
{
    (void)signal;
    kept = malloc(4242);
    assert(write(pipes[1], "x", 1) == 1);
}

__attribute__((noinline)) static int wait_in_read(void)
{
    char c = 0;
    return read(pipes[0], &c, 1) == 1 && c == 'x';
}

__attribute__((noinline)) static void *map_by_system_call(void)
{
    void *at = (void *)syscall(SYS_mmap, NULL, 40960, READ_WRITE, PLAIN, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

static void *end_at_once(void *unused)
{
    return unused;
}

/* libc maps a stack, and keeps it; the loader a library. */
static void map_for_themselves(void)
{
    pthread_t thread;
    assert(pthread_create(&thread, NULL, end_at_once, NULL) == 0 &&
           pthread_join(thread, NULL) == 0);
    assert(dlopen("libutil.so.1", RTLD_NOW));
}

static int keep(void)
{
    map_for_themselves();
    struct itimerval soon = {.it_value = {0, 30000}};
    struct sigaction action = {.sa_handler = allocate_in_handler, .sa_flags = SA_RESTART};
    assert(pipe(pipes) == 0 && sigaction(SIGALRM, &action, NULL) == 0 && map_by_system_call());
    assert(setitimer(ITIMER_REAL, &soon, NULL) == 0 && wait_in_read());
    return 0;
}

static const struct row rows[] = {
    {"once", once},
    {"refused", refused},
    {"in_children", in_children},
    {"in_threads", in_threads},
    {"no_dispatch_of_its_own", no_dispatch_of_its_own},
    {"cancelled_anywhere", cancelled_anywhere},
    {"heap_gives_back", heap_gives_back},
    {"each_once", each_once},
    {"advised_oneself", advised_oneself},
    {"discarded_below", discarded_below},
    {"rings", rings},
};

static const struct rows all = {rows, sizeof rows / sizeof rows[0], 20, listen};

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "keeps") == 0)
        return keep();
    if (argc > 1 &&
        strcmp(argv[1], "early") == 0) { /* in this process: a fork has no such thread */
        listen();
        in_early_thread();
        return early_thread_raw_pair ? 0 : 3;
    }
    if (argc > 1 && strcmp(argv[1], "between") == 0)
        return between();
    return rows_run(&all, argc, argv);
}
