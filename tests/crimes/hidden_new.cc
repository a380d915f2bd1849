/*
 * hidden_new.cc - a library with its own operators new: one like the C++ library's, and one that jumps to
 * malloc; delete is the global one.
 */
#include "hidden.h"

#include <cstring>

NOINLINE void *operator new(std::size_t bytes)
{
    void *p;
    if (bytes == 0)
        bytes = 1;
    while (!(p = std::malloc(bytes))) {
        std::new_handler handler = std::get_new_handler();
        if (!handler)
            throw std::bad_alloc();
        handler();
    }
    return p;
}

NOINLINE void *operator new[](std::size_t bytes)
{
    return std::malloc(bytes);
}

namespace
{

NOINLINE void *checked_malloc(std::size_t bytes)
{
    void *p = std::malloc(bytes);
    if (!p)
        std::abort();
    return p;
}

NOINLINE long *counted(std::size_t n)
{
    auto *p = static_cast<long *>(std::malloc(n * sizeof(long)));
    p[0] = static_cast<long>(n);
    return p;
}

} // namespace

CASE(silent_new)
{
    plain *p = escape(new plain{});
    ::operator delete(p);
    barrier();
}

CASE(silent_new_array)
{
    long *p = escape(new long[7]);
    delete[] p;
    barrier();
}

CASE(guilty_malloc)
{
    ::operator delete(escape(std::malloc(40)));
    barrier();
}

CASE(guilty_checked_malloc)
{
    ::operator delete(escape(checked_malloc(40)));
    barrier();
}

CASE(guilty_counted)
{
    ::operator delete(escape(counted(5)));
    barrier();
}

CASE(guilty_strdup)
{
    ::operator delete(escape(strdup("a string of libc's")));
    barrier();
}
