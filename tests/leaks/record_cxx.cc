/* record_cxx.cc - blocks that a C++ program makes itself: each function of rtcheck/check.h for them, once. */
#include <cstdio>
#include <new>

#include "rtcheck/check.h"

namespace
{

struct pool {
    char *memory = new char[65536];
    std::size_t used = 0;

    pool()
    {
        rtc_hide_region(memory, 65536);
    }
    ~pool()
    {
        delete[] memory;
    }
    pool(const pool &) = delete;
    pool &operator=(const pool &) = delete;
    __attribute__((noinline)) void *take(std::size_t bytes)
    {
        void *p = memory + used;
        used += (bytes + 31) / 16 * 16;
        rtc_record_malloc(p, bytes);
        return p;
    }
};

struct base {
    virtual ~base()
    {
    }
    long a[4];
};
struct other {
    virtual ~other()
    {
    }
    long b[4];
};
struct both : base, other {
    char c[2000];
};

other *volatile second;
pool *volatile the_pool;

} // namespace

int main()
{
    the_pool = new pool;
    second = new (the_pool->take(sizeof(both))) both; /* held by the second base */
    new (the_pool->take(2801)) both;
    {
        pool gone;
        gone.take(2802);
    }
    void *p = the_pool->take(2803), *q = the_pool->take(0);
    rtc_block block = {nullptr, 0};
    std::printf("check %d\n", rtc_check_block(static_cast<char *>(p) + 1, &block));
    std::printf("bytes %d\n", static_cast<int>(block.bytes));
    std::printf("realloc %d\n", rtc_record_realloc(p, p, 2804));
    std::printf("free %d\n", rtc_record_free(q) + rtc_record_free(p));
    the_pool->take(16);
    std::printf("reset %d\n",
                static_cast<int>(rtc_record_free_all(static_cast<char *>(q) + 1, 4096)));
    std::printf("show %d\n", rtc_show_region(the_pool->memory, 65536) +
                                 rtc_hide_region(the_pool->memory, 65536));
}
