// allocators.cc - a leak by each function that allocates, of a size of its own (generated.py has them).
//
// rtc-build: -O1 -g -fno-optimize-sibling-calls -fno-omit-frame-pointer
//
// valgrind's pvalloc ends the program, so it is not among them.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <new>

#ifdef __clang__
#define KEPT __attribute__((noinline, optnone))
#else
#define KEPT __attribute__((noinline, noipa))
#endif

struct alignas(64) line {
    char text[64];
};

static void *volatile lost;

KEPT static void lose(void *p)
{
    lost = p;
}

KEPT void by_malloc()
{
    lose(malloc(101));
}
KEPT void by_calloc()
{
    lose(calloc(1, 102));
}
KEPT void by_realloc()
{
    lose(realloc(malloc(10), 103));
}
KEPT void by_realloc_of_null()
{
    lose(realloc(nullptr, 104));
}
KEPT void by_reallocarray()
{
    lose(reallocarray(nullptr, 1, 105));
}
KEPT void by_memalign()
{
    lose(memalign(64, 106));
}
KEPT void by_aligned_alloc()
{
    lose(aligned_alloc(64, 107));
}
KEPT void by_valloc()
{
    lose(valloc(108));
}
KEPT void by_strdup()
{
    lose(strdup("ten bytes"));
}
KEPT void by_strndup()
{
    lose(strndup("eleven bytes", 10));
}
KEPT void by_new()
{
    lose(operator new(109));
}
KEPT void by_new_array()
{
    lose(operator new[](110));
}
KEPT void by_new_nothrow()
{
    lose(operator new(111, std::nothrow));
}
KEPT void by_new_aligned()
{
    lose(new line);
}
KEPT void by_new_array_aligned()
{
    lose(new line[2]);
}

KEPT void by_posix_memalign()
{
    void *p = nullptr;

    if (posix_memalign(&p, 64, 112) == 0)
        lose(p);
}

KEPT void by_pointer()
{
    void *(*volatile function)(size_t) = malloc;

    lose(function(113));
}

KEPT void by_asprintf()
{
    char *p = nullptr;

    if (asprintf(&p, "%d", 1234567) > 0)
        lose(p);
}

int main()
{
    by_malloc();
    by_calloc();
    by_realloc();
    by_realloc_of_null();
    by_reallocarray();
    by_memalign();
    by_aligned_alloc();
    by_valloc();
    by_strdup();
    by_strndup();
    by_new();
    by_new_array();
    by_new_nothrow();
    by_new_aligned();
    by_new_array_aligned();
    by_posix_memalign();
    by_pointer();
    by_asprintf();
    lose(nullptr);
    return 0;
}
