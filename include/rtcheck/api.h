/*
 * api.h - how the functions of the runtime are declared to programs: for the other headers.
 *
 * A program links and runs without the runtime: each is a weak symbol, NULL where the runtime is not there.
 */
#ifndef RTCHECK_API_H
#define RTCHECK_API_H

#ifndef RTC_API
#if defined __GNUC__ && !defined __clang__
#define RTC_API \
    __attribute__((weak, noplt)) /* found in programs that are not position-independent, too */
#else
#define RTC_API __attribute__((weak))
#endif
#endif

#endif
