/*
 * api.c - functions that a program calls because it knows of a checker: rtcheck/check.h's, and those that
 * <sanitizer/lsan_interface.h> has for blocks and memory.  What looks for leaks is leave's.
 *
 * Where a sanitizer's runtime is in the process its functions stand behind ours, and are called.
 */
#include "intercept.h"

/* ---- rtcheck/check.h ---------------------------------------------------------------------------- */

EXPORT int __rtc_disable(void);
EXPORT int __rtc_disable(void)
{
    hints_ignore_new();
    return 1;
}

EXPORT int __rtc_enable(void);
EXPORT int __rtc_enable(void)
{
    hints_heed_new();
    return 1;
}

EXPORT int __rtc_ignore(const void *p);
EXPORT int __rtc_ignore(const void *p)
{
    return hints_ignore(p);
}

EXPORT int __rtc_add_root_region(const void *start, size_t bytes);
EXPORT int __rtc_add_root_region(const void *start, size_t bytes)
{
    return hints_add_root((uintptr_t)start, bytes);
}

EXPORT int __rtc_remove_root_region(const void *start, size_t bytes);
EXPORT int __rtc_remove_root_region(const void *start, size_t bytes)
{
    return hints_remove_root((uintptr_t)start, bytes);
}

/* ---- <sanitizer/lsan_interface.h> ----------------------------------------------------------------- */

EXPORT void __lsan_disable(void);
EXPORT void __lsan_disable(void)
{
    if (next.lsan_disable)
        next.lsan_disable();
    else
        hints_ignore_new();
}

EXPORT void __lsan_enable(void);
EXPORT void __lsan_enable(void)
{
    if (next.lsan_enable)
        next.lsan_enable();
    else
        hints_heed_new();
}

EXPORT void __lsan_ignore_object(const void *p);
EXPORT void __lsan_ignore_object(const void *p)
{
    if (next.lsan_ignore_object)
        next.lsan_ignore_object(p);
    else
        (void)hints_ignore(p);
}

EXPORT void __lsan_register_root_region(const void *start, size_t bytes);
EXPORT void __lsan_register_root_region(const void *start, size_t bytes)
{
    if (next.lsan_register_root_region)
        next.lsan_register_root_region(start, bytes);
    else
        (void)hints_add_root((uintptr_t)start, bytes);
}

EXPORT void __lsan_unregister_root_region(const void *start, size_t bytes);
EXPORT void __lsan_unregister_root_region(const void *start, size_t bytes)
{
    if (next.lsan_unregister_root_region)
        next.lsan_unregister_root_region(start, bytes);
    else
        (void)hints_remove_root((uintptr_t)start, bytes);
}
