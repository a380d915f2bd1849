/*
 * forms.c - a program of many forms of code, compiled by tests/translate/run: prints results.
 *
 * Loops, tables of jumps, pointers to functions, callbacks from libc, recursion, floating point,
 * strings, setjmp, variable arguments, bits, structures by value, memory by all widths.
 */
#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t sum;

static void add(uint64_t n)
{
    sum = sum * 6364136223846793005u + n + 1442695040888963407u;
}

/* ---- control flow ---------------------------------------------------------------------------- */

static int by_table(int op, int a, int b)
{
    switch (op) {
    case 0:
        return a + b;
    case 1:
        return a - b;
    case 2:
        return a * b;
    case 3:
        return b ? a / b : 0;
    case 4:
        return a ^ b;
    case 5:
        return a << (b & 7);
    case 6:
        return a >> (b & 7);
    case 7:
        return a & ~b;
    case 8:
        return -a | b;
    case 9:
        add((uint64_t)a);
        return by_table(a & 7, b, a);
    default:
        return op;
    }
}

static int twice(int n)
{
    return 2 * n;
}

static int negated(int n)
{
    return -n;
}

int (*volatile table[])(int) = {twice, negated, abs, toupper};

static int recursive(int n)
{
    return n < 2 ? n : recursive(n - 1) + recursive(n - 2);
}

static int by_value(const void *a, const void *b)
{
    const int *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static jmp_buf jump;

static void leave(int n)
{
    if (n == 0)
        longjmp(jump, 7);
    if (n > 0)
        leave(n - 1);
    add(1);
}

static void flow(void)
{
    static int many[500];
    volatile int kept = 3;

    for (int n = 0; n < 2000; n++)
        add((uint64_t)by_table(n % 12, n, n * 7 % 13));
    for (int n = 0; n < 100; n++)
        add((uint64_t)table[n & 3](n + 'a'));
    add((uint64_t)recursive(18));
    for (int n = 0; n < 500; n++)
        many[n] = n * 7919 % 503;
    qsort(many, 500, sizeof *many, by_value);
    for (int n = 0; n < 500; n += 37)
        add((uint64_t)many[n]);
    if (setjmp(jump) == 0) {
        kept = 4;
        leave(20);
    }
    add((uint64_t)kept);
}

/* ---- data ------------------------------------------------------------------------------------ */

struct node {
    struct node *left, *right;
    char name[13];
    short weight;
    double value;
};

static struct node *insert(struct node *n, const char *name, double value)
{
    int order = n ? strcmp(name, n->name) : 0;
    if (!n) {
        n = calloc(1, sizeof *n);
        snprintf(n->name, sizeof n->name, "%s", name);
        n->value = value;
    } else if (order < 0) {
        n->left = insert(n->left, name, value);
    } else if (order > 0) {
        n->right = insert(n->right, name, value);
    } else {
        n->weight++;
        n->value += value / 3;
    }
    return n;
}

static void walk(const struct node *n)
{
    if (!n)
        return;
    walk(n->left);
    add((uint64_t)(n->value * 1000) + (uint64_t)n->weight + (uint8_t)n->name[2]);
    walk(n->right);
}

struct pair {
    long a, b;
};

static struct pair swapped(struct pair p)
{
    return (struct pair){p.b, p.a + 1};
}

static long total(int count, ...)
{
    long all = 0;
    va_list args;
    va_start(args, count);
    for (int n = 0; n < count; n++)
        all += va_arg(args, int);
    va_end(args);
    return all;
}

static void data(void)
{
    struct node *root = NULL;
    struct pair p = {1, 2};
    char name[16];

    for (int n = 0; n < 300; n++) {
        snprintf(name, sizeof name, "key%d", n * n % 97);
        root = insert(root, name, sqrt(n) * 1.5);
    }
    walk(root);
    for (int n = 0; n < 10; n++)
        p = swapped(p);
    add((uint64_t)(p.a * 31 + p.b));
    add((uint64_t)total(9, 1, 2, 3, 4, 5, 6, 7, 8, 9));
}

static void widths(void)
{
    static uint8_t b[259];
    static uint16_t s[130];
    static uint32_t w[66];
    static uint64_t q[40];
    static float f[64];
    long double x = 1;

    for (unsigned n = 0; n < 259; n++)
        b[n] = (uint8_t)(n * 37);
    for (unsigned n = 0; n < 130; n++)
        s[n] = (uint16_t)(b[n] * 257u + n);
    for (unsigned n = 0; n < 64; n++)
        w[n] = (uint32_t)s[n] * 65537u ^ __builtin_bswap32(n);
    for (unsigned n = 0; n < 32; n++)
        q[n] = (uint64_t)w[n] << 32 | w[n + 32];
    for (unsigned n = 0; n < 64; n++)
        f[n] = (float)w[n] * 0.5f + (float)(int8_t)b[n];
    for (unsigned n = 0; n < 64; n++)
        x = x * 1.0625L + (long double)f[n];
    for (unsigned n = 0; n < 60; n++) { /* not aligned */
        uint64_t word;
        memcpy(&word, b + n, 8);
        add(word);
        add((uint64_t)__builtin_popcountll(word) + (uint64_t)__builtin_clzll(word | 1));
    }
    add((uint64_t)x);
    for (unsigned n = 0; n < 32; n++)
        add(q[n] % (n + 3) + (q[n] >> n));
}

static void strings(void)
{
    char text[] = "The Quick Brown Fox Jumps Over The Lazy Dog", *word, *rest;
    char reversed[sizeof text] = "";
    size_t bytes = strlen(text);

    for (size_t n = 0; n < bytes; n++)
        reversed[n] = (char)(isupper((unsigned char)text[bytes - 1 - n])
                                 ? tolower((unsigned char)text[bytes - 1 - n])
                                 : toupper((unsigned char)text[bytes - 1 - n]));
    add((uint64_t)atoi("4711") + strcspn(reversed, "x"));
    for (word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        for (const char *c = word; *c; c++)
            add((uint8_t)*c);
    for (const char *c = reversed; *c; c++)
        add((uint8_t)*c);
}

int main(void)
{
    flow();
    printf("flow %016llx\n", (unsigned long long)sum);
    data();
    printf("data %016llx\n", (unsigned long long)sum);
    widths();
    printf("widths %016llx\n", (unsigned long long)sum);
    strings();
    printf("strings %016llx\n", (unsigned long long)sum);
    return 0;
}
