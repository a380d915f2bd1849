/*
 * replaced.cc - a program with its own operator new and delete: the library's other forms call those; it
 * prints how often.  Built once more with either alone (replaced_new.cc, replaced_delete.cc).
 */
/* rtc-build: -fsized-deallocation */
#include <cstdio>
#include <cstdlib>
#include <new>

#ifndef __clang__                                     /* gcc has no such warning */
#pragma GCC diagnostic ignored "-Wsized-deallocation" // the sized form is to be the library's
#endif

namespace
{

int news, deletes;

struct counted {
    ~counted()
    {
        deletes += 0;
    }
    int value;
};

} // namespace

#ifndef ONLY_DELETE
void *operator new(std::size_t bytes)
{
    news++;
    void *p = std::malloc(bytes);
    if (!p)
        throw std::bad_alloc();
    return p;
}
#endif

#ifndef ONLY_NEW
void operator delete(void *p) noexcept
{
    deletes++;
    std::free(p);
}
#endif

int main()
{
    counted *volatile array = new counted[3];
    delete[] array;
    int *volatile one = new int;
    delete one;
    char *volatile quiet = new (std::nothrow) char[5];
    delete[] quiet;
    int *volatile quiet_one = new (std::nothrow) int;
    ::operator delete(quiet_one, std::nothrow);
    ::operator delete (::operator new(7), std::size_t{7});
    ::operator delete[](::operator new[](9), std::size_t{9});
    std::printf("news %d deletes %d\n", news, deletes);
    return 0;
}
