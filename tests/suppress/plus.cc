// plus.cc - leaks of C++: operators new, templates, functions that were inlined, the standard library.
//
// rtc-build: -O2 -g
//
#include <map>
#include <string>
#include <vector>

#ifdef __clang__
#define KEPT __attribute__((noinline, optnone))
#else
#define KEPT __attribute__((noinline, noipa))
#endif

namespace shop
{

template <typename T> struct shelf {
    T *items = nullptr;
    inline void fill(int count)
    {
        items = new T[count]();
    }
};

struct box {
    long word = 1;
    virtual ~box()
    {
    }
};

static inline __attribute__((always_inline)) box *make_box()
{
    return new box;
}

} // namespace shop

static void *volatile lost;

KEPT static void lose_box()
{
    lost = shop::make_box();
    lost = nullptr;
}

KEPT static void lose_shelf(int n)
{
    shop::shelf<long> shelf;
    shelf.fill(n);
    lost = shelf.items;
    lost = nullptr;
}

KEPT static void lose_words(const char *text)
{
    lost = new std::map<int, std::string>{{1, text}, {2, std::string(100, 'x')}};
    lost = nullptr;
}

KEPT static void free_as_another()
{
    void *volatile p = new int[4]; // no compiler is to see it
    operator delete(p);
}

KEPT static void overwrite(void *block)
{
    __builtin_memset(block, 0, 512);
}

int main(int argc, char **)
{
    char stack[512];

    lose_box();
    lose_shelf(argc + 3);
    lose_words("a text that is too long for the string itself");
    free_as_another();
    overwrite(stack);
    return 0;
}
