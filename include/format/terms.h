/*
 * terms.h - place the bits of a PMU attribute, as /sys/bus/event_source/devices/PMU/format
 * describes it: "config:0-7,32-35" takes the lowest 8 bits of the value, and then the next 4.
 */
#ifndef RTCHECK_TERMS_H
#define RTCHECK_TERMS_H

#include <stdbool.h>
#include <stdint.h>

/* A mask of the bits `from` to `to`, both included; from <= to <= 63. */
static inline uint64_t format_bits(uint64_t from, uint64_t to)
{
    return (to == 63 ? 0 : 1ull << (to + 1)) - (1ull << from);
}

/* Put the lowest bits of *value into [from, to] of the field. */
static inline void format_place_range(uint64_t *field, uint64_t from, uint64_t to, uint64_t *value)
{
    *field &= ~format_bits(from, to);
    *field |= *value << from & format_bits(from, to);
    *value = to - from == 63 ? 0 : *value >> (to - from + 1);
}

/* Parse the number of a bit.  Return false if there is none. */
static inline bool format_number(const char **s, uint64_t *out)
{
    const char *from = *s;
    for (*out = 0; **s >= '0' && **s <= '9' && *out <= 63; (*s)++)
        *out = *out * 10 + (uint64_t)(**s - '0');
    return *s > from && *out <= 63;
}

/*
 * Place the value in all ranges.  Return the remaining bits, or UINT64_MAX if the format is
 * invalid.
 */
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
