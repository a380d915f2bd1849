/*
 * cxx.h - the rows of cxx.def, one function each, and their shared code.
 */
#ifndef CONFORM_CXX_H
#define CONFORM_CXX_H

#include "harness.h"

#include <atomic>
#include <new>
#include <string>
#include <vector>

namespace rows
{

using std::align_val_t;
using std::nothrow;

#define ROW(name, needs) void name();
#include "cxx.def"
#undef ROW

constexpr align_val_t align(size_t n)
{
    return static_cast<align_val_t>(n);
}

/* Sizes whose allocation fails on every machine: larger than the address space. */
const size_t too_much[] = {SIZE_MAX, SIZE_MAX - 63, static_cast<size_t>(PTRDIFF_MAX) + 1,
                           static_cast<size_t>(1) << 47};

inline std::atomic<int> alive; /* number of live objects of counted */

struct counted {
    std::string text = std::string(40, 'c');
    counted()
    {
        alive++;
    }
    counted(const counted &other) : text(other.text)
    {
        alive++;
    }
    virtual ~counted()
    {
        alive--;
    }
};

struct derived : counted {
    std::vector<int> numbers = std::vector<int>(100);
};

} /* namespace rows */

#endif
