/*
 * conform_cxx.cc - every form of operator new and delete, the new-handler, exceptions, and the
 * library on top of them; compared with what libstdc++ does on glibc's malloc.
 *
 * rtc-build: +harness.c -pthread -fsized-deallocation
 */
#include "harness.h"

#include <algorithm>
#include <any>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <exception>
#include <functional>
#include <future>
#include <list>
#include <malloc.h>
#include <map>
#include <memory>
#include <memory_resource>
#include <new>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace {

using std::align_val_t;
using std::nothrow;

constexpr align_val_t align(size_t n)
{
    return static_cast<align_val_t>(n);
}

/* No memory for any of them, whatever the machine: more than an address space. */
const size_t too_much[] = { SIZE_MAX, SIZE_MAX - 63, static_cast<size_t>(PTRDIFF_MAX) + 1,
                            static_cast<size_t>(1) << 47 };

/* ---- who answers ---------------------------------------------------------------------------- */

void in_control()
{
    const char *library = is_ours() ? "librtcheck.so" : "libstdc++.so.6";
    const char *name = module_name(dlsym(RTLD_DEFAULT, "_Znwm"));
    expect(std::strncmp(name, library, std::strlen(library)) == 0,
           "operator new is that of %s, not of %s", name, library);
}

void every_form_of_one_module()
{
    static const char *const names[] = {
        "_Znwm", "_Znam", "_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t", "_ZnwmSt11align_val_t",
        "_ZnamSt11align_val_t", "_ZnwmSt11align_val_tRKSt9nothrow_t",
        "_ZnamSt11align_val_tRKSt9nothrow_t", "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm",
        "_ZdlPvRKSt9nothrow_t", "_ZdaPvRKSt9nothrow_t", "_ZdlPvSt11align_val_t",
        "_ZdaPvSt11align_val_t", "_ZdlPvmSt11align_val_t", "_ZdaPvmSt11align_val_t",
        "_ZdlPvSt11align_val_tRKSt9nothrow_t", "_ZdaPvSt11align_val_tRKSt9nothrow_t",
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
    pair([](size_t n) { return ::operator new(n); },
         [](void *p, size_t) { ::operator delete(p); });
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

/* No power of two is no alignment: libstdc++ answers as if there were no memory. */
void impossible_alignment()
{
    for (size_t bad : { 0, 3, 24, 4097 }) {
        size_t alignment = opaque(bad); /* a constant here crashes clang 14 */
        try {
            ::operator delete(::operator new(100, align(alignment)), align(alignment));
            say("%zu: block", alignment);
        } catch (const std::bad_alloc &) {
            say("%zu: bad_alloc", alignment);
        }
        void *p = ::operator new(100, align(alignment), nothrow);
        say("%zu, nothrow: %s", alignment, p ? "block" : "NULL");
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
    say("errno %s", errno_text(errno));
}

void zero_size()
{
    void *blocks[] = {
        ::operator new(opaque(0)), ::operator new(opaque(0), nothrow), ::operator new[](opaque(0)),
        ::operator new[](opaque(0), nothrow), ::operator new(opaque(0)), new char[opaque(0)],
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
    say("errno %s", errno_text(errno));
}

/* ---- no memory ------------------------------------------------------------------------------ */

/* Rounded up to the alignment these stay what they are. */
const size_t too_much_rounded[] = { SIZE_MAX - 4095, SIZE_MAX - 8191,
                                    static_cast<size_t>(PTRDIFF_MAX) + 1,
                                    static_cast<size_t>(1) << 47 };

template <typename New>
void say_thrown(const char *form, New make, const size_t (&sizes)[4] = too_much)
{
    for (size_t n : sizes) {
        try {
            void *p = make(opaque(n));
            say("%s of %#zx: %s", form, n, p ? "block" : "NULL");
        } catch (const std::bad_array_new_length &error) {
            say("%s of %#zx: bad_array_new_length, %s", form, n, error.what());
        } catch (const std::bad_alloc &error) {
            say("%s of %#zx: bad_alloc, %s", form, n, error.what());
        }
    }
}

void bad_alloc_of_new()
{
    say_thrown("new", [](size_t n) { return ::operator new(n); });
    say_thrown("new[]", [](size_t n) { return ::operator new[](n); });
}

void bad_alloc_of_aligned_new()
{
    say_thrown("new", [](size_t n) { return ::operator new(n, align(64)); }, too_much_rounded);
    say_thrown("new[]", [](size_t n) { return ::operator new[](n, align(64)); }, too_much_rounded);
}

void null_of_nothrow_new()
{
    say_thrown("new", [](size_t n) { return ::operator new(n, nothrow); });
    say_thrown("new[]", [](size_t n) { return ::operator new[](n, nothrow); });
}

void null_of_aligned_nothrow_new()
{
    say_thrown("new", [](size_t n) { return ::operator new(n, align(64), nothrow); },
               too_much_rounded);
    say_thrown("new[]", [](size_t n) { return ::operator new[](n, align(4096), nothrow); },
               too_much_rounded);
}

/* Here libstdc++ 12 rounds up to zero and grants it; the standard does not. */
void bad_alloc_of_wrapping_size()
{
    for (size_t alignment = 32; alignment <= 65536; alignment *= 2) {
        try {
            void *p = ::operator new(opaque(SIZE_MAX - 5), align(alignment));
            expect(!p, "alignment %zu: block", alignment);
        } catch (const std::bad_alloc &) {
        }
        void *p = ::operator new[](opaque(SIZE_MAX - 5), align(alignment), nothrow);
        expect(!p, "alignment %zu, nothrow: block", alignment);
    }
}

void bad_array_length()
{
    say_thrown("new double[]", [](size_t n) -> void * { return escape(new double[n]); });
    say_thrown("new string[]", [](size_t n) -> void * { return escape(new std::string[n]); });
    try {
        volatile long minus = -1;
        delete[] new int[minus];
        say("new int[-1]: block");
    } catch (const std::bad_array_new_length &error) {
        say("new int[-1]: %s", error.what());
    }
}

void goes_on_after_bad_alloc()
{
    for (size_t i = 0; i < 1000; i++) {
        try {
            ::operator delete(::operator new(opaque(SIZE_MAX / 2)));
        } catch (const std::bad_alloc &) {
        }
        void *p = ::operator new(i + 1);
        expect_block(p, i + 1, 16);
        ::operator delete(p);
    }
}

/* ---- the new-handler ------------------------------------------------------------------------ */

int handler_calls;

struct no_more : std::bad_alloc {
    const char *what() const noexcept override { return "no more"; }
};

void handler_gives_up()
{
    if (++handler_calls == 3)
        throw no_more();
}

void handler_removes_itself()
{
    if (++handler_calls == 5)
        std::set_new_handler(nullptr);
}

void handler_hands_over()
{
    if (++handler_calls == 2)
        std::set_new_handler(handler_gives_up);
}

void handler_allocates()
{
    std::string text(300, 'h');
    delete new std::vector<int>(100);
    if (++handler_calls == 4)
        std::set_new_handler(nullptr);
}

template <typename New> void say_handled(const char *form, std::new_handler handler, New make)
{
    handler_calls = 0;
    std::set_new_handler(handler);
    try {
        void *p = make(opaque(SIZE_MAX / 2 - 100));
        say("%s: %s after %d calls", form, p ? "block" : "NULL", handler_calls);
    } catch (const std::bad_alloc &error) {
        say("%s: %s after %d calls", form, error.what(), handler_calls);
    }
    say("%s: handler %s", form, std::get_new_handler() ? "still set" : "gone");
    std::set_new_handler(nullptr);
}

void say_handled_by_every_form(std::new_handler handler)
{
    say_handled("new", handler, [](size_t n) { return ::operator new(n); });
    say_handled("new[]", handler, [](size_t n) { return ::operator new[](n); });
    say_handled("nothrow new", handler, [](size_t n) { return ::operator new(n, nothrow); });
    say_handled("nothrow new[]", handler, [](size_t n) { return ::operator new[](n, nothrow); });
    say_handled("aligned new", handler, [](size_t n) { return ::operator new(n, align(64)); });
    say_handled("aligned new[]", handler, [](size_t n) { return ::operator new[](n, align(64)); });
    say_handled("aligned nothrow new", handler,
                [](size_t n) { return ::operator new(n, align(64), nothrow); });
    say_handled("aligned nothrow new[]", handler,
                [](size_t n) { return ::operator new[](n, align(64), nothrow); });
}

void handler_throws()
{
    say_handled_by_every_form(handler_gives_up);
}

void handler_removed()
{
    say_handled_by_every_form(handler_removes_itself);
}

void handler_replaced()
{
    say_handled_by_every_form(handler_hands_over);
}

void handler_uses_new()
{
    say_handled_by_every_form(handler_allocates);
}

void handler_of_malloc_is_none()
{
    handler_calls = 0;
    std::set_new_handler(handler_gives_up);
    void *p = std::malloc(opaque(SIZE_MAX / 2));
    say("malloc: %s after %d calls", p ? "block" : "NULL", handler_calls);
    std::set_new_handler(nullptr);
}

void handler_is_told()
{
    std::new_handler before = std::get_new_handler();
    std::new_handler previous = std::set_new_handler(handler_gives_up);
    say("%s, %s, %s", before ? "set at first" : "none at first", previous ? "set" : "none before",
        std::get_new_handler() == handler_gives_up ? "now ours" : "now another");
    std::new_handler ours = std::set_new_handler(nullptr);
    say("%s, %s", ours == handler_gives_up ? "ours returned" : "another returned",
        std::get_new_handler() ? "still set" : "none");
}

void handler_of_another_thread()
{
    handler_calls = 0;
    std::set_new_handler(handler_gives_up);
    std::thread([] {
        try {
            ::operator delete(::operator new(opaque(SIZE_MAX / 2)));
        } catch (const no_more &error) {
            say("%s after %d calls", error.what(), handler_calls);
        }
    }).join();
    std::set_new_handler(nullptr);
}

/* Memory is used up but for a reserve, which the handler frees: the request is then granted. */
void *reserve;

void handler_frees_reserve()
{
    handler_calls++;
    ::operator delete(reserve);
    reserve = nullptr;
    if (handler_calls > 1)
        std::set_new_handler(nullptr);
}

struct big_block {
    big_block *next;
    char rest[(10u << 20) - sizeof(void *)];
};

void say_granted_after_handler()
{
    handler_calls = 0;
    std::set_new_handler(handler_frees_reserve);
    try {
        ::operator delete(::operator new(sizeof(big_block)));
        say("block after %d calls", handler_calls);
    } catch (const std::bad_alloc &error) {
        say("%s after %d calls", error.what(), handler_calls);
    }
    std::set_new_handler(nullptr);
}

void handler_frees_memory()
{
    big_block *list = nullptr;
    size_t count = 0;
    reserve = ::operator new(sizeof(big_block));
    expect(limits_lower(100u << 20), "no limits to lower");
    while (void *p = count < 100 ? ::operator new(sizeof(big_block), nothrow) : nullptr) {
        static_cast<big_block *>(p)->next = list;
        list = static_cast<big_block *>(p);
        count++;
    }
    expect(count > 3 && count < 100, "%zu blocks of 10 MiB within 100 MiB", count);
    say_granted_after_handler();
    limits_restore();
    while (list) {
        big_block *next = list->next;
        ::operator delete(list);
        list = next;
    }
    ::operator delete(reserve);
    reserve = nullptr;
}

/* ---- expressions ---------------------------------------------------------------------------- */

std::atomic<int> alive;

struct counted {
    std::string text = std::string(40, 'c');
    counted() { alive++; }
    counted(const counted &other) : text(other.text) { alive++; }
    virtual ~counted() { alive--; }
};

struct derived : counted {
    std::vector<int> numbers = std::vector<int>(100);
};

void arrays_of_objects()
{
    for (size_t n : { 0, 1, 7, 100, 3000 }) {
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
    say("%d alive", alive.load());
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
    say("%d alive after %d constructions", alive.load(), constructed);
}

struct alignas(64) cache_line {
    char bytes[192];
};

struct alignas(4096) whole_page {
    char bytes[4096];
    whole_page() { bytes[0] = bytes[4095] = 1; }
    ~whole_page() { bytes[0] = 0; }
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
    static void *operator new(size_t n) { return news++, ::operator new(n); }
    static void operator delete(void *p, size_t n) { deletes++, ::operator delete(p, n); }
};
int own_new::news, own_new::deletes;

void operators_of_a_class()
{
    for (int i = 0; i < 100; i++)
        delete static_cast<own_new *>(escape(new own_new));
    say("%d and %d", own_new::news, own_new::deletes);
}

void placement()
{
    void *room = ::operator new(sizeof(derived));
    for (int i = 0; i < 10; i++)
        (new (room) derived)->~derived();
    ::operator delete(room);
    say("%d alive", alive.load());
}

/* ---- exceptions ----------------------------------------------------------------------------- */

void many_exceptions()
{
    size_t caught = 0;
    for (int i = 0; i < 5000; i++) {
        try {
            throw std::runtime_error(std::string(static_cast<size_t>(i % 500), 'e'));
        } catch (const std::exception &error) {
            caught += std::strlen(error.what());
        }
    }
    say("%zu characters caught", caught);
}

void deep(int levels)
{
    counted here;
    if (levels == 0)
        throw std::out_of_range("the bottom");
    deep(levels - 1);
}

void deep_exception()
{
    try {
        deep(500);
    } catch (const std::out_of_range &error) {
        say("%s, %d alive", error.what(), alive.load());
    }
}

void nested_exceptions()
{
    try {
        try {
            throw std::runtime_error("inner");
        } catch (...) {
            std::throw_with_nested(std::logic_error("outer"));
        }
    } catch (const std::logic_error &outer) {
        try {
            std::rethrow_if_nested(outer);
        } catch (const std::runtime_error &inner) {
            say("%s, %s", outer.what(), inner.what());
        }
    }
}

/* Larger than what libstdc++ keeps for emergencies. */
struct large_exception {
    char bytes[100000];
};

void large_exceptions()
{
    int caught = 0;
    for (int i = 0; i < 20; i++) {
        try {
            throw large_exception{};
        } catch (const large_exception &) {
            caught++;
        }
    }
    say("%d caught", caught);
}

void exceptions_across_threads()
{
    std::exception_ptr held;
    std::thread([&] {
        try {
            throw std::runtime_error("from the thread");
        } catch (...) {
            held = std::current_exception();
        }
    }).join();
    try {
        std::rethrow_exception(held);
    } catch (const std::runtime_error &error) {
        say("%s", error.what());
    }
}

void exceptions_in_threads()
{
    std::atomic<int> caught{ 0 };
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++)
        threads.emplace_back([&] {
            for (int k = 0; k < 500; k++) {
                try {
                    deep(10);
                } catch (const std::out_of_range &) {
                    caught++;
                }
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    say("%d caught", caught.load());
}

void bad_alloc_in_threads()
{
    std::atomic<int> caught{ 0 };
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++)
        threads.emplace_back([&] {
            for (int k = 0; k < 200; k++) {
                try {
                    ::operator delete[](::operator new[](opaque(SIZE_MAX - 64)));
                } catch (const std::bad_alloc &) {
                    caught++;
                }
                delete new std::string(100, 't');
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    say("%d caught", caught.load());
}

void futures()
{
    std::promise<std::string> promise;
    std::future<std::string> future = promise.get_future();
    std::thread thread([&] { promise.set_value(std::string(1000, 'f')); });
    say("%zu characters", future.get().size());
    thread.join();
    std::future<int> failing = std::async(std::launch::async, []() -> int {
        throw std::runtime_error("async");
    });
    try {
        failing.get();
    } catch (const std::runtime_error &error) {
        say("%s", error.what());
    }
}

/* ---- the library ---------------------------------------------------------------------------- */

void vectors()
{
    std::vector<std::string> strings;
    for (int i = 0; i < 5000; i++)
        strings.push_back(std::to_string(i) + std::string(static_cast<size_t>(i % 60), 'v'));
    strings.erase(strings.begin(), strings.begin() + 1000);
    strings.shrink_to_fit();
    std::vector<std::string> copy = strings;
    size_t sum = 0;
    for (const std::string &text : copy)
        sum += text.size();
    say("%zu strings, %zu characters", copy.size(), sum);
}

void vector_too_long()
{
    std::vector<char> bytes;
    try {
        bytes.resize(opaque(SIZE_MAX));
    } catch (const std::length_error &) {
        say("length_error");
    }
    try {
        bytes.resize(opaque(static_cast<size_t>(1) << 50));
    } catch (const std::bad_alloc &) {
        say("bad_alloc");
    }
    bytes.resize(1000);
    say("%zu", bytes.size());
}

void strings()
{
    std::string text;
    for (int i = 0; i < 20000; i++)
        text += static_cast<char>('a' + i % 26);
    text.insert(5000, text);
    text.replace(100, 10000, "short");
    std::ostringstream stream;
    stream << text.substr(90, 30) << ' ' << 1.5 << ' ' << text.size();
    say("%s", stream.str().c_str());
}

void maps()
{
    std::map<std::string, std::list<int>> tree;
    std::unordered_map<int, std::string> table;
    for (int i = 0; i < 5000; i++) {
        tree[std::to_string(i % 700)].push_back(i);
        table[i] = std::to_string(i);
    }
    for (int i = 0; i < 5000; i += 2)
        table.erase(i);
    say("%zu, %zu, %d", tree.size(), table.size(), tree["77"].back());
}

void deques_and_pointers()
{
    std::deque<std::shared_ptr<counted>> queue;
    for (int i = 0; i < 3000; i++) {
        queue.push_back(std::make_shared<derived>());
        if (i % 3 == 0)
            queue.pop_front();
    }
    auto owner = std::make_unique<counted[]>(10);
    say("%zu queued, %d alive", queue.size(), alive.load());
    queue.clear();
    owner.reset();
    say("%d alive", alive.load());
}

void memory_resources()
{
    std::pmr::memory_resource *resource = std::pmr::new_delete_resource();
    for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        void *p = resource->allocate(100, alignment);
        expect_block(p, 100, alignment);
        resource->deallocate(p, 100, alignment);
    }
    std::pmr::monotonic_buffer_resource buffer(resource);
    std::pmr::vector<std::pmr::string> texts(&buffer);
    for (int i = 0; i < 1000; i++)
        texts.emplace_back(50, 'm');
    say("%zu strings", texts.size());
}

void stable_sort()
{
    std::vector<std::pair<int, int>> pairs;
    for (int i = 0; i < 20000; i++)
        pairs.emplace_back(i * 7919 % 100, i);
    std::stable_sort(pairs.begin(), pairs.end(),
                     [](const auto &a, const auto &b) { return a.first < b.first; });
    say("%d, %d", std::is_sorted(pairs.begin(), pairs.end()), pairs[12345].second);
}

void closures()
{
    std::vector<std::function<int()>> functions;
    std::any held;
    for (int i = 0; i < 1000; i++) {
        std::vector<int> kept(static_cast<size_t>(i), 1);
        held = std::string(static_cast<size_t>(i), 'a');
        functions.emplace_back([kept] { return static_cast<int>(kept.size()); });
    }
    int sum = 0;
    for (const auto &function : functions)
        sum += function();
    say("%d, %zu", sum, std::any_cast<std::string>(held).size());
}

void regular_expressions()
{
    std::regex expression("([a-z]+)-([0-9]+)(;|$)");
    std::string text = "one-1;two-22;three-333";
    int found = 0;
    for (std::sregex_iterator i(text.begin(), text.end(), expression), end; i != end; ++i)
        found += static_cast<int>((*i)[2].str().size());
    say("%d digits", found);
}

thread_local std::vector<std::string> per_thread;

void thread_local_objects()
{
    std::atomic<size_t> sum{ 0 };
    for (int round = 0; round < 20; round++) {
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; i++)
            threads.emplace_back([&, i] {
                for (int k = 0; k < 50; k++)
                    per_thread.emplace_back(static_cast<size_t>(100 + i), 'l');
                sum += per_thread.size();
            });
        for (std::thread &thread : threads)
            thread.join();
    }
    say("%zu", sum.load());
}

int child_of_cxx(void *)
{
    std::set_new_handler(handler_gives_up);
    handler_calls = 0;
    try {
        std::vector<std::string> texts(1000, std::string(100, 'k'));
        ::operator delete(::operator new(opaque(SIZE_MAX / 2)));
    } catch (const no_more &) {
        return handler_calls;
    }
    return 99;
}

void child_throws()
{
    say_child("child", child_of_cxx, nullptr);
}

} /* namespace */

const char *const conform_library = "libstdc++.so.6";

#define ROW(name, needs) { #name, needs, name }

const struct row conform_rows[] = {
    ROW(in_control, ANYWHERE),
    ROW(every_form_of_one_module, ANYWHERE),
    ROW(new_delete, ANYWHERE),
    ROW(new_sized_delete, ANYWHERE),
    ROW(new_nothrow_delete, ANYWHERE),
    ROW(nothrow_new_delete, ANYWHERE),
    ROW(nothrow_new_nothrow_delete, ANYWHERE),
    ROW(array_new_delete, ANYWHERE),
    ROW(array_new_sized_delete, ANYWHERE),
    ROW(array_new_nothrow_delete, ANYWHERE),
    ROW(array_nothrow_new_delete, ANYWHERE),
    ROW(array_nothrow_new_nothrow_delete, ANYWHERE),
    ROW(aligned_new_delete, ANYWHERE),
    ROW(aligned_new_sized_delete, ANYWHERE),
    ROW(aligned_new_nothrow_delete, ANYWHERE),
    ROW(aligned_nothrow_new_delete, ANYWHERE),
    ROW(aligned_array_new_delete, ANYWHERE),
    ROW(aligned_array_new_sized_delete, ANYWHERE),
    ROW(aligned_array_new_nothrow_delete, ANYWHERE),
    ROW(aligned_array_nothrow_new_delete, ANYWHERE),
    ROW(great_alignments, ANYWHERE),
    ROW(impossible_alignment, ANYWHERE),
    ROW(delete_of_null, ANYWHERE),
    ROW(zero_size, ANYWHERE),
    ROW(zero_size_aligned, ANYWHERE),
    ROW(keeps_errno, ANYWHERE),
    ROW(bad_alloc_of_new, ANYWHERE),
    ROW(bad_alloc_of_aligned_new, ANYWHERE),
    ROW(null_of_nothrow_new, ANYWHERE),
    ROW(null_of_aligned_nothrow_new, ANYWHERE),
    ROW(bad_alloc_of_wrapping_size, OURS),
    ROW(bad_array_length, ANYWHERE),
    ROW(goes_on_after_bad_alloc, ANYWHERE),
    ROW(handler_throws, ANYWHERE),
    ROW(handler_removed, ANYWHERE),
    ROW(handler_replaced, ANYWHERE),
    ROW(handler_uses_new, ANYWHERE),
    ROW(handler_of_malloc_is_none, ANYWHERE),
    ROW(handler_is_told, ANYWHERE),
    ROW(handler_of_another_thread, ANYWHERE),
    ROW(handler_frees_memory, OUTSIDE),
    ROW(arrays_of_objects, ANYWHERE),
    ROW(virtual_destructors, ANYWHERE),
    ROW(constructors_that_throw, ANYWHERE),
    ROW(over_aligned_objects, ANYWHERE),
    ROW(operators_of_a_class, ANYWHERE),
    ROW(placement, ANYWHERE),
    ROW(many_exceptions, ANYWHERE),
    ROW(deep_exception, ANYWHERE),
    ROW(nested_exceptions, ANYWHERE),
    ROW(large_exceptions, ANYWHERE),
    ROW(exceptions_across_threads, ANYWHERE),
    ROW(exceptions_in_threads, ANYWHERE),
    ROW(bad_alloc_in_threads, ANYWHERE),
    ROW(futures, ANYWHERE),
    ROW(vectors, ANYWHERE),
    ROW(vector_too_long, ANYWHERE),
    ROW(strings, ANYWHERE),
    ROW(maps, ANYWHERE),
    ROW(deques_and_pointers, ANYWHERE),
    ROW(memory_resources, ANYWHERE),
    ROW(stable_sort, ANYWHERE),
    ROW(closures, ANYWHERE),
    ROW(regular_expressions, OUTSIDE),
    ROW(thread_local_objects, ANYWHERE),
    ROW(child_throws, ANYWHERE),
};

const size_t conform_row_count = sizeof conform_rows / sizeof conform_rows[0];

int main(int argc, char **argv)
{
    return conform_main(argc, argv);
}
