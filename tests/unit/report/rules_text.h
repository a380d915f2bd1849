/*
 * rules_text.h - for tests: rules from a text, and findings from words.
 */
#ifndef RULES_TEXT_H
#define RULES_TEXT_H

#include <stdlib.h>
#include <string.h>

#include "patterns.h"
#include "report.h"
#include "rules.h"

#define STACK_SPOTS 16

/* A stack as words: "malloc take main", each a function, or object:function. */
struct stack {
    struct spot spot[STACK_SPOTS];
    const struct spot *at[STACK_SPOTS];
    struct subject finding;
};

static inline struct rules *rules_of(const char *text, char *err, size_t room)
{
    struct rules *rules = rules_new();

    if (rules_read_text(rules, "x.supp", text, strlen(text), err, room) == 0)
        return rules;
    rules_free(rules);
    return NULL;
}

static inline void stack_make(struct rules *rules, struct stack *s, uint32_t code, uint32_t kind,
                              const char *words)
{
    char *copy = strdup(words), *rest = copy, *word;

    memset(s, 0, sizeof *s);
    s->finding = (struct subject){
        .code = code, .leak_kind = kind, .spots = s->at, .place_count = 1, .hits = 1, .bytes = 8};
    while ((word = strsep(&rest, " ")) && s->finding.spot_count < STACK_SPOTS) {
        struct spot *spot = &s->spot[s->finding.spot_count];
        char *colon = strchr(word, ':');
        if (colon)
            *colon = '\0';
        spot->text[SPOT_OBJECT] = text_intern(rules->patterns, colon ? word : "/bin/prog");
        spot->text[SPOT_SYSTEM] = text_intern(rules->patterns, colon ? colon + 1 : word);
        s->at[s->finding.spot_count++] = spot;
        s->finding.entry_count = 1;
    }
    free(copy);
}

/* The line of the rule that applies to a leak with this stack; 0: none. */
static inline uint32_t line_of(struct rules *rules, uint32_t code, uint32_t kind, const char *words)
{
    struct stack s;
    uint32_t rule;

    stack_make(rules, &s, code, kind, words);
    rule = rules_decide(rules, &s.finding);
    return rule == NO_RULE ? 0 : rules->rule[rule].line;
}

#endif
