/*
 * next.c - the definitions that ours stand in front of, looked up once while libc is at ease:
 * vfork children and handlers cannot ask the loader.
 */
#include "core.h"

#include <dlfcn.h>
#include <string.h>

struct next next;

static void look_up(void *slot, const char *name)
{
    void *f = dlsym(RTLD_NEXT, name);
    memcpy(slot, &f, sizeof f); /* ISO C has no cast from object to function pointer */
}

void next_resolve(void)
{
#define LOOK_UP(name) look_up(&next.name, #name)
    LOOK_UP(fork);
    LOOK_UP(_Fork);
    LOOK_UP(execvpe);
    LOOK_UP(fexecve);
    LOOK_UP(posix_spawn);
    LOOK_UP(posix_spawnp);
    LOOK_UP(system);
    LOOK_UP(popen);
    LOOK_UP(wordexp);
    LOOK_UP(syscall);
    LOOK_UP(prctl);
    LOOK_UP(sigaction);
    LOOK_UP(signal);
    LOOK_UP(sysv_signal);
    LOOK_UP(sigset);
    LOOK_UP(siglongjmp);
    LOOK_UP(free);
    LOOK_UP(realloc);
    LOOK_UP(malloc_usable_size);
#undef LOOK_UP
    look_up(&next.register_atfork, "__register_atfork");
    look_up(&next.longjmp_chk, "__longjmp_chk");
}
