/*
 * stack_use.c - how much stack the functions of the allocator need, in every state that can be
 * forced.
 *
 *     stack_use            prints "CASE BYTES" for each case
 *     stack_use CASE...    only these
 *
 * A case runs on a painted stack; what is no longer painted afterwards was used.  Bytes are
 * counted from the stack pointer of the caller of malloc, so the return address into the caller is
 * the first of them.  To be run with LD_BIND_NOW: the loader's lazy binding saves all vector
 * registers on the stack.
 *
 * rtc-build: -D_GNU_SOURCE -fno-optimize-sibling-calls -fno-omit-frame-pointer -lpthread -lstdc++
 */
#include "stack_use.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define PAINT 0xa5
#define STACK_BYTES 65536u
#define PAINTED 6144u /* of them, at the top: a larger use is counted as this */

/* ---- the painted stack ----------------------------------------------------------------------- */

/*
 * Both call f(argument) with the stack pointer at top.  The frames of `on_through` can be walked
 * through, so a stack taken below it has the caller's frames, too; `on_coroutine` is the outermost.
 */
void on_through(void (*f)(void *), void *argument, void *top);
void on_coroutine(void (*f)(void *), void *argument, void *top);

#define TRAMPOLINE(name, end)                        \
    __asm__(".text\n"                                \
            ".globl " name "\n"                      \
            ".type " name ",@function\n" name ":\n"  \
            ".cfi_startproc\n" end "    push %rbp\n" \
            ".cfi_def_cfa_offset 16\n"               \
            ".cfi_offset %rbp, -16\n"                \
            "    mov %rsp, %rbp\n"                   \
            ".cfi_def_cfa_register %rbp\n"           \
            "    mov %rdx, %rsp\n"                   \
            "    mov %rdi, %rax\n"                   \
            "    mov %rsi, %rdi\n"                   \
            "    call *%rax\n"                       \
            "    mov %rbp, %rsp\n"                   \
            "    pop %rbp\n"                         \
            ".cfi_def_cfa %rsp, 8\n"                 \
            "    ret\n"                              \
            ".cfi_endproc\n"                         \
            ".size " name ", .-" name "\n")

TRAMPOLINE("on_through", "");
TRAMPOLINE("on_coroutine", ".cfi_undefined %rip\n");

static char *stack; /* STACK_BYTES */
static size_t overhead;
static void (*on)(void (*f)(void *), void *argument, void *top) = on_through;

static void paint(size_t n)
{
    memset(stack + STACK_BYTES - n, PAINT, n);
}

static size_t used(size_t painted)
{
    size_t low = STACK_BYTES - painted;
    while (low < STACK_BYTES && (unsigned char)stack[low] == PAINT)
        low++;
    return STACK_BYTES - low;
}

static size_t measure(void (*f)(void *), void *argument)
{
    paint(PAINTED);
    on(f, argument, stack + STACK_BYTES);
    return used(PAINTED) - overhead;
}

/* ---- one call of each function --------------------------------------------------------------- */

static void *volatile block, *volatile other;
static volatile size_t bytes = 24;
static volatile size_t align = 64;

#define CALL(name, what)               \
    static NOINLINE void name(void *a) \
    {                                  \
        (void)a;                       \
        what;                          \
        __asm__ volatile("");          \
    }

CALL(call_nothing, (void)0)
CALL(call_malloc, block = malloc(bytes))
CALL(call_calloc, block = calloc(1, bytes))
CALL(call_realloc, block = realloc(block, bytes))
CALL(call_reallocarray, block = reallocarray(block, 1, bytes))
CALL(call_free, free(block))
CALL(call_memalign, block = memalign(align, bytes))
CALL(call_aligned_alloc, block = aligned_alloc(align, bytes))
CALL(call_posix_memalign, posix_memalign((void **)&block, align, bytes))
CALL(call_new, block = new_one(bytes))
CALL(call_new_array, block = new_array(bytes))
CALL(call_new_aligned, block = new_aligned(bytes, align))
CALL(call_delete, delete_one(block))
CALL(call_delete_sized, delete_sized(block, bytes))
CALL(call_delete_array, delete_array(block))
CALL(call_delete_aligned, delete_aligned(block, align))
CALL(call_map,
     block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
CALL(call_unmap, munmap(block, bytes))

/* ---- output ---------------------------------------------------------------------------------- */

static char **only;
static int only_count;

static int is_wanted(const char *name)
{
    for (int i = 0; i < only_count; i++)
        if (strncmp(only[i], name, strlen(only[i])) == 0)
            return 1;
    return only_count == 0;
}

static void print(const char *name, size_t most)
{
    printf("%s %zu\n", name, most);
    fflush(stdout);
}

static size_t max(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* ---- the common path ------------------------------------------------------------------------- */

enum { WARM = 8, MANY = 6000 };

/* The same call repeated: the stack comes from the cache, except for the calls that are timed. */
static size_t pairs(void (*take)(void *), void (*give)(void *), size_t n, int want_give)
{
    size_t most = 0;
    for (size_t i = 0; i < WARM; i++) {
        measure(take, NULL);
        measure(give, NULL);
    }
    for (size_t i = 0; i < n; i++) {
        size_t t = measure(take, NULL), g = measure(give, NULL);
        most = max(most, want_give ? g : t);
    }
    return most;
}

/* The same from a caller that differs from call to call. */
static size_t most_of_changed;
static void (*changed_call)(void *);

static NOINLINE void deeper(unsigned bits, unsigned n);

#define BRANCH(b)                     \
    case b:                           \
        deeper(bits - 2, n >> 2);     \
        __asm__ volatile("nop #" #b); \
        break

static NOINLINE void deeper(unsigned bits, unsigned n)
{
    if (!bits) {
        most_of_changed = max(most_of_changed, measure(changed_call, NULL));
        return;
    }
    switch (n % 4) {
        BRANCH(0);
        BRANCH(1);
        BRANCH(2);
        BRANCH(3);
    }
}

static size_t changed(void (*take)(void *), void (*give)(void *), size_t n, int want_give)
{
    size_t most = 0;
    for (unsigned round = 0; round < 2; round++) {
        most = 0; /* in the second round every return address and every stack was there before */
        for (unsigned i = 0; i < n; i++) {
            most_of_changed = 0;
            changed_call = take;
            deeper(8, i * 37);
            most = max(most, want_give ? 0 : most_of_changed);
            most_of_changed = 0;
            changed_call = give;
            deeper(8, i * 37);
            most = max(most, want_give ? most_of_changed : 0);
        }
    }
    return most;
}

struct pair {
    const char *take_name, *give_name;
    void (*take)(void *), (*give)(void *);
};

static const struct pair pair[] = {
    {"malloc", "free", call_malloc, call_free},
    {"calloc", "-", call_calloc, call_free},
    {"memalign", "-", call_memalign, call_free},
    {"aligned_alloc", "-", call_aligned_alloc, call_free},
    {"posix_memalign", "-", call_posix_memalign, call_free},
    {"new", "delete", call_new, call_delete},
    {"new[]", "delete[]", call_new_array, call_delete_array},
    {"new_aligned", "delete_aligned", call_new_aligned, call_delete_aligned},
    {"-", "delete_sized", call_new, call_delete_sized},
    {"mmap", "munmap", call_map, call_unmap},
};

static void show(const char *state, const char *name,
                 size_t (*how)(void (*)(void *), void (*)(void *), size_t, int),
                 const struct pair *p, size_t n, int want_give)
{
    char title[64];
    snprintf(title, sizeof title, "%s/%s", name, state);
    if (strcmp(name, "-") != 0 && is_wanted(title))
        print(title, how(p->take, p->give, n, want_give));
}

static void common(void)
{
    static const struct {
        const char *name;
        size_t bytes;
    } size[] = {{"small", 24}, {"middle", 5000}, {"large", 200000}, {"huge", 3u << 20}};
    for (size_t s = 0; s < sizeof size / sizeof *size; s++)
        for (size_t i = 0; i < sizeof pair / sizeof *pair; i++)
            for (int give = 0; give < 2; give++) {
                char state[32];
                const char *name = give ? pair[i].give_name : pair[i].take_name;
                bytes = size[s].bytes;
                snprintf(state, sizeof state, "%s", size[s].name);
                show(state, name, pairs, &pair[i], s < 2 ? 3000 : 64, give);
                snprintf(state, sizeof state, "%s/changed", size[s].name);
                show(state, name, changed, &pair[i], s < 2 ? 256 : 16, give);
            }
}

/* ---- realloc --------------------------------------------------------------------------------- */

static void resizing(void)
{
    static const struct {
        const char *name;
        size_t from, to;
    } row[] = {{"realloc/in-place", 24, 25},
               {"realloc/moved", 24, 3000},
               {"realloc/large-moved", 40000, 5u << 20},
               {"realloc/large-in-place", 400000, 300000},
               {"realloc/new", 0, 24},
               {"realloc/to-nothing", 24, 0}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        size_t most = 0;
        if (!is_wanted(row[i].name))
            continue;
        for (size_t n = 0; n < 600; n++) {
            block = row[i].from ? malloc(row[i].from) : NULL;
            bytes = row[i].to;
            size_t use = measure(n % 2 ? call_realloc : call_reallocarray, NULL);
            most = n < WARM ? 0 : max(most, use);
            if (row[i].to)
                free(block);
        }
        print(row[i].name, most);
    }
}

/* ---- slabs that are made, bins that are filled, quarantines that are full -------------------- */

static void *volatile many[MANY];

static void growing(void)
{
    static const size_t sizes[] = {24, 200, 3000, 20000};
    size_t taken = 0, given = 0;
    if (!is_wanted("malloc/growing") && !is_wanted("free/growing"))
        return;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t n = sizes[s] > 1000 ? MANY / 10 : MANY;
        bytes = sizes[s];
        for (size_t i = 0; i < n; i++) {
            taken = max(taken, measure(call_malloc, NULL));
            many[i] = block;
        }
        for (size_t i = 0; i < n; i++) {
            block = many[i];
            given = max(given, measure(call_free, NULL));
        }
    }
    print("malloc/growing", taken);
    print("free/growing", given);
}

/* ---- return addresses and stacks that are new ------------------------------------------------ */

#define SITE(i)                            \
    static NOINLINE void site_##i(void *a) \
    {                                      \
        (void)a;                           \
        block = malloc(bytes);             \
        __asm__ volatile("nop #" #i);      \
    }
#define FOUR(x) SITE(x##0) SITE(x##1) SITE(x##2) SITE(x##3)
FOUR(1)
FOUR(2)
FOUR(3)
FOUR(4)
#define FOUR_NAMES(x) site_##x##0, site_##x##1, site_##x##2, site_##x##3
static void (*const sites[])(void *) = {FOUR_NAMES(1), FOUR_NAMES(2), FOUR_NAMES(3), FOUR_NAMES(4)};

static void new_places(void)
{
    size_t most = 0;
    bytes = 24;
    if (is_wanted("malloc/new-address")) {
        for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) {
            most = max(most, measure(sites[i], NULL));
            free(block);
        }
        print("malloc/new-address", most);
    }
    if (is_wanted("malloc/new-stack")) {
        most_of_changed = 0;
        changed_call = call_malloc;
        for (unsigned n = 0; n < 20000; n++) { /* so many that the depot and its index grow */
            deeper(16, n);
            free(block);
        }
        print("malloc/new-stack", most_of_changed);
    }
    if (is_wanted("malloc/coroutine")) {
        on = on_coroutine;
        for (most = 0, bytes = 24; bytes < 900; bytes += 20) {
            most = max(most, measure(call_malloc, NULL));
            most = max(most, measure(call_free, NULL));
        }
        on = on_through;
        print("malloc/coroutine", most);
    }
}

/* ---- frames without call frame information --------------------------------------------------- */

/* As a JIT compiler emits them: a frame pointer, without call frame information. */
void call_blind(void (*f)(void));
__asm__(".text\n"
        ".globl call_blind\n"
        ".type call_blind,@function\n"
        "call_blind:\n"
        "    push %rbp\n"
        "    mov %rsp, %rbp\n"
        "    call *%rdi\n"
        "    pop %rbp\n"
        "    ret\n"
        ".size call_blind, .-call_blind\n");

static NOINLINE void blind_malloc(void)
{
    block = malloc(bytes);
    __asm__ volatile("");
}

static NOINLINE void blind_free(void)
{
    free(block);
    __asm__ volatile("");
}

static NOINLINE void in_blind(void *f)
{
    call_blind((void (*)(void))f);
    __asm__ volatile("");
}

static void without_information(void)
{
    size_t most = 0;
    bytes = 24;
    if (!is_wanted("malloc/no-information"))
        return;
    for (unsigned i = 0; i < 2000; i++) {
        most = max(most, measure(in_blind, (void *)blind_malloc));
        most = max(most, measure(in_blind, (void *)blind_free));
    }
    print("malloc/no-information", most);
}

/* ---- first calls ----------------------------------------------------------------------------- */

static void *first_of_thread(void *result)
{
    *(size_t *)result = measure(call_malloc, NULL);
    free(block);
    return NULL;
}

static void *first_free_of_thread(void *result)
{
    *(size_t *)result = measure(call_free, NULL);
    return NULL;
}

static size_t in_thread(void *(*f)(void *))
{
    pthread_t t;
    size_t result = 0;
    if (pthread_create(&t, NULL, f, &result) || pthread_join(t, NULL))
        abort();
    return result;
}

static void threads(void)
{
    size_t most = 0;
    bytes = 24;
    if (is_wanted("malloc/first-in-thread")) {
        for (unsigned i = 0; i < 100; i++)
            most = max(most, in_thread(first_of_thread));
        print("malloc/first-in-thread", most);
    }
    if (is_wanted("free/first-in-thread")) {
        most = 0;
        for (unsigned i = 0; i < 100; i++) {
            block = malloc(24);
            most = max(most, in_thread(first_free_of_thread));
        }
        print("free/first-in-thread", most);
    }
}

/* In a child made by fork; and the parent's first call afterwards, which copies records. */
static void forks(void)
{
    static const struct {
        const char *child, *parent;
        void (*call)(void *);
    } row[] = {{"malloc/first-in-child", "malloc/after-fork", call_malloc},
               {"free/first-in-child", "free/after-fork", call_free}};
    size_t *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        size_t most = 0;
        if (!is_wanted(row[i].child) && !is_wanted(row[i].parent))
            continue;
        *shared = 0;
        bytes = 24;
        for (unsigned n = 0; n < 10; n++) {
            block = malloc(24);
            pid_t child = n % 2 ? fork() : _Fork(); /* the runtime sees only one of them */
            if (!child) {
                size_t use = measure(row[i].call, NULL);
                *shared = max(*shared, use);
                _exit(0);
            }
            most = max(most, measure(row[i].call, NULL)); /* while the child may see the records */
            waitpid(child, NULL, 0);
        }
        print(row[i].child, *shared);
        print(row[i].parent, most);
    }
}

/* ---- errors ---------------------------------------------------------------------------------- */

static NOINLINE void error(const char *name, void (*call)(void *))
{
    if (is_wanted(name))
        print(name, measure(call, NULL));
}

static void errors(void)
{
    static char data[64];
    char local[64];
    bytes = 40;
    block = malloc(40);
    free(block);
    error("error/double-free", call_free);
    error("error/realloc-freed", call_realloc);
    block = malloc(40);
    other = block;
    block = (char *)block + 16;
    error("error/inside", call_free);
    block = local;
    error("error/of-the-stack", call_free);
    block = data;
    error("error/of-data", call_free);
    block = (void *)0x1000;
    error("error/wild", call_free);
    block = new_one(40);
    error("error/mismatch", call_free);
    block = malloc(40);
    ((volatile char *)block)[40] = 1;
    error("error/overflow", call_free);
    block = malloc(200000);
    ((volatile char *)block)[200000] = 1;
    error("error/overflow-large", call_free);
    block = new_one(40);
    bytes = 30;
    error("error/wrong-size", call_delete_sized);
    bytes = PTRDIFF_MAX;
    bytes++;
    error("error/no-memory", call_malloc);
    bytes = (size_t)1 << 46;
    error("error/no-memory-large", call_malloc);
    if (is_wanted("error/written-freed")) { /* seen as it leaves the quarantine */
        size_t most = 0;
        bytes = 64;
        for (unsigned i = 0; i < 8000; i++) {
            block = malloc(64);
            most = max(most, measure(call_free, NULL));
            if (i % 100 == 0)
                ((volatile char *)block)[i / 100 % 64] = 1;
        }
        print("error/written-freed", most);
    }
}

/* ---- handlers -------------------------------------------------------------------------------- */

/* The handler's own use, below the frame that the kernel made: measured as the other cases are. */
static size_t handled;
static void handler(int signal)
{
    (void)signal;
    block = malloc(24);
    free(block);
    block = malloc(70000);
    block = realloc(block, 100);
    free(block);
}

static void plain_handler(int signal)
{
    (void)signal;
}

static size_t stack_of_handler(void (*f)(int))
{
    struct sigaction action = {.sa_handler = f, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    paint(STACK_BYTES);
    raise(SIGUSR1);
    return used(STACK_BYTES);
}

static void signals(void)
{
    if (!is_wanted("handler"))
        return;
    stack_t on_this = {.ss_sp = stack, .ss_size = STACK_BYTES}, off = {.ss_flags = SS_DISABLE};
    sigaltstack(&on_this, NULL);
    size_t plain = stack_of_handler(plain_handler);
    for (unsigned i = 0; i < 4; i++)
        handled = max(handled, stack_of_handler(handler));
    sigaltstack(&off, NULL);
    print("handler", handled - plain);
}

int main(int argc, char **argv)
{
    char room[STACK_BYTES + 64];
    stack = (char *)(((uintptr_t)room + 63) & ~(uintptr_t)63);
    only = argv + 1;
    only_count = argc - 1;
    overhead = measure(call_nothing, NULL);
    common();
    resizing();
    growing();
    new_places();
    without_information();
    threads();
    forks();
    signals();
    errors();
    return 0;
}
