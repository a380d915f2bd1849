/*
 * library.c - libarchive, which is loaded at its first use.
 *
 * As a linked library it would be loaded, with the libraries that it needs, at every start of the
 * command: 14 ms, several times the start of a program under rtcheck.
 */
#include <dlfcn.h>
#include <errno.h>

#include "pack_priv.h"

#define LIBARCHIVE_SONAME "libarchive.so.13"

struct library library;

int libarchive_load(char err[TOOLS_ERROR_BYTES])
{
    static bool is_loaded;
    void *loaded;
    bool missing = false;

    if (is_loaded)
        return 0;
    loaded = test_without("libarchive") ? NULL : dlopen(LIBARCHIVE_SONAME, RTLD_NOW | RTLD_LOCAL);
    if (!loaded)
        return fail(err, -ENOENT,
                    "packs need libarchive, which is not installed (" LIBARCHIVE_SONAME ")");
#define LOAD(f)                               \
    *(void **)&library.f = dlsym(loaded, #f); \
    missing |= !library.f;
    LIBARCHIVE_FUNCTIONS(LOAD)
    if (missing)
        return fail(err, -ENOENT, "packs need a newer libarchive");
    is_loaded = true;
    return 0;
}
