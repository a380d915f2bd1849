/*
 * demangle.c - names of linkers into names of languages, by libiberty: C++ and Rust by their own
 * marks, D asked for apart.
 */
#include <libiberty/demangle.h>

#include "report_priv.h"

char *demangle(const char *name)
{
    char *plain = cplus_demangle(name, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO);
    return plain ? plain : cplus_demangle(name, DMGL_PARAMS | DMGL_DLANG);
}
