/*
 * crash.c - ends by a fault, of which memory that was freed may be the cause or not:
 * crash WAY [main | thread [none | return | jump | exit]]: in this thread, with a handler of the
 * program that restores the default and returns, jumps out of the fault, or exits.
 *
 * rtc-build: -O2 -D_GNU_SOURCE -pthread -fstack-protector-all -fno-builtin -fno-optimize-sibling-calls
 */
#include <assert.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

struct node {
    struct node *next;
    void (*call)(struct node *);
    uint32_t short_next, pad;
    long value[8];
};

static volatile long sink;
static void *volatile kept; /* hidden from the compiler */

static void *hidden(void *p)
{
    kept = p;
    return kept;
}

static struct node *freed_node(void)
{
    struct node *n = hidden(calloc(1, sizeof *n));
    free(n);
    return hidden(n);
}

/* ---- no freed memory has to do with these --------------------------------------------------------- */

static void by_null(void)
{
    sink = ((struct node *)hidden(NULL))->value[3];
}

static void by_null_call(void)
{
    void (*call)(void) = (void (*)(void))(uintptr_t)hidden(NULL);
    call();
}

static void by_wild(void)
{
    sink = *(long *)hidden((void *)(uintptr_t)(1ull << 40));
}

static char data_of_copy[8];

static void by_wild_far(void) /* no address at all: the kernel does not name it */
{
    sink = *(long *)hidden((void *)(uintptr_t)0x4d3c2b1a00112233);
}

static void by_wild_far_write(void)
{
    *(short *)hidden((void *)(uintptr_t)0x4d3c2b1a00112233) = 1;
}

static void by_wild_far_copy(void)
{
    void *to = hidden((void *)(uintptr_t)0x4d3c2b1a00112233), *from = data_of_copy;
    unsigned long n = 1;
    __asm__ volatile("rep movsb" : "+S"(from), "+D"(to), "+c"(n) : : "memory");
}

/* The return address was overwritten. */
static void by_wild_far_return(void)
{
    __asm__ volatile("mov $0x4d3c2b1a00112233, %%rax; push %%rax; ret" : : : "rax", "memory");
}

static void by_read_only(void)
{
    static const long constant[4] = {1, 2, 3, 4};
    *(long *)hidden((void *)(uintptr_t)&constant[2]) = 1;
}

static void by_mapping(void)
{
    char *p = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sink = *(char *)hidden(p + 100);
}

static void unmap(char *p, size_t bytes)
{
    munmap(p, bytes);
}

static void by_unmapped(void)
{
    char *p = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 1000; i++)
        munmap(mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
    unmap(p + 4096, 8192);
    *(char *)hidden(p + 5000) = 1;
}

static void by_unmapped_long_ago(void)
{
    char *p = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *other = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unmap(p + 4096, 8192);
    for (int i = 0; i < 1024; i++) {
        mmap(other, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        munmap(other, 4096);
    }
    *(char *)hidden(p + 5000) = 1;
}

static void by_moved(void)
{
    char *p = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *room = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mremap(p, 16384, 65536, MREMAP_MAYMOVE | MREMAP_FIXED, room);
    sink = *(char *)hidden(p + 5000);
}

static void by_detached(void)
{
    int id = shmget(IPC_PRIVATE, 8192, 0600);
    char *p = shmat(id, NULL, 0);
    shmctl(id, IPC_RMID, NULL);
    shmdt(p);
    sink = *(char *)hidden(p + 100);
}

/* Unmapped, and mapped again without access. */
static void by_mapped_again(void)
{
    char *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(p, 4096);
    mmap(p, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    sink = *(char *)hidden(p + 100);
}

static int deeper(int n)
{
    volatile char frame[4096];
    frame[0] = (char)n;
    return n < 0 ? n : deeper(n + 1) + frame[0];
}

static void by_deep(void)
{
    sink = deeper(0);
}

/* Known values in the registers that the access does not use. */
static void by_registers(void)
{
    __asm__ volatile(
        "mov $0x1122334455667788, %%rbx; mov $0xfeed, %%r8d; mov $-2, %%r15; mov $64, %%eax;"
        "mov (%%rax), %%rdx"
        :
        :
        : "rax", "rbx", "rdx", "r8", "r15", "memory");
}

static void by_abort(void)
{
    freed_node();
    abort();
}

static void on_abort(int signal)
{
    (void)!write(1, "handled\n", 8);
    (void)signal;
}

/* The handler returns: libc resets the action and raises the signal again. */
static void by_abort_handled(void)
{
    signal(SIGABRT, on_abort);
    by_abort();
}

static void by_abort_handled_once(void)
{
    struct sigaction once = {.sa_handler = on_abort, .sa_flags = (int)SA_RESETHAND};
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGABRT);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    sigaction(SIGABRT, &once, NULL);
    by_abort();
}

static void by_abort_ignored(void)
{
    signal(SIGABRT, SIG_IGN);
    by_abort();
}

static void by_assertion(void)
{
    assert(hidden(NULL));
}

static void by_smash(void)
{
    volatile char small[8];
    memset((char *)hidden((char *)small), 1, 64);
    sink = small[3];
}

static void by_raise(void)
{
    freed_node();
    raise(SIGSEGV);
}

static void by_divide(void)
{
    sink = (sink + 7) / (long)(uintptr_t)hidden(NULL);
}

static void by_illegal(void)
{
    __builtin_trap();
}

/* A page of a mapping that lies behind the end of its file. */
static void by_file_end(void)
{
    int fd = memfd_create("short", 0);
    sink = *(char *)hidden(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0));
}

static char data[16] = {(char)0xc3};

static void by_data_call(void)
{
    void (*call)(void) = (void (*)(void))(uintptr_t)hidden(data);
    call();
    sink = 1;
}

/* A stack overflow with an alternate stack, on which handlers can run. */
static void by_deep_seen(void)
{
    static char room[65536];
    sigaltstack(&(stack_t){.ss_sp = room, .ss_size = sizeof room}, NULL);
    sink = deeper(0);
}

static void *in_thread(void *arg)
{
    sink = *(volatile char *)hidden(arg);
    return NULL;
}

static void by_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, in_thread, (void *)(uintptr_t)8);
    pthread_join(thread, NULL);
}

static void by_queued_signal(void)
{
    kill(getpid(), SIGBUS);
    pause();
}

/* Another register holds a word read from freed memory; the faulting address is unrelated to it. */
static void by_null_beside(void)
{
    uintptr_t beside = (uintptr_t)freed_node()->next;
    __asm__ volatile("mov (%0), %%rax" : : "r"(hidden(NULL)), "c"(beside) : "rax", "memory");
}

/* ---- it has to do with these ------------------------------------------------------------------------ */

static void of_member(void)
{
    sink = freed_node()->next->value[2];
}

static void of_write(void)
{
    freed_node()->next->value[7] = 1;
}

static void of_container(void) /* lists whose pointers lead into the middle of their elements */
{
    struct node *n =
        (struct node *)hidden((char *)freed_node()->next - offsetof(struct node, value));
    sink = n->value[1];
}

static void of_array(void)
{
    volatile long i = 3;
    sink = freed_node()->next->value[i];
}

static void of_call(void)
{
    struct node *n = freed_node();
    n->call(n);
    sink = 1;
}

static void of_call_by_register(void)
{
    struct node *n = freed_node();
    void (*call)(struct node *) = n->call;
    __asm__ volatile("" : "+r"(call));
    call(n);
    sink = 1;
}

static void of_short(void) /* pointers of 32 bits are addresses that a program may have */
{
    sink = *(char *)hidden((void *)(uintptr_t)freed_node()->short_next);
}

static void of_tagged(void) /* the upper 16 bits of the word are the program's tag */
{
    int64_t tagged = (int64_t)(uintptr_t)freed_node()->next;
    sink = *(char *)hidden((void *)(tagged * 65536 / 65536));
}

static void of_strlen(void)
{
    sink = (long)strlen(hidden(freed_node()->next));
}

static void of_memcpy(void)
{
    char copy[64];
    memcpy(copy, hidden(freed_node()->next), sizeof copy);
    sink = copy[3];
}

static void of_string(void) /* registers that no operand names */
{
    void *from = freed_node()->next, *to = hidden(malloc(64));
    unsigned long n = 8;
    __asm__ volatile("rep movsq" : "+S"(from), "+D"(to), "+c"(n) : : "memory");
}

/* ---- the block is known: by a register, or by a frame ----------------------------------------------- */

static void *freed_of(size_t bytes)
{
    void *p = hidden(malloc(bytes));
    free(p);
    return p;
}

/* All general registers but rsp, rbx, and r12 to r15. */
#define CLEAR_REGISTERS                                                                            \
    "xor %%eax, %%eax; xor %%ecx, %%ecx; xor %%edx, %%edx; xor %%esi, %%esi; xor %%edi, %%edi\n\t" \
    "xor %%ebp, %%ebp; xor %%r8d, %%r8d; xor %%r9d, %%r9d; xor %%r10d, %%r10d; xor %%r11d, "       \
    "%%r11d\n\t"

/* Read the address at rbx, and follow it.  The three registers are all that hold a pointer. */
static void follow(const void *rbx, const void *r12, const void *r13)
{
    kept = NULL;
    __asm__ volatile("mov %0, %%rbx; mov %1, %%r12; mov %2, %%r13\n\t" CLEAR_REGISTERS
                     "xor %%r14d, %%r14d; xor %%r15d, %%r15d\n\t"
                     "mov 8(%%rbx), %%rax; mov (%%rax), %%rax"
                     :
                     : "m"(rbx), "m"(r12), "m"(r13)
                     : "rax", "memory");
}

static void of_register(void) /* which comes before the other block, of a frame */
{
    void *volatile local = freed_of(48);
    follow(freed_of(40), malloc(48), NULL);
    sink = local != NULL;
}

static void of_two_registers(void) /* both to one block */
{
    char *p = freed_of(40);
    follow(p, p + 32, malloc(48));
}

static void of_two_blocks(void) /* no reason to prefer one */
{
    follow(freed_of(40), freed_of(48), NULL);
}

static void of_frame(void)
{
    void *volatile local = freed_of(40);
    long *volatile next = *(long **)local;
    __asm__ volatile("" : : : "rbx", "rbp", "r12", "r13", "r14", "r15", "memory");
    long *at = next;
    kept = NULL;
    __asm__ volatile("xor %%ecx, %%ecx; xor %%edx, %%edx; xor %%esi, %%esi; xor %%edi, %%edi\n\t"
                     "mov (%0), %%rax"
                     :
                     : "r"(at)
                     : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory");
}

/* The register of the address is not the word, and points into the next block; another one is. */
static void of_computed(void)
{
    void *block[8];
    for (int i = 0; i < 8; i++)
        block[i] = hidden(malloc(40));
    for (int i = 0; i < 8; i++)
        free(block[i]);
    void *word = *(void **)hidden(block[3]);
    kept = NULL;
    __asm__ volatile("lea 56(%0), %%rax; mov (%%rax), %%rax" : : "c"(word) : "rax", "memory");
}

/* The slot has another block when the pointer is followed; with --freelist-vol=0. */
static void of_reused(void)
{
    struct node *next = freed_node()->next;
    for (int i = 0; i < 4; i++)
        kept = calloc(1, sizeof(struct node));
    sink = next->value[0];
}

/* Never written, but freed once; with --freelist-vol=0. */
static void of_uninitialised(void)
{
    freed_node();
    struct node *n = hidden(malloc(sizeof *n - 8));
    sink = n->next->value[2];
}

/* Its memory has no block any more. */
static void of_released(void)
{
    struct node *n = freed_of(300000), *next = n->next;
    for (int i = 0; i < 100; i++)
        freed_of(1000000);
    sink = next->value[0];
}

/* ---- uninitialised memory, with --malloc-fill=block ------------------------------------------------- */

static void new_member(void)
{
    struct node *n = hidden(malloc(sizeof *n - 8));
    sink = n->next->value[2];
}

static void new_call(void)
{
    struct node *n = hidden(memalign(64, sizeof *n - 8));
    n->call(n);
    sink = 1;
}

/* The word of the block before was copied. */
static void new_copied(void)
{
    struct node *n = hidden(malloc(sizeof *n - 8));
    n = hidden(realloc(n, 4 * sizeof *n));
    sink = n->next->value[0];
}

/* The added part of a block that was moved. */
static void new_added(void)
{
    struct node *n = hidden(calloc(1, 1));
    n = hidden(realloc(n, sizeof *n - 8));
    sink = *(long *)(uintptr_t)n->value[0];
}

/* Zero, as calloc and realloc leave it. */
static void zero_of_calloc(void)
{
    struct node *n = hidden(calloc(1, sizeof *n));
    n = hidden(realloc(n, 8 * sizeof *n));
    sink = n->next->value[2];
}

/* It was written since. */
static void zero_written(void)
{
    struct node *n = hidden(malloc(sizeof *n));
    n->next = hidden(NULL);
    sink = n->next->value[2];
}

/* The stack pointer is in memory with this protection, and no frame is there. */
static void follow_on_stack(int protection)
{
    char *sp = mmap(NULL, 8192, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct node *n = freed_node();
    sp += 4096;
    kept = NULL;
    __asm__ volatile(
        "mov %0, %%rbx; mov %1, %%r12\n\t" CLEAR_REGISTERS
        "mov %%rbx, %%rsp; mov (%%r12), %%rax; xor %%ebx, %%ebx; xor %%r12d, %%r12d\n\t"
        "xor %%r13d, %%r13d; xor %%r14d, %%r14d; xor %%r15d, %%r15d\n\t"
        "mov (%%rax), %%rax"
        :
        : "m"(sp), "m"(n)
        : "rax", "memory");
}

static void of_unreadable_stack(void)
{
    follow_on_stack(PROT_NONE);
}

static void of_empty_stack(void)
{
    follow_on_stack(PROT_READ | PROT_WRITE);
}

/* A child that has called nothing since its fork. */
static void child_null(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        by_null();
    waitpid(child, &status, 0);
    exit(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV ? 0 : 98);
}

/* The same, below the end of the stack. */
static void child_deep(void)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        by_deep();
    waitpid(child, &status, 0);
    exit(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV ? 0 : 98);
}

/* clang-format off */
#define WAY(name) {#name, name}
/* clang-format on */

/* ---- where, and with which handler --------------------------------------------------------------- */

static sigjmp_buf out;
static const char *handler = "none";
static void (*chosen)(void);

static void on_crash(int signal_number)
{
    if (strcmp(handler, "exit") == 0)
        _exit(7);
    if (strcmp(handler, "jump") == 0)
        siglongjmp(out, 1);
    signal(signal_number, SIG_DFL);
}

static void *crash_here(void *unused)
{
    if (sigsetjmp(out, 1) == 0)
        chosen();
    else
        _exit(5);
    return unused;
}

static void handle_crashes(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], on_crash);
}

static void crash_in(const char *where)
{
    pthread_t thread;
    if (strcmp(handler, "none") != 0)
        handle_crashes();
    if (strcmp(where, "thread") != 0) {
        chosen();
        return;
    }
    pthread_create(&thread, NULL, crash_here, NULL);
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*crash)(void);
        /* clang-format off */
    } ways[] = {WAY(by_null), WAY(by_null_call), WAY(by_wild), WAY(by_wild_far), WAY(by_wild_far_write), WAY(by_wild_far_copy), WAY(by_wild_far_return),
                WAY(by_read_only), WAY(by_mapping),
                WAY(by_deep), WAY(by_registers), WAY(by_unmapped), WAY(by_unmapped_long_ago), WAY(by_moved), WAY(by_detached),
                WAY(by_mapped_again), WAY(by_abort), WAY(by_abort_handled), WAY(by_abort_handled_once), WAY(by_abort_ignored), WAY(by_assertion), WAY(by_smash), WAY(by_raise), WAY(by_divide), WAY(by_illegal), WAY(by_file_end),
                WAY(by_data_call), WAY(by_deep_seen), WAY(by_thread), WAY(by_queued_signal), WAY(by_null_beside), WAY(of_member), WAY(of_write),
                WAY(of_container), WAY(of_array), WAY(of_call), WAY(of_call_by_register), WAY(of_short),
                WAY(of_tagged), WAY(of_strlen), WAY(of_memcpy), WAY(of_string), WAY(of_register), WAY(of_two_registers),
                WAY(of_two_blocks), WAY(of_frame), WAY(of_computed), WAY(of_reused), WAY(of_uninitialised), WAY(of_released), WAY(new_member), WAY(new_call), WAY(new_copied), WAY(new_added), WAY(zero_of_calloc), WAY(zero_written), WAY(of_unreadable_stack), WAY(of_empty_stack),
                WAY(child_null), WAY(child_deep)};
    /* clang-format on */
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (argc < 2)
            puts(ways[i].name);
        else if (strcmp(argv[1], ways[i].name) == 0)
            chosen = ways[i].crash;
    if (argc > 3)
        handler = argv[3];
    if (argc > 1 && argc < 3)
        chosen();
    else if (argc > 2 && strcmp(argv[2], "main") == 0 && sigsetjmp(out, 1) != 0)
        _exit(5);
    else if (argc > 2)
        crash_in(argv[2]);
    return argc < 2 ? 0 : 97;
}
