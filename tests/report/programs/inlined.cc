/*
 * inlined.cc - the same in C++: namespaces, members, a template and a lambda.
 */
#include <cstdlib>

void *volatile kept[2];

namespace store
{
struct shelf {
    template <typename T> inline __attribute__((always_inline)) T *put(size_t n)
    {
        return static_cast<T *>(malloc(n * sizeof(T))); /* LINE put */
    }
    __attribute__((noinline)) void fill(size_t n)
    {
        kept[0] = put<int>(n); /* LINE fill */
    }
};
} // namespace store

__attribute__((noinline)) static void call(size_t n)
{
    auto lambda = [&](size_t more) __attribute__((noinline))
    {
        store::shelf shelf;
        kept[1] = shelf.put<short>(n + more); /* LINE lambda */
    };
    lambda(1);
}

int main()
{
    store::shelf shelf;
    shelf.fill(250);
    call(1500 - 1);
    return 0;
}
