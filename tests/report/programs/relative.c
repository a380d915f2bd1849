/*
 * relative.c - loads a library by the name in its first argument, and calls it.
 *
 *     relative NAME [chdir DIRECTORY | unlink]
 *
 * Between loading and calling it changes its working directory, or removes the library's file.
 */
#include <assert.h>
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

__attribute__((noinline)) static void call(void (*from_library)(void))
{
    from_library(); /* LINE call */
    __asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
    void *library = dlopen(argv[1], RTLD_NOW);
    assert(library);
    if (argc > 3 && strcmp(argv[2], "chdir") == 0)
        assert(chdir(argv[3]) == 0);
    if (argc > 2 && strcmp(argv[2], "unlink") == 0)
        assert(unlink(argv[1]) == 0);
    void *found = dlsym(library, "from_library");
    void (*from_library)(void);
    assert(found);
    memcpy(&from_library, &found, sizeof from_library);
    call(from_library);
    return 0;
}
