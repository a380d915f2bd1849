/*
 * hidden.h - shared code of hidden.cc's parts: libraries whose operators new and delete are hidden.
 */
#ifndef CRIMES_HIDDEN_H
#define CRIMES_HIDDEN_H

#include <cstddef>
#include <cstdlib>
#include <new>

#define NOINLINE __attribute__((noinline))

/* One case: its name begins with silent or guilty, and is in every stack. */
#define CASE(name) extern "C" __attribute__((noinline, visibility("default"))) void name()

template <typename T> inline __attribute__((always_inline)) T escape(T value)
{
    __asm__ volatile("" : "+r"(value) : : "memory");
    return value;
}

inline __attribute__((always_inline)) void barrier() /* also prevents tail calls */
{
    __asm__ volatile("" : : : "memory");
}

struct plain {
    long value[5];
};

#endif
