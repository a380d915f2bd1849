/*
 * test_demangle.c - names of C++, Rust and D, and hostile names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "basics.h"

static void test_languages(void **state)
{
    static const struct {
        const char *name, *plain; /* NULL: not a mangled name */
    } names[] = {
        {"_ZN5store5shelf4fillEm", "store::shelf::fill(unsigned long)"},
        {"_ZN5store5shelf4fillEm.isra.0", "store::shelf::fill(unsigned long) [clone .isra.0]"},
        {"_ZNSt6vectorIiSaIiEE9push_backERKi",
         "std::vector<int, std::allocator<int> >::push_back(int const&)"},
        {"_Z4openNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERKS4_",
         "open(std::string, std::string const&)"},
        {"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEED1Ev",
         "std::string::~basic_string()"},
        {"_ZNSt7__cxx1112basic_stringIwSt11char_traitsIwESaIwEED1Ev",
         "std::__cxx11::basic_string<wchar_t, std::char_traits<wchar_t>, std::allocator<wchar_t> "
         ">::~basic_string()"},
        {"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"},
        {"_RNvCskwGfYPst2Cb_3foo16example_function", "foo::example_function"},
        {"_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3newCs15kBYyAo9fc_7mycrate",
         "<std::path::PathBuf>::new"},
        {"_D3std5stdio7writelnFAyaZv", "std.stdio.writeln(immutable(char)[])"},
        {"_Dmain", "D main"},
        {"main", NULL},
        {"_Z", NULL},
        {"_R", NULL},
        {"_D", NULL},
        {"", NULL},
        {"_ZN5store", NULL},
    };

    (void)state;
    for (size_t i = 0; i < countof(names); i++) {
        char *plain = demangle(names[i].name);
        if (names[i].plain && plain)
            assert_string_equal(plain, names[i].plain);
        else if (names[i].plain || plain)
            fail_msg("%s: %s", names[i].name, plain ? plain : "nothing");
        free(plain);
    }
}

/*
 * Each argument is a pair of the previous one, twice: its text doubles, the name grows by 10 bytes.
 */
static void test_doubling(void **state)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char name[1000] = "_Z1fSt4pairIiiE";
    time_t start = time(NULL);
    char *plain;

    (void)state;
    for (unsigned i = 0; digits[i]; i++) {
        snprintf(name + strlen(name), sizeof name - strlen(name), "S_IS%c_S%c_E", digits[i],
                 digits[i]);
        plain = demangle(name);
        if (i < 4)
            assert_non_null(plain);
        if (i > 20)
            assert_null(plain);
        free(plain);
    }
    assert_true(time(NULL) - start < 10);
}

static void test_depth(void **state)
{
    static const char *const begins[] = {"_Z1f", "_ZN", "_RNv", "_D1", "_D1aF", "_Z1fI", "_RI"};
    static const char repeats[] = "PNSIRXTAFJLYQ1";

    (void)state;
    for (size_t b = 0; b < countof(begins); b++)
        for (const char *c = repeats; *c; c++)
            for (size_t bytes = 100; bytes < 200000; bytes *= 10) {
                char *name = xalloc(malloc(bytes + 16));
                snprintf(name, 16, "%s", begins[b]);
                memset(name + strlen(begins[b]), *c, bytes);
                name[strlen(begins[b]) + bytes] = '\0';
                free(demangle(name));
                free(name);
            }
}

static void test_long_names_stay(void **state)
{
    enum { BYTES = 70000 };
    char *name = xalloc(calloc(1, BYTES + 64));

    (void)state;
    snprintf(name, BYTES, "_Z%d", BYTES);
    memset(name + strlen(name), 'a', BYTES);
    strcat(name, "v");
    assert_null(demangle(name));
    free(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_languages),
        cmocka_unit_test(test_doubling),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_long_names_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
