/*
 * freeres.c - memory that libraries keep until the process ends, and their functions that free it for
 * memory checkers.
 *
 * The references are weak: a program of C has no libstdc++.  A libstdc++ that dlopen loads later is
 * not found.
 */
#include "libc.h"

extern void __libc_freeres(void) __attribute__((weak));
extern void cxx_freeres(void) __asm__("_ZN9__gnu_cxx9__freeresEv") __attribute__((weak));

void libc_freeres(bool libc, bool cxx)
{
    if (cxx && cxx_freeres)
        cxx_freeres();
    if (libc && __libc_freeres)
        __libc_freeres();
}
