/*
 * cells.h - shared code of the programs of generated crimes: a table of cells.  Each is a function,
 * with its name in every stack, and runs at one of several times of the program's life.
 *
 * PROGRAM --list              a line for each cell: its expected record, or why it cannot exist
 * PROGRAM [--innocent] [--fill] LATE [NUMBER...]   all cells, or these; innocent: without the wrong
 *                             step.  LATE: path of late.so.  fill: the cells that need a full heap.
 *
 * The program's own status is 7: crimes change neither its status nor its memory.
 */
#ifndef CRIMES_CELLS_H
#define CRIMES_CELLS_H

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#define INLINE __attribute__((always_inline)) inline
#define NOINLINE __attribute__((noinline))

enum when { AT_ONCE, IN_THREAD, IN_HANDLER, AT_EXIT, IN_DESTRUCTOR, FULL /* no memory is left */ };

/* The expected record; "" = that field is not compared. */
struct expectation {
    const char *why_not; /* not nullptr: the cell cannot exist, for this reason */
    const char *kind, *entry;
    std::size_t block_bytes;
    long offset; /* of the address, from the block's start */
    std::size_t bytes;
    const char *damage;
    const char *state, *family;
    const char *region;
    const char *found;               /* bytes in hexadecimal */
    const char *call, *alloc, *free; /* tags of lines in the stacks; "" = no stack */
};

struct cell {
    const char *name;
    when at;
    expectation expected;
};

/* Defined by the program: describe(n) describes cell n, and commit[n], if not NULL, runs it. */
struct table {
    unsigned count;
    void (*const *commit)();
    cell (*describe)(unsigned n);
};

table crimes();

int cells_main(int argc, char **argv);

extern volatile bool guilty; /* false: the twin program without errors */
extern volatile char sink;

/* Hides a value from the optimizer; after a call it also prevents a tail call. */
template <typename T> INLINE T escape(T value)
{
    __asm__ volatile("" : "+r"(value) : : "memory");
    return value;
}

INLINE void barrier()
{
    __asm__ volatile("" : : : "memory");
}

INLINE std::uintptr_t distance(void *a, void *b)
{
    auto x = reinterpret_cast<std::uintptr_t>(a), y = reinterpret_cast<std::uintptr_t>(b);
    return x < y ? y - x : x - y;
}

/* Allocate two adjacent blocks: the one at the higher address has a neighbour before it. */
template <typename Make> INLINE void make_two(Make make, std::size_t bytes, void **low, void **high)
{
    void *last, *next = nullptr;
    int tries = 0;
    do {
        if (tries++ == 10000)
            std::abort();
        last = next;
        next = make(); /* @two.make */
    } while (!last || distance(last, next) > bytes + bytes / 4 + 40);
    *low = last < next ? last : next;
    *high = last < next ? next : last;
}

INLINE void write_at(void *p, long offset, char byte)
{
    static_cast<volatile char *>(p)[offset] = byte;
}

#endif
