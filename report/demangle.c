/*
 * demangle.c - names of linkers into names of languages, by libiberty: C++ and Rust by their own
 * marks, D asked for apart.  Built without it, names stay as linkers have them.
 */
#include "report_priv.h"

#ifdef RTC_LIBIBERTY
#include <libiberty/demangle.h>

char *demangle(const char *name)
{
    char *plain = cplus_demangle(name, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO);
    return plain ? plain : cplus_demangle(name, DMGL_PARAMS | DMGL_DLANG);
}

#else

char *demangle(const char *name)
{
    (void)name;
    return NULL;
}

#endif
