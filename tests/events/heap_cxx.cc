/*
 * heap_cxx.cc - a handler is notified of all memory of C++ objects, and of memory that malloc returns after a
 * change of its parameters: of its range, and of each of its pages that is unmapped.
 *
 *     heap_cxx objects|parameters
 */
#include <atomic>
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <malloc.h>
#include <memory>
#include <string>
#include <vector>

#include "rtcheck/event.h"

static const size_t big = 40ul << 20;

static struct {
    unsigned type;
    uintptr_t start, end;
} notified[4096];
static std::atomic<unsigned> notified_count;

static void note(unsigned type, union rtc_event *e, void *)
{
    unsigned n = notified_count++;
    uintptr_t start = (uintptr_t)e->vm_mapped.address;
    assert(n < sizeof notified / sizeof notified[0]);
    notified[n] = {type, start, start + e->vm_mapped.size};
}

/* Is there an event whose range contains the middle? The range may begin before the block. */
static bool is_reported(unsigned type, uintptr_t at)
{
    for (unsigned i = 0; i < notified_count; i++)
        if (notified[i].type == type && notified[i].start <= at + big / 2 &&
            at + big / 2 < notified[i].end)
            return true;
    return false;
}

static uintptr_t check(const void *at)
{
    assert(is_reported(RTC_EVENT_VM_MAPPED, (uintptr_t)at) &&
           !is_reported(RTC_EVENT_VM_UNMAPPED, (uintptr_t)at));
    return (uintptr_t)at;
}

static void objects()
{
    uintptr_t was[5];
    {
        auto *one = new char[big];
        std::unique_ptr<double[]> array(new double[big / sizeof(double)]);
        std::vector<int> vector(big / sizeof(int), 5);
        std::string text(big, 'x');
        struct alignas(4096) page {
            char bytes[4096];
        };
        auto *aligned = new page[big / sizeof(page)];
        const void *at[] = {one, array.get(), vector.data(), text.data(), aligned};
        for (unsigned i = 0; i < 5; i++)
            was[i] = check(at[i]);
        delete[] one;
        delete[] aligned;
    }
    for (uintptr_t at : was)
        assert(is_reported(RTC_EVENT_VM_UNMAPPED, at));
    std::vector<char> grows;
    while (grows.size() < big)
        grows.insert(grows.end(), 100000, 'x');
    uintptr_t at = (uintptr_t)grows.data();
    notified_count = 0;
    std::vector<char>().swap(grows);
    assert(is_reported(RTC_EVENT_VM_UNMAPPED, at));
}

/* The parameters are accepted, and do not change the events. */
static void parameters()
{
    static const int all[][2] = {{M_MMAP_THRESHOLD, 64 << 10},
                                 {M_TRIM_THRESHOLD, 1 << 30},
                                 {M_TOP_PAD, 1 << 20},
                                 {M_MMAP_MAX, 0}};
    for (auto &one : all) {
        void *kept = malloc(big), *block = malloc(big);
        assert(kept && block && mallopt(one[0], one[1]) == 1);
        uintptr_t was = check(block);
        memset(block, 7, big);
        free(block);
        assert(is_reported(RTC_EVENT_VM_UNMAPPED, was));
        notified_count = 0;
        block = realloc(kept, 2 * big);
        assert(block && is_reported(RTC_EVENT_VM_MAPPED, (uintptr_t)block + big));
        was = (uintptr_t)block;
        free(block);
        assert(is_reported(RTC_EVENT_VM_UNMAPPED, was));
        notified_count = 0;
        new char[3 * big]; /* the next blocks lie elsewhere */
    }
}

int main(int argc, char **argv)
{
    assert(rtc_event_set_handler(RTC_EVENT_VM_MAPPED | RTC_EVENT_VM_UNMAPPED, 0, note, nullptr) ==
           0);
    if (argc > 1 && strcmp(argv[1], "objects") == 0)
        objects();
    else
        parameters();
    puts("told");
    return 0;
}
