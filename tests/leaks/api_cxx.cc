/* api_cxx.cc - rtcheck/check.h from C++, in a program that is not position-independent. */
/* rtc-build: -no-pie -fno-pie -pthread */
#include <cstdio>
#include <new>

#include "rtcheck/check.h"

static char *volatile kept;

static __attribute__((noinline)) void lose(std::size_t bytes)
{
    kept = new char[bytes];
    kept = nullptr;
}

int main()
{
    {
        rtcheck::disabler outer;
        lose(1401);
        {
            rtcheck::disabler inner;
        }
        lose(1402);
    }
    lose(1403);
    std::printf("disable %d\n", rtc_disable());
    rtc_enable();
}
