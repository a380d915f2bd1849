/*
 * suppress_default.c - built-in suppressions, unless --default-suppressions=no; and that of mismatched
 * frees.
 *
 * They hide only findings that no program can avoid, each with a reason. They come first, so that
 * rules of files override them. The report counts the findings that they hide.
 */
#include <stdlib.h>
#include <string.h>

#include "suppress_priv.h"

/*
 * tsearch: libc keeps the colour of a node in the lowest bit of the pointer to it, so every red
 * node is referenced only by its address + 1. Any program that calls setenv twice has one (libc
 * 2.36: 1 of 4 nodes, 24 bytes).
 */
static const char entries[] =
    "# reason: libc keeps a colour in the lowest bit of pointers to these\n"
    "{\n"
    "   nodes of tsearch\n"
    "   Memcheck:Leak\n"
    "   match-leak-kinds: possible\n"
    "   fun:malloc\n"
    "   fun:tsearch\n"
    "}\n";

/*
 * Possible leaks in a stripped file cannot be judged by its user. No grammar can express this rule.
 */
static void add_stripped(struct rules *rules)
{
    rules->rule = grow(rules->rule, rules->count, sizeof *rules->rule);
    rules->rule[rules->count++] = (struct rule){
        .name = xalloc(strdup("aib and air in objects without symbols")),
        .scope = SCOPE_STRIPPED,
        .codes = CODE_AIB | CODE_AIR,
        .leak_kinds = UINT32_MAX,
    };
}

static void add_text(struct rules *rules, const char *text)
{
    char err[REPORT_ERROR_BYTES];
    uint32_t before = rules->count;

    if (rules_read_text(rules, "", text, strlen(text), err, sizeof err) != 0)
        abort(); /* the text is ours */
    for (uint32_t i = before; i < rules->count; i++) {
        free(rules->rule[i].file);
        rules->rule[i].file = NULL;
    }
}

void rules_add_default(struct rules *rules)
{
    add_stripped(rules);
    add_text(rules, entries);
}

void rules_add_mismatched_frees(struct rules *rules)
{
    add_text(rules, "suppress mis\n");
}
