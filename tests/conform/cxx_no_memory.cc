/*
 * cxx_no_memory.cc - the result of new when there is no memory, and the effect of a new-handler.
 */
#include "cxx.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace rows
{

/* ---- no memory ------------------------------------------------------------------------------ */

/* Rounding these up to the alignment does not change them. */
const size_t too_much_rounded[] = {SIZE_MAX - 4095, SIZE_MAX - 8191,
                                   static_cast<size_t>(PTRDIFF_MAX) + 1,
                                   static_cast<size_t>(1) << 47};

template <typename New>
void print_thrown(const char *form, New make, const size_t (&sizes)[4] = too_much)
{
    for (size_t n : sizes) {
        try {
            void *p = make(opaque(n));
            print_result("%s of %#zx: %s", form, n, p ? "block" : "NULL");
        } catch (const std::bad_array_new_length &error) {
            print_result("%s of %#zx: bad_array_new_length, %s", form, n, error.what());
        } catch (const std::bad_alloc &error) {
            print_result("%s of %#zx: bad_alloc, %s", form, n, error.what());
        }
    }
}

void bad_alloc_of_new()
{
    print_thrown("new", [](size_t n) { return ::operator new(n); });
    print_thrown("new[]", [](size_t n) { return ::operator new[](n); });
}

void bad_alloc_of_aligned_new()
{
    print_thrown(
        "new", [](size_t n) { return ::operator new(n, align(64)); }, too_much_rounded);
    print_thrown(
        "new[]", [](size_t n) { return ::operator new[](n, align(64)); }, too_much_rounded);
}

void null_of_nothrow_new()
{
    print_thrown("new", [](size_t n) { return ::operator new(n, nothrow); });
    print_thrown("new[]", [](size_t n) { return ::operator new[](n, nothrow); });
}

void null_of_aligned_nothrow_new()
{
    print_thrown(
        "new", [](size_t n) { return ::operator new(n, align(64), nothrow); }, too_much_rounded);
    print_thrown(
        "new[]", [](size_t n) { return ::operator new[](n, align(4096), nothrow); },
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
    print_thrown("new double[]", [](size_t n) -> void * { return escape(new double[n]); });
    print_thrown("new string[]", [](size_t n) -> void * { return escape(new std::string[n]); });
    try {
        volatile long minus = -1;
        delete[] new int[minus];
        print_result("new int[-1]: block");
    } catch (const std::bad_array_new_length &error) {
        print_result("new int[-1]: %s", error.what());
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
    const char *what() const noexcept override
    {
        return "no more";
    }
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

template <typename New> void print_handled(const char *form, std::new_handler handler, New make)
{
    handler_calls = 0;
    std::set_new_handler(handler);
    try {
        void *p = make(opaque(SIZE_MAX / 2 - 100));
        print_result("%s: %s after %d calls", form, p ? "block" : "NULL", handler_calls);
    } catch (const std::bad_alloc &error) {
        print_result("%s: %s after %d calls", form, error.what(), handler_calls);
    }
    print_result("%s: handler %s", form, std::get_new_handler() ? "still set" : "gone");
    std::set_new_handler(nullptr);
}

void print_handled_by_every_form(std::new_handler handler)
{
    print_handled("new", handler, [](size_t n) { return ::operator new(n); });
    print_handled("new[]", handler, [](size_t n) { return ::operator new[](n); });
    print_handled("nothrow new", handler, [](size_t n) { return ::operator new(n, nothrow); });
    print_handled("nothrow new[]", handler, [](size_t n) { return ::operator new[](n, nothrow); });
    print_handled("aligned new", handler, [](size_t n) { return ::operator new(n, align(64)); });
    print_handled("aligned new[]", handler,
                  [](size_t n) { return ::operator new[](n, align(64)); });
    print_handled("aligned nothrow new", handler,
                  [](size_t n) { return ::operator new(n, align(64), nothrow); });
    print_handled("aligned nothrow new[]", handler,
                  [](size_t n) { return ::operator new[](n, align(64), nothrow); });
}

void handler_throws()
{
    print_handled_by_every_form(handler_gives_up);
}

void handler_removed()
{
    print_handled_by_every_form(handler_removes_itself);
}

void handler_replaced()
{
    print_handled_by_every_form(handler_hands_over);
}

void handler_uses_new()
{
    print_handled_by_every_form(handler_allocates);
}

void handler_of_malloc_is_none()
{
    handler_calls = 0;
    std::set_new_handler(handler_gives_up);
    void *p = std::malloc(opaque(SIZE_MAX / 2));
    print_result("malloc: %s after %d calls", p ? "block" : "NULL", handler_calls);
    std::set_new_handler(nullptr);
}

void handler_is_called()
{
    std::new_handler before = std::get_new_handler();
    std::new_handler previous = std::set_new_handler(handler_gives_up);
    print_result("%s, %s, %s", before ? "set at first" : "none at first",
                 previous ? "set" : "none before",
                 std::get_new_handler() == handler_gives_up ? "now ours" : "now another");
    std::new_handler own = std::set_new_handler(nullptr);
    print_result("%s, %s", own == handler_gives_up ? "ours returned" : "another returned",
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
            print_result("%s after %d calls", error.what(), handler_calls);
        }
    }).join();
    std::set_new_handler(nullptr);
}

/* Memory is used up except for a reserve, which the handler frees: the request then succeeds. */
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

void print_granted_after_handler()
{
    handler_calls = 0;
    std::set_new_handler(handler_frees_reserve);
    try {
        ::operator delete(::operator new(sizeof(big_block)));
        print_result("block after %d calls", handler_calls);
    } catch (const std::bad_alloc &error) {
        print_result("%s after %d calls", error.what(), handler_calls);
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
    print_granted_after_handler();
    limits_restore();
    while (list) {
        big_block *next = list->next;
        ::operator delete(list);
        list = next;
    }
    ::operator delete(reserve);
    reserve = nullptr;
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
    print_child("child", child_of_cxx, nullptr);
}

} /* namespace rows */
