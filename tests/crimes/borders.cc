/*
 * borders.cc - writes of one byte past either end of blocks with sizes of slots and pages, and into
 * freed blocks: when are they detected?
 *
 * rtc-build: +cells.cc -O2 -g -pthread -fno-builtin
 */
#include "cells.h"

#include <cstdio>
#include <cstdlib>

namespace
{

constexpr std::size_t sizes[] = {16, 32, 64, 128, 4096, 65536, 131072};
constexpr unsigned SIZES = sizeof sizes / sizeof *sizes;
constexpr std::size_t LARGE_FROM = 65536;

enum side { PAST_END, BEFORE, INSIDE, SIDES };
const char *const side_names[] = {"behind", "before", "inside"};

const char bytes_written[] = {0, static_cast<char>(0xff)};
const char *const byte_names[] = {"00", "ff"};
enum { BYTES = 2 };

enum moment { FREED_THEN, RESIZED, MOVED, EVICTED, LIVE_AT_END, FREED_AT_END, MOMENTS };
const char *const moment_names[] = {"freed",   "resized",         "moved",
                                    "evicted", "live at the end", "freed at the end"};

enum { CELLS = SIZES * SIDES * BYTES * MOMENTS };

constexpr std::size_t size_of(unsigned n)
{
    return sizes[n / (SIDES * BYTES * MOMENTS)];
}

constexpr side side_of(unsigned n)
{
    return static_cast<side>(n / (BYTES * MOMENTS) % SIDES);
}

constexpr unsigned byte_of(unsigned n)
{
    return n / MOMENTS % BYTES;
}

constexpr moment moment_of(unsigned n)
{
    return static_cast<moment>(n % MOMENTS);
}

constexpr bool is_late(moment m)
{
    return m == EVICTED || m == FREED_AT_END;
}

constexpr const char *why_not(unsigned n)
{
    if (side_of(n) == INSIDE && !is_late(moment_of(n)))
        return "who writes inside a live block may";
    return nullptr;
}

/* More than the quarantines hold: all blocks leave them. */
NOINLINE void evict_all()
{
    for (int i = 0; i < 100; i++) {
        std::free(escape(std::malloc(20000)));
        std::free(escape(std::malloc(80000)));
    }
}

template <unsigned N> INLINE void trespass()
{
    constexpr std::size_t bytes = size_of(N);
    constexpr moment m = moment_of(N);
    void *low = nullptr, *p;
    auto make = [] { return escape(std::malloc(bytes)); }; /* @some.alloc */
    if (bytes < LARGE_FROM)
        make_two(make, bytes, &low, &p); /* @two.call */
    else
        p = make(); /* @one.call */
    if (is_late(m)) {
        std::free(low);
        std::free(escape(p)); /* @some.free */
    }
    if (guilty)
        write_at(p,
                 side_of(N) == PAST_END ? static_cast<long>(bytes)
                 : side_of(N) == BEFORE ? -1
                                        : 3,
                 bytes_written[byte_of(N)]);
    if (m == FREED_THEN)
        std::free(escape(p)); /* @freed.call */
    if (m == RESIZED)
        p = escape(std::realloc(escape(p), bytes + 1)); /* @resized.call */
    if (m == MOVED)
        p = escape(std::realloc(escape(p), 300)); /* @moved.call */
    if (m == EVICTED)
        evict_all();
    if (m == RESIZED || m == MOVED)
        std::free(p);
    if (!is_late(m) && m != LIVE_AT_END)
        std::free(low);
}

template <unsigned N> NOINLINE void commit()
{
    trespass<N>(); /* @commit.cell */
    barrier();
}

const char *entry_of(moment m)
{
    return m == FREED_THEN              ? "free"
           : m == RESIZED || m == MOVED ? "realloc"
           : m == EVICTED               ? "later"
                                        : "exit";
}

const char *name_of(unsigned n)
{
    static char names[CELLS][64];
    std::snprintf(names[n], sizeof names[n], "%zu, %s, %s, %s", size_of(n), side_names[side_of(n)],
                  byte_names[byte_of(n)], moment_names[moment_of(n)]);
    return names[n];
}

cell describe(unsigned n)
{
    moment m = moment_of(n);
    const char *call = m == FREED_THEN ? "freed.call"
                       : m == RESIZED  ? "resized.call"
                       : m == MOVED    ? "moved.call"
                                       : "";
    /* clang-format off */
    expectation t = {why_not(n), "wua", entry_of(m), size_of(n), 3, 1, side_names[side_of(n)],
              is_late(m) ? "freed" : "live", "malloc", "none", byte_names[byte_of(n)],
              call, "some.alloc", is_late(m) ? "some.free" : ""};
    /* clang-format on */
    if (side_of(n) != INSIDE)
        t.offset = side_of(n) == PAST_END ? static_cast<long>(size_of(n)) : -1;
    return {name_of(n), m == FREED_AT_END ? AT_EXIT : AT_ONCE, t};
}

void (*functions[CELLS])();

template <unsigned From, unsigned To> void fill()
{
    if constexpr (To - From > 1) {
        fill<From, (From + To) / 2>();
        fill<(From + To) / 2, To>();
    } else if constexpr (why_not(From) == nullptr) {
        functions[From] = commit<From>;
    }
}

} // namespace

table crimes()
{
    if (!functions[0])
        fill<0, CELLS>();
    return {CELLS, functions, describe};
}

int main(int argc, char **argv)
{
    return escape(cells_main(argc, argv)); /* @main.call */
}
