/*
 * print_gitlab.c - the report as GitLab's code quality report: an array of findings, each with a
 * line.
 *
 * GitLab compares findings of two runs only by their fingerprint and drops duplicates. So the
 * fingerprint is made of our id and the program's name. The id is unique within a report and does
 * not depend on line numbers.
 */
#include <stdlib.h>
#include <string.h>

#include "formats_priv.h"
#include "print_json_priv.h"

static const char *severity_of(const struct finding *f)
{
    if (f->level != LEVEL_PROBLEM)
        return f->level == LEVEL_WARNING ? "minor" : "info";
    if (f->error)
        return "critical";
    return leak_kind(f->leak.first->class) == LEAK_POSSIBLE ? "minor" : "major";
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3ull;
    return (hash ^ 0xff) * 0x100000001b3ull; /* separator: this byte occurs in no text */
}

static void fingerprint_put(struct json *j, const struct finding *f, const char *program)
{
    uint64_t one = hash_text(hash_text(0xcbf29ce484222325ull, f->id), program);
    uint64_t other = hash_text(hash_text(0x9ae16a3b2f90404full, f->id), program);
    char text[40];

    snprintf(text, sizeof text, "%016llx%016llx", (unsigned long long)one,
             (unsigned long long)other);
    put_text(j, "fingerprint", text);
}

static void finding_put(struct json *j, struct report *r, const struct finding *f,
                        const char *program, const struct print_options *how)
{
    struct finding_where where = finding_where(r, f, how);
    char *sentence = finding_sentence(r, f, true), *text;

    if (asprintf(&text, "%s (%s) in %s", sentence, f->id, where.function) < 0)
        text = xalloc(NULL);
    open_object(j, NULL);
    put_text(j, "description", text);
    put_text(j, "check_name", f->code);
    fingerprint_put(j, f, program);
    put_text(j, "severity", severity_of(f));
    open_object(j, "location");
    put_text(j, "path", where.path);
    open_object(j, "lines");
    put_number(j, "begin", where.line > 0 ? where.line : 1);
    close_object(j);
    close_object(j);
    close_object(j);
    free(text);
    free(sentence);
    free(where.path);
}

void gitlab_print(struct report *r, FILE *out, const struct print_options *how)
{
    const struct image *main = image_main(r);
    struct json j = {.out = out, .is_first = true};
    struct findings all = findings_make(r, how, how->leak_kinds);

    open_array(&j, NULL);
    for (uint32_t i = 0; i < all.count; i++)
        finding_put(&j, r, &all.at[i], main ? program_name(main) : "", how);
    close_array(&j);
    fputc('\n', out);
    findings_free(&all);
}
