/*
 * samples.c - where a process spends its time, by samples of its cpu-clock.
 *
 *     samples [--timer] HERTZ LIBRARY PROGRAM [ARGUMENT...]
 *
 * Runs PROGRAM and prints how many samples there were of its process (its children are others), and of them
 *
 *     inside   those whose pc lies in LIBRARY,
 *     called   those in a function of libc's or the loader's that was called from there: memset and the like,
 *     kernel   those in the kernel, on behalf of one of these.
 *
 * The caller of such a function is found in the words on top of its stack: these functions have small frames.
 * Status 3: the kernel does not permit sampling, or reading its own positions.
 *
 * With --timer, a timer of the process's CPU clock expires in this process, which then stops and inspects the
 * sampled process; that has one thread.  The stop comes a little later than the expiry.  A stop in the kernel has
 * the pc behind the call, so samples of `kernel` count as `inside` and `called`.  Such timers expire with the
 * kernel's ticks: HERTZ above some hundred gives no more samples.
 *
 * rtc-build: -D_GNU_SOURCE
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RING_PAGES 256u
#define STACK_BYTES 128u /* of what is on top of it */
#define CPUS_MOST 256
#define RANGES_MOST 64
#define SP_AND_IP (1ull << 7 | 1ull << 8) /* PERF_REG_X86_SP, _IP */

struct range {
    uint64_t start, end;
};

static struct {
    uint32_t pid;
    const char *library;
    struct range own[RANGES_MOST],
        lower[RANGES_MOST]; /* libc, the loader, the kernel's own in the process */
    unsigned own_count, lower_count;
    unsigned long all, inside, called, kernel, lost;
} seen;

static struct perf_event_mmap_page *ring[CPUS_MOST];
static struct pollfd event[CPUS_MOST];

static bool lies_in(const struct range *r, unsigned count, uint64_t at)
{
    while (count-- > 0)
        if (at >= r[count].start && at < r[count].end)
            return true;
    return false;
}

/* ---- records of the kernel -------------------------------------------------------------------- */

struct mapped {
    struct perf_event_header head;
    uint32_t pid, tid;
    uint64_t start, bytes, offset;
    char path[];
};

static void take_range(const char *path, struct range r)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (strcmp(name, seen.library) == 0 && seen.own_count < RANGES_MOST)
        seen.own[seen.own_count++] = r;
    else if ((strncmp(name, "libc.so", 7) == 0 || strncmp(name, "ld-linux", 8) == 0 ||
              name[0] == '[') &&
             seen.lower_count < RANGES_MOST)
        seen.lower[seen.lower_count++] = r;
}

static void take_mapping(const struct mapped *m)
{
    if (m->pid == seen.pid)
        take_range(m->path, (struct range){m->start, m->start + m->bytes});
}

struct sample {
    struct perf_event_header head;
    uint64_t ip;
    uint32_t pid, tid;
    uint64_t abi;
    uint64_t sp, user_ip; /* only if abi is not 0 */
    uint64_t stack_bytes;
    uint64_t stack[STACK_BYTES / 8];
    uint64_t stack_given;
};

/* Is the innermost address of code on top of the stack one of ours? */
static bool is_called(const uint64_t *stack, uint64_t words)
{
    for (unsigned i = 0; i < words; i++)
        if (lies_in(seen.own, seen.own_count, stack[i]))
            return true;
    return false;
}

static void take_sample(const struct sample *s)
{
    bool in_kernel = (s->head.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
    if (s->pid != seen.pid)
        return;
    seen.all++;
    if (!s->abi)
        return;
    bool inside = lies_in(seen.own, seen.own_count, s->user_ip);
    bool called = !inside && lies_in(seen.lower, seen.lower_count, s->user_ip) &&
                  s->stack_bytes == STACK_BYTES && is_called(s->stack, s->stack_given / 8);
    if (in_kernel)
        seen.kernel += inside || called;
    else if (inside)
        seen.inside++;
    else
        seen.called += called;
}

static void take(const struct perf_event_header *h)
{
    const uint64_t *words = (const uint64_t *)(h + 1);
    if (h->type == PERF_RECORD_MMAP)
        take_mapping((const struct mapped *)h);
    else if (h->type == PERF_RECORD_SAMPLE)
        take_sample((const struct sample *)h);
    else if (h->type == PERF_RECORD_LOST)
        seen.lost += words[1];
}

static void drain(struct perf_event_mmap_page *page)
{
    static char copy[1 << 16];
    const char *data = (const char *)page + page->data_offset;
    uint64_t end = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), at = page->data_tail;
    while (at < end) {
        struct perf_event_header h;
        memcpy(&h, data + at % page->data_size, sizeof h);
        for (uint64_t i = 0; i < h.size; i++) /* a record may wrap to the beginning */
            copy[i] = data[(at + i) % page->data_size];
        take((const struct perf_event_header *)copy);
        at += h.size;
    }
    __atomic_store_n(&page->data_tail, at, __ATOMIC_RELEASE);
}

/* ---- the process ------------------------------------------------------------------------------ */

static int open_events(unsigned hertz)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_SW_CPU_CLOCK,
                                   .sample_period = 1000000000 / hertz,
                                   .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                                                  PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
                                   .sample_regs_user = SP_AND_IP,
                                   .sample_stack_user = STACK_BYTES,
                                   .disabled = 1,
                                   .enable_on_exec = 1,
                                   .inherit = 1,
                                   .mmap = 1,
                                   .watermark = 1,
                                   .wakeup_watermark = RING_PAGES * 4096 / 4};
    int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
    for (int cpu = 0; cpu < cpus && cpu < CPUS_MOST; cpu++) {
        int fd =
            (int)syscall(SYS_perf_event_open, &attr, (int)seen.pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
        void *p =
            fd < 0 ? MAP_FAILED
                   : mmap(NULL, (RING_PAGES + 1) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (p == MAP_FAILED) {
            perror("perf_event_open");
            exit(3);
        }
        ring[cpu] = p;
        event[cpu] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
    return cpus;
}

static int start(char **argv, const int go[2])
{
    int pid = fork();
    char byte;
    if (pid == 0) {
        close(go[1]);
        if (read(go[0], &byte, 1) != 1)
            _exit(2); /* the samples were refused */
        execvp(argv[0], argv);
        perror(argv[0]);
        _exit(127);
    }
    return pid;
}

static int sample_by_events(unsigned hertz, int go)
{
    int cpus = open_events(hertz), status;
    if (write(go, "", 1) != 1)
        exit(2);
    while (waitpid((int)seen.pid, &status, WNOHANG) == 0) {
        poll(event, (nfds_t)cpus, 50);
        for (int cpu = 0; cpu < cpus; cpu++)
            drain(ring[cpu]);
    }
    for (int cpu = 0; cpu < cpus; cpu++)
        drain(ring[cpu]);
    return status;
}

/* ---- by a timer ------------------------------------------------------------------------------- */

static void must_allow(bool holds, const char *what)
{
    if (holds)
        return;
    perror(what);
    kill((pid_t)seen.pid, SIGKILL);
    exit(3);
}

static void read_mappings(void)
{
    char path[64], line[4352], name[4097];
    uint64_t start, end;
    snprintf(path, sizeof path, "/proc/%u/maps", seen.pid);
    FILE *in = fopen(path, "r");
    seen.own_count = seen.lower_count = 0;
    while (in && fgets(line, sizeof line, in))
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*2c%*1[x]%*c %*s %*s %*s %4096s", &start, &end,
                   name) == 3)
            take_range(name, (struct range){start, end});
    if (in)
        fclose(in);
}

/* Inspect the stopped process. */
static void look(void)
{
    struct user_regs_struct r;
    uint64_t stack[STACK_BYTES / 8];
    if (ptrace(PTRACE_GETREGS, (int)seen.pid, 0, &r) != 0)
        return; /* just killed */
    struct iovec to = {stack, sizeof stack}, from = {(void *)r.rsp, sizeof stack};
    bool has_stack = process_vm_readv((int)seen.pid, &to, 1, &from, 1, 0) == (ssize_t)sizeof stack;
    read_mappings();
    seen.all++;
    if (lies_in(seen.own, seen.own_count, r.rip))
        seen.inside++;
    else if (has_stack && lies_in(seen.lower, seen.lower_count, r.rip))
        seen.called += is_called(stack, STACK_BYTES / 8);
}

static void start_timer(unsigned hertz, int signal)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal};
    struct itimerspec each = {{0, 1000000000 / hertz}, {0, 1000000000 / hertz}};
    clockid_t clock;
    timer_t timer;
    must_allow(clock_getcpuclockid((int)seen.pid, &clock) == 0 &&
                   timer_create(clock, &event, &timer) == 0 &&
                   timer_settime(timer, 0, &each, NULL) == 0,
               "timer_create");
}

/* Handle stops of the process; true: it has ended. */
static bool take_stops(int *status)
{
    while (waitpid((int)seen.pid, status, WNOHANG) == (pid_t)seen.pid) {
        if (!WIFSTOPPED(*status))
            return true;
        bool asked = *status >> 16 == PTRACE_EVENT_STOP;
        if (asked)
            look();
        ptrace(PTRACE_CONT, (int)seen.pid, 0, asked || *status >> 16 ? 0 : WSTOPSIG(*status));
    }
    return false;
}

static int sample_by_timer(unsigned hertz, int go)
{
    sigset_t both;
    int status;
    sigemptyset(&both);
    sigaddset(&both, SIGRTMIN);
    sigaddset(&both, SIGCHLD);
    sigprocmask(SIG_BLOCK, &both, NULL);
    must_allow(ptrace(PTRACE_SEIZE, (int)seen.pid, 0, 0) == 0, "PTRACE_SEIZE");
    start_timer(hertz, SIGRTMIN);
    if (write(go, "", 1) != 1)
        exit(2);
    while (!take_stops(&status))
        if (sigwaitinfo(&both, NULL) == SIGRTMIN)
            ptrace(PTRACE_INTERRUPT, (int)seen.pid, 0, 0);
    return status;
}

int main(int argc, char **argv)
{
    int go[2];
    bool by_timer = argc > 1 && strcmp(argv[1], "--timer") == 0;
    argc -= by_timer;
    argv += by_timer;
    if (argc < 4 || pipe2(go, 0x80000 /* O_CLOEXEC */) != 0)
        return 2;
    seen.library = argv[2];
    seen.pid = (uint32_t)start(argv + 3, go);
    close(go[0]);
    int status = (by_timer ? sample_by_timer : sample_by_events)((unsigned)atoi(argv[1]), go[1]);
    fprintf(stdout, "samples %lu inside %lu called %lu kernel %lu lost %lu status %d\n", seen.all,
            seen.inside, seen.called, seen.kernel, seen.lost, status);
    return 0;
}
