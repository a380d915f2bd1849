/*
 * hidden.h - what the parts of hidden.cc share: libraries whose operators new and delete nobody else sees.
 */
#ifndef CRIMES_HIDDEN_H
#define CRIMES_HIDDEN_H

#include <cstddef>
#include <cstdlib>
#include <new>

#define NOINLINE __attribute__((noinline))

/* One case: a name that begins with silent or guilty, and stands in every stack. */
#define CASE(name) extern "C" __attribute__((noinline, visibility("default"))) void name()

template <typename T> inline __attribute__((always_inline)) T escape(T value)
{
    __asm__ volatile("" : "+r"(value) : : "memory");
    return value;
}

inline __attribute__((always_inline)) void barrier() /* and no call is the function's last */
{
    __asm__ volatile("" : : : "memory");
}

struct plain {
    long value[5];
};



#endif
