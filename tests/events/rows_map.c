/* rows_map.c - the runtime's own map of the address space, compared with the kernel's. */
#include "contract.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#define ROOM 64ul /* unused by the kernel and others */

static char *room(void)
{
    char *at = (char *)0x200000000000ul; /* far below the kernel's choices */
    must(mmap(at, ROOM * PAGE, PROT_NONE, PLAIN | MAP_FIXED | MAP_NORESERVE, -1, 0) == at);
    return at;
}

static long raw_map(char *at, int prot)
{
    return syscall(SYS_mmap, at, PAGE, prot, PLAIN | MAP_FIXED, -1, 0);
}

static char *some(size_t n)
{
    char *at = mmap(NULL, n * PAGE, READ_WRITE, PLAIN, -1, 0);
    must(at != MAP_FAILED);
    return at;
}

static void begin_map(void)
{
    must(rtc_event_compare() >= 0);
    must(rtc_event_compare() == 0);
}

/* For every kind of call; events for handlers do not matter here. */
void row_calls_go_into_the_map(void)
{
    begin_map();
    char *at = room();
    int fd = memfd_create("map", 0);
    must(fd >= 0 && ftruncate(fd, (off_t)(8 * PAGE)) == 0);
    must(mmap(at, 8 * PAGE, READ_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == at);
    must(munmap(at + 2 * PAGE, PAGE) == 0 && mprotect(at, PAGE, PROT_READ) == 0);
    must(mremap(at + 3 * PAGE, 2 * PAGE, 3 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, at + 20 * PAGE) ==
         at + 20 * PAGE);
    must(rtc_event_compare() == 0);
    int id = shmget(IPC_PRIVATE, 3 * PAGE, 0600);
    must(id >= 0 && shmat(id, at + 30 * PAGE, SHM_REMAP) == at + 30 * PAGE &&
         shmctl(id, IPC_RMID, NULL) == 0);
    must(munmap(at + 31 * PAGE, PAGE) == 0);
    must(rtc_event_compare() == 0);
    must(shmdt(at + 30 * PAGE) == 0);
    char *end = sbrk(0);
    must(sbrk((intptr_t)(3 * PAGE)) == end && brk(end + PAGE) == 0);
    must(rtc_event_compare() == 0);
    must(mmap(at, PAGE, READ_WRITE, MAP_PRIVATE | MAP_FIXED, 9999, 0) ==
         MAP_FAILED); /* no change */
    must(munmap(at, ROOM * PAGE) == 0 && brk(end) == 0);
    must(rtc_event_compare() == 0);
}

void row_originals_go_into_the_map(void)
{
    begin_map();
    char *at = room(), *end = sbrk(0);
    must(rtc_orig_mmap(at, 8 * PAGE, READ_WRITE, PLAIN | MAP_FIXED, -1, 0) == at &&
         rtc_event_compare() == 0);
    must(rtc_orig_munmap(at + 2 * PAGE, PAGE) == 0 && rtc_event_compare() == 0);
    must(rtc_orig_mremap(at + 3 * PAGE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, at + 9 * PAGE) ==
         at + 9 * PAGE);
    must(rtc_event_compare() == 0);
    int id = shmget(IPC_PRIVATE, 3 * PAGE, 0600);
    must(id >= 0 && rtc_orig_shmat(id, at + 30 * PAGE, SHM_REMAP) == at + 30 * PAGE &&
         rtc_event_compare() == 0);
    must(shmctl(id, IPC_RMID, NULL) == 0 && rtc_orig_shmdt(at + 30 * PAGE) == 0 &&
         rtc_event_compare() == 0);
    must(rtc_orig_sbrk((intptr_t)(3 * PAGE)) == end && rtc_event_compare() == 0);
    must(rtc_orig_brk(end + PAGE) == 0 && rtc_event_compare() == 0 && rtc_orig_brk(end) == 0);
}

void row_unnoticed(void)
{
    char *at = room();
    begin_map();
    must(raw_map(at + 2 * PAGE, PROT_READ) > 0); /* other rights */
    must(syscall(SYS_munmap, at + 6 * PAGE, PAGE) == 0);
    must(rtc_event_compare() == 2 && rtc_event_compare() == 0);
    must(raw_map(at + 6 * PAGE, PROT_READ) > 0); /* into a hole */
    must(syscall(SYS_mprotect, at + 10 * PAGE, PAGE, PROT_READ) == 0);
    must(syscall(SYS_munmap, at + 2 * PAGE, PAGE) == 0);
    must(syscall(SYS_mremap, at + 20 * PAGE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
                 at + ROOM * PAGE) > 0);
    must(rtc_event_compare() == 5 &&
         rtc_event_compare() == 0); /* the last one is unmapped, and there are new ones */
    must(munmap(at, ROOM * PAGE + PAGE) == 0 && rtc_event_compare() == 0);
}

/* The map follows the order of the calls: the present mapping is at the address of an earlier, unmapped one. */
void row_mapped_anew_where_one_went_unseen(void)
{
    begin_map();
    char *first = pages(1), *second = pages(1);
    must(munmap(first, PAGE) == 0 && syscall(SYS_munmap, second, PAGE) == 0);
    must(mmap(second, PAGE, PROT_READ, PLAIN, -1, 0) == second);
    must(rtc_event_compare() == 0);
}

static void *nothing(void *arg)
{
    pthread_barrier_wait(arg);
    pthread_barrier_wait(arg);
    return NULL;
}

/* libc maps a thread's stack itself: a guard and the stack. */
void row_stacks_are_found(void)
{
    pthread_t thread;
    pthread_barrier_t both;
    pthread_barrier_init(&both, NULL, 2);
    begin_map();
    must(pthread_create(&thread, NULL, nothing, &both) == 0);
    pthread_barrier_wait(&both);
    must(rtc_event_compare() >= 2 && rtc_event_compare() == 0);
    pthread_barrier_wait(&both);
    must(pthread_join(thread, NULL) == 0);
}

/* ---- forks, handlers ------------------------------------------------------------------------------ */

static _Atomic bool over;

static void *change_all_the_time(void *unused)
{
    (void)unused;
    while (!over) {
        char *at = mmap(NULL, 3 * PAGE, READ_WRITE, PLAIN, -1, 0);
        must(at != MAP_FAILED && munmap(at + PAGE, PAGE) == 0);
        must(munmap(at, PAGE) == 0 && munmap(at + 2 * PAGE, PAGE) == 0);
    }
    return NULL;
}

static void child_has_the_map(void)
{
    must(rtc_event_compare() >= 0 && rtc_event_compare() == 0);
    char *at = some(2);
    must(rtc_event_compare() == 0);
    must(raw_map(at, PROT_READ) > 0 && rtc_event_compare() == 1);
    must(munmap(at, 2 * PAGE) == 0 && rtc_event_compare() == 0);
    _exit(0);
}

void row_fork_while_the_map_changes(void)
{
    pthread_t thread[2];
    begin_map();
    for (int i = 0; i < 2; i++)
        must(pthread_create(&thread[i], NULL, change_all_the_time, NULL) == 0);
    for (int i = 0; i < 20; i++) {
        int status;
        pid_t child = fork();
        if (!child)
            child_has_the_map();
        must(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    }
    over = true;
    for (int i = 0; i < 2; i++)
        must(pthread_join(thread[i], NULL) == 0);
    must(rtc_event_compare() >= 0 && rtc_event_compare() == 0);
}

static volatile sig_atomic_t ticks;

static void on_tick(int signal)
{
    (void)signal;
    void *at = mmap(NULL, PAGE, READ_WRITE, PLAIN, -1, 0);
    must(at != MAP_FAILED && munmap(at, PAGE) == 0);
    ticks = ticks + 1;
}

/* A call that interrupts an update of the map is not recorded: nothing waits, and the next comparison adds it. */
void row_calls_in_handlers(void)
{
    struct itimerval every = {{0, 200}, {0, 200}}, never = {0};
    begin_map();
    signal(SIGALRM, on_tick);
    must(setitimer(ITIMER_REAL, &every, NULL) == 0);
    while (ticks < 500) {
        char *at = some(3);
        must(munmap(at, 3 * PAGE) == 0);
    }
    must(setitimer(ITIMER_REAL, &never, NULL) == 0);
    must(rtc_event_compare() >= 0 && rtc_event_compare() == 0);
}

static _Atomic bool stopped, may_go, done;

static void wait_in_handler(int signal)
{
    (void)signal;
    stopped = true;
    while (!may_go)
        usleep(10);
    stopped = false;
}

static void *map_on(void *unused)
{
    while (!done)
        munmap(some(1), PAGE);
    return unused;
}

/* A collector maps while the other threads are stopped, at any point. */
void row_stopped_in_the_midst(void)
{
    pthread_t thread;
    must(signal(SIGUSR1, wait_in_handler) != SIG_ERR);
    must(pthread_create(&thread, NULL, map_on, NULL) == 0);
    for (unsigned i = 0; i < 2000; i++) {
        may_go = false;
        must(pthread_kill(thread, SIGUSR1) == 0);
        while (!stopped)
            usleep(1);
        munmap(some(2), 2 * PAGE);
        may_go = true;
        while (stopped)
            usleep(1);
    }
    done = true;
    must(pthread_join(thread, NULL) == 0);
}

/* The kernel refuses the whole, though it would take each piece of it. */
void row_munmap_of_everything(void)
{
    char *at = some(2);
    must(munmap(at, 1ul << 62) == -1 && errno == EINVAL);
    must(munmap(NULL, -PAGE) == -1 && errno == EINVAL);
    at[0] = 1;
}

static long call_unseen(long number, long a, long b, void *c)
{
    register long d __asm__("r10") = 0;
    register long e __asm__("r8") = 0;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(d), "r"(e)
                     : "rcx", "r11", "memory");
    return result;
}

/* From here on opening a file kills the process; the runtime has no need to. */
static void forbid_files(void)
{
    struct sock_filter f[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                              BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
                              BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                              BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog all = {sizeof f / sizeof f[0], f};
    must(call_unseen(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, NULL) == 0);
    must(call_unseen(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &all) == 0);
}

/*
 * Calls that usually fail (mremap, before an allocator moves a block itself), and mappings that are undone in
 * order, must not take longer if more is mapped.
 */
void row_long_list_is_not_read(void)
{
    int status, id = shmget(IPC_PRIVATE, 3 * PAGE, IPC_CREAT | 0600);
    char *at = room(), *gone = pages(1);
    must(id >= 0 && munmap(gone, PAGE) == 0);
    begin_map();
    pid_t pid = fork();
    if (pid == 0) {
        free(malloc(1));
        begin_map();
        forbid_files();
        must(mremap(at, PAGE, 2 * PAGE, 0) == MAP_FAILED && errno == ENOMEM);
        must(mmap(at, PAGE, READ_WRITE, MAP_PRIVATE | MAP_FIXED, -1, 0) == MAP_FAILED &&
             errno == EBADF);
        char *shared = shmat(id, NULL, 0);
        must(shared != (char *)-1 && shmdt(shared) == 0);
        must(munmap(gone, PAGE) == 0);
        syscall(SYS_exit_group, 0);
    }
    must(waitpid(pid, &status, 0) == pid && status == 0);
    shmctl(id, IPC_RMID, NULL);
}
