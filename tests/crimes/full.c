/*
 * full.c - loads and stores that leave a block, or use it after free: full crime|twin CASE; all: each case.
 *
 * The line of a crime has a comment: @ CASE, the code of the error, its bytes and its count.  full.py
 * reads them, and compiles this file with other compilers and options, too.
 *
 * rtc-build: -O1 -g -D_GNU_SOURCE -pthread -rdynamic -ldl -fno-optimize-sibling-calls -U_FORTIFY_SOURCE
 */
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "full.h"

#define AT(type, p, n) (*(volatile type *)(void *)((char *)(p) + (n)))

typedef uint64_t pair __attribute__((vector_size(16), aligned(1)));

static bool is_crime; /* else its twin */
static volatile uint64_t sum;
static volatile int how_many = 50;

/* ---- crimes: of each size ---------------------------------------------------------------------- */

/* Where an access of n bytes begins: past the end of 64 bytes, or before it. */
static NOINLINE long past(long n)
{
    return is_crime ? 64 : 64 - n;
}

static NOINLINE void read_1(char *p)
{
    sum += AT(uint8_t, p, past(1)); /* @read_1 rua 1 1 */
}

static NOINLINE void read_2(char *p)
{
    sum += AT(uint16_t, p, past(2)); /* @read_2 rua 2 1 */
}

static NOINLINE void read_4(char *p)
{
    sum += AT(uint32_t, p, past(4)); /* @read_4 rua 4 1 */
}

static NOINLINE void read_8(char *p)
{
    sum += AT(uint64_t, p, past(8)); /* @read_8 rua 8 1 */
}

static NOINLINE void read_16(char *p)
{
    pair v = AT(pair, p, past(16)); /* @read_16 rua 16 1 */
    sum += v[0];
}

static NOINLINE void write_1(char *p)
{
    AT(uint8_t, p, past(1)) = 0xe5; /* @write_1 wua 1 1 */
}

static NOINLINE void write_2(char *p)
{
    AT(uint16_t, p, past(2)) = 0xe5; /* @write_2 wua 2 1 */
}

static NOINLINE void write_4(char *p)
{
    AT(uint32_t, p, past(4)) = 0xe5; /* @write_4 wua 4 1 */
}

static NOINLINE void write_8(char *p)
{
    AT(uint64_t, p, past(8)) = 0xe5; /* @write_8 wua 8 1 */
}

static NOINLINE void write_16(char *p)
{
    AT(pair, p, past(16)) = (pair){1, 2}; /* @write_16 wua 16 1 */
}

static NOINLINE void half_2(char *p)
{
    sum += AT(uint16_t, p, past(2) - is_crime); /* @half_2 rua 2 1 */
}

static NOINLINE void half_8(char *p)
{
    AT(uint64_t, p, past(8) - 3 * is_crime) = 1; /* @half_8 wua 8 1 */
}

static NOINLINE void half_16(char *p)
{
    pair v = AT(pair, p, past(16) - 8 * is_crime); /* @half_16 rua 16 1 */
    sum += v[1];
}

static NOINLINE void read_10(char *p)
{
    long double v = AT(long double, p, past(16)); /* @read_10 rua 10 1 */
    sum += v != v;
}

static NOINLINE void write_10(char *p)
{
    AT(long double, p, past(16)) = 1; /* @write_10 wua 10 1 */
}

static NOINLINE void change(char *p)
{
    long n = past(4);
    __asm__ volatile("incl (%0)" : : "r"(p + n) : "memory", "cc"); /* @change wua 4 1 */
}

static NOINLINE void atomic(char *p)
{
    long n = past(8);
    __asm__ volatile("lock addq $1, (%0)" : : "r"(p + n) : "memory", "cc"); /* @atomic wua 8 1 */
}

static NOINLINE void compare(char *p)
{
    long n = past(4);
    __asm__ volatile("cmpl $5, (%0)" : : "r"(p + n) : "memory", "cc"); /* @compare rua 4 1 */
}

/* The address in a base, an index of 4 and a displacement. */
static NOINLINE void indexed(char *p)
{
    long n = (past(4) - 4) / 4;
    __asm__ volatile("movl %%eax, 4(%0,%1,4)" : : "r"(p), "r"(n) : "memory"); /* @indexed wua 4 1 */
}

#define EACH_SIZE(DO) \
    DO(read_1)        \
    DO(read_2)        \
    DO(read_4)        \
    DO(read_8)        \
    DO(read_16)       \
    DO(write_1)       \
    DO(write_2)       \
    DO(write_4)       \
    DO(write_8)       \
    DO(write_16)      \
    DO(half_2)        \
    DO(half_8)        \
    DO(half_16)       \
    DO(read_10)       \
    DO(write_10)      \
    DO(change)        \
    DO(atomic)        \
    DO(compare)       \
    DO(indexed)

/* ---- crimes: places ---------------------------------------------------------------------------- */

static NOINLINE void partial(void)
{
    char *p = make(21);
    sum += AT(uint32_t, p, 16) + AT(uint8_t, p, 20);
    sum += AT(uint8_t, p, is_crime ? 21 : 20); /* @partial rua 1 1 */
    drop(p);
}

static NOINLINE void partial_word(void)
{
    char *p = make(is_crime ? 21 : 24);
    sum += AT(uint64_t, p, 16); /* @partial_word rua 8 1 */
    drop(p);
}

static NOINLINE void crossing(void)
{
    char *p = make(is_crime ? 21 : 23);
    sum += AT(uint64_t, p, 15); /* @crossing rua 8 1 */
    drop(p);
}

static NOINLINE void one_byte(void)
{
    char *p = make(1);
    AT(uint8_t, p, is_crime) = 1; /* @one_byte wua 1 1 */
    drop(p);
}

static NOINLINE void nothing(void)
{
    char *p = make(!is_crime);
    sum += AT(uint8_t, p, 0); /* @nothing rua 1 1 */
    drop(p);
}

static NOINLINE void far_100(void)
{
    char *p = make(1000);
    sum += AT(uint8_t, p, is_crime ? 1100 : 999); /* @far_100 rua 1 1 */
    drop(p);
}

static NOINLINE void tail_5000(void)
{
    char *p = make(300000);
    sum += AT(uint32_t, p, is_crime ? 305000 : 299996); /* @tail_5000 rua 4 1 */
    drop(p);
}

static NOINLINE void before_1(void)
{
    char *p = make(64);
    sum += AT(uint8_t, p, -is_crime); /* @before_1 rua 1 1 */
    drop(p);
}

static NOINLINE void before_8(void)
{
    char *p = make(64);
    AT(uint64_t, p, -8 * is_crime) = 3; /* @before_8 wua 8 1 */
    drop(p);
}

static NOINLINE void large_before(void)
{
    char *p = make(300000);
    sum += AT(uint8_t, p, -is_crime); /* @large_before rua 1 1 */
    drop(p);
}

static NOINLINE void large_past(void)
{
    char *p = make(300000);
    AT(uint8_t, p, is_crime ? 300000 : 299999) = 1; /* @large_past wua 1 1 */
    drop(p);
}

static NOINLINE void large_freed(void)
{
    char *p = make(300000);
    if (is_crime)
        drop(p);
    sum += AT(uint64_t, p, 150000); /* @large_freed rua 8 1 */
    if (!is_crime)
        drop(p);
}

static NOINLINE void read_freed(void)
{
    char *p = make(100);
    if (is_crime)
        drop(p);
    sum += AT(uint32_t, p, 40); /* @read_freed rua 4 1 */
    if (!is_crime)
        drop(p);
}

static NOINLINE void write_freed(void)
{
    char *p = make(100);
    if (is_crime)
        drop(p);
    AT(uint8_t, p, 99) = 3; /* @write_freed wua 1 1 */
    if (!is_crime)
        drop(p);
}

static NOINLINE void later_freed(void)
{
    char *p = make(48), *other[1000];
    if (is_crime)
        drop(p);
    for (int i = 0; i < 1000; i++)
        other[i] = make((size_t)(i % 90 + 1));
    sum += AT(uint64_t, p, 8); /* @later_freed rua 8 1 */
    for (int i = 0; i < 1000; i++)
        drop(other[i]);
    if (!is_crime)
        drop(p);
}

static NOINLINE void moved(void)
{
    char *p = make(100), *volatile old = p, *now = realloc(p, 5000);
    must(now && now != old, "moved");
    sum += AT(uint8_t, is_crime ? old : now, 7); /* @moved rua 1 1 */
    drop(now);
}

static NOINLINE void shrunk(void)
{
    char *p = realloc(make(100), 90);
    must(p, "shrunk");
    AT(uint8_t, p, is_crime ? 90 : 89) = 1; /* @shrunk wua 1 1 */
    drop(p);
}

static NOINLINE void zeroed(void)
{
    char *p = calloc(3, 11);
    must(p, "zeroed");
    sum += AT(uint8_t, p, 32 + is_crime); /* @zeroed rua 1 1 */
    drop(p);
}

static NOINLINE void aligned(void)
{
    void *p = NULL;
    must(posix_memalign(&p, 256, 40) == 0, "aligned");
    sum += AT(uint8_t, p, is_crime ? 40 : 39); /* @aligned rua 1 1 */
    drop(p);
}

/* ---- crimes: ways ------------------------------------------------------------------------------ */

static NOINLINE void array(void)
{
    volatile int *a = (void *)make(10 * sizeof *a);
    int n = 10 + is_crime;
    for (int i = 0; i < n; i++)
        a[i] = i; /* @array wua 4 1 */
    drop((char *)a);
}

struct member {
    char name[20];
    long value;
};

static NOINLINE void member(void)
{
    volatile struct member *m = (void *)make(is_crime ? 24 : sizeof *m);
    m->value = 5; /* @member wua 8 1 */
    drop((char *)m);
}

static NOINLINE void loop(void)
{
    char *p = make(64);
    for (int i = 0; i < how_many; i++)
        sum += AT(uint8_t, p, is_crime ? 64 : 63); /* @loop rua 1 50 */
    drop(p);
}

static NOINLINE void *thread_access(void *about)
{
    sum += AT(uint8_t, about, is_crime ? 64 : 63); /* @thread rua 1 4 thread_access */
    return NULL;
}

static NOINLINE void thread(void)
{
    pthread_t t[4];
    char *p = make(64);
    for (int i = 0; i < 4; i++)
        must(pthread_create(&t[i], NULL, thread_access, p) == 0, "thread");
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    drop(p);
}

static char *volatile shared;

static NOINLINE void handler_access(int signal)
{
    (void)signal;
    AT(uint16_t, shared, is_crime ? 64 : 62) = 7; /* @handler wua 2 1 handler_access */
}

static NOINLINE void handler(void)
{
    shared = make(64);
    signal(SIGUSR1, handler_access);
    raise(SIGUSR1);
    drop(shared);
}

static NOINLINE void forked(void)
{
    char *p = make(64);
    pid_t child = fork();
    if (child == 0) {
        sum += AT(uint8_t, p, is_crime ? 64 : 63); /* @forked rua 1 1 */
        _exit(0);
    }
    int status;
    must(waitpid(child, &status, 0) == child && status == 0, "child");
    drop(p);
}

static NOINLINE int order(const void *a, const void *b)
{
    sum += AT(uint8_t, shared, is_crime ? 64 : 63); /* @sort rua 1 1 order */
    return *(const int *)a - *(const int *)b;
}

static NOINLINE void sort(void)
{
    int two[2] = {5, 3};
    shared = make(64);
    qsort(two, 2, sizeof *two, order);
    must(two[0] == 3, "sorted");
    drop(shared);
}

static NOINLINE void by_pointer_access(char *p)
{
    sum += AT(uint8_t, p, is_crime ? 64 : 63); /* @by_pointer rua 1 1 by_pointer_access */
}

static void (*volatile pointer)(char *) = by_pointer_access;

static NOINLINE void by_pointer(void)
{
    char *p = make(64);
    pointer(p);
    drop(p);
}

static jmp_buf back;

static NOINLINE void leap(void)
{
    longjmp(back, 3);
}

static NOINLINE void after_jump(void)
{
    shared = make(64);
    if (setjmp(back) == 0)
        leap();
    sum += AT(uint8_t, shared, is_crime ? 64 : 63); /* @after_jump rua 1 1 */
    drop(shared);
}

/* String instructions, as compilers put them in place of memset and memcpy. */
#define FILL(instruction, to, count) \
    __asm__ volatile(instruction : "+D"(to), "+c"(count) : "a"(0ul) : "memory")
#define COPY(instruction, to, from, count) \
    __asm__ volatile(instruction : "+D"(to), "+S"(from), "+c"(count) : : "memory", "cc")
#define FIND(instruction, at, count, byte) \
    __asm__ volatile(instruction : "+D"(at), "+c"(count) : "a"(byte) : "memory", "cc")

static NOINLINE void string_fill(void)
{
    char *p = make(40), *to = p;
    size_t count = 5 + (size_t)is_crime;
    FILL("rep stosq", to, count); /* @string_fill wua 48 1 */
    drop(p);
}

static NOINLINE void string_fill_bytes(void)
{
    char *p = make(21), *to = p + 1;
    size_t count = 20 + (size_t)is_crime;
    FILL("rep stosb", to, count); /* @string_fill_bytes wua 21 1 */
    drop(p);
}

static NOINLINE void string_copy(void)
{
    char *p = make(64), *q = make(48), *from = q, *to = p;
    size_t count = 12 + (size_t)is_crime;
    COPY("rep movsl", to, from, count); /* @string_copy rua 52 1 */
    drop(p);
    drop(q);
}

static NOINLINE void string_copy_to(void)
{
    char *p = make(30), *q = make(64), *from = q, *to = p - is_crime;
    size_t count = 15;
    COPY("rep movsw", to, from, count); /* @string_copy_to wua 30 1 */
    drop(p);
    drop(q);
}

static NOINLINE void string_freed(void)
{
    char *p = make(64), *from = p, to[64], *end = to;
    size_t count = 4;
    if (is_crime)
        drop(p);
    COPY("rep movsq", end, from, count); /* @string_freed rua 32 1 */
    sum += (uint64_t)to[3];
    if (!is_crime)
        drop(p);
}

static NOINLINE void string_one(void)
{
    char *p = make(24), *from = p + 16 + 8 * is_crime;
    uint64_t word;
    __asm__ volatile("lodsq" : "=a"(word), "+S"(from) : : "memory"); /* @string_one rua 8 1 */
    sum += word;
    drop(p);
}

/* Of a search, the first element. */
static NOINLINE void string_search(void)
{
    char *p = make(24), *at = p + 23 + is_crime;
    size_t count = 100;
    p[23] = 'x';
    FIND("repne scasb", at, count, 'x'); /* @string_search rua 1 1 */
    sum += count > 90;
    drop(p);
}

static NOINLINE void string_compare(void)
{
    char *p = make(24), *q = make(32), *from = p + 24 * is_crime, *to = q;
    size_t count = 2;
    q[0] = 'b';
    COPY("cmp %%rcx, %%rcx\n repe cmpsb", to, from, count); /* @string_compare rua 1 1 */
    drop(p);
    drop(q);
}

/* Nothing is accessed. */
static NOINLINE void string_of_none(void)
{
    char *p = make(24), *to = p + 24, *from = p - 1;
    size_t count = 0;
    COPY("rep movsq", to, from, count);
    FILL("rep stosb", to, count);
    drop(p);
}

#define EACH_PLACE(DO)    \
    DO(partial)           \
    DO(partial_word)      \
    DO(crossing)          \
    DO(one_byte)          \
    DO(nothing)           \
    DO(far_100)           \
    DO(tail_5000)         \
    DO(before_1)          \
    DO(before_8)          \
    DO(large_before)      \
    DO(large_past)        \
    DO(large_freed)       \
    DO(read_freed)        \
    DO(write_freed)       \
    DO(later_freed)       \
    DO(moved)             \
    DO(shrunk)            \
    DO(zeroed)            \
    DO(aligned)           \
    DO(array)             \
    DO(member)            \
    DO(loop)              \
    DO(thread)            \
    DO(handler)           \
    DO(forked)            \
    DO(sort)              \
    DO(by_pointer)        \
    DO(string_fill)       \
    DO(string_fill_bytes) \
    DO(string_copy)       \
    DO(string_copy_to)    \
    DO(string_freed)      \
    DO(string_one)        \
    DO(string_search)     \
    DO(string_compare)    \
    DO(string_of_none)    \
    DO(after_jump)
/* ---- all ---------------------------------------------------------------------------------------- */

static const struct crime {
    const char *name;
    void (*of_block)(char *);
    void (*run)(void);
} crimes[] = {
#define SIZE(name) {#name, name, NULL},
#define PLACE(name) {#name, NULL, name},
    EACH_SIZE(SIZE) EACH_PLACE(PLACE)};

static void commit(const struct crime *c)
{
    if (!c->of_block) {
        c->run();
        return;
    }
    char *p = make(64);
    c->of_block(p);
    drop(p);
}

int main(int argc, char **argv)
{
    bool found = false;
    setvbuf(stdout, NULL, _IONBF, 0);
    must(argc == 3, "arguments");
    is_crime = strcmp(argv[1], "crime") == 0;
    for (size_t i = 0; i < sizeof crimes / sizeof *crimes; i++)
        if (strcmp(crimes[i].name, argv[2]) == 0 || strcmp(argv[2], "all") == 0) {
            commit(&crimes[i]);
            found = true;
        }
    must(found, "name");
    puts("done");
    return 0;
}
