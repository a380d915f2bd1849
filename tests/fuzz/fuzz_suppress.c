/*
 * fuzz_suppress.c - files of suppressions, of all three grammars, and stacks that are matched with
 * them.
 *
 * rtc-build: report
 *
 * Required: a refusal names the file, line and column, and shows the place; an accepted file has
 * valid rules, and the rule that matches a stack is the one found by comparing all rules one by one,
 * the last first.
 */
#include "fuzz.h"
#include "patterns.h"
#include "rules.h"

#define INPUT_MAX 2048
#define SPOTS 5

static char err[512];

static void check_refusal(void)
{
    unsigned line, column;
    const char *caret = strrchr(err, '^');
    const char *shown = strchr(err, '\n');

    must(sscanf(err, "x.supp:%u:%u: ", &line, &column) == 2 && column > 0, "a refusal says where");
    must(shown && caret && strchr(shown + 1, '\n') && caret[1] == '\0', "and shows the place");
    for (const char *p = err; *p; p++)
        must(*p == '\n' || (*p >= 0x20 && *p < 0x7f), "nothing of it is a command to a terminal");
}

static void check_rule(const struct rule *rule)
{
    must(rule->name && rule->file && rule->line > 0, "a rule stands somewhere");
    must(rule->codes != 0, "and is about something");
    for (uint32_t i = 0; i < rule->location_count; i++)
        must((rule->locations[i].pattern == 0) == (rule->locations[i].field == FIELD_ELLIPSIS),
             "a location has its pattern");
    must(rule->scope != SCOPE_PLACE || rule->location_count > 0, "a place is named");
}

/* The rule that decides where there is no other. */
static bool matches_alone(const char *text, size_t bytes, uint32_t number, const struct subject *of,
                          const char *const names[SPOTS])
{
    struct rules *rules = rules_new();
    struct spot spot[SPOTS] = {0};
    const struct spot *at[SPOTS];
    struct subject s = *of;
    bool matches;

    rules_read_text(rules, "x.supp", text, bytes, err, sizeof err);
    for (uint32_t i = 0; i < rules->count; i++)
        rules->rule[i].codes = i == number ? rules->rule[i].codes : 0;
    for (int i = 0; i < SPOTS; i++) {
        spot[i].text[SPOT_SYSTEM] = text_intern(rules->patterns, names[i]);
        at[i] = &spot[i];
    }
    s.spots = at;
    rules_seal(rules);
    matches = rules_find(rules, &s) == number;
    rules_free(rules);
    return matches;
}

static void check_matching(struct rules *rules, const char *text, size_t bytes)
{
    static const char *const names[SPOTS] = {"malloc", "take", "_ZN3abcEv", "main", "???"};
    struct spot spot[SPOTS] = {0};
    const struct spot *at[SPOTS];
    struct subject s = {.code = CODE_MEL,
                        .leak_kind = LEAK_DEFINITE,
                        .spot_count = SPOTS,
                        .entry_count = 1,
                        .place_count = 1,
                        .hits = 1};
    uint32_t found;

    for (int i = 0; i < SPOTS; i++) {
        spot[i].text[SPOT_SYSTEM] = text_intern(rules->patterns, names[i]);
        at[i] = &spot[i];
    }
    s.spots = at;
    found = rules_find(rules, &s);
    for (uint32_t i = rules->count; i-- > 0;)
        if (matches_alone(text, bytes, i, &s, names)) {
            must(found == i, "the last rule decides");
            return;
        }
    must(found == NO_RULE, "only a rule that it meets decides");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size < INPUT_MAX ? size : INPUT_MAX};
    size_t bytes = in.left;
    char *text = malloc(bytes + 1); /* as long as it is: the sanitizer guards its end */
    struct rules *rules = rules_new();

    must(text != NULL, "there is memory");
    input_copy(&in, text, bytes);
    *err = '\0';
    if (rules_read_text(rules, "x.supp", text, bytes, err, sizeof err) != 0) {
        check_refusal();
    } else {
        for (uint32_t i = 0; i < rules->count; i++)
            check_rule(&rules->rule[i]);
        rules_seal(rules);
        if (rules->count <= 16)
            check_matching(rules, text, bytes);
    }
    rules_free(rules);
    free(text);
    return 0;
}
