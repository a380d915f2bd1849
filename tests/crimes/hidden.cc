/*
 * hidden.cc - frees of one family by another, of which some only seem so: the cases of this program and of the
 * libraries hidden_delete.cc and hidden_new.cc, which hidden.py builds by several compilers and linkers.
 */
#include "hidden.h"

#include <cstdio>

#include <dlfcn.h>

namespace
{

/* The program's operators are the global ones, so a free of their blocks is a mismatch by any path. */
NOINLINE void call_free(void *p)
{
    std::free(escape(p));
    barrier();
}

struct base {
    long value = 3;
    virtual void end() = 0;
    virtual ~base() = default;
};

struct ends_by_free : base {
    long more[3] = {};
    void end() override;
};

NOINLINE void ends_by_free::end()
{
    value = more[1];
    std::free(this);
}

} // namespace

CASE(guilty_program_free)
{
    std::free(escape(::operator new(40)));
    barrier();
}

CASE(guilty_program_call)
{
    call_free(escape(::operator new(40)));
    barrier();
}

CASE(guilty_program_pointer)
{
    void (*volatile f)(void *) = std::free;
    f(escape(::operator new(40)));
    barrier();
}

CASE(guilty_program_array)
{
    ::operator delete(escape(new long[5]));
    barrier();
}

CASE(guilty_program_virtual)
{
    base *p = escape(static_cast<base *>(new ends_by_free));
    p->end();
    barrier();
}

CASE(silent_program)
{
    delete escape(static_cast<plain *>(::operator new(sizeof(plain))));
    std::free(escape(std::malloc(40)));
    barrier();
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        void *call = dlsym(RTLD_DEFAULT, argv[i]);
        if (!call) {
            std::printf("%s: no such case\n", argv[i]);
            return 97;
        }
        for (int times = 0; times < 2; times++) /* also from the caches filled by the first call */
            reinterpret_cast<void (*)()>(call)();
    }
    return 7;
}
