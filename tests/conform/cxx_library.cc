/*
 * cxx_library.cc - exceptions, and the library on top of operator new and delete.
 */
#include "cxx.h"

#include <algorithm>
#include <any>
#include <atomic>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <list>
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

namespace rows
{

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
    print_result("%zu characters caught", caught);
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
        print_result("%s, %d alive", error.what(), alive.load());
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
            print_result("%s, %s", outer.what(), inner.what());
        }
    }
}

/* Larger than the emergency pool of libstdc++. */
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
    print_result("%d caught", caught);
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
        print_result("%s", error.what());
    }
}

void exceptions_in_threads()
{
    std::atomic<int> caught{0};
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
    print_result("%d caught", caught.load());
}

void bad_alloc_in_threads()
{
    std::atomic<int> caught{0};
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
    print_result("%d caught", caught.load());
}

void futures()
{
    std::promise<std::string> promise;
    std::future<std::string> future = promise.get_future();
    std::thread thread([&] { promise.set_value(std::string(1000, 'f')); });
    print_result("%zu characters", future.get().size());
    thread.join();
    std::future<int> failing =
        std::async(std::launch::async, []() -> int { throw std::runtime_error("async"); });
    try {
        failing.get();
    } catch (const std::runtime_error &error) {
        print_result("%s", error.what());
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
    print_result("%zu strings, %zu characters", copy.size(), sum);
}

void vector_too_long()
{
    std::vector<char> bytes;
    try {
        bytes.resize(opaque(SIZE_MAX));
    } catch (const std::length_error &) {
        print_result("length_error");
    }
    try {
        bytes.resize(opaque(static_cast<size_t>(1) << 50));
    } catch (const std::bad_alloc &) {
        print_result("bad_alloc");
    }
    bytes.resize(1000);
    print_result("%zu", bytes.size());
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
    print_result("%s", stream.str().c_str());
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
    print_result("%zu, %zu, %d", tree.size(), table.size(), tree["77"].back());
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
    print_result("%zu queued, %d alive", queue.size(), alive.load());
    queue.clear();
    owner.reset();
    print_result("%d alive", alive.load());
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
    print_result("%zu strings", texts.size());
}

void stable_sort()
{
    std::vector<std::pair<int, int>> pairs;
    for (int i = 0; i < 20000; i++)
        pairs.emplace_back(i * 7919 % 100, i);
    std::stable_sort(pairs.begin(), pairs.end(),
                     [](const auto &a, const auto &b) { return a.first < b.first; });
    print_result("%d, %d", std::is_sorted(pairs.begin(), pairs.end()), pairs[12345].second);
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
    print_result("%d, %zu", sum, std::any_cast<std::string>(held).size());
}

void regular_expressions()
{
    std::regex expression("([a-z]+)-([0-9]+)(;|$)");
    std::string text = "one-1;two-22;three-333";
    int found = 0;
    for (std::sregex_iterator i(text.begin(), text.end(), expression), end; i != end; ++i)
        found += static_cast<int>((*i)[2].str().size());
    print_result("%d digits", found);
}

thread_local std::vector<std::string> per_thread;

void thread_local_objects()
{
    std::atomic<size_t> sum{0};
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
    print_result("%zu", sum.load());
}

} /* namespace rows */
