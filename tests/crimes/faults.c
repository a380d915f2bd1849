/*
 * faults.c - a fault, and the program's handler of it: faults KIND WAY [touch]. The output is what the
 * handler observes: siginfo, the context and the signal mask. Addresses are printed as distances.
 *
 * With `touch` the program also reads a freed block, and a byte behind a block, before the fault and in
 * the handler. Natively these reads have no effect.
 *
 * Each fault is one instruction in assembly. Its successor is known, so a handler can continue there.
 * Handlers use less than 2 KiB of the stack: functions are bound at start-up.
 *
 * rtc-build: -O1 -g -D_GNU_SOURCE -pthread -fno-builtin -mno-red-zone -Wl,-z,now
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE 4096
#define LARGE_STACK 65536
#define SMALL_STACK_MORE 2048 /* than the kernel's part of it */
#define WILD ((char *)(uintptr_t)(1ull << 40))
#define NON_CANONICAL ((char *)(uintptr_t)0x4d3c2b1a00112233)
#define OF_FILL ((char *)(uintptr_t)0xfdfdfdfdfdfdfdfd)
#define RETURN "\xc3" /* the instruction */

static void must(bool holds)
{
    if (!holds)
        _exit(9);
}

/* ---- output ---------------------------------------------------------------------------------- */

static void put(const char *text)
{
    must(write(1, text, strlen(text)) == (ssize_t)strlen(text));
}

static void put_number(const char *name, int64_t value)
{
    char digits[24], *d = digits + sizeof digits - 1;
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    *d = '\0';
    do {
        *--d = "0123456789abcdef"[rest % 16];
    } while (rest /= 16);
    put(" ");
    put(name);
    put(value < 0 ? "=-" : "=");
    put(d);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static char page_of_data[PAGE] __attribute__((aligned(PAGE), section(".data"))) = RETURN;
static const char page_of_constants[PAGE] __attribute__((aligned(PAGE))) = "constant";
static char *base;                      /* addresses are printed from here on */
static uint64_t next_pc, sp, value = 5; /* after the faulting instruction */

/* The instruction uses the address in rdx and the value in rax. */
#define FAULT(instruction)                                                                 \
    __asm__ volatile("lea 2f(%%rip), %%rcx; mov %%rcx, %0; mov %%rsp, %1; mov $3, %%ecx\n" \
                     "1: " instruction "\n2:"                                              \
                     : "+m"(next_pc), "+m"(sp), "+a"(value)                                \
                     : "d"(base)                                                           \
                     : "rcx", "rsi", "rdi", "r8", "memory", "cc")

#define ACCESSES(X)                                                                           \
    X(read, "mov 48(%%rdx), %%rax")                                                           \
    X(write, "mov %%rax, 48(%%rdx)")                                                          \
    X(write_byte, "movb $7, 1000(%%rdx)")                                                     \
    X(call, "call *%%rdx")                                                                    \
    X(push, "3: push %%rax; jmp 3b")                                                          \
    X(push_there, "lea 4096(%%rdx), %%rsp; 3: push %%rax; jmp 3b")                            \
    X(copy, "lea 4094(%%rdx), %%rdi; mov %%rdx, %%rsi; rep movsb")                            \
    X(divide, "mov %%ecx, %%eax; cltd; xor %%ecx, %%ecx; idivl %%ecx")                        \
    X(divide_most, "mov $0x80000000, %%eax; cltd; mov $-1, %%ecx; idivl %%ecx")               \
    X(divide_float,                                                                           \
      "push $0x1d80; ldmxcsr (%%rsp); pop %%rcx; xorps %%xmm0, %%xmm0; divss %%xmm0, %%xmm0") \
    X(illegal, "ud2")                                                                         \
    X(halt, "hlt")                                                                            \
    X(aligned, "movaps 1(%%rdx), %%xmm0")                                                     \
    X(breakpoint, "int3")

#define DEFINE(name, instruction)   \
    static void access_##name(void) \
    {                               \
        FAULT(instruction);         \
    }
ACCESSES(DEFINE)

static void access_raise(void)
{
    raise(SIGSEGV);
}

static char *map(size_t pages, int protection)
{
    char *p = mmap(NULL, pages * PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(p != MAP_FAILED);
    return p;
}

static char *at_null(void)
{
    return NULL;
}

static char *at_wild(void)
{
    return WILD;
}

static char *at_non_canonical(void)
{
    return NON_CANONICAL;
}

static char *at_fill(void)
{
    return OF_FILL;
}

static char *at_constant(void)
{
    return (char *)(uintptr_t)page_of_constants;
}

static char *at_data(void)
{
    return page_of_data;
}

static char *at_read_only(void)
{
    return map(1, PROT_READ);
}

static char *at_none(void)
{
    return map(1, PROT_NONE);
}

static char *at_end(void)
{
    char *p = map(2, PROT_READ | PROT_WRITE);
    must(mprotect(p + PAGE, PAGE, PROT_NONE) == 0);
    return p;
}

/* A stack above an inaccessible page. */
static char *at_stack(void)
{
    char *p = map(2, PROT_READ | PROT_WRITE);
    must(mprotect(p, PAGE, PROT_NONE) == 0);
    return p + PAGE;
}

static char *at_unmapped(void)
{
    char *p = map(3, PROT_NONE);
    must(munmap(p + PAGE, PAGE) == 0);
    return p + PAGE;
}

static int file = -1;

static char *at_file_end(void)
{
    file = memfd_create("file", 0);
    char *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    must(file >= 0 && p != MAP_FAILED);
    return p;
}

/* ---- the repair of its cause ------------------------------------------------------------------- */

static void protect(void)
{
    must(mprotect(base, PAGE, PROT_READ | PROT_WRITE) == 0);
}

static void protect_next(void)
{
    must(mprotect(base + PAGE, PAGE, PROT_READ | PROT_WRITE) == 0);
}

static void make_executable(void)
{
    must(mprotect(base, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
}

static void map_there(void)
{
    must(mmap(base, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
              -1, 0) == base);
}

static void extend_file(void)
{
    must(ftruncate(file, PAGE) == 0);
}

static const struct kind {
    const char *name;
    int signal;
    char *(*prepare)(void);
    void (*access)(void);
    void (*repair)(void); /* NULL: the cause cannot be repaired */
} kinds[] = {
    {"null_read", SIGSEGV, at_null, access_read, NULL},
    {"null_write", SIGSEGV, at_null, access_write, NULL},
    {"null_call", SIGSEGV, at_null, access_call, NULL},
    {"wild_read", SIGSEGV, at_wild, access_read, map_there},
    {"wild_write", SIGSEGV, at_wild, access_write, map_there},
    {"wild_call", SIGSEGV, at_wild, access_call, NULL},
    {"far_read", SIGSEGV, at_non_canonical, access_read, NULL},
    {"far_write", SIGSEGV, at_non_canonical, access_write, NULL},
    {"far_call", SIGSEGV, at_non_canonical, access_call, NULL},
    {"fill_read", SIGSEGV, at_fill, access_read, NULL},
    {"fill_call", SIGSEGV, at_fill, access_call, NULL},
    {"constant_write", SIGSEGV, at_constant, access_write, protect},
    {"read_only_write", SIGSEGV, at_read_only, access_write_byte, protect},
    {"data_call", SIGSEGV, at_data, access_call, make_executable},
    {"none_read", SIGSEGV, at_none, access_read, protect},
    {"none_write", SIGSEGV, at_none, access_write, protect},
    {"none_copy", SIGSEGV, at_end, access_copy, protect_next},
    {"unmapped_read", SIGSEGV, at_unmapped, access_read, map_there},
    {"unmapped_write", SIGSEGV, at_unmapped, access_write_byte, map_there},
    {"stack", SIGSEGV, at_null, access_push, NULL},
    {"stack_made", SIGSEGV, at_stack, access_push_there, NULL},
    {"file_end_read", SIGBUS, at_file_end, access_read, extend_file},
    {"file_end_write", SIGBUS, at_file_end, access_write, extend_file},
    {"divide", SIGFPE, at_null, access_divide, NULL},
    {"divide_most", SIGFPE, at_null, access_divide_most, NULL},
    {"divide_float", SIGFPE, at_null, access_divide_float, NULL},
    {"illegal", SIGILL, at_null, access_illegal, NULL},
    {"halt", SIGSEGV, at_null, access_halt, NULL},
    {"aligned", SIGSEGV, at_data, access_aligned, NULL},
    {"breakpoint", SIGTRAP, at_null, access_breakpoint, NULL},
    {"sent", SIGSEGV, at_null, access_raise, NULL},
};

static const struct kind *kind;

/* ---- heap errors without effect ---------------------------------------------------------------- */

static bool touches;
static volatile long sum;

static void touch(void)
{
    for (int i = 0; touches && i < 2; i++) { /* guards at the start and at the end, in turn */
        volatile char *p = malloc(64);
        must(p != NULL);
        sum += p[64] + p[-1];
        free((void *)(uintptr_t)p);
        sum += p[8];
    }
}

/* Allocated before the fault: a handler must not call malloc. */
static volatile char *freed[4], *live[4];

static void prepare_touches(void)
{
    for (int i = 0; i < 4; i++) {
        freed[i] = malloc(64);
        live[i] = malloc(64);
    }
    for (int i = 0; i < 4; i++)
        free((void *)(uintptr_t)freed[i]);
}

static bool is_stack_small; /* too small for another signal frame, that of the guard's fault */

static void touch_in_handler(void)
{
    for (int i = 0; touches && !is_stack_small && i < 4; i++)
        sum += freed[i][8] + live[i][64] + live[i][-1];
}

/* ---- what a handler observes ------------------------------------------------------------------- */

static int calls;

static void put_mask(void)
{
    sigset_t now;
    int64_t bits = 0;
    must(pthread_sigmask(SIG_SETMASK, NULL, &now) == 0);
    for (int i = 1; i < 32; i++)
        bits |= (int64_t)sigismember(&now, i) << i;
    put_number("mask", bits);
}

static void put_distance(const char *name, uint64_t at, uint64_t stack)
{
    uint64_t after = at - next_pc, below = at - stack;
    if (at < PAGE)
        put_number(name, (int64_t)at);
    else if (next_pc && after + 64 < 128)
        put_number(name, (int64_t)after);
    else if (below + 64 < 128)
        put_number("from_sp", (int64_t)below);
    else
        put_number("from_base", (int64_t)(at - (uintptr_t)base));
}

static void put_registers(const siginfo_t *info, const greg_t *registers)
{
    uint64_t stack = (uint64_t)registers[REG_RSP];
    if (info->si_code <= 0) {
        put_number("self", info->si_pid == getpid());
        return;
    }
    put_distance("address", (uintptr_t)info->si_addr, stack);
    put_distance("pc", (uint64_t)registers[REG_RIP], stack);
    put_number("trap", registers[REG_TRAPNO]);
    put_number("error", registers[REG_ERR]);
    put_number("rax", registers[REG_RAX]);
    put_number("rcx", registers[REG_RCX]);
}

static void put_context(const ucontext_t *context)
{
    int64_t bits = 0;
    stack_t stack;
    for (int i = 1; i < 32; i++)
        bits |= (int64_t)sigismember(&context->uc_sigmask, i) << i;
    put_number("mask_before", bits);
    must(sigaltstack(NULL, &stack) == 0);
    put_number("on_stack", stack.ss_flags);
}

static void observe(int number, const siginfo_t *info, const ucontext_t *context)
{
    put("handler");
    put_number("call", ++calls);
    put_number("signal", number);
    put_number("signo", info->si_signo);
    put_number("code", info->si_code);
    put_registers(info, context->uc_mcontext.gregs);
    put_context(context);
    put_mask();
    put("\n");
}

/* ---- handlers ---------------------------------------------------------------------------------- */

static sigjmp_buf back;

static void skip(ucontext_t *context)
{
    greg_t *registers = context->uc_mcontext.gregs;
    if (kind->access == access_raise)
        return;
    registers[REG_RIP] = (greg_t)next_pc;
    registers[REG_RSP] = (greg_t)sp;
    registers[REG_RAX] = 77;
}

static void by_jump(int number, siginfo_t *info, void *context)
{
    observe(number, info, context);
    touch_in_handler();
    siglongjmp(back, 1);
}

static void by_skip(int number, siginfo_t *info, void *context)
{
    observe(number, info, context);
    touch_in_handler();
    skip(context);
}

static void by_repair(int number, siginfo_t *info, void *context)
{
    observe(number, info, context);
    touch_in_handler();
    if (kind->repair)
        kind->repair();
    else
        skip(context);
}

static void by_fault(int number, siginfo_t *info, void *context)
{
    uint64_t outer_pc = next_pc, outer_sp = sp;
    observe(number, info, context);
    touch_in_handler();
    if (calls == 1)
        kind->access();
    else
        skip(context);
    if (calls == 2 && sp != outer_sp) {
        next_pc = outer_pc;
        sp = outer_sp;
        skip(context);
        calls++;
    }
}

static void by_default(int number, siginfo_t *info, void *context)
{
    observe(number, info, context);
    touch_in_handler();
    must(signal(number, SIG_DFL) == (sighandler_t)(uintptr_t)by_default);
}

static void by_number(int number)
{
    put("handler");
    put_number("signal", number);
    put_mask();
    put("\n");
    touch_in_handler();
    siglongjmp(back, 1);
}

static void put_action(void)
{
    struct sigaction now;
    must(sigaction(kind->signal, NULL, &now) == 0);
    put("action");
    put_number("default", now.sa_handler == SIG_DFL);
    put_number("skip", now.sa_sigaction == by_skip);
    put_number("flags", now.sa_flags);
    put_number("blocks_own", sigismember(&now.sa_mask, SIGSEGV));
    put_number("blocks", sigismember(&now.sa_mask, SIGUSR1));
    put("\n");
}

static void by_query(int number, siginfo_t *info, void *context)
{
    put_action();
    by_skip(number, info, context);
}

static void set(void (*handler)(int, siginfo_t *, void *), int flags, bool is_full)
{
    struct sigaction act = {.sa_sigaction = handler, .sa_flags = flags | SA_SIGINFO}, old;
    sigaddset(&act.sa_mask, SIGUSR1);
    if (is_full)
        sigfillset(&act.sa_mask);
    if (kind->signal != SIGSEGV) /* guards remove it from these masks */
        sigdelset(&act.sa_mask, SIGSEGV);
    must(sigaction(kind->signal, &act, &old) == 0);
    put_number("old", old.sa_handler != SIG_DFL);
    put_number("flags", old.sa_flags);
    put("\n");
}

/* ---- ways -------------------------------------------------------------------------------------- */

static void fault(void)
{
    put("before");
    put_mask();
    put("\n");
    touch();
    if (!sigsetjmp(back, 1))
        kind->access();
    put("after");
    put_number("value", (int64_t)value);
    put_mask();
    put("\n");
    touch();
}

static void way_none(void)
{
    fault();
}

static void way_jump(void)
{
    set(by_jump, 0, false);
    fault();
    fault();
}

static void way_repair(void)
{
    set(by_repair, 0, false);
    fault();
}

static void way_skip(void)
{
    set(by_skip, SA_RESTART, false);
    fault();
    fault();
}

static void way_mask(void)
{
    set(by_jump, 0, true);
    fault();
    put_action();
    fault();
}

static void way_number(void)
{
    must(signal(kind->signal, by_number) == SIG_DFL);
    fault();
    fault();
}

static void use_stack(size_t bytes)
{
    size_t pages = (bytes + PAGE - 1) / PAGE;
    char *room = map(pages + 2, PROT_NONE);
    stack_t stack = {.ss_sp = room + (pages + 1) * PAGE - bytes / 16 * 16,
                     .ss_size = bytes / 16 * 16};
    must(mprotect(room + PAGE, pages * PAGE, PROT_READ | PROT_WRITE) == 0);
    must(sigaltstack(&stack, NULL) == 0);
}

static void way_large_stack(void)
{
    use_stack(LARGE_STACK);
    set(by_skip, SA_ONSTACK, false);
    fault();
    fault();
}

static void way_large_stack_jump(void)
{
    set(by_jump, SA_ONSTACK, false);
    use_stack(LARGE_STACK);
    fault();
    fault();
}

static void use_small_stack(void)
{
    use_stack(getauxval(AT_MINSIGSTKSZ) + SMALL_STACK_MORE);
    is_stack_small = true;
}

static void way_small_stack(void)
{
    use_small_stack();
    set(by_skip, SA_ONSTACK, false);
    fault();
    fault();
}

static void way_small_stack_jump(void)
{
    use_small_stack();
    set(by_jump, SA_ONSTACK, false);
    fault();
    fault();
}

static void *fault_there(void *about)
{
    (void)about;
    fault();
    return NULL;
}

static void run_thread(void)
{
    pthread_t thread;
    must(pthread_create(&thread, NULL, fault_there, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

static void way_thread(void)
{
    set(by_jump, 0, false);
    run_thread();
    fault();
}

static void *set_there(void *about)
{
    set(by_skip, 0, false);
    return about;
}

static void way_set_by_thread(void)
{
    pthread_t thread;
    must(pthread_create(&thread, NULL, set_there, NULL) == 0 && pthread_join(thread, NULL) == 0);
    fault();
}

static void way_nested(void)
{
    set(by_fault, SA_NODEFER, false);
    fault();
}

static void way_nested_masked(void)
{
    set(by_fault, 0, false);
    fault();
}

static void way_ignored(void)
{
    signal(kind->signal, SIG_IGN);
    fault();
}

static void block(int how)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, kind->signal);
    must(pthread_sigmask(how, &signals, NULL) == 0);
}

static void way_blocked(void)
{
    set(by_jump, 0, false);
    block(SIG_BLOCK);
    fault();
    sigset_t waiting;
    must(sigpending(&waiting) == 0);
    put_number("pending", sigismember(&waiting, kind->signal));
    if (!sigsetjmp(back, 1))
        block(SIG_UNBLOCK);
    put("unblocked\n");
}

static void way_blocked_default(void)
{
    block(SIG_BLOCK);
    fault();
}

/* The handler leaves its mask in place, so the signal stays blocked. */
static void way_masked_jump(void)
{
    set(by_jump, 0, false);
    if (!sigsetjmp(back, 0))
        kind->access();
    put("first");
    put_mask();
    put("\n");
    fault();
}

static void way_unblocked_jump(void)
{
    set(by_jump, 0, false);
    if (!sigsetjmp(back, 0))
        kind->access();
    block(SIG_UNBLOCK);
    fault();
    fault();
}

/* siglongjmp restores a mask without the signal. */
static void way_restored(void)
{
    set(by_jump, 0, false);
    if (!sigsetjmp(back, 1)) {
        block(SIG_BLOCK);
        siglongjmp(back, 1);
    }
    fault();
}

static void way_reset(void)
{
    set(by_query, (int)SA_RESETHAND, false);
    fault();
    put_action();
    fault();
}

static void way_default(void)
{
    set(by_default, 0, false);
    fault();
}

static void way_query(void)
{
    put_action();
    set(by_query, SA_NODEFER, false);
    put_action();
    fault();
    fault();
}

static const struct {
    const char *name;
    void (*run)(void);
} ways[] = {
#define WAY(name)         \
    {                     \
#name, way_##name \
    }
    WAY(none),
    WAY(jump),
    WAY(repair),
    WAY(skip),
    WAY(mask),
    WAY(number),
    WAY(large_stack),
    WAY(large_stack_jump),
    WAY(small_stack),
    WAY(thread),
    WAY(small_stack_jump),
    WAY(set_by_thread),
    WAY(nested),
    WAY(ignored),
    WAY(nested_masked),
    WAY(blocked),
    WAY(masked_jump),
    WAY(restored),
    WAY(blocked_default),
    WAY(unblocked_jump),
    WAY(reset),
    WAY(default),
    WAY(query),
};

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* Without arguments: the names. */
static int list(void)
{
    for (size_t i = 0; i < COUNT(kinds); i++) {
        put(kinds[i].name);
        put(" ");
    }
    put("\n");
    for (size_t i = 0; i < COUNT(ways); i++) {
        put(ways[i].name);
        put(" ");
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct rlimit stack = {1 << 20, RLIM_INFINITY};
    if (argc < 3)
        return list();
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (strcmp(kinds[i].name, argv[1]) == 0)
            kind = &kinds[i];
    must(kind && setrlimit(RLIMIT_STACK, &stack) == 0);
    touches = argc > 3 && kind->access != access_raise; /* a pending SIGSEGV stays blocked */
    prepare_touches();
    base = kind->prepare();
    for (size_t i = 0; i < COUNT(ways); i++)
        if (strcmp(ways[i].name, argv[2]) == 0)
            ways[i].run();
    put("done\n");
    return 0;
}
