/*
 * do_load.c - a library that loads do_mmap.so, which only its own RUNPATH leads to.
 *
 * rtc-build: shared origin -Wl,--enable-new-dtags
 */
#include <dlfcn.h>
#include <string.h>

#include "rtcheck/event.h"

void *do_load(int how, unsigned long bytes);

/* how: by dlopen, or by rtc_dlopen.  NULL: not found. */
void *do_load(int how, unsigned long bytes)
{
    void *library = how ? rtc_dlopen("do_mmap.so", RTLD_NOW) : dlopen("do_mmap.so", RTLD_NOW);
    void *(*map)(unsigned long), *f = library ? dlsym(library, "do_mmap") : NULL;
    memcpy(&map, &f, sizeof f);
    return f ? map(bytes) : NULL;
}
