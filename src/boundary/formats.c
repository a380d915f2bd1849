/*
 * formats.c - walk the formats of printf and scanf as libc does, for the arguments that are pointers.
 *
 * A conversion that is not known here (positions as %1$s, extensions that a program has registered)
 * ends the walk: what type its argument has is not known, so neither is the place of those after it.
 */
#include "formats.h"

#include <stddef.h>
#include <wchar.h>

#include "check.h"
#include "next_functions.h"
#include "string_length.h"
#include "string_reads.h"

/* The same argument list, walked by several functions. */
struct arguments {
    va_list list;
};

/* Modifiers of length, from the shortest; the bytes of an integer of this length. */
enum length { LENGTH_CHAR, LENGTH_SHORT, LENGTH_INT, LENGTH_LONG, LENGTH_LONGER };

static const uint8_t integer_bytes[] = {1, 2, 4, 8, 8};

struct conversion {
    const char *next; /* what follows it in the format */
    enum length length;
    int limit;         /* scanf: width; printf: precision; -1: none */
    bool is_ignored;   /* scanf: no argument */
    bool is_allocated; /* scanf: the argument points to a pointer */
    char letter;       /* 0: not known */
};

static bool is_one_of(char c, const char *set)
{
    return c && NEXT_OF(strchr)(set, c);
}

static const char *skip_any(const char *s, const char *set)
{
    while (is_one_of(*s, set))
        s++;
    return s;
}

/* A number; -1: none, or one that is no limit in practice. */
static const char *read_number(const char *s, int *out)
{
    int value = 0;
    bool is_number = false;
    for (; *s >= '0' && *s <= '9'; s++) {
        is_number = true;
        value = value < 100000000 ? value * 10 + (*s - '0') : value;
    }
    *out = is_number ? value : -1;
    return s;
}

static const char *read_length(const char *s, enum length *out)
{
    *out = LENGTH_INT;
    if (s[0] == 'h') {
        *out = s[1] == 'h' ? LENGTH_CHAR : LENGTH_SHORT;
        return s + (s[1] == 'h' ? 2 : 1);
    }
    if (s[0] == 'l' && s[1] != 'l') {
        *out = LENGTH_LONG;
        return s + 1;
    }
    if (s[0] == 'l' || s[0] == 'q' || s[0] == 'L') {
        *out = LENGTH_LONGER;
        return s + (s[0] == 'l' ? 2 : 1);
    }
    if (is_one_of(s[0], "jztZ")) {
        *out = LENGTH_LONG;
        return s + 1;
    }
    return s;
}

static void check_written(const void *p, uint64_t bytes, uint32_t entry, const struct entry *at)
{
    if (is_in_heap(p) && unlikely(!is_allowed(p, bytes)))
        access_refused(&(struct access){.at = p, .bytes = bytes, .is_write = true, .entry = entry},
                       at);
}

/* A string of characters or wide characters was read, or written, up to its end. */
static void check_string(const void *s, int limit, bool is_wide, bool is_write, uint32_t entry,
                         const struct entry *at)
{
    if (!is_of_interest(s))
        return;
    uint64_t bytes = 0;
    if (is_wide)
        while (((const wchar_t *)s)[bytes++])
            ;
    bytes =
        is_wide ? bytes * sizeof(wchar_t) : string_bytes(s, limit < 0 ? SIZE_MAX : (size_t)limit);
    if (is_write)
        check_written(s, bytes, entry, at);
    else
        string_read(s, bytes, entry, at);
}

/* ---- printf ---------------------------------------------------------------------------------- */

/* s follows the %. A width or precision given as * takes an int from the arguments. */
static struct conversion printed_conversion(const char *s, struct arguments *a)
{
    struct conversion c = {.limit = -1};
    int width;
    s = skip_any(s, "-+ #0'I");
    if (*s == '*') {
        (void)va_arg(a->list, int);
        s++;
    } else {
        s = read_number(s, &width);
    }
    if (*s == '.' && s[1] == '*') {
        c.limit = va_arg(a->list, int);
        s += 2;
    } else if (*s == '.') {
        s = read_number(s + 1, &c.limit);
        c.limit = c.limit < 0 ? 0 : c.limit;
    }
    s = read_length(s, &c.length);
    c.letter = *s;
    c.next = s + (*s != 0);
    return c;
}

static void check_value(uint64_t value, uint32_t entry, const struct entry *at)
{
    if (unlikely(fill_is_sought))
        uninitialised_value(value, entry, at);
}

static void check_number(double number, uint32_t entry, const struct entry *at)
{
    uint64_t value;
    __builtin_memcpy(&value, &number, sizeof value);
    check_value(value, entry, at);
}

/* false: what follows is not known. */
static bool check_printed(const struct conversion *c, struct arguments *a, uint32_t entry,
                          const struct entry *at)
{
    if (is_one_of(c->letter, "sS")) {
        bool is_wide = c->letter == 'S' || c->length == LENGTH_LONG;
        const void *s = va_arg(a->list, void *);
        /* A limit of wide characters is one of bytes of output, which do not say how many are read. */
        if (!is_wide || c->limit < 0)
            check_string(s, c->limit, is_wide, false, entry, at);
    } else if (c->letter == 'n') {
        check_written(va_arg(a->list, void *), integer_bytes[c->length], entry, at);
    } else if (is_one_of(c->letter, "diouxXbBcCp")) {
        check_value(va_arg(a->list, uint64_t), entry, at); /* a shorter one takes as much room */
    } else if (is_one_of(c->letter, "eEfFgGaA")) {
        if (c->length == LENGTH_LONGER)
            (void)va_arg(a->list, long double);
        else
            check_number(va_arg(a->list, double), entry, at);
    } else {
        return is_one_of(c->letter, "m%");
    }
    return true;
}

void format_check_printed(const char *format, va_list list, uint32_t entry, const struct entry *at)
{
    struct arguments a;
    if (!format)
        return; /* EINVAL */
    check_string(format, -1, false, false, entry, at);
    va_copy(a.list, list);
    for (const char *s = format; *(s = NEXT_OF(strchrnul)(s, '%'));) {
        struct conversion c = printed_conversion(s + 1, &a);
        if (!check_printed(&c, &a, entry, at))
            break;
        s = c.next;
    }
    va_end(a.list);
}

/* ---- scanf ----------------------------------------------------------------------------------- */

/* After the [: where the set of characters ends. */
static const char *end_of_set(const char *s)
{
    s += *s == '^';
    s += *s == ']';
    return NEXT_OF(strchrnul)(s, ']');
}

static struct conversion assigned_conversion(const char *s, bool has_a_for_allocation)
{
    struct conversion c = {0};
    c.is_ignored = *s == '*';
    s = skip_any(s, "*'I");
    s = read_number(s, &c.limit);
    c.is_allocated = *s == 'm' || (has_a_for_allocation && *s == 'a' && is_one_of(s[1], "sS["));
    s = read_length(s + c.is_allocated, &c.length);
    c.letter = *s;
    if (*s == '[')
        s = end_of_set(s + 1);
    c.next = s + (*s != 0);
    return c;
}

/* The bytes of a value that is no string; 0: no value. */
static uint64_t value_bytes(const struct conversion *c)
{
    bool is_wide = c->letter == 'C' || c->length == LENGTH_LONG;
    if (c->is_allocated || c->letter == 'p')
        return sizeof(void *);
    if (is_one_of(c->letter, "diouxXbn"))
        return integer_bytes[c->length];
    if (is_one_of(c->letter, "cC"))
        return (c->limit < 0 ? 1 : (uint64_t)c->limit) * (is_wide ? sizeof(wchar_t) : 1);
    if (is_one_of(c->letter, "eEfFgGaA"))
        return c->length == LENGTH_LONGER ? sizeof(long double)
               : c->length == LENGTH_LONG ? sizeof(double)
                                          : sizeof(float);
    return 0;
}

/*
 * The end of a string may have been overwritten by a later value: so it is sought up to its width.
 * The last value of characters may be short, if the input has ended.
 */
static void check_assigned(const struct conversion *c, const void *to, bool is_last, uint32_t entry,
                           const struct entry *at)
{
    if (is_one_of(c->letter, "sS[") && !c->is_allocated)
        check_string(to, c->limit < 0 ? -1 : c->limit + 1,
                     c->letter == 'S' || c->length == LENGTH_LONG, true, entry, at);
    else
        check_written(to, is_last && is_one_of(c->letter, "cC") ? 1 : value_bytes(c), entry, at);
}

/* %n is not counted: that it was reached is certain only if a later value was assigned. */
void format_check_assigned(const char *format, va_list list, int assigned,
                           bool has_a_for_allocation, uint32_t entry, const struct entry *at)
{
    struct arguments a;
    va_copy(a.list, list);
    for (const char *s = format; assigned > 0 && *(s = NEXT_OF(strchrnul)(s, '%'));) {
        struct conversion c = assigned_conversion(s + 1, has_a_for_allocation);
        s = c.next;
        if (c.letter == '%' || c.is_ignored)
            continue;
        if (!is_one_of(c.letter, "sS[") && !value_bytes(&c))
            break;
        check_assigned(&c, va_arg(a.list, void *), assigned == 1, entry, at);
        assigned -= c.letter != 'n';
    }
    va_end(a.list);
}
