/*
 * next.c - the next definitions of functions that the runtime interposes, looked up once while libc
 * is in a consistent state. vfork children and signal handlers must not call the loader.
 */
#include "init.h"

#include <dlfcn.h>
#include <string.h>

struct next next;

static void look_up(void *slot, const char *name)
{
    void *f = dlsym(RTLD_NEXT, name);
    memcpy(slot, &f, sizeof f); /* ISO C has no cast from object to function pointer */
}

/*
 * Each sanitizer runtime has one of these start functions. Weak references test for them: dlsym
 * would leave an error message for the program's dlerror.
 */
extern void __lsan_init(void) __attribute__((weak));
extern void __asan_init(void) __attribute__((weak));

static void look_up_sanitizer(void)
{
    look_up(&next.lsan_disable, "__lsan_disable");
    look_up(&next.lsan_enable, "__lsan_enable");
    look_up(&next.lsan_ignore_object, "__lsan_ignore_object");
    look_up(&next.lsan_register_root_region, "__lsan_register_root_region");
    look_up(&next.lsan_unregister_root_region, "__lsan_unregister_root_region");
    look_up(&next.lsan_do_leak_check, "__lsan_do_leak_check");
    look_up(&next.lsan_do_recoverable_leak_check, "__lsan_do_recoverable_leak_check");
}

void next_resolve(void)
{
#define LOOK_UP(name) look_up(&next.name, #name)
    LOOK_UP(exit);
    LOOK_UP(abort);
    LOOK_UP(on_exit);
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
    LOOK_UP(sigaltstack);
    LOOK_UP(sigprocmask);
    LOOK_UP(pthread_sigmask);
    LOOK_UP(siglongjmp);
    LOOK_UP(free);
    LOOK_UP(realloc);
    LOOK_UP(malloc_usable_size);
    LOOK_UP(mmap);
    LOOK_UP(munmap);
    LOOK_UP(mremap);
    LOOK_UP(shmat);
    LOOK_UP(shmdt);
    LOOK_UP(sbrk);
    LOOK_UP(__sbrk);
    LOOK_UP(brk);
    LOOK_UP(madvise);
    LOOK_UP(posix_madvise);
    LOOK_UP(process_madvise);
    LOOK_UP(mprotect);
    LOOK_UP(pkey_mprotect);
    LOOK_UP(mlock);
    LOOK_UP(mlock2);
    LOOK_UP(munlock);
    LOOK_UP(mlockall);
    LOOK_UP(munlockall);
    LOOK_UP(msync);
    LOOK_UP(remap_file_pages);
    LOOK_UP(dl_iterate_phdr);
    LOOK_UP(dladdr);
    LOOK_UP(dladdr1);
    LOOK_UP(backtrace);
#undef LOOK_UP
    look_up(&next.cxa_atexit, "__cxa_atexit");
    look_up(&next.cxa_at_quick_exit, "__cxa_at_quick_exit");
    look_up(&next.register_atfork, "__register_atfork");
    look_up(&next.longjmp_chk, "__longjmp_chk");
    if (__lsan_init || __asan_init)
        look_up_sanitizer();
}
