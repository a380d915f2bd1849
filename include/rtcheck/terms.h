/*
 * terms.h - where the bits of a PMU's attribute go, for all who read
 * /sys/bus/event_source/devices/PMU/format: "config:0-7,32-35" takes the lowest 8 bits of the
 * value, and then the next 4.
 */
#ifndef RTCHECK_TERMS_H
#define RTCHECK_TERMS_H

#include <stdbool.h>
#include <stdint.h>

/* Ones from bit `from` to bit `to`, both included; from <= to <= 63. */
static inline uint64_t format_bits(uint64_t from, uint64_t to)
{
    return (to == 63 ? 0 : 1ull << (to + 1)) - (1ull << from);
}

/* Puts the lowest bits of *value into [from, to] of the field. */
static inline void format_place_range(uint64_t *field, uint64_t from, uint64_t to, uint64_t *value)
{
    *field &= ~format_bits(from, to);
    *field |= *value << from & format_bits(from, to);
    *value = to - from == 63 ? 0 : *value >> (to - from + 1);
}

/* The number of a bit; false: there is none. */
static inline bool format_number(const char **s, uint64_t *out)
{
    const char *from = *s;
    for (*out = 0; **s >= '0' && **s <= '9' && *out <= 63; (*s)++)
        *out = *out * 10 + (uint64_t)(**s - '0');
    return *s > from && *out <= 63;
}

/* What is left of the value when all ranges are full; UINT64_MAX: this is no format. */
static inline uint64_t format_place(uint64_t *field, const char *ranges, uint64_t value)
{
    for (;;) {
        uint64_t from, to;
        if (!format_number(&ranges, &from))
            return UINT64_MAX;
        to = from;
        if (*ranges == '-' && (ranges++, !format_number(&ranges, &to)))
            return UINT64_MAX;
        if (from > to)
            return UINT64_MAX;
        format_place_range(field, from, to, &value);
        if (*ranges++ != ',')
            return value;
    }
}

#endif
