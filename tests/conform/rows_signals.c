/*
 * rows_signals.c - handlers that allocate and free.
 *
 * If the handler interrupted malloc itself, glibc promises nothing (it can deadlock); rtcheck does,
 * so those rows run only with rtcheck.  They end when enough handlers have interrupted the
 * allocator (the interrupted pc was in its module), not after some time.
 */
#include "rows.h"
#include "../unit/step.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { KEPT = 64, PATIENCE_SECONDS = 60 };

static struct {
    uintptr_t text_start, text_end; /* of the module that defines malloc */
    _Atomic int handled;
    _Atomic int inside; /* handlers that interrupted the allocator */
    _Atomic int damaged;
    _Atomic int refused;
    _Atomic(char *) kept[KEPT];
    _Atomic bool stop;
    sigjmp_buf *way_out;
} storm;

static int find_text(struct dl_phdr_info *info, size_t size, void *address)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + header->p_vaddr, end = start + header->p_memsz;
        if (header->p_type == PT_LOAD && (header->p_flags & PF_X) && (uintptr_t)address >= start &&
            (uintptr_t)address < end) {
            storm.text_start = start;
            storm.text_end = end;
            return 1;
        }
    }
    return 0;
}

static bool is_inside(const void *context)
{
    uintptr_t pc = (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    return pc >= storm.text_start && pc < storm.text_end;
}

/* Allocate, resize, free a block of an earlier handler call, keep a block for a later one. */
static void handle_with_heap(uint32_t n)
{
    size_t size = 16 + n % 13 * 50 + (n % 97 == 0 ? 70000 : 0);
    char *p = malloc(size);
    if (!p) {
        atomic_fetch_add(&storm.refused, 1);
        return;
    }
    pattern_fill(p, size, n);
    if (n % 3 == 0) {
        char *q = realloc(p, size * 2);
        p = q ? q : p;
    }
    atomic_fetch_add(&storm.damaged, !pattern_holds(p, size, n));
    free(atomic_exchange(&storm.kept[n % KEPT], p));
    free(calloc(1, size % 300));
}

static void on_storm(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    int error = errno;
    if (is_inside(context))
        atomic_fetch_add(&storm.inside, 1);
    handle_with_heap((uint32_t)atomic_fetch_add(&storm.handled, 1));
    errno = error;
}

static void handle(int signal, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_RESTART | flags;
    sigaction(signal, &action, NULL);
}

static void storm_start(int signal, void (*handler)(int, siginfo_t *, void *))
{
    storm.handled = storm.inside = storm.damaged = storm.refused = 0;
    storm.stop = false;
    dl_iterate_phdr(find_text, dlsym(RTLD_DEFAULT, "malloc"));
    handle(signal, handler, 0);
}

static void storm_end(int signal, int wanted)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(signal, &ignore, NULL);
    for (int i = 0; i < KEPT; i++)
        free(atomic_exchange(&storm.kept[i], NULL));
    expect(storm.inside >= wanted, "only %d of %d handlers interrupted the allocator", storm.inside,
           storm.handled);
    expect(storm.damaged == 0, "%d handler's blocks damaged", storm.damaged);
    expect(storm.refused == 0, "%d requests of handlers refused", storm.refused);
}

static time_t now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* Signals at distances that vary, so that they hit every part of the work. */
static void pause_a_while(uint32_t *state)
{
    for (uint32_t spin = 100 + next_random(state) % 2000; spin; spin--)
        __asm__ volatile("pause");
}

static void *send_storm(void *argument)
{
    pthread_t target = *(pthread_t *)argument;
    uint32_t state = 3;
    while (!atomic_load(&storm.stop)) {
        pthread_kill(target, SIGUSR1);
        pause_a_while(&state);
    }
    return NULL;
}

enum { STORM_BLOCKS = 200 };

struct storm_block {
    char *p;
    size_t n;
};

static uint32_t storm_step(struct storm_block *blocks, uint32_t *state, uint32_t seed)
{
    uint32_t i = next_random(state) % STORM_BLOCKS, kind = next_random(state) % 8, wrong = 0;
    struct storm_block *b = &blocks[i];
    wrong += b->p && !pattern_holds(b->p, b->n, seed + i);
    size_t n = 1 + next_random(state) % (kind == 7 ? 9000 : 60);
    if (kind < 2 && b->p) {
        size_t kept = b->n < n ? b->n : n;
        b->p = realloc(b->p, n);
        wrong += !b->p || !pattern_holds(b->p, kept, seed + i);
    } else {
        free(b->p);
        b->p = kind == 2 ? memalign(64, n) : kind == 3 ? calloc(1, n) : malloc(n);
    }
    b->n = n;
    if (!b->p)
        return wrong + 1;
    pattern_fill(b->p, n, seed + i);
    return wrong;
}

/* Works on its blocks until the handlers have interrupted it often enough. */
static void work_in_storm(int wanted, uint32_t seed)
{
    struct storm_block blocks[STORM_BLOCKS] = {{0}};
    uint32_t state = seed, wrong = 0;
    time_t end = now_seconds() + PATIENCE_SECONDS;
    for (uint32_t step = 0; storm.inside < wanted; step++) {
        wrong += storm_step(blocks, &state, seed);
        if (step % 1024 == 0 && now_seconds() > end)
            break;
    }
    for (int i = 0; i < STORM_BLOCKS; i++)
        free(blocks[i].p);
    expect(wrong == 0, "%u of the interrupted thread's blocks wrong", wrong);
}

void row_handler_interrupts_malloc(void)
{
    enum { WANTED = 50 };
    pthread_t self = pthread_self(), sender;
    storm_start(SIGUSR1, on_storm);
    pthread_create(&sender, NULL, send_storm, &self);
    work_in_storm(WANTED, 1000);
    storm.stop = true;
    pthread_join(sender, NULL);
    storm_end(SIGUSR1, WANTED);
}

enum { STORM_THREADS = 4, STORM_THREADS_WANTED = 50 };

static void *work_in_storm_thread(void *argument)
{
    work_in_storm(STORM_THREADS_WANTED, (uint32_t)(intptr_t)argument * 10000 + 1);
    return NULL;
}

void row_handler_interrupts_malloc_of_threads(void)
{
    pthread_t threads[STORM_THREADS];
    uint32_t state = 8;
    storm_start(SIGUSR1, on_storm);
    for (intptr_t i = 0; i < STORM_THREADS; i++)
        pthread_create(&threads[i], NULL, work_in_storm_thread, (void *)i);
    time_t end = now_seconds() + PATIENCE_SECONDS;
    while (storm.inside < STORM_THREADS_WANTED && now_seconds() <= end) {
        pthread_kill(threads[next_random(&state) % STORM_THREADS], SIGUSR1);
        pause_a_while(&state);
    }
    for (int i = 0; i < STORM_THREADS; i++)
        pthread_join(threads[i], NULL);
    storm_end(SIGUSR1, STORM_THREADS_WANTED);
}

void row_timer_interrupts_malloc(void)
{
    enum { WANTED = 50 };
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    storm_start(SIGALRM, on_storm);
    setitimer(ITIMER_REAL, &often, NULL);
    work_in_storm(WANTED, 5000);
    setitimer(ITIMER_REAL, &never, NULL);
    storm_end(SIGALRM, WANTED);
}

/* ---- a handler after every instruction ------------------------------------------------------- */

static void on_step(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    int error = errno;
    uint32_t n = (uint32_t)atomic_fetch_add(&storm.handled, 1);
    size_t size = 1 + n % 5 * 40;
    if (is_inside(context))
        atomic_fetch_add(&storm.inside, 1);
    char *p = malloc(size);
    if (p) {
        pattern_fill(p, size, n);
        atomic_fetch_add(&storm.damaged, !pattern_holds(p, size, n));
        free(n % 16 ? p : atomic_exchange(&storm.kept[n / 16 % KEPT], p));
    } else
        atomic_fetch_add(&storm.refused, 1);
    errno = error;
}

enum { CALLS = 6 };

/* The call-th way to use the allocator; *p is a block of n bytes on entry and on return. */
static void call_allocator(int call, char **p, size_t n)
{
    switch (call) {
    case 0:
        free(*p);
        *p = malloc(n);
        break;
    case 1:
        free(*p);
        *p = calloc(1, n);
        break;
    case 2:
        *p = realloc(*p, n + 40);
        *p = realloc(*p, n);
        break;
    case 3:
        free(*p);
        *p = memalign(64, n);
        break;
    case 4:
        free(malloc(n / 2 + 1));
        break;
    default:
        (void)malloc_usable_size(*p);
        break;
    }
}

/* Copying and clearing take a step per byte on some machines. */
static bool is_long(int call, size_t n)
{
    return (call == 1 || call == 2) && n > 1500;
}

void row_handler_at_every_instruction(void)
{
    static const size_t sizes[] = {1, 24, 100, 500, 1500, 40000, 200000, 1500000};
    int turn = 0, every = 5 / rounds(5);
    storm_start(SIGTRAP, on_step);
    for (int call = 0; call < CALLS; call++)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && !is_long(call, sizes[i]); i++) {
            if (turn++ % every)
                continue;
            char *p = malloc(sizes[i]), *q = malloc(300);
            call_allocator(call, &p, sizes[i]); /* once without steps: symbols get bound */
            pattern_fill(q, 300, 1);
            steps_begin();
            call_allocator(call, &p, sizes[i]);
            steps_end();
            expect_block(p, sizes[i], 16);
            expect(pattern_holds(q, 300, 1), "call %d, %zu bytes: neighbour damaged", call,
                   sizes[i]);
            free(p);
            free(q);
        }
    storm_end(SIGTRAP, 1000);
}

/* The same in a thread that is past its end: the last round of its keys' destructors. */
static pthread_key_t last_key;

static void step_in_last_round(void *round)
{
    if ((intptr_t)round < _POSIX_THREAD_DESTRUCTOR_ITERATIONS) {
        pthread_setspecific(last_key, (void *)((intptr_t)round + 1));
        return;
    }
    char *p = malloc(100);
    for (int call = 0; call < CALLS; call++) {
        call_allocator(call, &p, 100);
        steps_begin();
        call_allocator(call, &p, 100);
        steps_end();
        expect_block(p, 100, 16);
    }
    free(p);
}

static void *end_in_steps(void *argument)
{
    (void)argument;
    free(malloc(10));
    pthread_setspecific(last_key, (void *)1);
    return NULL;
}

void row_handler_at_every_instruction_past_the_end(void)
{
    pthread_t thread;
    storm_start(SIGTRAP, on_step);
    pthread_key_create(&last_key, step_in_last_round);
    expect(pthread_create(&thread, NULL, end_in_steps, NULL) == 0, "no thread");
    pthread_join(thread, NULL);
    pthread_key_delete(last_key);
    storm_end(SIGTRAP, 300);
}

static void on_step_query(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    if (!is_inside(context))
        return;
    atomic_fetch_add(&storm.handled, 1);
    atomic_fetch_add(&storm.inside, 1);
    struct mallinfo2 now = mallinfo2();
    char *none = malloc(0), *some = realloc(none, 40);
    atomic_fetch_add(&storm.damaged, now.uordblks > (size_t)1 << 40 || !some);
    free(some ? some : none);
}

void row_handler_queries_at_every_instruction(void)
{
    storm_start(SIGTRAP, on_step_query);
    for (int call = 0; call < CALLS; call++)
        for (size_t n = 100; n < 1000000; n *= 40) {
            char *p = malloc(n);
            call_allocator(call, &p, n);
            steps_begin();
            if (!is_long(call, n))
                call_allocator(call, &p, n);
            steps_end();
            free(p);
        }
    storm_end(SIGTRAP, 1000);
}

/* ---- handlers at known places: every allocator must do -------------------------------------- */

static void on_raise(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    handle_with_heap((uint32_t)atomic_fetch_add(&storm.handled, 1));
}

void row_handler_allocates(void)
{
    storm_start(SIGUSR2, on_raise);
    for (int i = 0; i < 2000; i++)
        raise(SIGUSR2);
    print_result("%d handled", storm.handled);
    storm_end(SIGUSR2, 0);
}

void row_handler_allocates_on_other_stack(void)
{
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    stack_t none = {.ss_flags = SS_DISABLE};
    storm_start(SIGUSR2, on_raise);
    handle(SIGUSR2, on_raise, SA_ONSTACK);
    expect(sigaltstack(&stack, NULL) == 0, "no stack");
    for (int i = 0; i < 500; i++) {
        free(malloc((size_t)i));
        raise(SIGUSR2);
    }
    sigaltstack(&none, NULL);
    free(stack.ss_sp);
    print_result("%d handled", storm.handled);
    storm_end(SIGUSR2, 0);
}

/* ---- alternate stacks, as the program sees them ---------------------------------------------- */

static char *handler_ran_at;

static void note_stack_of_handler(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    handler_ran_at = __builtin_frame_address(0);
}

/* Print the thread's stack, the flag of the handler, and on which of the two stacks it runs. */
static void print_stacks(const char *when, const char *room, size_t bytes, const char *frame)
{
    stack_t now = {.ss_flags = 77};
    struct sigaction action;
    expect(sigaltstack(NULL, &now) == 0, "no query");
    sigaction(SIGUSR2, NULL, &action);
    raise(SIGUSR2);
    size_t below = (size_t)(frame - handler_ran_at);
    print_result("%s: %s, %d, %zu bytes; flag %d; handler %s", when,
                 now.ss_sp == room ? "its own"
                 : now.ss_sp       ? "another"
                                   : "none",
                 now.ss_flags, now.ss_size, !!(action.sa_flags & SA_ONSTACK),
                 handler_ran_at - room >= 0 && handler_ran_at < room + bytes
                     ? "on the alternate stack"
                 : below < 65536 ? "below its caller"
                                 : "elsewhere");
}

static void *use_alternate_stacks(void *about)
{
    volatile char frame;
    size_t bytes = 65536;
    char *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t own = {.ss_sp = room, .ss_size = bytes}, none = {.ss_flags = SS_DISABLE},
            small = {.ss_sp = room, .ss_size = 8}, before;
    free(malloc(8));
    print_stacks("at first", room, bytes, (char *)&frame);
    errno = 0;
    print_result("too small: %d, %d", sigaltstack(&small, &before), errno);
    print_stacks("after an error", room, bytes, (char *)&frame);
    if (about) {
        expect(sigaltstack(&own, &before) == 0, "not set");
        print_result("before: %d, %d", before.ss_sp != NULL, before.ss_flags);
        print_stacks("set", room, bytes, (char *)&frame);
        expect(sigaltstack(&none, &before) == 0, "not disabled");
        print_result("before: %d, %d", before.ss_sp == room, before.ss_flags);
        print_stacks("disabled", room, bytes, (char *)&frame);
        int (*volatile set_stack)(const stack_t *, stack_t *) = sigaltstack;
        before = none;
        expect(set_stack(&before, &before) == 0, "not disabled");
        print_result("same struct: %d, %d", before.ss_sp != NULL, before.ss_flags);
    }
    handle(SIGUSR2, note_stack_of_handler, 0);
    print_stacks("without the flag", room, bytes, (char *)&frame);
    handle(SIGUSR2, note_stack_of_handler, SA_ONSTACK);
    munmap(room, bytes);
    return NULL;
}

void row_alternate_stacks(void)
{
    static char sets[] = "also sets stacks";
    pthread_t thread;
    handle(SIGUSR2, note_stack_of_handler, SA_ONSTACK);
    use_alternate_stacks(NULL); /* only queries */
    pthread_create(&thread, NULL, use_alternate_stacks, NULL);
    pthread_join(thread, NULL);
    use_alternate_stacks(sets);
    pthread_create(&thread, NULL, use_alternate_stacks, sets);
    pthread_join(thread, NULL);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        use_alternate_stacks(sets);
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    signal(SIGUSR2, SIG_DFL);
}

static sigjmp_buf out_of_handler;

static void on_raise_jump(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    free(malloc(100));
    siglongjmp(out_of_handler, 1);
}

void row_handler_jumps_after_allocating(void)
{
    volatile int jumps = 0;
    handle(SIGUSR2, on_raise_jump, 0);
    while (jumps < 500) {
        if (sigsetjmp(out_of_handler, 1) == 0)
            raise(SIGUSR2);
        jumps++;
        void *p = malloc(200);
        expect_block(p, 200, 16);
        free(p);
    }
    print_result("%d jumps", jumps);
}

/* ---- coroutines: one thread, many stacks, all of them blocks of the heap -------------------- */

enum { COROUTINES = 8, TURNS = 50, COROUTINE_STACK = 65536 };

static ucontext_t scheduler, coroutines[COROUTINES];
static int turns_taken;

static void coroutine(int self)
{
    char *p = NULL;
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        expect(!p || pattern_holds(p, 100, turn - 1), "coroutine %d: block damaged", self);
        free(p);
        p = malloc(100);
        pattern_fill(p, 100, turn);
        turns_taken++;
        swapcontext(&coroutines[self], &scheduler);
    }
    free(p);
}

void row_coroutines(void)
{
    void *stacks[COROUTINES];
    turns_taken = 0;
    for (int i = 0; i < COROUTINES; i++) {
        getcontext(&coroutines[i]);
        coroutines[i].uc_stack.ss_sp = stacks[i] = malloc(COROUTINE_STACK);
        coroutines[i].uc_stack.ss_size = COROUTINE_STACK;
        coroutines[i].uc_link = &scheduler;
        makecontext(&coroutines[i], (void (*)(void))(uintptr_t)coroutine, 1, i);
    }
    for (int turn = 0; turn <= TURNS; turn++)
        for (int i = 0; i < COROUTINES; i++)
            swapcontext(&scheduler, &coroutines[i]);
    for (int i = 0; i < COROUTINES; i++)
        free(stacks[i]);
    print_result("%d turns", turns_taken);
}
