/*
 * All kinds of frames in an order that a random number generator makes, always the same one:
 * plain, found by rbp, realigned, libc's; left by return, by longjmp, by an exception.
 */
#include "deep.h"

#include <alloca.h>
#include <csetjmp>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>

namespace
{

struct jump_target {
    jmp_buf at;
    jump_target *outer;
};

unsigned state = 12345, steps = 9000, thrown, jumped;
jump_target *innermost;

void wander(unsigned depth);

unsigned random_below(unsigned n)
{
    state = state * 1664525 + 1013904223;
    return (state >> 8) % n;
}

NOINLINE void in_alloca(unsigned depth)
{
    char volatile *room = static_cast<char *>(alloca(16 + random_below(40) * 16));
    room[0] = 1;
    wander(depth);
    room[0] = 2;
}

NOINLINE void in_realigned(unsigned depth)
{
    alignas(64) char volatile line[64];
    line[0] = 1;
    wander(depth);
    line[0] = 2;
}

NOINLINE void in_large(unsigned depth)
{
    char volatile room[5000];
    room[depth] = 1;
    wander(depth);
    room[depth] = 2;
}

unsigned depth_of_sort;

int compare(const void *a, const void *b)
{
    if (random_below(3) == 0)
        wander(depth_of_sort + 3);
    return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

NOINLINE void in_sort(unsigned depth)
{
    int value[3] = {3, 1, 2};
    unsigned before = depth_of_sort;
    depth_of_sort = depth;
    qsort(value, 3, sizeof value[0], compare);
    depth_of_sort = before;
}

NOINLINE void in_library(unsigned depth)
{
    std::map<std::string, std::function<void()>> map;
    map["a rather long key, so that it is allocated"] = [depth] { wander(depth); };
    map["another key"] = [depth] { churn(depth % 3); };
    for (auto &pair : map)
        pair.second();
}

NOINLINE void in_try(unsigned depth)
{
    jump_target *outer = innermost; // an exception may not be thrown past it
    innermost = nullptr;
    try {
        wander(depth);
    } catch (const std::runtime_error &e) {
        thrown += e.what()[0] == 'w';
        churn(1);
    }
    innermost = outer;
}

NOINLINE void in_setjmp(unsigned depth)
{
    jump_target here;
    here.outer = innermost;
    if (!setjmp(here.at)) {
        innermost = &here;
        wander(depth);
    } else {
        jumped++;
        churn(1);
    }
    innermost = here.outer;
}

unsigned tries;

NOINLINE void leave()
{
    if (innermost) {
        longjmp(innermost->at, 1); // no frame between has anything to be destroyed
    } else if (tries) {
        throw std::runtime_error("wandered off");
    }
}

NOINLINE void wander(unsigned depth)
{
    if (depth > 24 || !steps)
        return churn(1);
    for (unsigned n = random_below(3) + 1; n && steps; n--) {
        steps--;
        switch (random_below(12)) {
        case 0:
        case 1:
            wander(depth + 1);
            break;
        case 2:
            in_alloca(depth + 2);
            break;
        case 3:
            in_realigned(depth + 2);
            break;
        case 4:
            in_large(depth + 2);
            break;
        case 5:
            if (!innermost)
                in_sort(depth + 4);
            break;
        case 6:
            if (!innermost)
                in_library(depth + 4);
            break;
        case 7:
            tries++;
            in_try(depth + 2);
            tries--;
            break;
        case 8:
            in_setjmp(depth + 2);
            break;
        case 9:
            if (random_below(3) == 0)
                leave();
            break;
        default:
            churn(1);
        }
    }
}

} // namespace

int main()
{
    churn(1);
    while (steps) {
        unsigned start = random_below(9);
        dive(
            start, [](void *) { wander(0); }, nullptr);
    }
    printf("wander: %s, %s\n", thrown ? "thrown" : "nothing thrown",
           jumped ? "jumped" : "no jumps");
    return 0;
}
