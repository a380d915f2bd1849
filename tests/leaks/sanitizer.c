/* sanitizer.c - the visible part of a sanitizer's runtime; each function prints its call. */
/* rtc-build: shared */
#include <stdio.h>

void __lsan_init(void);
void __lsan_disable(void);
void __lsan_do_leak_check(void);
int __lsan_do_recoverable_leak_check(void);

void __lsan_init(void)
{
}

void __lsan_disable(void)
{
    puts("its disable");
}

void __lsan_do_leak_check(void)
{
    puts("its check");
    fflush(stdout);
}

int __lsan_do_recoverable_leak_check(void)
{
    return 42;
}
