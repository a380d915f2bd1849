/*
 * numbers.c - atoi, strtol, strtod and their like: the character that ends a number is the last that
 * they read for certain. So libc's function is asked where the number ends, and the bytes up to
 * there are checked.
 */
#include "string_reads.h"

/* Where no number is found, at least these bytes are read: white space, a sign, and one more. */
static uint64_t bytes_of_none(const char *s)
{
    uint64_t i = 0;
    while (s[i] == ' ' || (s[i] >= '\t' && s[i] <= '\r'))
        i++;
    return i + (s[i] == '+' || s[i] == '-') + 1;
}

/* `end` follows the number that begins at s, or is s: none. NULL: libc has refused the base. */
static NOINLINE void check_number(const char *s, const char *end, uint32_t entry,
                                  const struct entry *at)
{
    if (end)
        string_read(s, end == s ? bytes_of_none(s) : (uint64_t)(end - s) + 1, entry, at);
}

/* libc's atoi is strtol without a pointer to the end. */
#define NUMBER(name, entry, type, call_with_stop)     \
    EXPORT type name(const char *s)                   \
    {                                                 \
        if (!is_in_heap(s) || !access_is_on)          \
            return NEXT_OF(name)(s);                  \
        char *stop = NULL;                            \
        type value = (type)(call_with_stop);          \
        check_number(s, stop, ENTRY_##entry, CALLER); \
        return value;                                 \
    }                                                 \
    static_assert(true, "ends with a semicolon")

NUMBER(atoi, ATOI, int, NEXT_OF(strtol)(s, &stop, 10));
NUMBER(atol, ATOL, long, NEXT_OF(strtol)(s, &stop, 10));
NUMBER(atoll, ATOLL, long long, NEXT_OF(strtoll)(s, &stop, 10));
NUMBER(atof, ATOF, double, NEXT_OF(strtod)(s, &stop));

/*
 * What follows the call of libc's function with `stop` as its pointer to the end: NULL still, if the
 * base does not exist.
 */
#define CHECK_AND_RETURN(entry)                       \
    do {                                              \
        if (end && stop)                              \
            *end = stop;                              \
        check_number(s, stop, ENTRY_##entry, CALLER); \
        return value;                                 \
    } while (0)

#define INTEGER(name, entry, type)                        \
    EXPORT type name(const char *s, char **end, int base) \
    {                                                     \
        if (access_is_on)                                 \
            WRITES(end, sizeof *end, entry);              \
        if (!is_in_heap(s) || !access_is_on)              \
            return NEXT_OF(name)(s, end, base);           \
        char *stop = NULL;                                \
        type value = NEXT_OF(name)(s, &stop, base);       \
        CHECK_AND_RETURN(entry);                          \
    }                                                     \
    static_assert(true, "ends with a semicolon")

INTEGER(strtol, STRTOL, long);
INTEGER(strtoul, STRTOUL, unsigned long);
INTEGER(strtoll, STRTOLL, long long);
INTEGER(strtoull, STRTOULL, unsigned long long);

#define REAL(name, entry, type)                 \
    EXPORT type name(const char *s, char **end) \
    {                                           \
        if (access_is_on)                       \
            WRITES(end, sizeof *end, entry);    \
        if (!is_in_heap(s) || !access_is_on)    \
            return NEXT_OF(name)(s, end);       \
        char *stop = NULL;                      \
        type value = NEXT_OF(name)(s, &stop);   \
        CHECK_AND_RETURN(entry);                \
    }                                           \
    static_assert(true, "ends with a semicolon")

REAL(strtod, STRTOD, double);
REAL(strtof, STRTOF, float);
REAL(strtold, STRTOLD, long double);
