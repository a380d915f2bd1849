/*
 * suppress_own.c - suppressions that a program contains for LeakSanitizer: the result of its
 * function __lsan_default_suppressions, which the runtime writes into the run file in pieces.
 *
 * They apply only to findings of this program, in any of its processes. They do not apply to a leak
 * that several programs have at the same site. They come after the default rules and before those
 * of files, so that files override them. The programs of a run are unknown when files are read and
 * their list is sealed. So a report with such programs uses a list of its own.
 *
 * A text with a mistake is ignored as a whole, and a note reports the position of the mistake.
 */
#include <stdlib.h>
#include <string.h>

#include "suppress_priv.h"

static void copy_rule(struct rules *to, const struct rules *from, const struct rule *rule)
{
    struct rule *copy;

    to->rule = grow(to->rule, to->count, sizeof *to->rule);
    copy = &to->rule[to->count++];
    *copy = *rule;
    copy->name = xalloc(strdup(rule->name));
    copy->file = rule->file ? xalloc(strdup(rule->file)) : NULL;
    copy->program = rule->program ? xalloc(strdup(rule->program)) : NULL;
    copy->reason = rule->reason ? xalloc(strdup(rule->reason)) : NULL;
    copy->locations = xalloc(calloc((size_t)rule->location_count + 1, sizeof *copy->locations));
    for (uint32_t i = 0; i < rule->location_count; i++) {
        uint32_t pattern = rule->locations[i].pattern;
        const char *text = pattern ? pattern_text(from->patterns, pattern) : NULL;
        copy->locations[i] = rule->locations[i];
        if (text)
            copy->locations[i].pattern = pattern_intern(to->patterns, text, strlen(text));
    }
}

/* The first line of a message has position and reason; the other lines show the text. */
static char *first_line(const char *text)
{
    return xalloc(strndup(text, strcspn(text, "\n")));
}

static void text_read(struct rules *rules, struct own_text *own)
{
    char err[REPORT_ERROR_BYTES], name[256];
    struct rules *read = rules_new();
    const char *slash = strrchr(own->exe, '/');

    snprintf(name, sizeof name, "__lsan_default_suppressions of %.128s",
             slash ? slash + 1 : own->exe);
    if (!own->wrong &&
        rules_read_text(read, name, own->text, strlen(own->text), err, sizeof err) != 0)
        own->wrong = first_line(err);
    for (uint32_t i = 0; !own->wrong && i < read->count; i++) {
        read->rule[i].program = xalloc(strdup(own->exe));
        copy_rule(rules, read, &read->rule[i]);
    }
    if (!own->wrong)
        rules->other_tools += read->other_tools;
    rules_free(read);
}

struct rules *rules_with_own(struct report *r, struct rules *rules)
{
    struct rules *all;
    uint32_t next = 0;

    if (r->own_count == 0)
        return rules;
    all = rules_new();
    memcpy(all->today, rules->today, sizeof all->today);
    all->other_tools = rules->other_tools;
    for (; next < rules->count && !rules->rule[next].file; next++)
        copy_rule(all, rules, &rules->rule[next]);
    for (uint32_t i = 0; i < r->own_count; i++)
        text_read(all, &r->own[i]);
    for (; next < rules->count; next++)
        copy_rule(all, rules, &rules->rule[next]);
    rules_seal(all);
    rules_free(r->own_rules);
    r->own_rules = all;
    return all;
}
