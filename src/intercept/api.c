/*
 * api.c - the annotation API for programs: functions of rtcheck/check.h, and those of
 * <sanitizer/lsan_interface.h> and <sanitizer/asan_interface.h> about blocks and memory.  The functions
 * that start leak scans are in leave.
 *
 * If the process contains a sanitizer's runtime, its definitions come after ours in symbol lookup,
 * and ours call them.
 */
#include "accesses.h"
#include "byte_shadow.h"
#include "intercept.h"
#include "rtcheck/check.h"

#include <string.h>

/* ---- rtcheck/check.h ------------------------------------------------------------------------- */

EXPORT int __rtc_disable(void);
EXPORT int __rtc_disable(void)
{
    annotations_ignore_new();
    return 1;
}

EXPORT int __rtc_enable(void);
EXPORT int __rtc_enable(void)
{
    annotations_resume_new();
    return 1;
}

EXPORT int __rtc_ignore(const void *p);
EXPORT int __rtc_ignore(const void *p)
{
    return annotations_ignore(p);
}

EXPORT int __rtc_add_root_region(const void *start, size_t bytes);
EXPORT int __rtc_add_root_region(const void *start, size_t bytes)
{
    return annotations_add_root((uintptr_t)start, bytes);
}

EXPORT int __rtc_remove_root_region(const void *start, size_t bytes);
EXPORT int __rtc_remove_root_region(const void *start, size_t bytes)
{
    return annotations_remove_root((uintptr_t)start, bytes);
}

EXPORT int __rtc_hide_region(const void *start, size_t bytes);
EXPORT int __rtc_hide_region(const void *start, size_t bytes)
{
    return annotations_hide((uintptr_t)start, bytes);
}

EXPORT int __rtc_show_region(const void *start, size_t bytes);
EXPORT int __rtc_show_region(const void *start, size_t bytes)
{
    return annotations_show((uintptr_t)start, bytes);
}

EXPORT int __rtc_record_malloc(const void *p, size_t bytes);
EXPORT int __rtc_record_malloc(const void *p, size_t bytes)
{
    return client_malloc(p, bytes, CALLER);
}

EXPORT int __rtc_record_free(const void *p);
EXPORT int __rtc_record_free(const void *p)
{
    return client_free(p, OP(RECORD_FREE, MALLOC), CALLER);
}

EXPORT int __rtc_record_realloc(const void *from, const void *to, size_t bytes);
EXPORT int __rtc_record_realloc(const void *from, const void *to, size_t bytes)
{
    return client_realloc(from, to, bytes, OP(RECORD_REALLOC, MALLOC), CALLER);
}

EXPORT size_t __rtc_record_free_all(const void *start, size_t bytes);
EXPORT size_t __rtc_record_free_all(const void *start, size_t bytes)
{
    return client_free_all(start, bytes, CALLER);
}

EXPORT int __rtc_check_block(const void *p, struct rtc_block *out, size_t room);
EXPORT int __rtc_check_block(const void *p, struct rtc_block *out, size_t room)
{
    struct known_block known;
    enum known_as as = client_find(p, &known);
    if (as != KNOWN_NOT && out) {
        struct rtc_block block = {(const void *)known.start, known.bytes};
        memcpy(out, &block, room < sizeof block ? room : sizeof block);
    }
    return as == KNOWN_CLIENT_BLOCK ? RTC_BLOCK_RECORDED
           : as == KNOWN_IN_HEAP    ? RTC_BLOCK_HEAP
                                    : RTC_BLOCK_NONE;
}

/* ---- <sanitizer/asan_interface.h> ------------------------------------------------------------ */

EXPORT void __asan_poison_memory_region(const volatile void *at, size_t bytes);
EXPORT void __asan_poison_memory_region(const volatile void *at, size_t bytes)
{
    byte_shadow_poison((uintptr_t)at, bytes);
}

EXPORT void __asan_unpoison_memory_region(const volatile void *at, size_t bytes);
EXPORT void __asan_unpoison_memory_region(const volatile void *at, size_t bytes)
{
    byte_shadow_unpoison((uintptr_t)at, bytes);
}

EXPORT void *__asan_region_is_poisoned(void *start, size_t bytes);
EXPORT void *__asan_region_is_poisoned(void *start, size_t bytes)
{
    uint64_t allowed = access_allowed((uintptr_t)start, bytes);
    return allowed < bytes ? (char *)start + allowed : NULL;
}

EXPORT int __asan_address_is_poisoned(const volatile void *at);
EXPORT int __asan_address_is_poisoned(const volatile void *at)
{
    return access_allowed((uintptr_t)at, 1) == 0;
}

/* ---- <sanitizer/lsan_interface.h> ------------------------------------------------------------ */

EXPORT void __lsan_disable(void);
EXPORT void __lsan_disable(void)
{
    if (next.lsan_disable)
        next.lsan_disable();
    else
        annotations_ignore_new();
}

EXPORT void __lsan_enable(void);
EXPORT void __lsan_enable(void)
{
    if (next.lsan_enable)
        next.lsan_enable();
    else
        annotations_resume_new();
}

EXPORT void __lsan_ignore_object(const void *p);
EXPORT void __lsan_ignore_object(const void *p)
{
    if (next.lsan_ignore_object)
        next.lsan_ignore_object(p);
    else
        (void)annotations_ignore(p);
}

EXPORT void __lsan_register_root_region(const void *start, size_t bytes);
EXPORT void __lsan_register_root_region(const void *start, size_t bytes)
{
    if (next.lsan_register_root_region)
        next.lsan_register_root_region(start, bytes);
    else
        (void)annotations_add_root((uintptr_t)start, bytes);
}

EXPORT void __lsan_unregister_root_region(const void *start, size_t bytes);
EXPORT void __lsan_unregister_root_region(const void *start, size_t bytes)
{
    if (next.lsan_unregister_root_region)
        next.lsan_unregister_root_region(start, bytes);
    else
        (void)annotations_remove_root((uintptr_t)start, bytes);
}
