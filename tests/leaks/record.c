/*
 * record.c - programs with custom allocators, whose blocks lie in an arena: `record WHAT ARENA`.  Prints
 * the result of each call; record.py has the expected results and reports.
 *
 * Sizes identify blocks.
 */
/* rtc-build: -pthread */
#define SCRUB_BYTES \
    131072 /* all of a killed program's stack is scanned, as its stack pointer is unknown */
#include "scrub.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rtcheck/check.h"

#define ARENA_BYTES (1u << 20)

static void print_answer(const char *what, long answer)
{
    printf("%s %ld\n", what, answer);
    fflush(stdout);
}

/* ---- arenas: their own pointers are kept the other way round, and lead nowhere -------------------------- */

static uintptr_t not_arena;
static size_t used;
static const char *kind;

static char *arena(void)
{
    return (char *)~not_arena;
}

static size_t arena_bytes(void)
{
    return strcmp(kind, "slab") ? ARENA_BYTES : 32700;
}

static NOINLINE char *make_arena(void)
{
    static char data[ARENA_BYTES];
    int fd = -1;
    if (!strcmp(kind, "heap") || !strcmp(kind, "slab"))
        return malloc(arena_bytes());
    if (!strcmp(kind, "data"))
        return data;
    if (!strcmp(kind, "shared") &&
        ((fd = memfd_create("arena", 0)) < 0 || ftruncate(fd, ARENA_BYTES)))
        abort();
    void *p = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
                   fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
    return p == MAP_FAILED ? (abort(), NULL) : p;
}

static void begin(void)
{
    not_arena = ~(uintptr_t)make_arena();
    used = 0;
}

static NOINLINE void *cut(size_t bytes, size_t off)
{
    char *p = arena() + used + off;
    used += (bytes + off + 31) / 16 * 16;
    return p;
}

static NOINLINE void *take(size_t bytes)
{
    void *p = cut(bytes, 0);
    return rtc_record_malloc(p, bytes), p;
}

static void *volatile kept[16];

/* ---- held and lost ------------------------------------------------------------------------------------- */

static NOINLINE void make_twins(void)
{
    void **p = take(2001), **q;
    kept[0] = p;
    p[7] = malloc(2101);
    p = take(2002);
    p[7] = malloc(2102);
    kept[1] = (char *)take(2003) + 9;
    p = take(2004), q = take(2005);
    p[1] = q, q[1] = p;
    p = malloc(2106);
    p[1] = take(2006);
    p = cut(2007, 3);
    rtc_record_malloc((char *)p + 3, 2007);
    p[1] = malloc(2107);
    kept[2] = (char *)take(0);
    p = take(2013);
    p[0] = kept[0]; /* from a lost one: that changes nothing */
}

static NOINLINE void make_others(void)
{
    rtc_disable();
    take(2008);
    rtc_enable();
    void **p = take(2009);
    p[3] = malloc(2109);
    print_answer("ignore", rtc_ignore((char *)p + 2000));
    p = take(2010);
    p[3] = malloc(2110); /* when it is freed it is arena again, which is searched */
    print_answer("free", rtc_record_free(p));
    p = take(2011);
    print_answer("grow", rtc_record_realloc(p, p, 2012));
    cut(1000, 0);
    p = cut(2014, 0);
    print_answer("begin", rtc_record_realloc(NULL, p, 2014));
    kept[3] = cut(2016, 0);
    p = take(2015);
    p[3] = malloc(2115);
    print_answer("move", rtc_record_realloc(p, kept[3], 2016));
}

static void twins(void)
{
    begin();
    make_twins();
    make_others();
    struct rtc_leaks leaks = {0}; /* without a checker the struct is not written */
    print_answer("check", rtc_check_leaks(RTC_QUIET, &leaks));
    print_answer("possible", (long)leaks.possible.blocks);
}

/* ---- results --------------------------------------------------------------------------------------------- */

static void answers(void)
{
    struct rtc_block block = {NULL, 0};
    begin();
    char *p = take(2201), *q = malloc(2202);
    print_answer("inside", rtc_check_block(p + 2200, &block));
    print_answer("start", block.start == p);
    print_answer("bytes", (long)block.bytes);
    print_answer("behind", rtc_check_block(p + 2201, &block) == RTC_BLOCK_RECORDED);
    print_answer("heap", rtc_check_block(q + 7, &block));
    print_answer("heap bytes", (long)block.bytes);
    print_answer("nothing", rtc_check_block(&block, NULL) + rtc_check_block(NULL, NULL));
    print_answer("again", rtc_record_malloc(p, 2201));
    print_answer("overlap", rtc_record_malloc(p - 8 < arena() ? p + 2200 : p - 8, 16));
    print_answer("within", rtc_record_malloc(p + 8, 8));
    print_answer("beside", rtc_record_malloc(p + 2201, 1));
    print_answer("null", rtc_record_malloc(NULL, 8));
    print_answer("out", rtc_record_malloc(q + 2200, 8)); /* not completely inside the block */
    print_answer("free", rtc_record_free(p));
    print_answer("freed", rtc_check_block(p, NULL) == RTC_BLOCK_RECORDED);
    print_answer("free null", rtc_record_free(NULL));
    print_answer("anew", rtc_record_malloc(p + 4, 2100));
    print_answer("reset", (long)rtc_record_free_all(arena(), arena_bytes()));
    print_answer("reset again", (long)rtc_record_free_all(arena(), arena_bytes()));
    free(q);
}

static NOINLINE void wrong(void)
{
    begin();
    char *p = take(2301), *q = take(2302);
    static char data[64];
    rtc_record_free(q);
    rtc_record_free(q);
    rtc_record_free(p + 16);
    rtc_record_free(q + 16);
    rtc_record_free(arena() + arena_bytes() - 64);
    rtc_record_free(data);
    rtc_record_realloc(q, q, 2303);
    kept[0] = p;
    kept[1] = q;
}

/* ---- hidden ------------------------------------------------------------------------------------------------ */

static NOINLINE void make_listed(size_t bytes)
{
    void **list = cut(64, 0);
    list[1] = take(bytes);
    list[2] = malloc(bytes + 100);
}

static void hidden(void)
{
    begin();
    kept[0] = arena();
    make_listed(2401);
    print_answer("hide", rtc_hide_region(arena(), arena_bytes()));
    print_answer("hide nothing", rtc_hide_region(arena(), 0));
    print_answer("show another", rtc_show_region(arena(), 4096));
}

static void shown(void)
{
    begin();
    make_listed(2402);
    rtc_hide_region(arena(), arena_bytes());
    print_answer("show", rtc_show_region(arena(), arena_bytes()));
    print_answer("show again", rtc_show_region(arena(), arena_bytes()));
}

/* ---- the end of an arena ------------------------------------------------------------------------------------ */

static int is_in_heap(void)
{
    return !strcmp(kind, "heap") || !strcmp(kind, "slab");
}

static NOINLINE void fill_and_leave(size_t bytes, int silently)
{
    begin();
    char *first = arena();
    for (int i = 0; i < 5; i++) {
        void **p = take(bytes);
        p[1] = NULL;
    }
    rtc_hide_region(arena(), arena_bytes());
    if (!silently)
        print_answer("reset", (long)rtc_record_free_all(arena(), ARENA_BYTES) +
                                  rtc_show_region(arena(), ARENA_BYTES));
    if (is_in_heap())
        free(arena());
    else if (strcmp(kind, "data"))
        munmap(arena(), ARENA_BYTES);
    print_answer("gone", is_in_heap() && rtc_check_block(first, NULL));
    first = NULL;
}

static void ended(void)
{
    for (int i = 0; i < 300; i++) /* memory is reused */
        fill_and_leave(2501, is_in_heap());
    begin();
    make_listed(2502);
    kept[0] = arena();
    rtc_check_leaks(RTC_QUIET, NULL);
    if (is_in_heap()) { /* a free after the end of the arena is no error, also after a check */
        char *last = malloc(2800);
        rtc_record_malloc(last + 16, 100);
        free(last);
        print_answer("late", rtc_record_free(last + 16));
        last = malloc(2800);
        rtc_record_malloc(last + 16, 100);
        free(last);
        rtc_check_leaks(RTC_QUIET, NULL);
        print_answer("later", rtc_record_free(last + 16));
    }
}

static void unmapped(void)
{
    fill_and_leave(2503, 1);
}

/* ---- threads, processes --------------------------------------------------------------------------------------- */

#define THREADS 8
#define ROUNDS 400

static void *in_thread(void *number)
{
    char *from = arena() + (intptr_t)number * 3000;
    if (rtc_check_leaks(RTC_QUIET, NULL) == RTC_NOT_CHECKED)
        return NULL; /* there is no checker */
    for (int round = 0; round < ROUNDS; round++) {
        char *p = from + round % 40 * 64;
        if (!rtc_record_malloc(p, 48) || rtc_check_block(p + 5, NULL) != RTC_BLOCK_RECORDED ||
            !rtc_record_free(p))
            abort();
    }
    for (int i = 0; i < 20; i++)
        if (!rtc_record_malloc(from + i * 64, 48))
            abort();
    return NULL;
}

static void threads(void)
{
    pthread_t thread[THREADS];
    begin();
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, in_thread, (void *)(intptr_t)i))
            abort();
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    print_answer("left", (long)rtc_record_free_all(arena(), arena_bytes()));
    used = THREADS * 3000; /* memory that no thread has used */
    take(2801);
}

static void child(void)
{
    begin();
    char *p = take(2601);
    take(2602);
    pid_t pid = fork();
    if (pid == 0) {
        print_answer("child free", rtc_record_free(p));
        print_answer("child again", rtc_record_free(p));
        take(2603);
        p = NULL;
        exit(0);
    }
    waitpid(pid, NULL, 0);
    print_answer("free", rtc_record_free(p));
    take(2604);
}

static NOINLINE void free_and_lose(void)
{
    char *p = take(2701);
    take(2702);
    rtc_record_free(p);
}

static void killed(void)
{
    begin();
    free_and_lose();
    scrub();
    raise(SIGKILL);
}

/* A child's record of its parent's block is reused, unless it is the parent's own. */
static void killed_both(void)
{
    begin();
    char *p = take(2703);
    pid_t pid = fork();
    if (pid == 0) {
        rtc_record_free(p);
        rtc_record_malloc(p, 2704);
        raise(SIGKILL);
    }
    waitpid(pid, NULL, 0);
    raise(SIGKILL);
}

/* A program that only uses recorded blocks. */
static void alone(void)
{
    begin();
    take(2901);
}

/* ---- which ------------------------------------------------------------------------------------------ */

/* clang-format off */
#define ONE(name) {#name, name}
/* clang-format on */
static const struct {
    const char *name;
    void (*run)(void);
} all[] = {
    ONE(twins),    ONE(answers), ONE(wrong), ONE(hidden), ONE(shown),       ONE(ended),
    ONE(unmapped), ONE(threads), ONE(child), ONE(killed), ONE(killed_both), ONE(alone),
};

int main(int argc, char **argv)
{
    kind = argc > 2 ? argv[2] : "";
    for (size_t i = 0; argc > 2 && i < sizeof all / sizeof all[0]; i++)
        if (!strcmp(argv[1], all[i].name)) {
            all[i].run();
            return 0;
        }
    return 2;
}
