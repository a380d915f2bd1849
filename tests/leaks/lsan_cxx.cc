/*
 * lsan_cxx.cc - a C++ program with its own suppressions for another checker: its intended leaks are reported
 * neither by the check of a child in mid-run, nor at the end; its other leaks are.
 */
/* rtc-build: -rdynamic */
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

#include "rtcheck/check.h"

extern "C" const char *__lsan_default_suppressions()
{
    return "# of a library that we cannot mend\n"
           "leak:shop::on_purpose\n"
           "leak:lose\n" /* the name of another program's leak, which must not be suppressed */
           "leak:strdup\n";
}

static char *volatile kept;

namespace shop
{

template <class T> static __attribute__((noinline)) void on_purpose(T bytes)
{
    kept = new char[bytes];
    kept = nullptr;
}

static __attribute__((noinline)) void by_mistake(std::size_t bytes)
{
    kept = new char[bytes];
    kept = nullptr;
}

} // namespace shop

/* Before its parent has any stack. */
static void child_first()
{
    pid_t pid = fork();
    if (pid == 0) {
        shop::on_purpose(4005);
        rtc_check_leaks(RTC_ALL, nullptr);
        _exit(0);
    }
    waitpid(pid, nullptr, 0);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !std::strcmp(argv[1], "first")) {
        child_first();
        return 0;
    }
    if (argc > 1) { /* as another program does it */
        kept = strdup("lost");
        kept = nullptr;
        return 0;
    }
    shop::on_purpose(4001);
    shop::by_mistake(4002);
    pid_t pid = fork();
    if (pid == 0) {
        shop::on_purpose(4003);
        shop::by_mistake(4004);
        rtc_check_leaks(RTC_ALL, nullptr);
        std::exit(0);
    }
    waitpid(pid, nullptr, 0);
}
