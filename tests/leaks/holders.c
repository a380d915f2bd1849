/*
 * holders.c - places that hold the one block (holders.h): data, stacks, threads' own memory, mappings,
 * blocks, and places that do not count.
 */
/* rtc-build: -pthread -fno-optimize-sibling-calls */
#include "holders.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

/* ---- data ------------------------------------------------------------------------------------- */

static void *volatile in_data = (void *)1;
static void *volatile in_bss;
static void *volatile in_array[10];
static struct {
    int a;
    struct {
        char b;
        void *volatile c;
    } inner;
} in_struct;

static void data(void)
{
    put(&in_data);
}
static void bss(void)
{
    put(&in_bss);
}
static void array(void)
{
    put(&in_array[7]);
}
static void field(void)
{
    put(&in_struct.inner.c);
}

static void function_static(void)
{
    static void *volatile kept;
    put(&kept);
}

/* ---- stacks ----------------------------------------------------------------------------------- */

static NOINLINE void main_stack(void)
{
    void *volatile local;
    put(&local);
    scrub();
    end();
}

static pthread_barrier_t ready;

/* Overwrite the words of put() below this frame, as this frame has padding. */
static NOINLINE void wait_for_ever(void)
{
    scrub();
    pthread_barrier_wait(&ready);
    for (;;)
        pause();
}

static void start(void *(*body)(void *))
{
    pthread_t thread;
    pthread_barrier_init(&ready, NULL, 2);
    if (pthread_create(&thread, NULL, body, NULL))
        abort();
    pthread_barrier_wait(&ready);
}

static void *stack_body(void *unused)
{
    void *volatile local;
    put(&local);
    scrub();
    wait_for_ever();
    return unused;
}
static void thread_stack(void)
{
    start(stack_body);
}

static char *alternate;

static NOINLINE void on_alternate(int number)
{
    void *volatile local;
    (void)number;
    put(&local);
    scrub();
    end();
}

static void alternate_stack(void)
{
    alternate = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaltstack(&(stack_t){.ss_sp = alternate, .ss_size = 65536}, NULL);
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_alternate, .sa_flags = SA_ONSTACK},
              NULL);
    raise(SIGUSR1);
}

/* The main stack, while a handler on another one ends the program. */
static NOINLINE void on_alternate_end(int number)
{
    (void)number;
    scrub();
    end();
}

static NOINLINE void interrupted_stack(void)
{
    void *volatile local;
    alternate = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaltstack(&(stack_t){.ss_sp = alternate, .ss_size = 65536}, NULL);
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_alternate_end, .sa_flags = SA_ONSTACK},
              NULL);
    put(&local);
    scrub();
    raise(SIGUSR1);
    end();
}

static ucontext_t back, there;

static NOINLINE void coroutine(void)
{
    void *volatile local;
    put(&local);
    scrub();
    swapcontext(&there, &back);
}

static void run_on(void *stack, size_t bytes)
{
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = bytes;
    there.uc_link = &back;
    makecontext(&there, coroutine, 0);
    swapcontext(&back, &there);
}

static void coroutine_mapped(void)
{
    run_on(mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 65536);
}

static void *volatile coroutine_block;

static void coroutine_in_block(void)
{
    coroutine_block = malloc(65536);
    run_on(coroutine_block, 65536);
}

/* ---- threads' own ------------------------------------------------------------------------------- */

static __thread void *volatile in_tls;
static void main_tls(void)
{
    put(&in_tls);
}

static void *tls_body(void *unused)
{
    put(&in_tls);
    scrub();
    wait_for_ever();
    return unused;
}
static void thread_tls(void)
{
    start(tls_body);
}

static pthread_key_t keys[40];

static void key_number(unsigned n)
{
    void *volatile local;
    for (unsigned i = 0; i < 40; i++)
        pthread_key_create(&keys[i], NULL);
    put(&local);
    pthread_setspecific(keys[n], local);
    local = NULL;
}

/* The number of a deleted key, whose slot held another word. */
static void used_again_key(void)
{
    void *volatile local;
    for (unsigned i = 0; i < 40; i++)
        pthread_key_create(&keys[i], NULL);
    pthread_setspecific(keys[38], keys);
    pthread_key_delete(keys[38]);
    if (pthread_key_create(&keys[39], NULL) || keys[39] != keys[38])
        abort();
    put(&local);
    pthread_setspecific(keys[39], local);
    local = NULL;
}

static void *first_key_body(void *unused)
{
    key_number(2);
    scrub();
    wait_for_ever();
    return unused;
}
static void first_keys(void)
{
    start(first_key_body);
}

static void *later_key_body(void *unused)
{
    key_number(38);
    scrub();
    wait_for_ever();
    return unused;
}
static void later_keys(void)
{
    start(later_key_body);
}

/* ---- memory ------------------------------------------------------------------------------------- */

static void *volatile *map(size_t bytes, int flags)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        abort();
    return p;
}

static void mapped(void)
{
    put(map(4096, MAP_PRIVATE) + 100);
}
static void mapped_shared(void)
{
    put(map(4096, MAP_SHARED) + 100);
}

static void mapped_sparse(void)
{
    put(map(1u << 30, MAP_PRIVATE | MAP_NORESERVE) + (1u << 24));
}

static void mapped_protected(void)
{
    void *volatile *p = map(4096, MAP_PRIVATE);
    put(p + 5);
    mprotect((void *)(uintptr_t)p, 4096, PROT_READ);
}

static void mapped_closed(void)
{
    void *volatile *p = map(4096, MAP_PRIVATE);
    put(p + 5);
    mprotect((void *)(uintptr_t)p, 4096, PROT_NONE);
}

/* Most pages of a large one are untouched. */
static void mapped_closed_sparse(void)
{
    void *volatile *p = map(1u << 30, MAP_PRIVATE | MAP_NORESERVE);
    put(p + (1u << 24));
    mprotect((void *)(uintptr_t)p, 1u << 30, PROT_NONE);
}

static void *volatile *volatile chain;

static void block_closed(void)
{
    chain = aligned_alloc(4096, 4096);
    put(chain + 3);
    mprotect((void *)(uintptr_t)chain, 4096, PROT_NONE);
}

static void in_block(void)
{
    chain = malloc(64);
    put(chain + 3);
}

static void in_blocks_block(void)
{
    chain = malloc(64);
    chain[2] = calloc(1, 100000);
    put((void *volatile *)chain[2] + 9000);
}

static void in_environment(void)
{
    char *volatile text;
    put((void *volatile *)&text);
    if (!text)
        return;
    strcpy(text, "PLACES=here");
    putenv(text);
    text = NULL;
}

static void nothing(int status, void *block)
{
    (void)status, (void)block;
}

static void at_exit(void)
{
    void *volatile local;
    put(&local);
    if (local)
        on_exit(nothing, local);
    local = NULL;
}

static FILE *volatile stream;

static void stream_buffer(void)
{
    char *volatile buffer;
    put((void *volatile *)&buffer);
    stream = fopen("/dev/null", "w");
    if (buffer)
        setvbuf(stream, buffer, _IOFBF, BYTES);
    buffer = NULL;
}

/* ---- in part ------------------------------------------------------------------------------------ */

static char *volatile moved;

static void advanced(void)
{
    put((void *volatile *)&moved);
    if (moved)
        moved += 3;
}

static void interior_advanced(void)
{
    chain = malloc(64);
    put(chain + 1);
    moved = (char *)(uintptr_t)chain + 24;
    chain = NULL;
}

/* Only a register that a call keeps has it. */
static NOINLINE void kept_register(void)
{
    void *p = take();
    if (is_lost)
        p = NULL;
    __asm__ volatile("mov %0, %%r14; xor %%eax, %%eax; movq %%rax, %0" : "+m"(p)::"r14", "rax");
    scrub();
    __asm__ volatile("call *%0" ::"r"(end) : "memory");
}

/* ---- not in use ----------------------------------------------------------------------------------- */

static void *ended_body(void *unused)
{
    void *volatile local;
    put(&local);
    return unused;
}

static void ended_stack(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, ended_body, NULL) || pthread_join(thread, NULL))
        abort();
}

/* libc keeps the words in a deleted key's slots, of this thread or of another; here in its own memory, or a block. */
static void deleted_key(void)
{
    key_number(2);
    pthread_key_delete(keys[2]);
}

static void deleted_later_key(void)
{
    key_number(38);
    pthread_key_delete(keys[38]);
}

static void deleted_key_of_thread(void)
{
    start(first_key_body);
    pthread_key_delete(keys[2]);
}

static void deleted_later_key_of_thread(void)
{
    start(later_key_body);
    pthread_key_delete(keys[38]);
}

/* The new key has the number of the deleted one, and no value in any thread. */
static void reused_key(void)
{
    pthread_key_t again;
    start(later_key_body);
    pthread_key_delete(keys[38]);
    if (pthread_key_create(&again, NULL) || again != keys[38] || pthread_getspecific(again))
        abort();
}

static void freed_block(void)
{
    chain = malloc(64);
    put(chain + 3);
    free((void *)(uintptr_t)chain);
}

static void slack(void)
{
    chain = malloc(33);
    void *volatile local;
    put(&local);
    memcpy((char *)(uintptr_t)chain + 32, (const void *)(uintptr_t)&local, 1);
    local = NULL;
}

uintptr_t turned; /* the inverted bits of the pointer */

static void hidden(void)
{
    void *volatile local;
    put(&local);
    turned = ~(uintptr_t)local;
    local = NULL;
}

static void itself(void)
{
    void *volatile local;
    put(&local);
    if (local)
        *(void **)local = local;
    local = NULL;
}

/* ---- the table ------------------------------------------------------------------------------------ */

static const struct place rows[] = {
    /* clang-format off */
    {"data", data, "biu", "in_data", NULL},
    {"bss", bss, "biu", "in_bss", NULL},
    {"array", array, "biu", "in_array\\[7\\]", NULL},
    {"field", field, "biu", "in_struct\\.inner\\.c", NULL},
    {"function_static", function_static, "biu", "kept", NULL},
    {"main_stack", main_stack, "biu", "in local variable `local' of main_stack \\(holders.c:[0-9]+\\), main thread$", NULL},
    {"thread_stack", thread_stack, "biu", "in local variable `local' of stack_body \\(holders.c:[0-9]+\\), thread [0-9]+$", NULL},
    {"alternate_stack", alternate_stack, "biu", "in local variable `local' of on_alternate .*, main thread$", NULL},
    {"interrupted_stack", interrupted_stack, "biu", "in local variable `local' of interrupted_stack .*, main thread$", NULL},
    {"coroutine_mapped", coroutine_mapped, "biu", "mapp|memory", NULL},
    {"coroutine_in_block", coroutine_in_block, "biu", "block of 65536 bytes", NULL},
    {"main_tls", main_tls, "biu", "in thread-local variable `in_tls' \\(holders.c:[0-9]+\\), main thread$", NULL},
    {"thread_tls", thread_tls, "biu", "in thread-local variable `in_tls' \\(holders.c:[0-9]+\\), thread [0-9]+$", NULL},
    {"first_keys", first_keys, "biu", "in the control block of thread [0-9]+$", NULL},
    {"later_keys", later_keys, "biu", "block of", NULL},
    {"used_again_key", used_again_key, "biu", "block of", NULL},
    {"mapped", mapped, "biu", "mapp|memory", NULL},
    {"mapped_shared", mapped_shared, "biu", "/dev/zero", NULL},
    {"mapped_sparse", mapped_sparse, "biu", "mapp|memory", NULL},
    {"mapped_protected", mapped_protected, "biu", "mapp|memory", NULL},
    {"mapped_closed", mapped_closed, "biu", "mapped by the program", NULL},
    {"mapped_closed_sparse", mapped_closed_sparse, "biu", "mapped by the program", NULL},
    {"block_closed", block_closed, "biu", "block of 4096 bytes", NULL},
    {"in_block", in_block, "biu", "block of 64 bytes", NULL},
    {"in_blocks_block", in_blocks_block, "biu", "block of 100000 bytes", NULL},
    {"in_environment", in_environment, "biu", "block of", NULL},
    {"at_exit", at_exit, "biu", "libc", NULL},
    {"stream_buffer", stream_buffer, "biu", "block of", NULL},
    {"advanced", advanced, "aib", "moved", NULL},
    {"interior_advanced", interior_advanced, "behind", "moved", NULL},
    {"kept_register", kept_register, "air", "r14", "stack"},
    {"ended_stack", ended_stack, "mel", "no pointer", NULL},
    {"deleted_key", deleted_key, "mel", "no pointer", NULL},
    {"deleted_later_key", deleted_later_key, "mel", "no pointer", NULL},
    {"deleted_key_of_thread", deleted_key_of_thread, "mel", "no pointer", NULL},
    {"deleted_later_key_of_thread", deleted_later_key_of_thread, "mel", "no pointer", NULL},
    {"reused_key", reused_key, "mel", "no pointer", NULL},
    {"freed_block", freed_block, "mel", "no pointer", NULL},
    {"slack", slack, "mel", "no pointer", NULL},
    {"hidden", hidden, "mel", "no pointer", NULL},
    {"itself", itself, "mel", "no pointer", NULL},
    /* clang-format on */
};

int main(int argc, char **argv)
{
    return run_place(argc, argv, rows, sizeof rows / sizeof rows[0]);
}
