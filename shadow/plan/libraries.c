/*
 * libraries.c - objects that are never translated: libc, the loader and libm, which read beyond the ends
 * of strings by design and whose callers are checked instead; unwinders, and rtcheck's own library.
 */
#include <stddef.h>

#include "format/bits.h"
#include "plan_view.h"

static const char *const libraries[] = {
    "libc.so",     "ld-linux",     "libm.so",    "libpthread.so", "libdl.so", "librt.so",
    "libgcc_s.so", "libstdc++.so", "linux-vdso", "librtcheck.so", "libunwind"};

static bool begins(const char *text, const char *with)
{
    for (; *with; with++, text++)
        if (*text != *with)
            return false;
    return true;
}

bool plan_is_library(const char *path)
{
    const char *name = path;

    for (; *path; path++)
        if (*path == '/')
            name = path + 1;
    for (size_t i = 0; i < countof(libraries); i++)
        if (begins(name, libraries[i]))
            return true;
    return false;
}
