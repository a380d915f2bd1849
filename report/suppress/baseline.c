/*
 * baseline.c - known findings: a file of ids, each with its count.
 *
 *     {
 *      "schema": "rtcheck-baseline/1",
 *      "findings": [
 *       {"id": "mel-3f9c2a11", "count": 3, "program": "pack", "source": "src/main.c", "what": ".."},
 *       {"id": "duf-81c04e12", "count": 1, "cap": 5, "what": ".."}
 *      ]
 *     }
 *
 * A finding is known if its id is in the file and its count is at most `cap`, or `count` if there
 * is no cap. A row with `program` or `source` is of the program whose name, or main source file,
 * is equal: one of the two, so that the program may be renamed, or its source. Without both it is
 * of all programs. Leaks count blocks, errors count occurrences. Ids are made of names, so they stay the
 * same when lines move. A cap is set by the user, and is kept when the file is rewritten. The file
 * has one sorted line for each finding and no volatile values: it is meant for version control.
 *
 * Other members are ignored. A member that occurs twice is a mistake.
 */
#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "suppress_priv.h"

#define SCHEMA "rtcheck-baseline/1"

struct known {
    UT_hash_handle hh;
    char id[ID_BYTES];
    struct known *same; /* the next row with this id */
    struct origin origin;
    uint64_t count;
    uint64_t cap; /* 0: none, use count */
    uint64_t now; /* occurrences in this report */
};

struct baseline {
    struct known *known;
    char *name;
};

/* ---- reading --------------------------------------------------------------------------------- */

struct input {
    const char *name; /* of the file */
    const char *text, *end;
    char *err;
    size_t room;
};

/* Report a mistake at `at`. */
__attribute__((format(printf, 3, 4))) static int refuse(const struct input *in, const char *at,
                                                        const char *why, ...)
{
    struct text_position position = {in->name, 1, in->text, 0, at};
    const char *end = at < in->end ? memchr(at, '\n', (size_t)(in->end - at)) : NULL;
    va_list args;

    for (const char *p = in->text; p < at; p++)
        if (*p == '\n') {
            position.number++;
            position.line = p + 1;
        }
    position.bytes = (size_t)((end ? end : in->end) - position.line);
    va_start(args, why);
    text_error(&position, in->err, in->room, why, args);
    va_end(args);
    return -EINVAL;
}

/* The first occurrence of `value` in quotes at or after `from`. NULL: it is missing or escaped. */
static const char *quoted_find(const struct input *in, const char *from, const char *value)
{
    char *quoted;
    const char *at;

    if (asprintf(&quoted, "\"%s\"", value) < 0)
        abort();
    at = memmem(from, (size_t)(in->end - from), quoted, strlen(quoted));
    free(quoted);
    return at;
}

static const char *text_of(const json_t *object, const char *member)
{
    return json_string_value(json_object_get(object, member));
}

/*
 * Where findings[number] is in the text: the place of its id, else of the last id before it. Values
 * of jansson have no positions, so the ids are searched in their order.
 */
static const char *position_of(const struct input *in, const json_t *findings, size_t number)
{
    const char *place = in->text, *from = in->text;

    for (size_t i = 0; from && i <= number; i++) {
        const char *id = text_of(json_array_get(findings, i), "id");
        from = id ? quoted_find(in, from, id) : NULL;
        place = from ? from : place;
        from = from ? from + strlen(id) + 2 : NULL;
    }
    return place;
}

/* A code and the hash of names, without the suffix .2 that a report appends to equal ids. */
static bool is_id(const char *id)
{
    const char *last = strrchr(id, '-'); /* a code may contain one, too: biu-map */
    uint32_t code = last ? rule_code_of(id, (size_t)(last - id)) : 0;

    return code && code != CODES_ALL && strlen(last) == 9 &&
           strspn(last + 1, "0123456789abcdef") == 8;
}

/* NULL: the finding was added; else the reason why it is invalid. */
static const char *known_add(struct baseline *b, json_t *finding)
{
    const char *id;
    json_int_t count, cap = 0;
    struct origin origin = {NULL, NULL};
    struct known *known, *first;

    if (json_unpack(finding, "{s:s, s:I, s?I, s?s, s?s}", "id", &id, "count", &count, "cap", &cap,
                    "program", &origin.program, "source", &origin.source) != 0 ||
        count < 1 || cap < 0)
        return "a finding needs an \"id\" and a \"count\", and may have a \"cap\", a \"program\" "
               "and a \"source\"";
    if (!is_id(id))
        return "this is no id: one is expected like mel-3f9c2a11";
    HASH_FIND_STR(b->known, id, first);
    for (known = first; known; known = known->same)
        if (origin_order(&known->origin, &origin) == 0)
            return "an id that was there before";
    known = xalloc(calloc(1, sizeof *known));
    memcpy(known->id, id, strlen(id));
    known->origin = origin_copy(&origin);
    known->count = (uint64_t)count;
    known->cap = (uint64_t)cap;
    if (first) {
        known->same = first->same;
        first->same = known;
    } else {
        HASH_ADD_STR(b->known, id, known);
    }
    return NULL;
}

static int whole_read(struct baseline *b, const struct input *in, const json_t *whole)
{
    const char *schema = text_of(whole, "schema"), *at = NULL;
    const json_t *findings = json_object_get(whole, "findings");
    json_t *finding;
    size_t i;

    if (!schema || strcmp(schema, SCHEMA) != 0) {
        at = schema ? quoted_find(in, in->text, schema) : NULL;
        return refuse(in, at ? at : in->text, "\"schema\": \"" SCHEMA "\" is expected");
    }
    if (findings && !json_is_array(findings))
        return refuse(in, in->text, "\"findings\" is no array");
    json_array_foreach(findings, i, finding)
    {
        const char *why = known_add(b, finding);
        if (why)
            return refuse(in, position_of(in, findings, i), "findings[%zu]: %s", i, why);
    }
    return 0;
}

/* An error of jansson. Its position follows the last byte that was read; but for these codes. */
static int syntax_refuse(const struct input *in, const json_error_t *error)
{
    enum json_error_code code = json_error_code(error);
    bool is_next = code == json_error_premature_end_of_input || code == json_error_invalid_utf8;

    return refuse(in, in->text + error->position - (error->position > 0 && !is_next), "%s",
                  error->text);
}

static int text_read(struct baseline *b, const struct input *in)
{
    size_t bytes = (size_t)(in->end - in->text);
    const char *nul = memchr(in->text, '\0', bytes);
    json_error_t error;
    json_t *whole;
    int bad;

    if (nul)
        return refuse(in, nul, "a NUL byte");
    whole = json_loadb(in->text, bytes, JSON_REJECT_DUPLICATES, &error);
    bad = whole ? whole_read(b, in, whole) : syntax_refuse(in, &error);
    json_decref(whole);
    return bad;
}

void baseline_free(struct baseline *b)
{
    struct known *known, *next;

    if (!b)
        return;
    HASH_ITER (hh, b->known, known, next) {
        HASH_DEL(b->known, known);
        for (struct known *row = known, *after; row; row = after) {
            after = row->same;
            origin_free(&row->origin);
            free(row);
        }
    }
    free(b->name);
    free(b);
}

int baseline_read_text(struct baseline **out, const char *name, const char *text, size_t bytes,
                       char *err, size_t room)
{
    struct baseline *b = xalloc(calloc(1, sizeof *b));
    const struct input in = {name, text, text + bytes, err, room};
    int bad = bytes ? text_read(b, &in) : 0;

    b->name = xalloc(strdup(name));
    if (bad)
        baseline_free(b);
    else
        *out = b;
    return bad;
}

int baseline_read(struct baseline **out, const char *path, bool may_miss, char *err, size_t room)
{
    size_t bytes;
    char *text = file_read(path, &bytes);
    int bad;

    if (!text && errno == ENOENT && may_miss)
        return baseline_read_text(out, path, "", 0, err, room);
    if (!text) {
        bad = -errno;
        snprintf(err, room, "baseline %.300s: %s", path, strerror(-bad));
        return bad;
    }
    if (bytes == 0) {
        snprintf(err, room, "%.300s:1:1: an empty file is no baseline", path);
        bad = -EINVAL;
    } else {
        bad = baseline_read_text(out, path, text, bytes, err, room);
    }
    free(text);
    return bad;
}

/* ---- judging --------------------------------------------------------------------------------- */

/*
 * The row of a finding, or NULL. The suffixes .2, .3 of equal ids follow the order of size, which
 * may change from run to run: ids are compared without them.
 */
static struct known *known_of(const struct baseline *b, const char *id, const struct origin *origin)
{
    struct known *known, *best = NULL;

    HASH_FIND(hh, b->known, id, strcspn(id, "."), known);
    for (unsigned most = 0; known; known = known->same) {
        unsigned match = origin_match(&known->origin, origin);
        if (match > most) {
            most = match;
            best = known;
        }
    }
    return best;
}

static bool is_within(const struct known *known)
{
    return known && known->now <= (known->cap ? known->cap : known->count);
}

/* Count a finding in its row, which is returned. */
static struct known *count_add(const struct report *r, const char *id, uint32_t site,
                               uint32_t image, uint64_t count)
{
    struct origin origin = origin_of(r, site, image);
    struct known *known = known_of(r->baseline, id, &origin);

    if (known)
        known->now += count;
    origin_free(&origin);
    return known;
}

static bool error_counts(const struct error *e)
{
    return error_is_shown(e) && e->disposition.suppressed_by == 0;
}

static bool leak_counts(const struct leak *leak, uint32_t kinds)
{
    return leak_kind(leak->class) & kinds && leak->disposition.suppressed_by == 0 &&
           leak->blocks > 0;
}

static void rows_reset(const struct baseline *b)
{
    for (struct known *known = b->known; known; known = known->hh.next)
        for (struct known *row = known; row; row = row->same)
            row->now = 0; /* may be set by a report in mid-run */
}

void report_compare(struct report *r, struct baseline *b, uint32_t kinds)
{
    struct known **rows = xalloc(calloc((size_t)r->error_count + r->leak_count + 1, sizeof *rows));
    struct known **leak_rows = rows + r->error_count;

    errors_name(r, r->error_count);
    leaks_name_all(r);
    r->baseline = b;
    rows_reset(b);
    for (uint32_t i = 0; i < r->error_count; i++) {
        const struct error *e = &r->errors[i];
        if (error_counts(e))
            rows[i] = count_add(r, e->id, error_main_site(e), e->image, e->count);
    }
    for (uint32_t i = 0; i < r->leak_count; i++) {
        const struct leak *leak = &r->leaks[i];
        if (leak_counts(leak, kinds))
            leak_rows[i] = count_add(r, leak->id, leak->site, leak->image, leak->blocks);
    }
    for (uint32_t i = 0; i < r->error_count; i++)
        r->errors[i].disposition.is_known = is_within(rows[i]);
    for (uint32_t i = 0; i < r->leak_count; i++)
        r->leaks[i].disposition.is_known = is_within(leak_rows[i]);
    free(rows);
}

/* Count the known findings that did not occur. */
static uint32_t unseen(const struct baseline *b)
{
    uint32_t count = 0;

    for (const struct known *known = b->known; known; known = known->hh.next)
        for (const struct known *row = known; row; row = row->same)
            count += row->now == 0;
    return count;
}

void baseline_print(const struct report *r, const struct page *page)
{
    uint32_t count = 0, gone = r->baseline ? unseen(r->baseline) : 0;

    for (uint32_t i = 0; i < r->error_count; i++)
        count += r->errors[i].disposition.is_known;
    for (uint32_t i = 0; i < r->leak_count; i++)
        count += r->leaks[i].disposition.is_known;
    if (!r->baseline || count + gone == 0)
        return;
    set_colour(page, COLOUR_HEADING);
    fputs("KNOWN", page->out);
    set_colour(page, COLOUR_NONE);
    fprintf(page->out, "           %s by ", count_text(count, "finding", "findings").text);
    text_put(page->out, r->baseline->name);
    if (gone > 0)
        fprintf(page->out, "; %u of it not found any more (--update-baseline)", gone);
    fputc('\n', page->out);
}

/* ---- writing --------------------------------------------------------------------------------- */

struct row {
    char id[ID_BYTES];
    struct origin origin;
    uint64_t count;
    uint64_t cap;
    char *what;
};

static int row_order(const void *a_, const void *b_)
{
    const struct row *a = a_, *b = b_;
    int order = strcmp(a->id, b->id);

    if (!order)
        order = origin_order(&a->origin, &b->origin);
    return order ? order : strcmp(a->what, b->what);
}

static void row_free(struct row *row)
{
    origin_free(&row->origin);
    free(row->what);
}

static void row_add(struct row *row, const struct baseline *old, const char *id,
                    struct origin origin, uint64_t count, char *what)
{
    const struct known *known = known_of(old, id, &origin);

    snprintf(row->id, sizeof row->id, "%.*s", (int)strcspn(id, "."), id);
    row->origin = origin;
    row->count = count;
    row->cap = known ? known->cap : 0;
    row->what = what;
}

/* Merge rows with equal ids of one program; the first one's texts are kept. */
static uint32_t rows_join(struct row *rows, uint32_t count)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < count; i++) {
        struct row *last = kept > 0 ? &rows[kept - 1] : NULL;
        if (last && strcmp(last->id, rows[i].id) == 0 &&
            text_order(last->origin.program, rows[i].origin.program) == 0) {
            last->count += rows[i].count;
            row_free(&rows[i]);
        } else {
            rows[kept++] = rows[i];
        }
    }
    return kept;
}

static uint32_t rows_make(struct report *r, const struct baseline *old, uint32_t kinds,
                          struct row *rows)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < r->error_count; i++) {
        const struct error *e = &r->errors[i];
        if (error_counts(e))
            row_add(&rows[count++], old, e->id, origin_of(r, error_main_site(e), e->image),
                    e->count, error_sentence(r, e, true));
    }
    for (uint32_t i = 0; i < r->leak_count; i++) {
        const struct leak *leak = &r->leaks[i];
        struct leak_row row = leak_row_of(leak);
        if (leak_counts(leak, kinds))
            row_add(&rows[count++], old, leak->id, origin_of(r, leak->site, leak->image),
                    leak->blocks, leak_sentence(&row, true));
    }
    qsort(rows, count, sizeof *rows, row_order);
    return rows_join(rows, count);
}

struct writing {
    struct report *r;
    const struct baseline *old;
    uint32_t kinds;
};

static int baseline_put(FILE *out, void *writing)
{
    const struct writing *w = writing;
    struct json j = {.out = out, .is_first = true};
    struct row *rows =
        xalloc(calloc((size_t)w->r->error_count + w->r->leak_count + 1, sizeof *rows));
    uint32_t count = rows_make(w->r, w->old, w->kinds, rows);

    open_object(&j, NULL);
    put_text(&j, "schema", SCHEMA);
    open_array(&j, "findings");
    for (uint32_t i = 0; i < count; i++) {
        open_object(&j, NULL);
        put_text(&j, "id", rows[i].id);
        put_number(&j, "count", rows[i].count);
        if (rows[i].cap)
            put_number(&j, "cap", rows[i].cap);
        if (rows[i].origin.program)
            put_text(&j, "program", rows[i].origin.program);
        if (rows[i].origin.source)
            put_text(&j, "source", rows[i].origin.source);
        put_text(&j, "what", rows[i].what);
        close_object(&j);
        row_free(&rows[i]);
    }
    close_array(&j);
    close_object(&j);
    fputc('\n', out);
    free(rows);
    return 0;
}

int report_write_baseline(struct report *r, const char *path, const struct baseline *old,
                          uint32_t kinds)
{
    struct writing w = {r, old, kinds};

    errors_name(r, r->error_count);
    leaks_name_all(r);
    return write_whole(path, baseline_put, &w);
}
