/*
 * suppress_print.c - the effect of suppressions: a line with the sum of hidden findings, and lines
 * for rules that need attention.
 *
 * Rules that have expired or exceeded their max are always printed. Unused rules are printed only
 * on request: a file for many programs has many of them.
 */
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "suppress_priv.h"

#define BROAD_FINDINGS 10u /* of one rule */

/* ---- sums ------------------------------------------------------------------------------------ */

struct hidden hidden_sum(const struct report *r)
{
    struct hidden sum = {0};

    for (uint32_t i = 0; i < r->error_count; i++)
        sum.errors += r->errors[i].disposition.suppressed_by != 0;
    for (uint32_t i = 0; i < r->leak_count; i++) {
        const struct leak *leak = &r->leaks[i];
        if (leak->disposition.suppressed_by == 0)
            continue;
        sum.leaks++;
        sum.blocks += leak->blocks;
        sum.bytes += leak->bytes;
    }
    for (uint32_t i = 0; r->rules && i < r->rules->count; i++) {
        const struct rule *rule = &r->rules->rule[i];
        sum.rules += rule->findings > 0 && !rule->is_shown;
        sum.unused += rule_is_unused(rule);
        sum.not_ours += rule->codes == CODE_OTHER;
    }
    sum.not_ours += r->rules ? r->rules->other_tools : 0;
    return sum;
}

struct leak_sum hidden_indirect(const struct report *r, const struct print_options *how)
{
    bool by_itself = (how->leak_kinds | how->problem_kinds) & LEAK_INDIRECT;
    struct leak_sum sum = {0};

    for (uint32_t i = 0; i < r->leak_count; i++) {
        const struct leak *leak = &r->leaks[i];
        bool is_indirect =
            leak->class == CLASS_POSSIBLY_INDIRECT || (leak->class == CLASS_INDIRECT && !by_itself);
        if (!is_indirect || leak->disposition.suppressed_by == 0)
            continue;
        sum.places++;
        sum.blocks += leak->blocks;
        sum.bytes += leak->bytes;
    }
    return sum;
}

bool rule_is_unused(const struct rule *rule)
{
    return rule->file && rule->findings == 0 && rule->over == 0 && !rule->is_expired &&
           rule->codes != CODE_OTHER;
}

/* Does the rule match almost any allocation, as it has no specific location? */
static bool is_vague(const struct rules *rules, const struct rule *rule)
{
    if (!rule->file || rule->scope == SCOPE_STRIPPED || rule->scope == SCOPE_ADDRESS)
        return false;
    for (uint32_t i = 0; i < rule->location_count; i++) {
        const struct location *l = &rule->locations[i];
        bool is_entry = i == 0 && rule->scope == SCOPE_STACK && !rule->may_skip_entry;
        if (!is_entry && l->field != FIELD_ELLIPSIS &&
            !pattern_is_trivial(rules->patterns, l->pattern))
            return false;
    }
    return true;
}

static bool is_broad(const struct rules *rules, const struct rule *rule)
{
    return rule->findings > 0 && !rule->is_shown &&
           ((rule->file && rule->findings >= BROAD_FINDINGS) || is_vague(rules, rule));
}

const char *rule_hits(const struct report *r, uint32_t i, uint64_t *hits)
{
    if (!r->rules || i >= r->rules->count)
        return NULL;
    *hits = r->rules->rule[i].is_shown ? 0 : r->rules->rule[i].hits;
    return r->rules->rule[i].name;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Print "x.supp:3 (its name)", or only the name of a built-in rule. */
static void rule_put(const struct rule *rule, FILE *out)
{
    if (rule->file) {
        text_put(out, rule->file);
        fprintf(out, ":%u (", rule->line);
    }
    text_put(out, rule->name);
    fputs(rule->file ? ")" : "", out);
    if (rule->reason) {
        fputs(": ", out);
        text_put(out, rule->reason);
    }
}

static void indent(const struct page *page)
{
    fprintf(page->out, "%*s", SUPPRESSED_INDENT, "");
}

static void limits_print(const struct rule *rule, const struct page *page)
{
    if (rule->is_expired) {
        indent(page);
        fprintf(page->out, "expired on %s: ", rule->expires);
        rule_put(rule, page->out);
        fputc('\n', page->out);
    }
    if (rule->over > 0) {
        indent(page);
        fprintf(page->out, "more than max %llu, by %llu: ", (unsigned long long)rule->max,
                (unsigned long long)(rule->hits + rule->over - rule->max));
        rule_put(rule, page->out);
        fputc('\n', page->out);
    }
}

static void used_print(const struct rules *rules, const struct page *page)
{
    for (uint32_t i = 0; i < rules->count; i++) {
        const struct rule *rule = &rules->rule[i];
        if (rule->findings == 0 || rule->is_shown)
            continue;
        indent(page);
        fputs(count_text(rule->hits, "time", "times").text, page->out);
        if (rule->bytes > 0)
            fprintf(page->out, ", %s", size_text(rule->bytes).text);
        fputs(": ", page->out);
        rule_put(rule, page->out);
        fputc('\n', page->out);
    }
}

static void stale_print(const struct rules *rules, const struct page *page)
{
    for (uint32_t i = 0; i < rules->count; i++) {
        const struct rule *rule = &rules->rule[i];
        if (!rule_is_unused(rule) && !is_broad(rules, rule))
            continue;
        indent(page);
        if (rule_is_unused(rule))
            fputs("unused: ", page->out);
        else
            fprintf(page->out,
                    "broad, %s: ", count_text(rule->findings, "finding", "findings").text);
        rule_put(rule, page->out);
        fputc('\n', page->out);
    }
}

const char *hidden_put(const struct hidden *sum, const struct leak_sum *indirect, FILE *out)
{
    uint64_t leaks = sum->leaks - indirect->places;
    const char *comma = "";

    if (leaks > 0) {
        fprintf(out, "%s of %s in %s", count_text(leaks, "leak", "leaks").text,
                size_text(sum->bytes - indirect->bytes).text,
                block_text(sum->blocks - indirect->blocks).text);
        comma = ", and ";
    }
    if (indirect->blocks > 0)
        fprintf(out, "%s%s in %s indirectly lost", comma, size_text(indirect->bytes).text,
                block_text(indirect->blocks).text);
    if (sum->leaks > 0)
        comma = ", ";
    if (sum->errors > 0) {
        fprintf(out, "%s%s", comma, count_text(sum->errors, "error", "errors").text);
        comma = ", ";
    }
    return *comma ? comma : NULL;
}

/* The number of lines for rules that have expired or exceeded their max. */
static uint32_t limit_lines(const struct report *r)
{
    uint32_t lines = 0;

    for (uint32_t i = 0; r->rules && i < r->rules->count; i++)
        lines += (uint32_t)r->rules->rule[i].is_expired + (r->rules->rule[i].over > 0);
    return lines;
}

uint32_t suppressed_lines(const struct report *r)
{
    struct hidden sum = hidden_sum(r);
    uint32_t lines = limit_lines(r);

    return lines + (lines > 0 || sum.leaks + sum.errors > 0);
}

static bool is_requested(const struct print_options *how)
{
    return how->used_rules || how->stale_rules;
}

void suppressed_print(const struct report *r, const struct page *page)
{
    struct hidden sum = hidden_sum(r);
    struct leak_sum indirect = hidden_indirect(r, page->how);

    if (!r->rules || (suppressed_lines(r) == 0 && !is_requested(page->how)))
        return;
    set_colour(page, COLOUR_HEADING);
    fputs(SUPPRESSED_HEADING, page->out);
    set_colour(page, COLOUR_NONE);
    fprintf(page->out, "%*s", SUPPRESSED_INDENT - (int)strlen(SUPPRESSED_HEADING), "");
    if (hidden_put(&sum, &indirect, page->out))
        fprintf(page->out, ", by %s", count_text(sum.rules, "rule", "rules").text);
    else
        fputs("nothing", page->out);
    if (sum.unused > 0)
        fprintf(page->out, "; %s unused%s", count_text(sum.unused, "rule", "rules").text,
                page->how->stale_rules ? "" : " (--stale-suppressions)");
    if (sum.not_ours > 0 && is_requested(page->how))
        fprintf(page->out, "; %s about findings that are not detected",
                count_text(sum.not_ours, "rule", "rules").text);
    fputc('\n', page->out);
    for (uint32_t i = 0; i < r->rules->count; i++)
        limits_print(&r->rules->rule[i], page);
    if (page->how->used_rules)
        used_print(r->rules, page);
    if (page->how->stale_rules)
        stale_print(r->rules, page);
}

void suppressed_print_separate(const struct report *r, const struct page *page)
{
    if (is_requested(page->how) || limit_lines(r) > 0)
        suppressed_print(r, page);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void rule_object(struct json *j, const struct rules *rules, const struct rule *rule)
{
    static const char *const grammars[] = {
        [GRAMMAR_RTC] = "rtc", [GRAMMAR_VALGRIND] = "valgrind", [GRAMMAR_LSAN] = "lsan"};

    open_object(j, NULL);
    put_text(j, "name", rule->name);
    put_text(j, "grammar", rule->file ? grammars[rule->grammar] : "built_in");
    if (rule->file) {
        put_text(j, "file", rule->file);
        put_number(j, "line", rule->line);
    }
    put_number(j, "findings", rule->findings);
    put_number(j, "hits", rule->hits);
    put_number(j, "bytes", rule->bytes);
    put_flag(j, "unused", rule_is_unused(rule));
    put_flag(j, "broad", is_broad(rules, rule));
    put_flag(j, "not_ours", rule->codes == CODE_OTHER);
    if (rule->reason)
        put_text(j, "reason", rule->reason);
    if (rule->expires[0]) {
        put_text(j, "expires", rule->expires);
        put_flag(j, "expired", rule->is_expired);
    }
    if (rule->max > 0) {
        put_number(j, "max", rule->max);
        put_number(j, "over", rule->over);
    }
    close_object(j);
}

void json_suppressions(struct json *j, const struct report *r)
{
    open_array(j, "suppressions");
    for (uint32_t i = 0; r->rules && i < r->rules->count; i++)
        rule_object(j, r->rules, &r->rules->rule[i]);
    close_array(j);
}

void json_suppressed(struct json *j, const struct report *r)
{
    struct hidden sum = hidden_sum(r);

    open_object(j, "suppressed");
    put_number(j, "errors", sum.errors);
    put_number(j, "leaks", sum.leaks);
    put_number(j, "blocks", sum.blocks);
    put_number(j, "bytes", sum.bytes);
    put_number(j, "rules", sum.rules);
    close_object(j);
}

void json_disposition(struct json *j, const struct disposition *disposition)
{
    put_text(j, "status",
             disposition->suppressed_by ? "suppressed"
             : disposition->is_known    ? "known"
             : disposition->is_filtered ? "filtered"
                                        : "new");
    if (disposition->suppressed_by)
        put_number(j, "suppressed_by", disposition->suppressed_by - 1);
}
