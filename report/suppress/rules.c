/*
 * rules.c - a list of suppression rules, and the query for the rule that decides about a finding.
 *
 * The index maps patterns to rules. A rule on a stack requires all of its patterns. It is filed
 * under the pattern that the fewest rules use, as nearly every rule begins with malloc. A finding
 * is compared only with rules whose key matches one of its texts, and with the few rules without a
 * key. The last rule comes first. With 10,000 rules and 1,000 findings this takes 0.05 s of CPU
 * time; if each finding is compared with all rules, 2.6 s (patterns.c has its own index).
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "basics.h"
#include "patterns.h"
#include "rules.h"

#define CODE_BITS (CODE_BIT_OTHER + 1u)

struct rule_list {
    uint32_t *at;
    uint32_t count;
};

struct rule_index {
    struct rule_list *by_pattern; /* rules by the numbers of their keys */
    struct rule_list keyless;     /* ascending */
    uint32_t *seen;               /* by rule: the last query that had it as a candidate */
    uint32_t question;
    struct rule_list candidates;
    uint32_t kinds[CODE_BITS];       /* by code: kinds of leaks that rules apply to, or ANY_KIND */
    uint32_t named_kinds[CODE_BITS]; /* the same for rules that compare names */
};

#define ANY_KIND 1u /* for findings that are not leaks */

static const struct {
    const char *name;
    uint32_t code;
} codes[] = {
#define ERROR(id, value, class, code, ...) {code, CODE_##id},
#define LEAK(id, code, ...) {code, CODE_##id},
#include "format/findings.def"
    {"rua", CODE_OTHER}, {"rui", CODE_OTHER}, {"rwo", CODE_OTHER},
    {"wro", CODE_OTHER}, {"mar", CODE_OTHER}, {"maw", CODE_OTHER},
    {"rob", CODE_OTHER}, {"wob", CODE_OTHER}, {"all", CODES_ALL},
};

uint32_t rule_code_of(const char *name, size_t bytes)
{
    for (size_t i = 0; i < countof(codes); i++)
        if (strlen(codes[i].name) == bytes && memcmp(codes[i].name, name, bytes) == 0)
            return codes[i].code;
    return 0;
}

struct rules *rules_new(void)
{
    struct rules *rules = xalloc(calloc(1, sizeof *rules));
    time_t now = time(NULL);
    struct tm tm;

    rules->patterns = patterns_new();
    if (localtime_r(&now, &tm))
        strftime(rules->today, sizeof rules->today, "%Y-%m-%d", &tm);
    return rules;
}

static void index_free(struct rule_index *index, uint32_t patterns)
{
    if (!index)
        return;
    for (uint32_t i = 0; i <= patterns; i++)
        free(index->by_pattern[i].at);
    free(index->by_pattern);
    free(index->keyless.at);
    free(index->candidates.at);
    free(index->seen);
    free(index);
}

void rules_free(struct rules *rules)
{
    if (!rules)
        return;
    index_free(rules->index, patterns_count(rules->patterns));
    for (uint32_t i = 0; i < rules->count; i++) {
        free(rules->rule[i].name);
        free(rules->rule[i].file);
        free(rules->rule[i].program);
        free(rules->rule[i].reason);
        free(rules->rule[i].locations);
    }
    free(rules->rule);
    patterns_free(rules->patterns);
    free(rules);
}

/* ---- the index ------------------------------------------------------------------------------- */

static void list_add(struct rule_list *list, uint32_t rule)
{
    list->at = grow(list->at, list->count, sizeof list->at[0]);
    list->at[list->count++] = rule;
}

/* The rarest pattern of a rule that requires all of its locations. 0: all patterns are trivial. */
static uint32_t rarest(const struct rules *rules, const struct rule *rule)
{
    uint32_t best = 0;

    for (uint32_t i = 0; i < rule->location_count; i++) {
        uint32_t pattern = rule->locations[i].pattern;
        if (pattern == 0 || pattern_is_trivial(rules->patterns, pattern))
            continue;
        if (!best || pattern_uses(rules->patterns, pattern) < pattern_uses(rules->patterns, best))
            best = pattern;
    }
    return best;
}

static void index_kinds(struct rule_index *index, const struct rule *rule)
{
    for (uint32_t bit = 0; bit < CODE_BITS; bit++) {
        uint32_t kinds = !(rule->codes >> bit & 1) ? 0
                         : CODES_LEAKS >> bit & 1  ? rule->leak_kinds
                                                   : ANY_KIND;
        index->kinds[bit] |= kinds;
        index->named_kinds[bit] |= rule->location_count > 0 ? kinds : 0;
    }
}

static void index_add(struct rules *rules, uint32_t number)
{
    const struct rule *rule = &rules->rule[number];
    struct rule_index *index = rules->index;
    uint32_t key = rule->scope == SCOPE_STACK ? rarest(rules, rule) : 0;

    if (rule->is_expired || rule->codes == CODE_OTHER || rule->codes == 0)
        return;
    index_kinds(index, rule);
    if (rule->scope == SCOPE_ANY_FRAME || rule->scope == SCOPE_PLACE) {
        for (uint32_t i = 0; i < rule->location_count; i++)
            list_add(&index->by_pattern[rule->locations[i].pattern], number);
    } else if (key) {
        list_add(&index->by_pattern[key], number);
    } else {
        list_add(&index->keyless, number);
    }
}

void rules_seal(struct rules *rules)
{
    struct rule_index *index = xalloc(calloc(1, sizeof *index));

    if (rules->index)
        abort(); /* sealed twice: a bug in rtcheck */
    index->by_pattern =
        xalloc(calloc((size_t)patterns_count(rules->patterns) + 1, sizeof index->by_pattern[0]));
    index->seen = xalloc(calloc((size_t)rules->count + 1, sizeof index->seen[0]));
    rules->index = index;
    for (uint32_t i = 0; i < rules->count; i++) {
        struct rule *rule = &rules->rule[i];
        rule->is_expired = rule->expires[0] && strcmp(rules->today, rule->expires) > 0;
        index_add(rules, i);
    }
}

/* ---- one rule and one finding ---------------------------------------------------------------- */

static bool is_about(const struct rule *rule, uint32_t code, uint32_t leak_kind)
{
    return rule->codes & code && (!(code & CODES_LEAKS) || rule->leak_kinds & leak_kind);
}

static bool any_text_matches(struct rules *rules, const struct spot *spot, const struct location *l)
{
    static const uint32_t texts_of[FIELD_COUNT] = {
        [FIELD_FUN] = 1 << SPOT_SYSTEM | 1 << SPOT_ALIAS | 1 << SPOT_DECLARED,
        [FIELD_OBJ] = 1 << SPOT_OBJECT,
        [FIELD_SRC] = 1 << SPOT_FILE | 1 << SPOT_FILE_BASE,
        [FIELD_ANY] =
            1 << SPOT_SYSTEM | 1 << SPOT_LOCAL | 1 << SPOT_FULL | 1 << SPOT_FILE | 1 << SPOT_OBJECT,
        [FIELD_WORD] = (1 << SPOT_TEXTS) - 1,
    };

    for (unsigned i = 0; i < SPOT_TEXTS; i++)
        if (texts_of[l->field] >> i & 1 && text_matches(rules->patterns, spot->text[i], l->pattern))
            return true;
    for (uint32_t i = 0; l->field == FIELD_FUN && i < spot->name_count; i++)
        if (text_matches(rules->patterns, spot->names[i], l->pattern))
            return true;
    return false;
}

static bool spot_matches(struct rules *rules, const struct spot *spot, const struct location *l)
{
    return (l->line == 0 || l->line == spot->line) && any_text_matches(rules, spot, l);
}

/*
 * Do the locations match the innermost frames, from function `spot` on? An ellipsis takes as few
 * frames as possible, and one more whenever the following locations do not match. If the recorded
 * stack was cut, locations beyond its end count as matched, unless an ellipsis precedes them.
 */
static bool stack_matches_from(struct rules *rules, const struct rule *rule,
                               const struct subject *f, uint32_t spot)
{
    uint32_t at = 0, after_ellipsis = UINT32_MAX, from = 0;

    while (at < rule->location_count) {
        const struct location *l = &rule->locations[at];
        if (l->field == FIELD_ELLIPSIS) {
            after_ellipsis = ++at;
            from = spot;
        } else if (spot < f->spot_count && spot_matches(rules, f->spots[spot], l)) {
            at++;
            spot++;
        } else if (after_ellipsis == UINT32_MAX) {
            return spot == f->spot_count && f->is_cut;
        } else if (from >= f->spot_count) {
            return false;
        } else {
            at = after_ellipsis;
            spot = ++from;
        }
    }
    return true;
}

/* As in valgrind, a stack begins with an entry, malloc; rules for our own name may omit it. */
static bool stack_matches(struct rules *rules, const struct rule *rule, const struct subject *f)
{
    uint32_t last = rule->may_skip_entry ? f->entry_count
                    : f->entry_count > 0 ? f->entry_count - 1
                                         : 0;
    uint32_t from = 0;

    while (from < last && !stack_matches_from(rules, rule, f, from))
        from++;
    return stack_matches_from(rules, rule, f, from);
}

/* Does one of the `count` functions after the entries match one of the locations? */
static bool any_matches(struct rules *rules, const struct rule *rule, const struct subject *f,
                        uint32_t count)
{
    for (uint32_t i = f->entry_count; i < f->entry_count + count && i < f->spot_count; i++)
        for (uint32_t k = 0; k < rule->location_count; k++)
            if (spot_matches(rules, f->spots[i], &rule->locations[k]))
                return true;
    return false;
}

static bool is_of_program(const struct rule *rule, const struct subject *f)
{
    return !rule->program || (f->program && strcmp(rule->program, f->program) == 0);
}

static bool is_of_call(struct rules *rules, const struct rule *rule, const struct subject *f)
{
    const struct location call = {FIELD_FUN, rule->call, 0};

    return !rule->call || (f->spot_count > 0 && any_text_matches(rules, f->spots[0], &call));
}

static bool rule_matches(struct rules *rules, const struct rule *rule, const struct subject *f)
{
    rules->tried++;
    if (!is_of_program(rule, f) || !is_of_call(rules, rule, f))
        return false;
    switch (rule->scope) {
    case SCOPE_ALL:
        return true;
    case SCOPE_STACK:
        return stack_matches(rules, rule, f);
    case SCOPE_ANY_FRAME:
        return any_matches(rules, rule, f, f->spot_count);
    case SCOPE_PLACE:
        return any_matches(rules, rule, f, f->place_count);
    case SCOPE_STRIPPED:
        return f->is_stripped;
    case SCOPE_ADDRESS:
        return rule->address - f->address < (f->bytes_there ? f->bytes_there : 1);
    }
    return false;
}

/* ---- all rules ------------------------------------------------------------------------------- */

static void candidates_of_text(struct rules *rules, uint32_t text, const struct subject *f)
{
    struct rule_index *index = rules->index;
    uint32_t count;
    const uint32_t *patterns = text_patterns(rules->patterns, text, &count);

    for (uint32_t i = 0; i < count; i++) {
        const struct rule_list *list = &index->by_pattern[patterns[i]];
        for (uint32_t k = 0; k < list->count; k++) {
            uint32_t rule = list->at[k];
            if (index->seen[rule] == index->question ||
                !is_about(&rules->rule[rule], f->code, f->leak_kind))
                continue;
            index->seen[rule] = index->question;
            list_add(&index->candidates, rule);
        }
    }
}

static int descending(const void *a_, const void *b_)
{
    const uint32_t *a = a_, *b = b_;

    return *a > *b ? -1 : *a < *b;
}

/* Collect the rules whose keys match texts of the finding, the last rule first. */
static void candidates_find(struct rules *rules, const struct subject *f)
{
    struct rule_index *index = rules->index;

    index->question++;
    index->candidates.count = 0;
    for (uint32_t i = 0; i < f->spot_count; i++) {
        const struct spot *spot = f->spots[i];
        for (unsigned k = 0; k < SPOT_TEXTS; k++)
            candidates_of_text(rules, spot->text[k], f);
        for (uint32_t k = 0; k < spot->name_count; k++)
            candidates_of_text(rules, spot->names[k], f);
    }
    if (index->candidates.count > 1)
        qsort(index->candidates.at, index->candidates.count, sizeof(uint32_t), descending);
}

static bool has_room(const struct rule *rule, const struct subject *f)
{
    return rule->max == 0 || (rule->hits <= rule->max && f->hits <= rule->max - rule->hits);
}

/* `counts`: if a matching rule has reached its max, add the hits to its `over`. */
static uint32_t find(struct rules *rules, const struct subject *f, bool counts)
{
    const struct rule_index *index = rules->index;
    uint32_t keyed = 0, keyless = index->keyless.count;

    candidates_find(rules, f);
    while (keyed < index->candidates.count || keyless > 0) {
        bool is_keyed =
            keyed < index->candidates.count &&
            (keyless == 0 || index->candidates.at[keyed] > index->keyless.at[keyless - 1]);
        uint32_t number = is_keyed ? index->candidates.at[keyed++] : index->keyless.at[--keyless];
        struct rule *rule = &rules->rule[number];
        if (!is_about(rule, f->code, f->leak_kind) || !rule_matches(rules, rule, f))
            continue;
        if (has_room(rule, f))
            return number;
        if (counts)
            rule->over += f->hits;
    }
    return NO_RULE;
}

uint32_t rules_find(struct rules *rules, const struct subject *finding)
{
    return find(rules, finding, false);
}

uint32_t rules_decide(struct rules *rules, const struct subject *f)
{
    uint32_t number = find(rules, f, true);

    if (number != NO_RULE) {
        rules->rule[number].findings++;
        rules->rule[number].hits += f->hits;
        rules->rule[number].bytes += f->bytes;
    }
    return number;
}

static bool is_among(const uint32_t kinds[CODE_BITS], uint32_t code, uint32_t leak_kind)
{
    return (kinds[__builtin_ctz(code)] & (code & CODES_LEAKS ? leak_kind : ANY_KIND)) != 0;
}

bool rules_apply_to(const struct rules *rules, uint32_t code, uint32_t leak_kind)
{
    return is_among(rules->index->kinds, code, leak_kind);
}

bool rules_need_names(const struct rules *rules, uint32_t code, uint32_t leak_kind)
{
    return is_among(rules->index->named_kinds, code, leak_kind);
}
