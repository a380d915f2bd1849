/* What the C++ compilers compile: templates, lambdas, exceptions, iostreams. */
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <numeric>
#include <string>
#include <variant>
#include <vector>

using Value = std::variant<int, double, std::string, std::vector<int>>;

template <typename... T> struct Overloaded : T... {
    using T::operator()...;
};
template <typename... T> Overloaded(T...) -> Overloaded<T...>;

template <int N> struct Fold {
    static int of(const std::vector<int> &v)
    {
        return v[N % v.size()] + Fold<N - 1>::of(v);
    }
};
template <> struct Fold<0> {
    static int of(const std::vector<int> &v)
    {
        return v[0];
    }
};

int main()
{
    std::map<std::string, Value> values{
        {"a", 1}, {"b", 2.5}, {"c", "text"}, {"d", std::vector<int>{1, 2, 3}}};
    for (auto &[name, value] : values)
        std::visit(Overloaded{[](const std::vector<int> &v) {
                                  std::cout << std::accumulate(v.begin(), v.end(), 0);
                              },
                              [](const auto &v) { std::cout << v; }},
                   value),
            std::cout << ' ' << name << '\n';
    std::function<int(int)> fib = [&](int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); };
    std::cout << fib(15) << ' ' << Fold<40>::of({3, 1, 4, 1, 5}) << '\n';
}
