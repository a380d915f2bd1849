/*
 * faults.c - a fault, and the program's handler of it: faults KIND WAY [touch]. The output is what the
 * handler observes: siginfo, the context and the signal mask. Addresses are printed as distances.
 * Kinds of faults are here, ways to handle them in faults_handlers.c.
 *
 * With `touch` the program also reads a freed block, and a byte behind a block, before the fault and in
 * the handler. Natively these reads have no effect.
 *
 * Each fault is one instruction in assembly. Its successor is known, so a handler can continue there.
 *
 * rtc-build: +faults_handlers.c -O1 -g -D_GNU_SOURCE -pthread -fno-builtin -mno-red-zone -Wl,-z,now
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "faults.h"

#define WILD ((char *)(uintptr_t)(1ull << 40))
#define NON_CANONICAL ((char *)(uintptr_t)0x4d3c2b1a00112233)
#define OF_FILL ((char *)(uintptr_t)0xfdfdfdfdfdfdfdfd)
#define RETURN "\xc3" /* the instruction */

void must(bool holds)
{
    if (!holds)
        _exit(9);
}

/* ---- output ---------------------------------------------------------------------------------- */

void put(const char *text)
{
    must(write(1, text, strlen(text)) == (ssize_t)strlen(text));
}

void put_number(const char *name, int64_t value)
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
char *base;
uint64_t next_pc, sp, value = 5;

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

void access_raise(void)
{
    raise(SIGSEGV);
}

char *map(size_t pages, int protection)
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

/* The page is read, because its fault has another error code while it is not resident. */
static char *at_constant(void)
{
    (void)*(const volatile char *)page_of_constants;
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

static const struct kind kinds[] = {
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

const struct kind *kind;

/* ---- the program -------------------------------------------------------------------------------- */

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* Without arguments: the names. */
static int list(void)
{
    for (size_t i = 0; i < COUNT(kinds); i++) {
        put(kinds[i].name);
        put(" ");
    }
    put("\n");
    for (size_t i = 0; ways[i].name; i++) {
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
    for (size_t i = 0; ways[i].name; i++)
        if (strcmp(ways[i].name, argv[2]) == 0)
            ways[i].run();
    put("done\n");
    return 0;
}
