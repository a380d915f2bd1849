/*
 * vmmalloc.c - what programs of libvmmalloc expect of an allocator: one row is run, by its name.
 *
 * rtc-build: -pthread -ldl
 *
 *     vmmalloc ROW [ARGUMENT]
 *
 * A row prints only facts that the driver (vmmalloc.py) compares.  Status 0, or 1 if an expectation
 * did not hold; then stderr has the reason.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define KIB (1ul << 10)
#define MIB (1ul << 20)
#define POOL_BYTES (14 * MIB) /* of the driver's smallest pool */
#define LARGEST (4 * MIB)
#define PAGE 4096ul

#define must(condition) \
    ((condition) ? (void)0 : (fprintf(stderr, "line %d: %s\n", __LINE__, #condition), exit(1)))

/* ---- hooks of earlier versions of glibc: never called ---------------------------------------- */

static void *hooked(size_t bytes, const void *caller)
{
    (void)bytes;
    (void)caller;
    static const char text[] = "a hook was called\n";
    (void)!write(2, text, sizeof text - 1);
    _exit(1);
}

static void *hooked_realloc(void *p, size_t bytes, const void *caller)
{
    (void)p;
    return hooked(bytes, caller);
}

static void *hooked_memalign(size_t align, size_t bytes, const void *caller)
{
    (void)align;
    return hooked(bytes, caller);
}

static void hooked_free(void *p, const void *caller)
{
    (void)p;
    hooked(0, caller);
}

extern void *(*volatile __malloc_hook)(size_t, const void *);
extern void *(*volatile __realloc_hook)(void *, size_t, const void *);
extern void *(*volatile __memalign_hook)(size_t, size_t, const void *);
extern void (*volatile __free_hook)(void *, const void *);
void *(*volatile __malloc_hook)(size_t, const void *) = hooked;
void *(*volatile __realloc_hook)(void *, size_t, const void *) = hooked_realloc;
void *(*volatile __memalign_hook)(size_t, size_t, const void *) = hooked_memalign;
void (*volatile __free_hook)(void *, const void *) = hooked_free;

static void row_hooks(const char *argument)
{
    (void)argument;
    char *p = malloc(10);
    must(p);
    p = realloc(p, 10 * KIB);
    must(p);
    free(p);
    p = memalign(64, 10);
    must(p && (uintptr_t)p % 64 == 0);
    free(p);
    p = calloc(1, 10);
    must(p && !p[9]);
    free(p);
}

/* ---- allocation functions -------------------------------------------------------------------- */

static void fill(void *p, size_t bytes, unsigned seed)
{
    memset(p, (int)(seed % 251 + 1), bytes);
}

static bool has_fill(const void *p, size_t bytes, unsigned seed)
{
    const unsigned char *at = p;
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != seed % 251 + 1)
            return false;
    return true;
}

static void row_malloc(const char *argument)
{
    (void)argument;
    void *block[32];
    size_t count = 0, total = 0;
    for (size_t bytes = LARGEST; bytes >= 8; bytes /= 2, count++) {
        block[count] = malloc(bytes);
        must(block[count]);
        fill(block[count], bytes, (unsigned)count);
        total += bytes;
    }
    must(total > POOL_BYTES / 2);
    for (size_t i = 0; i < count; i++) {
        must(has_fill(block[i], LARGEST >> i, (unsigned)i));
        free(block[i]);
    }
}

static void row_calloc(const char *argument)
{
    (void)argument;
    void (*give_back)(void *) = NULL;
    void *f = dlsym(RTLD_DEFAULT, "cfree");
    memcpy(&give_back, &f, sizeof f);
    for (unsigned i = 0; i < 100; i++) {
        unsigned char *p = calloc(i + 1, 101);
        must(p);
        for (size_t k = 0; k < (i + 1) * 101ul; k++)
            must(!p[k]);
        fill(p, (i + 1) * 101ul, i);
        must(has_fill(p, (i + 1) * 101ul, i));
        if (give_back && i % 2)
            give_back(p);
        else
            free(p);
    }
}

static void row_realloc(const char *argument)
{
    (void)argument;
    char *p = realloc(NULL, 16);
    must(p);
    fill(p, 16, 7);
    for (size_t bytes = 32; bytes <= LARGEST; bytes *= 2) {
        p = realloc(p, bytes);
        must(p && has_fill(p, bytes / 2, 7));
        fill(p, bytes, 7);
    }
    free(p);
}

static void *by_posix_memalign(size_t align, size_t bytes)
{
    void *p = NULL;
    errno = EDOM;
    int err = posix_memalign(&p, align, bytes);
    must(errno == EDOM && (!err || err == ENOMEM));
    return err ? NULL : p;
}

static void check_alignments(void *(*allocate)(size_t, size_t), size_t least)
{
    for (size_t align = LARGEST; align >= least; align /= 2) {
        void *block[100];
        unsigned count = 0;
        for (; count < 100 && (block[count] = allocate(align, align)); count++) {
            must((uintptr_t)block[count] % align == 0);
            memset(block[count], 1, align);
        }
        must(count >= 1);
        while (count-- > 0)
            free(block[count]);
    }
}

static void row_aligned(const char *argument)
{
    if (strcmp(argument, "memalign") == 0)
        check_alignments(memalign, 2);
    else if (strcmp(argument, "aligned_alloc") == 0)
        check_alignments(aligned_alloc, 2);
    else
        check_alignments(by_posix_memalign, sizeof(void *));
}

static void row_pages(const char *argument)
{
    (void)argument;
    for (size_t bytes = 1; bytes < 4 * PAGE; bytes += 997) {
        size_t rounded = (bytes + PAGE - 1) / PAGE * PAGE;
        void *p = valloc(bytes), *q = pvalloc(bytes);
        must(p && q && (uintptr_t)p % PAGE == 0 && (uintptr_t)q % PAGE == 0);
        must(malloc_usable_size(q) == rounded);
        memset(p, 1, bytes);
        memset(q, 1, rounded);
        free(p);
        free(q);
    }
}

static void row_usable(const char *argument)
{
    (void)argument;
    must(malloc_usable_size(NULL) == 0);
    for (size_t bytes = 1; bytes < MIB; bytes += bytes / 3 + 1) {
        void *p = malloc(bytes);
        must(p);
        size_t usable = malloc_usable_size(p);
        must(usable >= bytes && usable - bytes <= bytes / 4 + 16);
        memset(p, 1, usable);
        free(p);
    }
}

/* ---- the whole pool -------------------------------------------------------------------------- */

struct link {
    struct link *next;
    size_t number;
};

static struct link *fill_pool(size_t bytes, size_t most, size_t *count)
{
    struct link *first = NULL;
    *count = 0;
    for (struct link *p; *count < most && (p = malloc(bytes)); first = p)
        *p = (struct link){first, (*count)++};
    return first;
}

static void free_list(struct link *p)
{
    for (struct link *next; p; p = next) {
        next = p->next;
        free(p);
    }
}

/* With a private heap only as much is taken as a pool would have. */
static void row_overlap(const char *argument)
{
    (void)argument;
    uint32_t **block = calloc(POOL_BYTES / 64, sizeof *block);
    must(block);
    for (size_t bytes = LARGEST; bytes >= 4; bytes /= 2) {
        size_t most = POOL_BYTES / (bytes < 64 ? 64 : bytes), count = 0;
        for (; count < most && (block[count] = malloc(bytes)); count++)
            for (size_t i = 0; i < bytes / 4; i++)
                block[count][i] = (uint32_t)count;
        must(count >= 1);
        for (size_t n = 0; n < count; n++)
            for (size_t i = 0; i < bytes / 4; i++)
                must(block[n][i] == (uint32_t)n);
        while (count-- > 0)
            free(block[count]);
    }
    free(block);
}

/* Prints whether memory ran out, and whether as much was available each time. */
static void row_out_of_memory(const char *argument)
{
    (void)argument;
    size_t first = 0, count;
    for (unsigned round = 0; round < 4; round++) {
        errno = 0;
        struct link *list = fill_pool(1000, 10 * POOL_BYTES / 1000, &count);
        must(errno == ENOMEM);
        for (const struct link *p = list; p; p = p->next)
            must(p->number < count);
        free_list(list);
        first = round ? first : count;
        must(count > first / 10 * 9 && count * 1000 > POOL_BYTES / 2);
    }
    void *p = malloc(MIB);
    must(p);
    free(p);
}

/* ---- where blocks lie ------------------------------------------------------------------------ */

/* Print the rights and the file of the mapping that holds p. */
static void print_mapping(const void *p)
{
    char line[1024];
    FILE *maps = fopen("/proc/self/maps", "r");
    must(maps);
    while (fgets(line, sizeof line, maps)) {
        unsigned long start, end;
        char rights[8], path[512] = "";
        must(sscanf(line, "%lx-%lx %7s %*s %*s %*s %511[^\n]", &start, &end, rights, path) >= 3);
        if ((uintptr_t)p - start < end - start)
            printf("%s %s\n", rights, path);
    }
    fclose(maps);
}

static void row_place(const char *argument)
{
    (void)argument;
    void *p = malloc(100);
    must(p);
    print_mapping(p);
    free(p);
}

/* Open the library at once, or lazily and with its own scope first. */
static void row_library(const char *argument)
{
    int flags = strcmp(argument, "deepbind") == 0 ? RTLD_NOW | RTLD_DEEPBIND : RTLD_LAZY;
    char path[1024];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 16);
    must(n > 0);
    strcpy(path + n, "_library.so");
    void *program_block = malloc(100), *library = dlopen(path, flags);
    must(program_block && library);
    void *(*allocate)(size_t);
    void *f = dlsym(library, "library_allocate");
    must(f);
    memcpy(&allocate, &f, sizeof f);
    void *library_block = allocate(12345);
    must(library_block);
    print_mapping(program_block);
    print_mapping(library_block);
    free(library_block);
    free(program_block);
}

static void row_stderr(const char *argument)
{
    (void)argument;
    free(malloc(100));
    puts("done");
}

/* The actions of all signals, as the kernel has them. */
static void row_signals(const char *argument)
{
    (void)argument;
    for (int signal = 1; signal <= 64; signal++) {
        uint64_t action[4] = {0};
        long result = syscall(SYS_rt_sigaction, signal, NULL, action, sizeof(uint64_t));
        printf("%d: %ld %d %#lx\n", signal, result, action[0] > 1, (unsigned long)action[1]);
    }
    stack_t stack;
    must(sigaltstack(NULL, &stack) == 0);
    printf("%#x\n", (unsigned)stack.ss_flags);
}

/* Leave memory dirty, and end without any handler. */
static void row_killed(const char *argument)
{
    (void)argument;
    memset(malloc(MIB), 1, MIB);
    raise(SIGKILL);
}

/* ---- forks ----------------------------------------------------------------------------------- */

#define DEPTH 4
#define THREADS 4
#define BLOCKS 200

static void *churn(void *unused)
{
    for (unsigned i = 0; i < 500; i++) {
        unsigned char *p = malloc(i + 1);
        must(p);
        fill(p, i + 1, i);
        must(has_fill(p, i + 1, i));
        free(p);
    }
    return unused;
}

static void with_threads(void)
{
    pthread_t thread[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        must(pthread_create(&thread[i], NULL, churn, NULL) == 0);
    for (unsigned i = 0; i < THREADS; i++)
        must(pthread_join(thread[i], NULL) == 0);
}

static void grow_tree(unsigned depth, char *program)
{
    void *block[BLOCKS];
    for (unsigned i = 0; i < BLOCKS; i++) {
        block[i] = malloc(i * 7 + 1);
        must(block[i]);
        fill(block[i], i * 7 + 1, i + depth);
    }
    with_threads();
    if (depth == DEPTH) {
        if (program)
            execl(program, program, "stderr", (char *)NULL);
        must(!program);
    }
    pid_t child[2];
    for (unsigned n = 0; depth < DEPTH && n < 2; n++) {
        child[n] = fork();
        must(child[n] >= 0);
        if (child[n] == 0) {
            for (unsigned i = 0; i < BLOCKS; i++)
                must(has_fill(block[i], i * 7 + 1, i + depth));
            for (unsigned i = 0; i < BLOCKS; i++)
                fill(block[i], i * 7 + 1, i + 17);
            grow_tree(depth + 1, program);
            exit(0);
        }
    }
    for (unsigned n = 0; depth < DEPTH && n < 2; n++) {
        int status;
        must(waitpid(child[n], &status, 0) == child[n] && status == 0);
    }
    for (unsigned i = 0; i < BLOCKS; i++) {
        must(has_fill(block[i], i * 7 + 1, i + depth));
        free(block[i]);
    }
}

static void row_fork(const char *argument)
{
    char path[1024] = "";
    must(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    fflush(stdout);
    grow_tree(0, strcmp(argument, "exec") == 0 ? path : NULL);
}

/* Print what the parent reads after a child has written to the block. */
static void row_written_by_child(const char *argument)
{
    (void)argument;
    volatile int *p = malloc(sizeof *p);
    must(p);
    *p = 1;
    pid_t child = fork();
    must(child >= 0);
    if (child == 0) {
        *p = 2;
        _exit(0);
    }
    int status;
    must(waitpid(child, &status, 0) == child && status == 0);
    printf("%d\n", *p);
}

/* ---- the log --------------------------------------------------------------------------------- */

static void *free_in_thread(void *p)
{
    free(p);
    return NULL;
}

/* Print the lines that the log must contain for these calls. */
static void row_log(const char *argument)
{
    (void)argument;
    static char buffer[4096];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    void *p = malloc(24), *q = calloc(3, 9), *r = NULL, *s = malloc(77);
    must(p && q && s && posix_memalign(&r, 64, 101) == 0);
    uintptr_t before = (uintptr_t)p;
    p = realloc(p, 5000);
    must(p);
    pthread_t thread;
    must(pthread_create(&thread, NULL, free_in_thread, s) == 0 && pthread_join(thread, NULL) == 0);
    printf("malloc(24) = %#lx\ncalloc(27) = %p\nposix_memalign(101, align 64) = %p\n", before, q,
           r);
    printf("realloc(%#lx, 5000) = %p\nmalloc(77) = %p\nfree(%p)\n", before, p, s, s);
    printf("free(%p)\nfree(%p)\nfree(%p)\n", p, q, r);
    free(p);
    free(q);
    free(r);
    fflush(stdout);
}

/*
 * Errors, a double free and a request that no pool can satisfy, and a child.  In another working
 * directory.
 */
static void row_errors(const char *argument)
{
    (void)argument;
    must(chdir("/") == 0);
    void *volatile p = malloc(40);
    free(p);
    free(p);
    must(!malloc(1000 * MIB));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        free(malloc(4321));
        exit(0);
    }
    int status;
    must(waitpid(child, &status, 0) == child && status == 0);
    printf("%d\n%d\n", (int)getpid(), (int)child);
}

/* ---- what memcheck reports of the pool ------------------------------------------------------- */

static void row_ends(const char *end)
{
    int *volatile block = malloc(10 * sizeof(int));
    must(block);
    for (int i = 0; i < (strcmp(end, "past") == 0 ? 11 : 10); i++)
        block[i] = i;
    if (strcmp(end, "lost") != 0)
        free(block);
    block = NULL;
    puts("done");
}

/* ---- rows ------------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    void (*run)(const char *argument);
} rows[] = {{"malloc", row_malloc},   {"calloc", row_calloc},
            {"realloc", row_realloc}, {"aligned", row_aligned},
            {"pages", row_pages},     {"usable", row_usable},
            {"overlap", row_overlap}, {"out_of_memory", row_out_of_memory},
            {"hooks", row_hooks},     {"place", row_place},
            {"library", row_library}, {"stderr", row_stderr},
            {"signals", row_signals}, {"killed", row_killed},
            {"fork", row_fork},       {"log", row_log},
            {"errors", row_errors},   {"written_by_child", row_written_by_child},
            {"ends", row_ends}};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof rows / sizeof *rows; i++)
        if (strcmp(argv[1], rows[i].name) == 0) {
            rows[i].run(argc > 2 ? argv[2] : "");
            return 0;
        }
    fprintf(stderr, "vmmalloc: no such row\n");
    return 2;
}
