/*
 * zydis.c - Zydis, which is loaded at its first use: no other verb needs it.
 *
 * Its structures differ between minor versions, so only the version of the headers fits.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

#include "zydis_priv.h"

struct zydis zydis;

int zydis_load(char err[TOOLS_ERROR_BYTES])
{
    char soname[64];
    void *loaded = NULL;
    bool missing = false;

    snprintf(soname, sizeof soname, "libZydis.so.%u.%u", ZYDIS_VERSION_MAJOR(ZYDIS_VERSION),
             ZYDIS_VERSION_MINOR(ZYDIS_VERSION));
    if (zydis.is_loaded)
        return 0;
    if (!test_without("zydis"))
        loaded = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
    if (!loaded)
        return fail(err, -ENOENT, "translation needs Zydis, which is not installed (%s)", soname);
#define LOAD(f)                             \
    *(void **)&zydis.f = dlsym(loaded, #f); \
    missing |= !zydis.f;
    ZYDIS_FUNCTIONS(LOAD)
    if (missing)
        return fail(err, -ENOENT, "translation needs another version of Zydis");
    zydis.is_loaded = true;
    return 0;
}
