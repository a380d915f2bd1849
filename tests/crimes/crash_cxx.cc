/*
 * crash_cxx.cpp - ends by std::terminate: crash_cxx WAY.
 *
 * rtc-build: -O1 -g -fno-builtin -fno-optimize-sibling-calls
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

namespace
{
struct hidden {
};
} // namespace

template <class T> struct holder {
    T value;
};

static void of_runtime_error()
{
    throw std::runtime_error("no");
}

static void of_int()
{
    throw 7;
}

static void of_pointer()
{
    throw "text";
}

static void of_template()
{
    throw holder<std::string>{"x"};
}

static void of_hidden()
{
    throw hidden();
}

static void of_rethrow()
{
    try {
        throw std::out_of_range("no");
    } catch (const std::exception &) {
        throw;
    }
}

static void of_noexcept() noexcept
{
    of_runtime_error();
}

static void of_thread()
{
    std::thread(of_runtime_error).join();
}

static void of_pointer_to_exception()
{
    std::exception_ptr kept;
    try {
        of_int();
    } catch (...) {
        kept = std::current_exception();
    }
    std::rethrow_exception(kept);
}

static void by_joinable()
{
    std::thread running([] { std::puts(""); });
}

static void by_call_in_handler()
{
    try {
        of_runtime_error();
    } catch (...) {
        std::terminate();
    }
}

static void by_abort_in_handler()
{
    try {
        of_runtime_error();
    } catch (...) {
        std::abort();
    }
}

static void by_empty_rethrow()
{
    throw;
}

/* Longer than the room for a name. */
template <int N> struct deep {
    deep<N - 1> next;
};
template <> struct deep<0> {
};
template <class... T> struct row {
};

static void of_long_name()
{
    throw row<deep<100001>, deep<100002>, deep<100003>, deep<100004>, deep<100005>, deep<100006>,
              deep<100007>, deep<100008>, deep<100009>, deep<100010>, deep<100011>, deep<100012>,
              deep<100013>>();
}

/* clang-format off */
#define WAY(name) {#name, name}
/* clang-format on */

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*crash)();
    } ways[] = {WAY(of_runtime_error),    WAY(of_int),          WAY(of_pointer),
                WAY(of_template),         WAY(of_hidden),       WAY(of_rethrow),
                WAY(of_noexcept),         WAY(of_thread),       WAY(of_pointer_to_exception),
                WAY(of_long_name),        WAY(by_joinable),     WAY(by_call_in_handler),
                WAY(by_abort_in_handler), WAY(by_empty_rethrow)};
    for (const auto &way : ways)
        if (argc > 1 && std::strcmp(argv[1], way.name) == 0)
            way.crash();
    return argc < 2 ? 0 : 97;
}
