/*
 * poison.c - memory that the program has poisoned: poison CASE bad|good.
 *
 * Each access is in a function named after its case.  good: the same access after the memory was
 * unpoisoned.
 *
 * rtc-build: -O1 -g -D_GNU_SOURCE -fno-builtin -fno-optimize-sibling-calls -U_FORTIFY_SOURCE
 */
#include <pthread.h>
#include <rtcheck/check.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NOINLINE __attribute__((noinline))

static char arena[4096] __attribute__((aligned(64)));
static char to[64];
static int is_bad;
static volatile char sink;

int __asan_address_is_poisoned(const volatile void *at) __attribute__((weak));
void *__asan_region_is_poisoned(void *start, size_t bytes) __attribute__((weak));

static NOINLINE void load_1(const char *p)
{
    sink = *p;
}

static NOINLINE void store_8(char *p)
{
    *(volatile uint64_t *)(void *)p = 1;
}

static NOINLINE void call_memcpy(const char *p)
{
    memcpy(to, p, 16);
}

static void poison(char *p, size_t bytes)
{
    rtc_poison(p, bytes);
    if (!is_bad)
        rtc_unpoison(p, bytes);
}

static void in_block(void)
{
    char *p = malloc(64);
    memset(p, 'a', 64);
    poison(p + 16, 32);
    load_1(p + 15); /* around it all is allowed */
    store_8(p + 8);
    store_8(p + 48);
    load_1(p + 16);
    store_8(p + 40);
    call_memcpy(p + 8);
    call_memcpy(p + 48);
    free(p);
}

/* 3 to 20: of the first granule 3 bytes stay; the last one stays whole, as its end is not poisoned. */
static void in_part(void)
{
    char *p = malloc(64);
    memset(p, 'a', 64);
    poison(p + 3, 17);
    load_1(p + 2);
    load_1(p + 16);
    load_1(p + 3);
    free(p);
}

/* A poisoned block that is freed and allocated again is not poisoned, nor are its neighbours. */
static void in_reused(void)
{
    for (int i = 0; i < 20000; i++) {
        char *p = malloc(64);
        store_8(p);
        rtc_poison(p, 64);
        free(p);
    }
    if (is_bad) {
        char *p = malloc(64);
        rtc_poison(p, 64);
        load_1(p);
        free(p);
    }
}

static void in_data(void)
{
    poison(arena + 1024, 1024);
    load_1(arena + 1023);
    store_8(arena + 2048);
    load_1(arena + 1500);
}

static void in_mapping(void)
{
    char *p = mmap((char *)0x300000000000, 65536, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    poison(p + 4096, 8);
    load_1(p + 4095);
    load_1(p + 4104);
    store_8(p + 4096);
}

static void *poison_other(void *p)
{
    rtc_poison(p, 64);
    return NULL;
}

static void in_thread(void)
{
    char *p = malloc(64);
    pthread_t other;
    if (is_bad)
        pthread_create(&other, NULL, poison_other, p), pthread_join(other, NULL);
    store_8(p + 8);
    free(p);
}

/* Questions of the program, and regions that are none. */
static void answers(void)
{
    char *p = malloc(21);
    rtc_poison(p + 8, 8);
    printf("%d %d %d ", __asan_address_is_poisoned && __asan_address_is_poisoned(p + 8),
           __asan_region_is_poisoned && __asan_region_is_poisoned(p, 8),
           __asan_region_is_poisoned && __asan_region_is_poisoned(p, 21) == p + 8);
    rtc_poison(NULL, 8);
    rtc_poison((void *)-8, 64);
    rtc_unpoison((void *)(uintptr_t)0x7fffffffffff, 1u << 20);
    rtc_poison(p, 0);
    rtc_poison((void *)0x10000000000, 4096); /* in the shadow, where no memory is */
    rtc_unpoison(p, 21);
    load_1(p + 20);
    free(p);
    puts("");
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"in_block", in_block}, {"in_part", in_part},       {"in_reused", in_reused},
             {"in_data", in_data},   {"in_mapping", in_mapping}, {"in_thread", in_thread},
             {"answers", answers}};

int main(int argc, char **argv)
{
    is_bad = argc > 2 && strcmp(argv[2], "bad") == 0;
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
        if (strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run();
            return 0;
        }
    return 9;
}
