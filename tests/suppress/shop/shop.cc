// shop.cc - leaks that differ in everything that rules can name: functions of C and C++, of a library,
// inlined ones, recursion, the allocating function, the kind of leak.  Each has a different size.
#include <cstdlib>

extern "C" {
void *lib_take(size_t);
void *lib_take_deep(size_t, int);
void *lib_hidden(size_t);
void *lib_call(void *(*)(size_t), size_t);
char *lib_copy(size_t);
}

#define KEPT __attribute__((noinline, noclone))
#define INLINED inline __attribute__((always_inline))
#define TAKE(call)               \
    {                            \
        void *volatile p = call; \
        return p;                \
    }

static void *volatile sink, *volatile kept[8];
static int kept_count;

KEPT static void lose(void *p)
{
    sink = p;
    sink = nullptr;
}

KEPT static void hold(void *p)
{
    kept[kept_count++] = p;
}
KEPT static void hold_inside(void *p)
{
    kept[kept_count++] = static_cast<char *>(p) + 8;
}

namespace shop
{

template <typename T> struct shelf {
    KEPT void *fill(int count) TAKE(new T[count]) KEPT void *take(size_t n) TAKE(malloc(n))
};

struct box {
    KEPT static void *make(size_t n) TAKE(operator new(n)) KEPT void *make(int n) const
        TAKE(malloc(n))
};

namespace
{
KEPT void *anonymous(size_t n) TAKE(malloc(n))
}

KEPT void *operator+(const box &, int n) TAKE(malloc(n)) static INLINED void *inlined(size_t n)
    TAKE(malloc(n)) template <typename T>
    static INLINED void *inlined_template(size_t n) TAKE(inlined(n * sizeof(T)))

} // namespace shop

KEPT static void *plain(size_t n) TAKE(malloc(n)) KEPT static void *plain2(size_t n)
    TAKE(plain(n)) KEPT static void *recurse(size_t n, int depth)
        TAKE(depth > 0 ? recurse(n, depth - 1) : plain(n)) KEPT static void *uses_inlined(size_t n)
            TAKE(shop::inlined(n)) KEPT static void *uses_template(size_t n)
                TAKE(shop::inlined_template<char>(n)) extern "C" KEPT void *c_linkage(size_t n)
                    TAKE(calloc(n, 1)) KEPT static void *aligned(size_t n)
                        TAKE(aligned_alloc(64, n))

                            KEPT static void *posix_aligned(size_t n)
{
    void *p = nullptr;
    if (posix_memalign(&p, 128, n) != 0)
        abort();
    return p;
}

KEPT static void chain(size_t first, size_t rest)
{
    void **p = static_cast<void **>(plain(first));
    *p = shop::box::make(rest);
    lose(p);
}

KEPT static void overwrite_stack()
{
    volatile char bytes[8192];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = 0;
}

int main()
{
    shop::shelf<long> longs;
    shop::shelf<char> chars;
    shop::box box;

    lose(plain(101));
    lose(plain2(102));
    lose(recurse(103, 1));
    lose(recurse(104, 5));
    lose(lib_take(105));
    lose(lib_take_deep(106, 0));
    lose(lib_take_deep(107, 3));
    lose(lib_hidden(108));
    lose(lib_call(plain, 109));
    lose(lib_call(c_linkage, 110));
    lose(lib_copy(111));
    lose(c_linkage(112));
    lose(uses_inlined(113));
    lose(uses_template(114));
    lose(aligned(128));
    lose(posix_aligned(116));
    lose(longs.fill(15));
    lose(chars.fill(121));
    lose(longs.take(122));
    lose(chars.take(123));
    lose(shop::box::make(size_t(124)));
    lose(box.make(125));
    lose(box + 126);
    lose(shop::anonymous(127));
    lose([](size_t n) TAKE(malloc(n))(129));
    hold(plain(130));
    hold(lib_take(131));
    hold_inside(plain(133));
    hold_inside(lib_hidden(134));
    chain(135, 136);
    overwrite_stack();
    return 0;
}
