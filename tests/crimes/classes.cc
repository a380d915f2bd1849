/*
 * classes.cc - new and delete as programs write them: matching pairs, array cookies, sizes of
 * classes.  Its report is classes.expected.
 *
 * rtc-build: -fno-builtin -fsized-deallocation -fno-optimize-sibling-calls
 */
#include <cstdlib>
#include <new>

namespace
{

enum { STATUS = 7 };

volatile int destroyed;

template <typename T> __attribute__((always_inline)) inline T *escape(T *p)
{
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

struct plain {
    long value[3];
};

struct with_destructor { /* an array of these has a cookie of 8 bytes */
    long value[3];
    ~with_destructor()
    {
        destroyed = destroyed + 1;
    }
};

struct small_base {
    int value;
};

struct derived : small_base {
    int more[8];
};

struct alignas(64) aligned {
    char value[64];
};

struct alignas(64) aligned_twice {
    char value[128];
};

#define CRIME __attribute__((noinline)) void

/* ---- nine pairs, six of them wrong ------------------------------------------------------------------ */

CRIME malloc_free()
{
    std::free(escape(std::malloc(24)));
}

CRIME malloc_delete()
{
    ::operator delete(escape(std::malloc(24)));
}

CRIME malloc_delete_array()
{
    ::operator delete[](escape(std::malloc(24)));
}

CRIME new_free()
{
    std::free(escape(new plain));
}

CRIME new_delete()
{
    delete escape(new plain);
}

CRIME new_delete_array()
{
    delete[] escape(new plain);
}

CRIME new_array_free()
{
    std::free(escape(new plain[2]));
}

CRIME new_array_delete()
{
    delete escape(new plain[2]);
}

CRIME new_array_delete_array()
{
    delete[] escape(new plain[2]);
}

/* ---- cookies --------------------------------------------------------------------------------------------- */

/* The block begins at the cookie, before the address that new[] returns. */
CRIME cookie_delete()
{
    with_destructor *p = escape(new with_destructor[2]);
    ::operator delete(escape(p));
    delete[] p;
}

CRIME cookie_free()
{
    with_destructor *p = escape(new with_destructor[2]);
    std::free(escape(p));
    delete[] p;
}

/* delete[] reads the array cookie, which lies before the block of malloc */
CRIME cookie_missing()
{
    long *block = static_cast<long *>(escape(std::malloc(80)));
    block[1] = 0;
    delete[] reinterpret_cast<with_destructor *>(escape(block + 2));
    std::free(block);
}

CRIME cookie_right()
{
    delete[] escape(new with_destructor[2]);
}

/* ---- sizes ------------------------------------------------------------------------------------------------ */

CRIME wrong_size()
{
    small_base *p = escape(static_cast<small_base *>(new derived));
    delete p;
}

CRIME wrong_size_aligned()
{
    delete reinterpret_cast<aligned *>(escape(new aligned_twice));
}

CRIME wrong_alignment()
{
    delete reinterpret_cast<plain *>(escape(new aligned));
}

CRIME right_size()
{
    delete escape(new aligned_twice);
}

} // namespace

int main()
{
    malloc_free();
    malloc_delete();
    malloc_delete_array();
    new_free();
    new_delete();
    new_delete_array();
    new_array_free();
    new_array_delete();
    new_array_delete_array();
    cookie_delete();
    cookie_free();
    cookie_missing();
    cookie_right();
    wrong_size();
    wrong_size_aligned();
    wrong_alignment();
    right_size();
    return destroyed == 6 ? STATUS : 99;
}
