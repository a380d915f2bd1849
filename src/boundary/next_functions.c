/*
 * next_functions.c - look up the originals, once.
 */
#include "next_functions.h"

#include <dlfcn.h>
#include <errno.h>

#include "check.h"
#include "system_calls.h"

struct next_functions next_functions;
bool access_is_on;
bool fill_is_sought;
uint32_t access_every = 1;

/*
 * The file that calls them must be able to call libc's, so none is called here.  After start-up no
 * function is looked up: dlsym frees the text that dlerror has returned, or is about to return.
 */
void boundary_look_up(void *slot, const char *name)
{
    int saved = errno; /* a first printf may print it */
    void *f = dlsym(RTLD_NEXT, name);
    errno = saved;
    __builtin_memcpy(slot, &f, sizeof f); /* ISO C has no cast from object to function pointer */
}

void boundary_start(void)
{
#define FUNCTION(name) boundary_look_up(&next_functions.name, #name);
#include "functions.def"
    system_calls_start();
    streams_start();
    access_every = rt.options.access_every ? rt.options.access_every : 1;
    access_is_on = rt.options.access;
    fill_is_sought = access_is_on && pool_knobs.malloc_fill == FILL_OF_BLOCK;
}
