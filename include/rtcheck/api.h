/*
 * api.h - the declaration attributes of the runtime's functions, for the other headers.
 *
 * A program links and runs without the runtime: each function is a weak symbol, NULL without the
 * runtime.
 */
#ifndef RTCHECK_API_H
#define RTCHECK_API_H

#ifndef RTC_API
#if defined __GNUC__ && !defined __clang__
#define RTC_API \
    __attribute__((weak, noplt)) /* also resolved in programs that are not position-independent */
#else
#define RTC_API __attribute__((weak))
#endif
#endif

#endif
