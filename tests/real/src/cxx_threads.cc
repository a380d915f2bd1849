/* Exceptions across threads, containers, iostreams, shared_ptr, futures, aligned new, new_handler. */
#include <algorithm>
#include <future>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

struct Wide {
    alignas(128) unsigned char bytes[256];
};

struct Failure : std::runtime_error {
    Failure(int n, std::string text) : std::runtime_error(std::move(text)), number(n)
    {
    }
    int number;
    std::vector<std::string> details =
        std::vector<std::string>(10, "a detail that does not fit inline");
};

static int risky(int n)
{
    std::string text =
        "job " + std::to_string(n) + " " + std::string(static_cast<size_t>(n % 60), '*');
    if (n % 3 == 0)
        throw Failure(n, text);
    return static_cast<int>(text.size());
}

static void exceptions()
{
    std::vector<std::future<int>> jobs;
    for (int i = 0; i < 60; i++)
        jobs.push_back(std::async(std::launch::async, risky, i));
    int sum = 0, caught = 0;
    for (auto &job : jobs) {
        try {
            sum += job.get();
        } catch (const Failure &f) {
            caught += f.number + static_cast<int>(f.details.size());
        }
    }
    std::cout << "sum " << sum << " caught " << caught << '\n';
    std::exception_ptr kept;
    std::thread([&] {
        try {
            risky(3);
        } catch (...) {
            kept = std::current_exception();
        }
    }).join();
    try {
        std::rethrow_exception(kept);
    } catch (const std::exception &e) {
        std::cout << "rethrown " << e.what() << '\n';
    }
}

static void containers()
{
    std::map<std::string, std::list<int>> lists;
    std::unordered_map<int, std::shared_ptr<std::string>> shared;
    std::mutex lock;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&, t] {
            for (int i = t; i < 4000; i += 4) {
                auto text = std::make_shared<std::string>(std::to_string(i * 7919 % 4001));
                std::lock_guard<std::mutex> held(lock);
                lists[text->substr(0, 2)].push_back(i);
                shared[i] = text;
            }
        });
    for (auto &t : threads)
        t.join();
    size_t longest = 0;
    for (auto &l : lists)
        longest = std::max(longest, l.second.size());
    std::cout << "lists " << lists.size() << " longest " << longest << " shared " << shared.size()
              << '\n';
}

static void news()
{
    std::vector<std::unique_ptr<Wide>> wide;
    bool aligned = true;
    for (int i = 0; i < 300; i++) {
        wide.push_back(std::make_unique<Wide>());
        aligned &= reinterpret_cast<uintptr_t>(wide.back().get()) % 128 == 0;
    }
    std::unique_ptr<std::string[]> array(new std::string[100]);
    array[99] = "last";
    std::cout << "aligned " << aligned << " array " << array[99] << '\n';
    std::set_new_handler([] {
        std::set_new_handler(nullptr);
        throw std::bad_alloc();
    });
    volatile size_t huge = SIZE_MAX / 4;
    try {
        delete[] new char[huge];
    } catch (const std::bad_alloc &e) {
        std::cout << "refused " << e.what() << ' ' << (new (std::nothrow) char[huge] == nullptr)
                  << '\n';
    }
}

int main()
{
    exceptions();
    containers();
    news();
    std::ostringstream out;
    for (int i = 0; i < 200; i++)
        out << i * 0.25 << ' ';
    std::cout << std::regex_replace(out.str(), std::regex("\\.25|\\.75"), "~") << std::endl;
    std::thread([] { std::cout << "from a detached thread\n" << std::flush; }).join();
    throw Failure(1, "uncaught on purpose");
}
