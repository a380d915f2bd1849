// Exceptions through 40 frames whose destructors allocate, caught, thrown again, and nested.
#include <cstdio>
#include <functional>
#include <map>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))

static unsigned destroyed, caught;

struct holder {
    std::string *text;
    explicit holder(unsigned n) : text(new std::string(40 + n % 10, 'x'))
    {
    }
    holder(const holder &) = delete;
    ~holder()
    {
        std::vector<int> more(destroyed % 20 + 1);
        destroyed += more.size() != 0;
        delete text;
    }
};

static NOINLINE unsigned thrower(unsigned levels)
{
    holder h(levels);
    if (!levels)
        throw std::runtime_error("a message that needs memory of its own: " + *h.text);
    return thrower(levels - 1) + (unsigned)h.text->size();
}

static NOINLINE unsigned again(unsigned levels)
{
    holder h(levels);
    try {
        return levels ? again(levels - 1) : thrower(40);
    } catch (const std::exception &e) {
        caught++;
        if (levels % 2)
            throw;
        throw std::logic_error(std::string("nested ") + (levels ? "often" : e.what()));
    }
}

struct in_destructor {
    ~in_destructor()
    {
        try {
            thrower(5);
        } catch (const std::exception &) {
            caught++;
        }
    }
};

static NOINLINE unsigned during_unwinding(unsigned levels)
{
    in_destructor d;
    return levels ? during_unwinding(levels - 1) + 1 : thrower(3);
}

static NOINLINE size_t library_code(unsigned n)
{
    std::map<std::string, std::function<size_t(const std::string &)>> table;
    table["digits"] = [n](const std::string &s) {
        std::smatch found;
        std::string all = s + std::to_string(n);
        const std::regex shape("([a-z]+)-?([0-9]+)");
        return std::regex_search(all, found, shape) ? found[2].length() : 0u;
    };
    size_t sum = 0;
    for (auto &row : table)
        sum += row.second(row.first + "-");
    return sum;
}

int main()
{
    size_t sum = 0;
    for (unsigned i = 0; i < 4; i++) {
        for (auto f : {thrower, again, during_unwinding}) {
            try {
                sum += f(i * 3 + 4);
            } catch (const std::exception &e) {
                caught++;
            }
        }
        sum += library_code(i * 100);
    }
    std::printf("exceptions: %u caught, %u destroyed, %zu\n", caught, destroyed, sum);
}
