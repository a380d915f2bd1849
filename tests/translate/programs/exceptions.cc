/* exceptions.cc - functions with an LSDA, which stay native, call translated functions and are called by them. */
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct shape {
    virtual ~shape() = default;
    virtual double area() const = 0;
};

struct square : shape {
    double side;
    explicit square(double s) : side(s)
    {
    }
    double area() const override
    {
        return side * side;
    }
};

struct disc : shape {
    double radius;
    explicit disc(double r) : radius(r)
    {
    }
    double area() const override
    {
        return 3 * radius * radius;
    }
};

/* Thrown and caught here: no frame of a copy is unwound. */
__attribute__((noinline)) static int caught(int n)
{
    try {
        if (n % 3 == 0)
            throw std::runtime_error("three");
        return n;
    } catch (const std::runtime_error &e) {
        return -static_cast<int>(e.what()[0]);
    }
}

__attribute__((noinline)) static int without_lsda(int n)
{
    return caught(n) * 2 + 1;
}

int main()
{
    std::map<std::string, int> count;
    std::vector<std::unique_ptr<shape>> shapes;
    double sum = 0;
    int all = 0;

    for (int n = 0; n < 2000; n++)
        count["key" + std::to_string(n * 7919 % 97)] += n;
    for (const auto &[key, value] : count)
        all = all * 31 + value + static_cast<int>(key.size());
    for (int n = 0; n < 100; n++) {
        if (n & 1)
            shapes.push_back(std::make_unique<square>(n));
        else
            shapes.push_back(std::make_unique<disc>(n));
        all += without_lsda(n);
    }
    std::sort(shapes.begin(), shapes.end(),
              [](const auto &a, const auto &b) { return a->area() < b->area(); });
    for (const auto &s : shapes)
        sum = sum / 2 + s->area();
    std::printf("%d %.3f\n", all, sum);
    return 0;
}
