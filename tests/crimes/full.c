/*
 * full.c - loads and stores that leave a block, or use it after free, and code whose behaviour may not
 * change in a checked copy: full crime|twin CASE; full behave CASE; full list.
 *
 * The line of a crime has a comment: @ CASE, the code of the error, its bytes and its count.  full.py
 * reads them, and compiles this file with other compilers and options, too.
 *
 * rtc-build: -O1 -g -D_GNU_SOURCE -pthread -rdynamic -ldl -fno-optimize-sibling-calls -U_FORTIFY_SOURCE
 */
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline, used))
#else
#define NOINLINE __attribute__((noipa, used))
#endif

#define AT(type, p, n) (*(volatile type *)(void *)((char *)(p) + (n)))

typedef uint64_t pair __attribute__((vector_size(16), aligned(1)));

static bool is_crime; /* else its twin */
static volatile uint64_t sum;
static volatile int how_many = 50;

static void must(bool holds, const char *what)
{
    if (!holds) {
        printf("FAIL %s\n", what);
        exit(9);
    }
}

static NOINLINE char *make(size_t n)
{
    char *p = malloc(n);
    must(p, "memory");
    memset(p, 'a', n);
    return p;
}

static NOINLINE void drop(char *p)
{
    free(p);
}

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

/* ---- behaviour: jumps, calls ------------------------------------------------------------------- */

static NOINLINE void dive(int depth, int *trail)
{
    trail[depth] = depth;
    if (depth == 20)
        longjmp(back, depth);
    if (how_many)
        dive(depth + 1, trail);
    trail[0]++;
}

static void behave_jumps(void)
{
    int *trail = calloc(21, sizeof *trail);
    volatile int total = 0;
    for (volatile int i = 0; i < 100; i++) {
        int got = setjmp(back);
        if (got == 0)
            dive(i % 20, trail);
        total += got + trail[20];
    }
    printf("%d\n", total);
    free(trail);
}

static NOINLINE int add_all(int count, ...)
{
    va_list list;
    double d = 0;
    int total = 0;
    va_start(list, count);
    for (int i = 0; i < count; i++) {
        total += va_arg(list, int);
        d += va_arg(list, double);
    }
    va_end(list);
    return total * 1000 + (int)d;
}

static NOINLINE int on_stack(int n)
{
    int *a = alloca((size_t)n * sizeof *a), vla[n], total = 0;
    for (int i = 0; i < n; i++) {
        a[i] = i * i;
        vla[n - 1 - i] = a[i] / 3;
    }
    for (int i = 0; i < n; i++)
        total += a[i] ^ vla[i];
    return total;
}

static NOINLINE int switched(int n)
{
    switch (n) {
    case 0:
        return 17;
    case 1:
        return n + (int)sum % 2;
    case 2:
        return 5 - n;
    case 3:
        return 9 * n;
    case 4:
        return 4;
    case 5:
        return -n;
    case 6:
        return n * n;
    case 7:
        return 33;
    case 8:
        return 2;
    default:
        return n & 3;
    }
}

static NOINLINE int interpret(const char *code)
{
    static const void *const labels[] = {&&add, &&twice, &&less, &&end};
    int n = 0;
    goto *labels[*code - '0'];
add:
    n += 7;
    goto *labels[*++code - '0'];
twice:
    n *= 2;
    goto *labels[*++code - '0'];
less:
    n -= 3;
    goto *labels[*++code - '0'];
end:
    return n;
}

static NOINLINE int odd(const int *n, int left);
static NOINLINE int even(const int *n, int left)
{
    return left == 0 ? *n : odd(n, left - 1);
}
static NOINLINE int odd(const int *n, int left)
{
    return left == 0 ? -*n : even(n, left - 1);
}

static NOINLINE long deep(const long *p, int depth)
{
    return depth ? deep(p, depth - 1) + p[depth % 8] : 0;
}

static void behave_calls(void)
{
    long *p = calloc(8, sizeof *p);
    for (int i = 0; i < 8; i++)
        p[i] = i * 5;
    printf("%d %d\n", add_all(3, 1, 2.5, 3, 4.5, 5, 6.25), on_stack(300));
    for (int i = -1; i < 12; i++)
        printf("%d ", switched(i));
    char code[] = "0011021200113";
    int *n = malloc(sizeof *n);
    *n = 77;
    printf("%d %d %ld\n", interpret(code), even(n, 1001), deep(p, 10000));
    free(n);
    free(p);
}

/* ---- behaviour: arithmetic and strings ------------------------------------------------------------ */

__attribute__((target("avx2"))) static NOINLINE double wide(const double *d, int n)
{
    typedef double four __attribute__((vector_size(32), aligned(8)));
    four total = {0};
    for (int i = 0; i + 4 <= n; i += 4)
        total += *(const four *)(d + i) * *(const four *)(d + n - i - 4);
    return total[0] + total[1] * 2 + total[2] * 3 + total[3] * 4;
}

static NOINLINE double scalar(const double *d, const float *f, const long double *l, int n)
{
    double total = 0;
    for (int i = 0; i < n; i++)
        total += d[i] * f[i] + (double)(l[i % 4] / 3) - (int)f[i] + (unsigned)d[n - 1 - i];
    return total;
}

static NOINLINE void repeat(char *to, const char *from, size_t n, long *more)
{
    const char *s = from;
    char *t = to;
    size_t left = n;
    __asm__ volatile("cld; rep movsb" : "+S"(s), "+D"(t), "+c"(left) : : "memory");
    left = n / 8;
    t = to + n;
    __asm__ volatile("rep stosq" : "+D"(t), "+c"(left) : "a"(*more) : "memory");
    left = n;
    t = to;
    __asm__ volatile("repne scasb" : "+D"(t), "+c"(left) : "a"('q') : "memory", "cc");
    more[1] = t - to;
    s = from;
    t = to;
    left = n;
    __asm__ volatile("repe cmpsb" : "+S"(s), "+D"(t), "+c"(left) : : "memory", "cc");
    more[2] = s - from;
    __asm__ volatile("xlatb" : "=a"(more[3]) : "a"(3l), "b"(from));
}

static void behave_arithmetic(void)
{
    int n = 64;
    double *d = malloc((size_t)n * sizeof *d);
    float *f = malloc((size_t)n * sizeof *f);
    long double *l = malloc(4 * sizeof *l);
    for (int i = 0; i < n; i++) {
        d[i] = i * 1.25 + 0.1;
        f[i] = (float)(i * 0.75);
        l[i % 4] = i * 1e5L;
    }
    printf("%.17g %.17g\n", scalar(d, f, l, n), __builtin_cpu_supports("avx2") ? wide(d, n) : 0);
    char *from = malloc(100), *to = malloc(200);
    long *more = calloc(4, sizeof *more);
    for (int i = 0; i < 100; i++)
        from[i] = (char)('a' + i % 26);
    more[0] = 0x4142434445464748;
    repeat(to, from, 96, more);
    to[96 + 96] = 0;
    printf("%.192s %ld %ld %ld\n", to, more[1], more[2], more[3]);
    free(d);
    free(f);
    free(l);
    free(from);
    free(to);
    free(more);
}

/* ---- behaviour: threads and processes -------------------------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long *counted;
static __thread long own[4];

static void *count(void *about)
{
    for (int i = 0; i < 20000; i++) {
        own[i % 4] += i;
        __atomic_fetch_add(&counted[1], 1, __ATOMIC_RELAXED);
        pthread_mutex_lock(&mutex);
        counted[0]++;
        pthread_mutex_unlock(&mutex);
    }
    long *total = malloc(sizeof *total);
    *total = own[0] + own[1] + own[2] + own[3] + (about == NULL);
    return total;
}

static void behave_threads(void)
{
    pthread_t t[8];
    long total = 0;
    counted = calloc(2, sizeof *counted);
    for (uintptr_t i = 0; i < 8; i++)
        must(pthread_create(&t[i], NULL, count, (void *)i) == 0, "thread");
    for (int i = 0; i < 8; i++) {
        void *got;
        pthread_join(t[i], &got);
        total += *(long *)got;
        free(got);
    }
    printf("%ld %ld %ld\n", counted[0], counted[1], total);
    free(counted);
}

static void *leave(void *about)
{
    long *p = malloc(8);
    *p = *(long *)about;
    pthread_exit(p);
}

static void on_cancel(void *about)
{
    ++*(long *)about;
}

static void *wait_long(void *about)
{
    pthread_cleanup_push(on_cancel, about);
    for (;;)
        usleep(1000);
    pthread_cleanup_pop(0);
    return NULL;
}

static void behave_ends(void)
{
    pthread_t t;
    void *got = NULL;
    long *p = malloc(sizeof *p);
    *p = 55;
    must(pthread_create(&t, NULL, leave, p) == 0 && pthread_join(t, &got) == 0, "exit");
    printf("%ld\n", *(long *)got);
    free(got);
    must(pthread_create(&t, NULL, wait_long, p) == 0, "thread");
    usleep(20000);
    must(pthread_cancel(t) == 0 && pthread_join(t, &got) == 0, "cancel");
    printf("%d %ld\n", got == PTHREAD_CANCELED, *p);
    free(p);
}

static void behave_processes(void)
{
    int status, *p = malloc(sizeof *p);
    char *const echo[] = {"/bin/echo", "executed", NULL};
    *p = 4;
    for (volatile int i = 0; i < 10; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(*p + i);
        must(waitpid(child, &status, 0) == child, "wait");
        printf("%d ", WEXITSTATUS(status));
        fflush(stdout);
        child = vfork();
        if (child == 0) {
            ++*p;
            execv(*echo, echo);
            _exit(1);
        }
        must(waitpid(child, &status, 0) == child && status == 0, "executed");
    }
    printf("%d\n", *p);
    free(p);
}

static void at_end(void)
{
    printf("at end %c\n", *shared);
}

static void behave_atexit(void)
{
    shared = make(1);
    atexit(at_end);
    exit(3);
}

static void behave_library(void)
{
    void *library = dlopen(getenv("FULL_LIBRARY"), RTLD_NOW);
    must(library, "library");
    int (*call)(int (*)(int), const int *) =
        (int (*)(int (*)(int), const int *))(uintptr_t)dlsym(library, "call");
    int *p = malloc(sizeof *p);
    *p = 6;
    printf("%d", call(switched, p));
    printf(" %d\n", dlclose(library));
    free(p);
}

/* ---- behaviour: contexts ------------------------------------------------------------------------- */

static ucontext_t first, second;

static void coroutine(int a, int b)
{
    for (int i = 0; i < 5; i++) {
        printf("%d%c ", a * i + b, *shared);
        swapcontext(&second, &first);
    }
}

static void behave_contexts(void)
{
    char *stack = malloc(65536);
    shared = make(1);
    getcontext(&second);
    second.uc_stack.ss_sp = stack;
    second.uc_stack.ss_size = 65536;
    second.uc_link = &first;
    makecontext(&second, (void (*)(void))(uintptr_t)coroutine, 2, 7, 9);
    for (int i = 0; i < 6; i++)
        swapcontext(&first, &second);
    printf("end\n");
    free(stack);
    free(shared);
}

/* ---- behaviour: signals -------------------------------------------------------------------------- */

#define LIMBS 24

/* Additions with carry in memory keep flags alive over loads, and 16 sums the registers. */
static NOINLINE uint64_t press(const uint64_t *a, const uint64_t *b, uint64_t *to, int rounds)
{
    uint64_t r0 = a[0], r1 = a[1], r2 = a[2], r3 = a[3], r4 = a[4], r5 = a[5], r6 = a[6], r7 = a[7],
             r8 = a[8], r9 = a[9], r10 = a[10], r11 = a[11];
    for (int i = 0; i < rounds; i++) {
        const uint64_t *p = a + i % 8, *q = b + i % 4;
        __asm__(
            "add 0(%[p]), %[r0]\n adc 8(%[p]), %[r1]\n adc 16(%[p]), %[r2]\n adc 24(%[p]), %[r3]\n"
            "adc 0(%[q]), %[r4]\n adc 8(%[q]), %[r5]\n adc $0, %[r0]"
            :
            [r0] "+r"(r0), [r1] "+r"(r1), [r2] "+r"(r2), [r3] "+r"(r3), [r4] "+r"(r4), [r5] "+r"(r5)
            : [p] "r"(p), [q] "r"(q)
            : "cc", "memory");
        r6 += q[r0 % 8] * 3;
        r7 ^= p[r1 % 8] + r6;
        r8 += r7 > p[2] ? q[3] : r5;
        r9 = (r9 << 7 | r9 >> 57) ^ q[r8 % 8];
        r10 += p[r9 % 8] * r2;
        r11 ^= r10 + r3;
        to[i % LIMBS] += r11 ^ r4;
    }
    return r0 ^ r1 ^ r2 ^ r3 ^ r4 ^ r5 ^ r6 ^ r7 ^ r8 ^ r9 ^ r10 ^ r11 ^ to[3];
}

/* As above; no register is free. */
static NOINLINE uint64_t press_all(const uint64_t *a, int rounds)
{
    uint64_t total = 0;
    for (int i = 0; i < rounds; i++) {
        const uint64_t *p = a + i % 8;
        uint64_t r = total;
        __asm__("lea -128(%%rsp), %%rsp\n push %%rbp\n mov %%rax, %%rbp\n"
                "mov 0(%%rdi), %%rax\n mov 8(%%rdi), %%rbx\n mov 16(%%rdi), %%rcx\n"
                "mov 24(%%rdi), %%rdx\n mov 32(%%rdi), %%rsi\n mov 40(%%rdi), %%r8\n"
                "mov 48(%%rdi), %%r9\n mov 56(%%rdi), %%r10\n mov 64(%%rdi), %%r11\n"
                "mov 72(%%rdi), %%r12\n mov 80(%%rdi), %%r13\n mov 88(%%rdi), %%r14\n"
                "mov 96(%%rdi), %%r15\n"
                "add 104(%%rdi), %%rax\n adc 0(%%rdi), %%rbx\n adc 8(%%rdi), %%rcx\n"
                "adc 16(%%rdi), %%rdx\n adc 24(%%rdi), %%rsi\n adc 32(%%rdi), %%r8\n"
                "adc 40(%%rdi), %%r9\n adc 48(%%rdi), %%r10\n adc 56(%%rdi), %%r11\n"
                "adc 64(%%rdi), %%r12\n adc 72(%%rdi), %%r13\n adc 80(%%rdi), %%r14\n"
                "adc 88(%%rdi), %%r15\n adc %%rbp, %%rax\n"
                "rol $9, %%rax\n xor %%rbx, %%rax\n rol $9, %%rax\n xor %%rcx, %%rax\n"
                "rol $9, %%rax\n xor %%rdx, %%rax\n rol $9, %%rax\n xor %%rsi, %%rax\n"
                "rol $9, %%rax\n xor %%r8, %%rax\n rol $9, %%rax\n xor %%r9, %%rax\n"
                "rol $9, %%rax\n xor %%r10, %%rax\n rol $9, %%rax\n xor %%r11, %%rax\n"
                "rol $9, %%rax\n xor %%r12, %%rax\n rol $9, %%rax\n xor %%r13, %%rax\n"
                "rol $9, %%rax\n xor %%r14, %%rax\n rol $9, %%rax\n xor %%r15, %%rax\n"
                "pop %%rbp\n lea 128(%%rsp), %%rsp"
                : "+a"(r), "+D"(p)
                :
                : "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
                  "cc", "memory");
        total += r;
    }
    return total;
}

static uint64_t *limbs, *signal_to;
static volatile uint64_t handled, signal_wrong, signal_right;

static uint64_t press_in_signal(void)
{
    memset(signal_to, 1, LIMBS * sizeof *signal_to);
    return press(limbs + 3, limbs + 1, signal_to, 9) ^ press_all(limbs + 2, 5);
}

static void on_timer(int signal)
{
    (void)signal;
    handled++;
    signal_wrong += press_in_signal() != signal_right;
}

static uint64_t press_both(uint64_t *to)
{
    memset(to, 0, LIMBS * sizeof *to);
    return press(limbs, limbs + 5, to, 1500) ^ press_all(limbs, 1500);
}

static void start_timer(long us)
{
    struct itimerval every = {{0, us}, {0, us}};
    must(setitimer(ITIMER_REAL, &every, NULL) == 0, "timer");
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void behave_timer(void)
{
    struct sigaction act = {.sa_handler = on_timer, .sa_flags = SA_RESTART}, old;
    uint64_t *to = malloc(LIMBS * sizeof *to), wrong = 0;
    double until = seconds() + (getenv("FULL_SECONDS") ? atof(getenv("FULL_SECONDS")) : 1);
    limbs = malloc(LIMBS * sizeof *limbs);
    signal_to = malloc(LIMBS * sizeof *signal_to);
    for (int i = 0; i < LIMBS; i++)
        limbs[i] = 0x9e3779b97f4a7c15u * (uint64_t)(i + 1);
    signal_right = press_in_signal();
    uint64_t right = press_both(to);
    must(sigaction(SIGALRM, &act, &old) == 0 && old.sa_handler == SIG_DFL, "old action");
    start_timer(100);
    do
        wrong += press_both(to) != right;
    while (seconds() < until || handled <= 500);
    start_timer(0);
    printf("%d %llu %llu %llx %llx\n", handled > 500, (unsigned long long)wrong,
           (unsigned long long)signal_wrong, (unsigned long long)right,
           (unsigned long long)signal_right);
    free(limbs);
    free(signal_to);
    free(to);
}

/* Is it in this program's code?  Not in a library's, which may differ. */
static bool is_own(uintptr_t pc)
{
    extern const char __executable_start, etext;
    return pc >= (uintptr_t)&__executable_start && pc < (uintptr_t)&etext;
}

static volatile uintptr_t last_step;
static volatile uint64_t steps, step_sum;

static uintptr_t *pc_of(void *context)
{
    return (uintptr_t *)&((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
}

/* Checks are further steps before their instruction, with the same address. */
static void on_step(int signal, siginfo_t *info, void *context)
{
    uintptr_t pc = *pc_of(context);
    (void)signal;
    signal_wrong += (uintptr_t)info->si_addr != pc;
    if (!is_own(pc) || pc == last_step)
        return;
    last_step = pc;
    steps++;
    step_sum = step_sum * 31 + (pc - (uintptr_t)&pc_of);
}

static void step(bool on)
{
    uint64_t flag = on ? 0x100 : 0;
    __asm__ volatile("lea -128(%%rsp), %%rsp\n pushfq\n andq $~0x100, (%%rsp)\n"
                     "orq %0, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp"
                     :
                     : "r"(flag)
                     : "cc", "memory");
}

/* A signal after each instruction: the handler sees the original ones, and changes nothing. */
static void behave_stepped(void)
{
    struct sigaction act = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    uint64_t to[LIMBS] = {0};
    int rounds = getenv("FULL_ROUNDS") ? atoi(getenv("FULL_ROUNDS")) : 200;
    limbs = malloc(LIMBS * sizeof *limbs);
    for (int i = 0; i < LIMBS; i++)
        limbs[i] = 0x9e3779b97f4a7c15u * (uint64_t)(i + 1);
    uint64_t right = press(limbs, limbs + 5, to, rounds) ^ press_all(limbs, rounds);
    memset(to, 0, sizeof to);
    sigaction(SIGTRAP, &act, NULL);
    step(true);
    uint64_t stepped = press(limbs, limbs + 5, to, rounds) ^ press_all(limbs, rounds);
    step(false);
    printf("%d %llu %llu %llx\n", stepped == right, (unsigned long long)signal_wrong,
           (unsigned long long)steps, (unsigned long long)step_sum);
    free(limbs);
}

static void on_bad_code(int signal, siginfo_t *info, void *context)
{
    uintptr_t *pc = pc_of(context);
    printf("signal %d, code %d, %d %d\n", signal, info->si_code, is_own(*pc),
           signal == SIGSEGV || (uintptr_t)info->si_addr == *pc);
    *pc += 2; /* the length of each of the instructions below */
}

/* Handlers continue after the instruction that has faulted, in the middle of a function. */
static NOINLINE int skip_bad_code(const int *p, const int *bad)
{
    int n = *p;
    __asm__ volatile("ud2" ::: "memory");
    n += p[1];
    __asm__ volatile("xor %%ecx, %%ecx\n xor %%edx, %%edx\n div %%ecx" : "+a"(n) : : "rcx", "rdx");
    n += p[2];
    __asm__ volatile("mov (%0), %%edx" : : "c"(bad) : "rdx");
    return n + p[3];
}

static void behave_skipped(void)
{
    static const int signals[] = {SIGILL, SIGFPE, SIGSEGV};
    struct sigaction act = {.sa_sigaction = on_bad_code, .sa_flags = SA_SIGINFO};
    for (int i = 0; i < 3; i++)
        sigaction(signals[i], &act, NULL);
    int *p = malloc(4 * sizeof *p);
    for (int i = 0; i < 4; i++)
        p[i] = 1 << i;
    printf("%d\n", skip_bad_code(p, NULL));
    free(p);
}

static void on_other(int signal, siginfo_t *info, void *context)
{
    printf("signal %d by %d, %d\n", signal, info->si_code, context != NULL);
}

static void behave_actions(void)
{
    struct sigaction act = {.sa_handler = on_timer}, old;
    sigaction(SIGUSR1, &act, NULL);
    sigaction(SIGUSR1, NULL, &old);
    printf("%d %x\n", old.sa_handler == on_timer, (unsigned)old.sa_flags & ~0x04000000u);
    act = (struct sigaction){.sa_sigaction = on_other, .sa_flags = SA_SIGINFO | SA_RESETHAND};
    sigaddset(&act.sa_mask, SIGUSR2);
    sigaction(SIGUSR1, &act, &old);
    printf("%d\n", old.sa_handler == on_timer);
    raise(SIGUSR1);
    sigaction(SIGUSR1, NULL, &old);
    printf("%d\n", old.sa_handler == SIG_DFL);
    printf("%d ", signal(SIGUSR2, on_timer) == SIG_DFL);
    printf("%d ", signal(SIGUSR2, SIG_IGN) == on_timer);
    printf("%d ", signal(SIGUSR2, SIG_DFL) == SIG_IGN);
    act.sa_flags = SA_SIGINFO;
    sigaction(SIGUSR2, &act, NULL);
    sigaction(SIGUSR2, NULL, &old);
    printf("%d %x %d\n", old.sa_sigaction == on_other, (unsigned)old.sa_flags & ~0x04000000u,
           sigismember(&old.sa_mask, SIGUSR2));
    raise(SIGUSR2);
    sigaction(SIGSEGV, &act, NULL);
    sigaction(SIGSEGV, NULL, &old);
    printf("%d\n", old.sa_sigaction == on_other);
}

static sigjmp_buf from_signal;

static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)context;
    printf("signal %d code %d at %p\n", signal, info->si_code, info->si_addr);
    siglongjmp(from_signal, 1);
}

static NOINLINE int read_at(const volatile int *p)
{
    return p[1];
}

static void behave_fault(void)
{
    struct sigaction act = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &act, NULL);
    shared = make(8);
    for (volatile int i = 0; i < 50; i++)
        if (sigsetjmp(from_signal, 1) == 0)
            printf("%d\n", read_at(NULL));
    printf("%c\n", *shared);
    free(shared);
}

static NOINLINE void crash_null(const volatile int *p)
{
    printf("%d\n", *p); /* @crash_null */
}

static void behave_null(void)
{
    crash_null(NULL);
}

static NOINLINE void crash_wild(volatile int *p)
{
    *p = 5; /* @crash_wild */
}

static void behave_wild(void)
{
    crash_wild((int *)0x4142434445464748);
}

struct three {
    volatile long a, b, c;
};

/* One check compares the shadow of all fields, in two parts. */
static NOINLINE long crash_wild_group(struct three *p)
{
    return p->a + p->b + p->c; /* @crash_wild_group */
}

static void behave_wild_group(void)
{
    crash_wild_group((struct three *)0x4142434445464740);
}

/* `bad` is no valid address. The check of its read must not change memory at `good`. */
static NOINLINE int read_beside(const char *good, const volatile int *bad)
{
    return *bad + *good;
}

static void behave_beside(void)
{
    static char *const bad[] = {(char *)0x4142434445464748, (char *)-1, (char *)-4096,
                                (char *)0x0000800000000000, (char *)0xffff800000000000};
    struct sigaction act = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &act, NULL);
    sigaction(SIGBUS, &act, NULL);
    shared = make(64);
    for (volatile int i = 0; i < 5; i++)
        if (sigsetjmp(from_signal, 1) == 0)
            printf("%d\n", read_beside(shared, (int *)(void *)bad[i]));
    printf("%.64s\n", shared);
    free(shared);
}

static NOINLINE void write_beside(char *good, volatile int *bad)
{
    *bad = *good;
}

/* Addresses that the shadow of all memory covers, where the program has nothing. */
static void behave_nowhere(void)
{
    static char *const bad[] = {(char *)0x90000000, (char *)0x3000000000, (char *)0x10000000000,
                                (char *)0x20081000000, (char *)0x40000000000};
    struct sigaction act = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &act, NULL);
    shared = make(64);
    for (volatile int i = 0; i < 5; i++) {
        if (sigsetjmp(from_signal, 1) == 0)
            printf("%d\n", read_beside(shared, (int *)(void *)bad[i]));
        if (sigsetjmp(from_signal, 1) == 0)
            write_beside(shared, (int *)(void *)bad[i]);
        if (sigsetjmp(from_signal, 1) == 0)
            memcpy(shared, bad[i], 8);
        printf("%zd %d\n", write(1, bad[i], 8), errno);
    }
    free(shared);
}

/* Memory where programs seldom have any: no check has read its shadow before. */
static void behave_far(void)
{
    for (uintptr_t at = 0x200000000000; at < 0x500000000000; at += 0x100000000000) {
        char *p =
            mmap((char *)at, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        printf("%d\n", p == (char *)at);
        write_beside(p, (int *)(void *)(p + 4));
        printf("%d\n", read_beside(p, (int *)(void *)(p + 4)));
    }
}

#define EACH_BEHAVIOUR(DO) \
    DO(jumps)              \
    DO(calls)              \
    DO(arithmetic)         \
    DO(threads)            \
    DO(ends)               \
    DO(processes)          \
    DO(atexit)             \
    DO(library)            \
    DO(contexts)           \
    DO(timer)              \
    DO(stepped)            \
    DO(skipped)            \
    DO(actions)            \
    DO(beside)             \
    DO(nowhere)            \
    DO(far)                \
    DO(fault)              \
    DO(null)               \
    DO(wild)               \
    DO(wild_group)

/* ---- all ---------------------------------------------------------------------------------------- */

struct named {
    const char *name;
    void (*of_block)(char *);
    void (*run)(void);
};

#define SIZE(name) {#name, name, NULL},
#define PLACE(name) {#name, NULL, name},
#define BEHAVIOUR(name) {#name, NULL, behave_##name},

static const struct named crimes[] = {EACH_SIZE(SIZE) EACH_PLACE(PLACE)},
                          behaviours[] = {EACH_BEHAVIOUR(BEHAVIOUR)};

static void run(const struct named *n)
{
    if (!n->of_block) {
        n->run();
        return;
    }
    char *p = make(64);
    n->of_block(p);
    drop(p);
}

static bool run_named(const struct named *of, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(of[i].name, name) == 0 || strcmp(name, "all") == 0) {
            run(&of[i]);
            if (strcmp(name, "all") != 0)
                return true;
        }
    return strcmp(name, "all") == 0;
}

int main(int argc, char **argv)
{
    size_t crime_count = sizeof crimes / sizeof *crimes,
           behaviour_count = sizeof behaviours / sizeof *behaviours;
    bool is_behaviour = argc == 3 && strcmp(argv[1], "behave") == 0;
    setvbuf(stdout, NULL, _IONBF, 0);
    is_crime = argc == 3 && strcmp(argv[1], "crime") == 0;
    if (argc == 2)
        for (size_t i = 0; i < behaviour_count; i++)
            puts(behaviours[i].name);
    else
        must(is_behaviour ? run_named(behaviours, behaviour_count, argv[2])
                          : run_named(crimes, crime_count, argv[2]),
             "name");
    puts("done");
    return 0;
}
