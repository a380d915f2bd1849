/*
 * conform_cxx.cc - every form of operator new and delete, the new-handler, exceptions, and the
 * library on top of them; compared with libstdc++ on glibc's malloc.
 *
 * rtc-build: +harness.c +cxx_*.cc -pthread -fsized-deallocation
 */
#include "cxx.h"

#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace rows
{

/* ---- the providing module ------------------------------------------------------------------- */

void in_control()
{
    const char *library = is_preloaded() ? "librtcheck.so" : "libstdc++.so.6";
    const char *name = module_name(dlsym(RTLD_DEFAULT, "_Znwm"));
    expect(std::strncmp(name, library, std::strlen(library)) == 0,
           "operator new is that of %s, not of %s", name, library);
}

void every_form_of_one_module()
{
    static const char *const names[] = {
        /* clang-format off */
        "_Znwm", "_Znam", "_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t", "_ZnwmSt11align_val_t",
        "_ZnamSt11align_val_t", "_ZnwmSt11align_val_tRKSt9nothrow_t",
        "_ZnamSt11align_val_tRKSt9nothrow_t", "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm",
        "_ZdlPvRKSt9nothrow_t", "_ZdaPvRKSt9nothrow_t", "_ZdlPvSt11align_val_t",
        "_ZdaPvSt11align_val_t", "_ZdlPvmSt11align_val_t", "_ZdaPvmSt11align_val_t",
        "_ZdlPvSt11align_val_tRKSt9nothrow_t", "_ZdaPvSt11align_val_tRKSt9nothrow_t",
        /* clang-format on */
    };
    const void *module = module_of(dlsym(RTLD_DEFAULT, "_Znwm"));
    for (const char *name : names) {
        void *symbol = dlsym(RTLD_DEFAULT, name);
        expect(symbol && module_of(symbol) == module, "%s is that of %s", name,
               module_name(symbol));
    }
}

/* ---- each form of new with each form of delete that may free it ----------------------------- */

template <typename New, typename Delete>
void pair(New make, Delete drop, size_t alignment = 16, size_t largest = 20000000)
{
    for (size_t n = 1; n < 300000; n += 1 + n / 3) {
        void *p = make(n);
        expect_block(p, n, alignment);
        drop(p, n);
    }
    void *large = make(largest);
    expect_block(large, largest, alignment);
    drop(large, largest);
}

template <typename New, typename Delete> void aligned_pair(New make, Delete drop)
{
    for (size_t alignment = 1; alignment <= 4096; alignment *= 2)
        pair([=](size_t n) { return make(n, align(alignment)); },
             [=](void *p, size_t n) { drop(p, n, align(alignment)); },
             alignment < 16 ? 16 : alignment, static_cast<size_t>(rounds(20)) * 1000000);
}

void new_delete()
{
    pair([](size_t n) { return ::operator new(n); }, [](void *p, size_t) { ::operator delete(p); });
}

void new_sized_delete()
{
    pair([](size_t n) { return ::operator new(n); },
         [](void *p, size_t n) { ::operator delete(p, n); });
}

void new_nothrow_delete()
{
    pair([](size_t n) { return ::operator new(n); },
         [](void *p, size_t) { ::operator delete(p, nothrow); });
}

void nothrow_new_delete()
{
    pair([](size_t n) { return ::operator new(n, nothrow); },
         [](void *p, size_t) { ::operator delete(p); });
}

void nothrow_new_nothrow_delete()
{
    pair([](size_t n) { return ::operator new(n, nothrow); },
         [](void *p, size_t) { ::operator delete(p, nothrow); });
}

void array_new_delete()
{
    pair([](size_t n) { return ::operator new[](n); },
         [](void *p, size_t) { ::operator delete[](p); });
}

void array_new_sized_delete()
{
    pair([](size_t n) { return ::operator new[](n); },
         [](void *p, size_t n) { ::operator delete[](p, n); });
}

void array_new_nothrow_delete()
{
    pair([](size_t n) { return ::operator new[](n); },
         [](void *p, size_t) { ::operator delete[](p, nothrow); });
}

void array_nothrow_new_delete()
{
    pair([](size_t n) { return ::operator new[](n, nothrow); },
         [](void *p, size_t) { ::operator delete[](p); });
}

void array_nothrow_new_nothrow_delete()
{
    pair([](size_t n) { return ::operator new[](n, nothrow); },
         [](void *p, size_t) { ::operator delete[](p, nothrow); });
}

void aligned_new_delete()
{
    aligned_pair([](size_t n, align_val_t a) { return ::operator new(n, a); },
                 [](void *p, size_t, align_val_t a) { ::operator delete(p, a); });
}

void aligned_new_sized_delete()
{
    aligned_pair([](size_t n, align_val_t a) { return ::operator new(n, a); },
                 [](void *p, size_t n, align_val_t a) { ::operator delete(p, n, a); });
}

void aligned_new_nothrow_delete()
{
    aligned_pair([](size_t n, align_val_t a) { return ::operator new(n, a); },
                 [](void *p, size_t, align_val_t a) { ::operator delete(p, a, nothrow); });
}

void aligned_nothrow_new_delete()
{
    aligned_pair([](size_t n, align_val_t a) { return ::operator new(n, a, nothrow); },
                 [](void *p, size_t, align_val_t a) { ::operator delete(p, a); });
}

void aligned_array_new_delete()
{
    aligned_pair([](size_t n, align_val_t a) { return ::operator new[](n, a); },
                 [](void *p, size_t, align_val_t a) { ::operator delete[](p, a); });
}

void aligned_array_new_sized_delete()
{
    aligned_pair([](size_t n, align_val_t a) { return ::operator new[](n, a); },
                 [](void *p, size_t n, align_val_t a) { ::operator delete[](p, n, a); });
}

void aligned_array_new_nothrow_delete()
{
    aligned_pair([](size_t n, align_val_t a) { return ::operator new[](n, a); },
                 [](void *p, size_t, align_val_t a) { ::operator delete[](p, a, nothrow); });
}

void aligned_array_nothrow_new_delete()
{
    aligned_pair([](size_t n, align_val_t a) { return ::operator new[](n, a, nothrow); },
                 [](void *p, size_t, align_val_t a) { ::operator delete[](p, a); });
}

void great_alignments()
{
    for (size_t alignment = 8192; alignment <= (4u << 20); alignment *= 2) {
        void *p = ::operator new(100, align(alignment));
        void *q = ::operator new[](100, align(alignment), nothrow);
        expect_block(p, 100, alignment);
        expect_block(q, 100, alignment);
        ::operator delete(p, 100, align(alignment));
        ::operator delete[](q, align(alignment));
    }
}

/* An alignment that is not a power of two: libstdc++ returns as if there were no memory. */
void impossible_alignment()
{
    for (size_t bad : {0, 3, 24, 4097}) {
        size_t alignment = opaque(bad); /* a constant here crashes clang 14 */
        try {
            ::operator delete(::operator new(100, align(alignment)), align(alignment));
            print_result("%zu: block", alignment);
        } catch (const std::bad_alloc &) {
            print_result("%zu: bad_alloc", alignment);
        }
        void *p = ::operator new(100, align(alignment), nothrow);
        print_result("%zu, nothrow: %s", alignment, p ? "block" : "NULL");
        ::operator delete(p, align(alignment));
    }
}

void *null()
{
    return escape(nullptr);
}

void delete_of_null()
{
    errno = ERRNO_KEPT;
    ::operator delete(null());
    ::operator delete(null(), static_cast<size_t>(8));
    ::operator delete(null(), nothrow);
    ::operator delete(null(), align(64));
    ::operator delete(null(), static_cast<size_t>(8), align(64));
    ::operator delete(null(), align(64), nothrow);
    ::operator delete[](null());
    ::operator delete[](null(), static_cast<size_t>(8));
    ::operator delete[](null(), nothrow);
    ::operator delete[](null(), align(64));
    ::operator delete[](null(), static_cast<size_t>(8), align(64));
    ::operator delete[](null(), align(64), nothrow);
    delete static_cast<std::string *>(null());
    delete[] static_cast<std::string *>(null());
    print_result("errno %s", errno_text(errno));
}

void zero_size()
{
    void *blocks[] = {
        ::operator new(opaque(0)),   ::operator new(opaque(0), nothrow),
        ::operator new[](opaque(0)), ::operator new[](opaque(0), nothrow),
        ::operator new(opaque(0)),   new char[opaque(0)],
        ::operator new[](opaque(0)),
    };
    for (void *&p : blocks) {
        expect(p && is_aligned(p, 16), "no aligned block");
        for (void **other = &blocks[0]; other != &p; other++)
            expect(*other != p, "given twice");
    }
    ::operator delete(blocks[0]);
    ::operator delete(blocks[1], nothrow);
    ::operator delete[](blocks[2]);
    ::operator delete[](blocks[3], nothrow);
    ::operator delete(blocks[4], static_cast<size_t>(0));
    delete[] static_cast<char *>(blocks[5]);
    ::operator delete[](blocks[6], static_cast<size_t>(0));
}

void zero_size_aligned()
{
    void *a = ::operator new(opaque(0), align(64)), *b = ::operator new(opaque(0), align(64));
    void *c = ::operator new[](opaque(0), align(4096), nothrow);
    expect(a && b && c && a != b, "not blocks of their own");
    expect(is_aligned(a, 64) && is_aligned(b, 64) && is_aligned(c, 4096), "not aligned");
    ::operator delete(a, align(64));
    ::operator delete(b, static_cast<size_t>(0), align(64));
    ::operator delete[](c, align(4096));
}

void keeps_errno()
{
    errno = ERRNO_KEPT;
    int *p = new int(7);
    char *q = new char[5000];
    delete p;
    delete[] q;
    ::operator delete(::operator new(100000, align(256)), align(256));
    print_result("errno %s", errno_text(errno));
}

/* ---- expressions ---------------------------------------------------------------------------- */

void arrays_of_objects()
{
    for (size_t n : {0, 1, 7, 100, 3000}) {
        counted *array = new counted[n];
        expect(alive == static_cast<int>(n), "%d alive of %zu", alive.load(), n);
        delete[] array;
        expect(alive == 0, "%d still alive", alive.load());
    }
}

void virtual_destructors()
{
    std::vector<counted *> objects;
    for (int i = 0; i < 500; i++)
        objects.push_back(i % 2 ? new derived : new counted);
    for (counted *object : objects)
        delete object;
    print_result("%d alive", alive.load());
}

int constructed;

struct throws_at_tenth : counted {
    throws_at_tenth()
    {
        if (++constructed % 10 == 0)
            throw std::runtime_error("the tenth");
    }
};

void constructors_that_throw()
{
    constructed = 0;
    for (int i = 0; i < 100; i++) {
        try {
            delete[] new throws_at_tenth[7 + i % 5];
        } catch (const std::runtime_error &) {
        }
    }
    print_result("%d alive after %d constructions", alive.load(), constructed);
}

struct alignas(64) cache_line {
    char bytes[192];
};

struct alignas(4096) whole_page {
    char bytes[4096];
    whole_page()
    {
        bytes[0] = bytes[4095] = 1;
    }
    ~whole_page()
    {
        bytes[0] = 0;
    }
};

void over_aligned_objects()
{
    for (int i = 0; i < 50; i++) {
        cache_line *one = new cache_line, *many = new cache_line[10];
        whole_page *page = new whole_page, *pages = new whole_page[3];
        expect(is_aligned(one, 64) && is_aligned(many, 64), "cache lines not aligned");
        expect(is_aligned(page, 4096) && is_aligned(pages, 4096), "pages not aligned");
        delete one;
        delete[] many;
        delete page;
        delete[] pages;
    }
}

struct own_new {
    static int news, deletes;
    char bytes[100];
    static void *operator new(size_t n)
    {
        return news++, ::operator new(n);
    }
    static void operator delete(void *p, size_t n)
    {
        deletes++, ::operator delete(p, n);
    }
};
int own_new::news, own_new::deletes;

void operators_of_a_class()
{
    for (int i = 0; i < 100; i++)
        delete static_cast<own_new *>(escape(new own_new));
    print_result("%d and %d", own_new::news, own_new::deletes);
}

void placement()
{
    void *room = ::operator new(sizeof(derived));
    for (int i = 0; i < 10; i++)
        (new (room) derived)->~derived();
    ::operator delete(room);
    print_result("%d alive", alive.load());
}

} /* namespace rows */

const char *const conform_library = "libstdc++.so.6";

const struct row conform_rows[] = {
#define ROW(name, needs) {#name, needs, rows::name},
#include "cxx.def"
#undef ROW
};

const size_t conform_row_count = sizeof conform_rows / sizeof conform_rows[0];

int main(int argc, char **argv)
{
    return conform_main(argc, argv);
}
