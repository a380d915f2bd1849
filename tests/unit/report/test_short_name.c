/*
 * test_short_name.c - names in the room of a line: template arguments left out, parameters left out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "text.h"

#define ROOMY 1000u

struct name_case {
    const char *name, *prints;
    uint32_t room;
};

static void check(const char *name, const char *prints, char *got)
{
    if (strcmp(got, prints) != 0)
        fail_msg("%s: \"%s\" instead of \"%s\"", name, got, prints);
    free(got);
}

static void shortened(void **state)
{
    static const struct name_case cases[] = {
        {"", "", 0},
        {"main", "main", 0}, /* nothing can be left out */
        {"a_function_with_a_long_name", "a_function_with_a_long_name", 10},
        {"f<int>", "f<int>", 6},
        {"f<char>", "f<...>", 6},
        {"std::vector<int>::push_back(int&&)", "std::vector<int>::push_back(int&&)", ROOMY},
        {"std::vector<int>::push_back(int&&)", "std::vector<...>::push_back(int&&)", 33},
        /* the most deeply nested first */
        {"f<g<h<int>>>", "f<g<h<int>>>", 12},
        {"a<b<c<d<eeeee>>>>::m", "a<b<c<d<...>>>>::m", 18},
        {"a<b<c<d<eeeee>>>>::m", "a<b<c<...>>>::m", 17},
        {"a<b<c<ddddd, eeeee>>>::m", "a<b<...>>::m", 14},
        {"a<bb<cccc>, dd<eeee>>::m<ff<gggg>>", "a<bb<...>, dd<...>>::m<ff<...>>", 31},
        {"a<bbbbbb<cc>, dd<ee>>::m<ff<gg>>", "a<...>::m<...>", 20},
        {"a<b<c<d<e<f<g>>>>>>", "a<...>", 6},
        /* angle brackets of operators are no brackets */
        {"operator<<", "operator<<", 0},
        {"operator<", "operator<", 0},
        {"operator<=>", "operator<=>", 0},
        {"operator->", "operator->", 0},
        {"operator>>=", "operator>>=", 0},
        {"p<int>::operator->", "p<...>::operator->", 0},
        {"p<int>::operator->*", "p<...>::operator->*", 0},
        {"p<int>::operator<", "p<...>::operator<", 0},
        {"s<int>::operator<<(t<char>)", "s<...>::operator<<(t<...>)", 0},
        {"s::operator< <int>(s)", "s::operator< <...>(s)", 0},
        {"s<&x::operator< >::f<int>", "s<...>::f<...>", 0},
        {"my_operator<int>", "my_operator<...>", 0}, /* not an operator */
        {"s::operator()<int>", "s::operator()<...>", 0},
        {"s::operator std::vector<int>", "s::operator std::vector<...>", 0},
        {"f(int)::{lambda(x<int>)#1}::operator()(x<int>) const",
         "f(int)::{lambda(x<...>)#1}::operator()(x<...>) const", 0},
        {"auto f<int>(int)->g<int>", "auto f<...>(int)->g<...>", 0}, /* an arrow closes nothing */
        /* malformed */
        {"f<", "f<...>", 0},
        {"f<<", "f<...>", 0},
        {"f<int", "f<...>", 0},
        {"f>", "f>", 0},
        {">", ">", 0},
        {"<", "<...>", 0},
        {"f<a>>b", "f<...>>b", 0},
        {"<<<>>>", "<...>", 0},
        /* columns, not bytes */
        {"\xc3\xa4<int>", "\xc3\xa4<int>", 6},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++)
        check(cases[i].name, cases[i].prints, name_shortened(cases[i].name, cases[i].room));
}

static void without_parameters(void **state)
{
    static const struct name_case cases[] = {
        {"", "", 0},
        {"main", "main", 0},
        {"rec(int, char)", "rec", 0},
        {"f()", "f", 0},
        {"f() const", "f", 0},
        {"f(void (*)(int))", "f", 0},
        {"f(g<(h)1>)", "f", 0},
        {"f<int>(int)", "f<int>", 0},
        {"f<g(int)>(int)", "f<g(int)>", 0},
        {"a::b::f(int, std::vector<int>)", "a::b::f", 0},
        {"operator<<(s&, t)", "operator<<", 0},
        {"operator<(s, t)", "operator<", 0},
        {"operator->()", "operator->", 0},
        {"s::operator()(int)", "s::operator()", 0},
        {"s::operator()(int) const", "s::operator()", 0},
        {"s::operator()", "s::operator()", 0},
        {"s::operator bool()", "s::operator bool", 0},
        {"s::operator std::vector<int>() const", "s::operator std::vector<int>", 0},
        {"operator new(unsigned long)", "operator new", 0},
        {"operator delete[](void*)", "operator delete[]", 0},
        {"(anonymous namespace)::f(int)", "(anonymous namespace)::f", 0},
        {"(anonymous namespace)::f", "(anonymous namespace)::f", 0},
        {"a::(anonymous namespace)::s::f()", "a::(anonymous namespace)::s::f", 0},
        /* parameters of an enclosing function stay */
        {"f(int)::{lambda(int)#1}::operator()(int) const", "f(int)::{lambda(int)#1}::operator()",
         0},
        {"{lambda(int)#1}::operator()", "{lambda(int)#1}::operator()", 0},
        {"f(int)::s::g(char)", "f(int)::s::g", 0},
        {"f(a::b)", "f", 0},
        {"f(a::b) [clone .cold]", "f", 0},
        /* malformed */
        {"f(", "f", 0},
        {"f(int", "f", 0},
        {"(", "(", 0},
        {")", ")", 0},
        {"()", "()", 0},
        {"f)", "f)", 0},
        {"f<(", "f<(", 0},
        {"f<int(", "f<int(", 0},
        {"operator", "operator", 0},
        {"operator(", "operator(", 0},
        {"operator()", "operator()", 0},
        {"(operator(", "(operator(", 0},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++)
        check(cases[i].name, cases[i].prints, name_without_parameters(cases[i].name));
}

/* A name from a file may be as long as the file: both are linear. */
static void long_names(void **state)
{
    static char name[400001];

    (void)state;
    for (size_t i = 0; i + 2 < sizeof name; i += 2)
        memcpy(name + i, "a<", 2);
    check("a<a<..", "a<a<a<...>", name_shortened(name, 10));
    memset(name, '<', sizeof name - 1);
    check("<<..", "<<<<...>", name_shortened(name, 10));
    memset(name, '(', sizeof name - 1);
    free(name_without_parameters(name));
    for (size_t i = 0; i + 4 < sizeof name; i += 4)
        memcpy(name + i, "f():", 4);
    free(name_without_parameters(name));
    for (size_t i = 0; i + 4 < sizeof name; i += 4)
        memcpy(name + i, "g()f", 4);
    free(name_without_parameters(name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shortened),
        cmocka_unit_test(without_parameters),
        cmocka_unit_test(long_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
