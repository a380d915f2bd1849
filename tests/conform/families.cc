/*
 * families.cc - one block by each way of allocating; the size names the way, from 701 on.  Some
 * come after an operator new that threw, or that the new-handler helped: the earlier attempts must
 * not be recorded in them.
 */
#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <new>

namespace
{

void *volatile kept[12];

void make_room()
{
    std::set_new_handler(nullptr);
}

void throws()
{
    try {
        kept[0] = ::operator new (~std::size_t{} >> 2);
    } catch (const std::bad_alloc &) {
        std::puts("thrown");
    }
}

} // namespace

int main()
{
    kept[1] = std::malloc(701);
    kept[2] = ::operator new(702);
    kept[3] = ::operator new[](703);
    kept[4] = memalign(64, 704);
    kept[5] = ::operator new (705, std::align_val_t{64});
    kept[6] = ::operator new[](706, std::align_val_t{64});
    throws();
    kept[7] = std::malloc(707);
    std::set_new_handler(make_room);
    throws();
    kept[8] = std::malloc(708);
    kept[9] = ::operator new[](~std::size_t{} >> 2, std::nothrow);
    kept[10] = std::malloc(709);
    kept[11] = ::operator new[](710, std::nothrow);
    std::exit(0); /* kept: no destructor frees them */
}
