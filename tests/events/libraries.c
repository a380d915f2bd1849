/*
 * libraries.c - libraries loaded after handlers were registered, by others so loaded, by two threads
 * at once.
 *
 *     libraries PATH-OF-do_load.so
 *
 * rtc-build: -pthread
 */
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "rtcheck/event.h"

#define BYTES (77ul * 4096)

static _Atomic unsigned events;

static void count(unsigned type, union rtc_event *e, void *arg)
{
    (void)type, (void)arg;
    events += e->mmap.size == BYTES;
}

static const char *path;

static void *load_and_unload(void *how)
{
    for (unsigned i = 0; i < 100; i++) {
        void *library = how ? rtc_dlopen(path, RTLD_NOW) : dlopen(path, RTLD_NOW);
        assert(library && dlclose(library) == 0);
        void *at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert(munmap(at, 4096) == 0);
    }
    return NULL;
}

/* After any number of dlclose calls the runtime stays, and sends events. */
static void stay(void)
{
    Dl_info here;
    void *f;
    memcpy(&f, &(int (*)(unsigned, unsigned *)){rtc_event_test}, sizeof f);
    assert(dladdr(f, &here));
    void *library = dlopen(here.dli_fname, RTLD_NOW);
    assert(library);
    for (unsigned i = 0; i < 3; i++)
        dlclose(library);
    unsigned before = events;
    void *at = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert(munmap(at, BYTES) == 0 && events > before);
}

int main(int argc, char **argv)
{
    assert(argc == 2);
    path = argv[1];
    assert(rtc_event_set_handler(0x370fff & ~RTC_EVENT_VM_MAPPED, 0, count, NULL) == 0);
    assert(rtc_dlopen(NULL, RTLD_NOW) == dlopen(NULL, RTLD_NOW));
    assert(!rtc_dlopen("do_mmap.so", RTLD_NOW)); /* not found relative to this program */
    void *library = rtc_dlopen(path, RTLD_NOW), *f = library ? dlsym(library, "do_load") : NULL;
    void *(*load)(int, unsigned long);
    memcpy(&load, &f, sizeof f);
    assert(f);
    for (int how = 0; how < 2; how++)
        assert(load(how, BYTES) && events == (unsigned)how + 1);
    pthread_t thread[2];
    for (unsigned i = 0; i < 2; i++)
        assert(pthread_create(&thread[i], NULL, load_and_unload, i ? &events : NULL) == 0);
    for (unsigned i = 0; i < 2; i++)
        assert(pthread_join(thread[i], NULL) == 0);
    stay();
    puts("loaded");
    return 0;
}
