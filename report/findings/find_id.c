/*
 * find_id.c - the finding that an id means which may be shortened.
 */
#include <errno.h>
#include <string.h>

#include "findings.h"

static_assert(ID_BYTES == REPORT_ID_BYTES, "one size of ids");

#define LISTED_MAX 4u /* ids in the message about an ambiguous one */

struct search {
    const char *given;
    size_t bytes;
    char found[LISTED_MAX][ID_BYTES]; /* different ids that begin with it */
    uint32_t count;
    bool is_exact;
};

static void consider(struct search *s, const char *id)
{
    if (strncmp(id, s->given, s->bytes) != 0)
        return;
    if (id[s->bytes] == '\0') {
        s->is_exact = true;
        return;
    }
    for (uint32_t i = 0; i < s->count && i < LISTED_MAX; i++)
        if (strcmp(s->found[i], id) == 0)
            return;
    if (s->count < LISTED_MAX)
        snprintf(s->found[s->count], ID_BYTES, "%s", id);
    s->count++;
}

static void consider_records(struct search *s, struct report *r)
{
    struct record *records;
    uint32_t count;

    if (strncmp(s->given, "biu-", s->bytes < 4 ? s->bytes : 4) != 0)
        return;
    records = records_make(r, UINT32_MAX, &count);
    for (uint32_t i = 0; i < count; i++)
        consider(s, records[i].id);
    records_free(records, count);
}

static int fail_ambiguous(const struct search *s, char *err, size_t room)
{
    int used = snprintf(err, room, "%s is ambiguous:", s->given);

    for (uint32_t i = 0; i < s->count && i < LISTED_MAX && (size_t)used < room; i++)
        used += snprintf(err + used, room - (size_t)used, "%s %s", i ? "," : "", s->found[i]);
    if (s->count > LISTED_MAX && (size_t)used < room)
        snprintf(err + used, room - (size_t)used, " and more");
    return -EINVAL;
}

int report_find_id(struct report *r, const char *given, char id[REPORT_ID_BYTES], char *err,
                   size_t room)
{
    struct search s = {.given = given, .bytes = strlen(given)};

    leaks_name_all(r);
    errors_name(r, r->error_count);
    for (uint32_t i = 0; i < r->leak_count; i++)
        consider(&s, r->leaks[i].id);
    for (uint32_t i = 0; i < r->error_count; i++)
        consider(&s, r->errors[i].id);
    consider_records(&s, r);
    if (!s.is_exact && s.count > 1 && s.bytes > 0)
        return fail_ambiguous(&s, err, room);
    if (s.bytes == 0 || s.bytes >= REPORT_ID_BYTES || (!s.is_exact && s.count == 0)) {
        bool lacks_blocks =
            strncmp(given, "biu-", 4) == 0 && r->view.run->reclaimed.live_blocks > 0;
        snprintf(err, room, "there is no %.40s%s", given,
                 lacks_blocks ? " (blocks of processes that ended during the run are not kept)"
                              : "");
        return -ENOENT;
    }
    snprintf(id, REPORT_ID_BYTES, "%s", s.is_exact ? given : s.found[0]);
    return 0;
}
