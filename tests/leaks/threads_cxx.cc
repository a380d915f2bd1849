/*
 * threads_cxx.cc - the programs of threads.c that are written in C++.
 */
#include "threads.h"

#include <condition_variable>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static std::string text(int i)
{
    return "a text that is too long to be kept inside of a string " + std::to_string(i);
}

static void std_threads()
{
    std::vector<std::thread> threads;
    std::vector<std::string> results(4);
    for (int i = 0; i < 4; i++)
        threads.emplace_back([i, &results] {
            std::map<int, std::string> numbers;
            for (int n = 0; n < 100; n++)
                numbers[n] = text(n);
            results[i] = numbers[i];
            plant();
        });
    for (auto &t : threads)
        t.join();
}

static void futures()
{
    std::vector<std::future<std::string>> answers;
    for (int i = 0; i < 4; i++)
        answers.push_back(std::async(std::launch::async, [i] {
            plant();
            return text(i);
        }));
    std::promise<std::shared_ptr<std::string>> promise;
    auto future = promise.get_future();
    std::thread teller([&promise] { promise.set_value(std::make_shared<std::string>(text(5))); });
    for (auto &a : answers)
        a.get();
    future.get();
    teller.join();
}

static void exceptions()
{
    std::exception_ptr caught;
    std::thread thrower([&caught] {
        try {
            throw std::runtime_error(text(1));
        } catch (...) {
            caught = std::current_exception();
        }
        plant();
    });
    thrower.join();
    try {
        std::rethrow_exception(caught);
    } catch (const std::runtime_error &e) {
        std::string copy = e.what();
    }
}

namespace
{
struct journal {
    std::vector<std::string> lines;
    ~journal()
    {
        plant();
    }
};
} // namespace

static thread_local journal own;

static void thread_locals()
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([i] {
            for (int n = 0; n < 50; n++)
                own.lines.push_back(text(i * n));
        });
    for (auto &t : threads)
        t.join();
}

static void condition_queue()
{
    std::mutex lock;
    std::condition_variable changed;
    std::deque<std::unique_ptr<std::string>> queue;
    std::thread consumer([&] {
        for (int n = 0; n < 200; n++) {
            std::unique_lock<std::mutex> held(lock);
            changed.wait(held, [&] { return !queue.empty(); });
            queue.pop_front();
        }
        plant();
    });
    for (int n = 0; n < 200; n++) {
        std::lock_guard<std::mutex> held(lock);
        queue.push_back(std::make_unique<std::string>(text(n)));
        changed.notify_one();
    }
    consumer.join();
}

const struct program cxx_programs[] = {
    {"std_threads", std_threads},         {"futures", futures},
    {"exceptions", exceptions},           {"thread_locals", thread_locals},
    {"condition_queue", condition_queue}, {nullptr, nullptr},
};
