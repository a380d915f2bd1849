/*
 * print_sarif.c - the report as SARIF 2.1.0, the format that GitHub's code scanning and other tools
 * take from static and dynamic analysers.
 *
 * A kind of finding is a rule. A finding is a result at the line that a developer looks at first.
 * Its stacks are code flows, outermost function first. Results of two runs are matched by our id,
 * which does not depend on line numbers.
 */
#include <stdlib.h>
#include <string.h>

#include "formats_priv.h"
#include "print_json_priv.h"

#ifndef RTC_VERSION
#define RTC_VERSION "unknown"
#endif

/* State of the report that is being written. */
struct sarif {
    struct json j;
    struct report *r;
    const struct print_options *how;
};

static const char *level_name(enum finding_level level)
{
    return level == LEVEL_PROBLEM ? "error" : level == LEVEL_WARNING ? "warning" : "note";
}

static void message_put(struct json *j, const char *name, const char *text)
{
    open_object(j, name);
    put_text(j, "text", text);
    close_object(j);
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Write a path as a URI; characters that a URI may not contain become %XX. */
static void uri_put(struct json *j, const char *path)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/+,@";
    char *text = NULL;
    size_t bytes;
    FILE *out = xalloc(open_memstream(&text, &bytes));

    fputs(path[0] == '/' ? "file://" : "", out);
    for (; *path; path++)
        fprintf(out, strchr(plain, *path) ? "%c" : "%%%02X", (unsigned char)*path);
    fclose(out);
    put_text(j, "uri", xalloc(text));
    free(text);
}

static void physical_put(struct sarif *s, const char *path, uint32_t line)
{
    open_object(&s->j, "physicalLocation");
    open_object(&s->j, "artifactLocation");
    uri_put(&s->j, path);
    close_object(&s->j);
    if (line > 0) {
        open_object(&s->j, "region");
        put_number(&s->j, "startLine", line);
        close_object(&s->j);
    }
    close_object(&s->j);
}

static void function_put(struct json *j, const char *function)
{
    open_array(j, "logicalLocations");
    open_object(j, NULL);
    put_text(j, "name", function);
    put_text(j, "kind", "function");
    close_object(j);
    close_array(j);
}

static void location_put(struct sarif *s, const struct finding *f)
{
    struct finding_where where = finding_where(s->r, f, s->how);

    open_array(&s->j, "locations");
    open_object(&s->j, NULL);
    physical_put(s, where.path, where.line);
    function_put(&s->j, where.function);
    close_object(&s->j);
    close_array(&s->j);
    free(where.path);
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static void step_put(struct sarif *s, const struct frame *frame, const struct source_line *line)
{
    const struct module *module = frame->module == NO_MODULE ? NULL : &s->r->modules[frame->module];
    const char *file = line->file ? line->file : module ? module->path : "unknown";
    char *path = source_path(s->how, file);

    physical_put(s, path, line->file && line->line > 0 ? (uint32_t)line->line : 0);
    message_put(&s->j, "message", line->function ? line->function : base_name(file));
    free(path);
}

static void frame_put(struct sarif *s, const struct frame *frame)
{
    struct source_line lines[FRAME_LINES_MAX];

    for (uint32_t k = frame_lines_shown(s->r, frame, lines, FRAME_LINES_MAX); k-- > 0;) {
        open_object(&s->j, NULL);
        open_object(&s->j, "location");
        step_put(s, frame, &lines[k]);
        close_object(&s->j);
        close_object(&s->j);
    }
}

static void flow_put(struct sarif *s, const struct error_row *row)
{
    const struct site *site = &s->r->sites[row->site];

    open_object(&s->j, NULL);
    message_put(&s->j, "message", row->label);
    open_array(&s->j, "threadFlows");
    open_object(&s->j, NULL);
    open_array(&s->j, "locations");
    for (uint32_t i = user_frames(s->r, site); i-- > 0;)
        frame_put(s, &s->r->frames[site->frames[i]]);
    close_array(&s->j);
    close_object(&s->j);
    close_array(&s->j);
    close_object(&s->j);
}

/* Rows without frames have no steps. */
static void flows_put(struct sarif *s, const struct error_rows *rows)
{
    open_array(&s->j, "codeFlows");
    for (uint32_t i = 0; i < rows->count; i++)
        if (s->r->sites[rows->at[i].site].count > 0)
            flow_put(s, &rows->at[i]);
    close_array(&s->j);
}

/* The sites of the other stacks: "first freed", "allocated". */
static void related_put(struct sarif *s, const struct finding *f, const struct error_rows *rows)
{
    open_array(&s->j, "relatedLocations");
    for (uint32_t i = 0; i < rows->count; i++) {
        struct source_line line = {0};
        const struct frame *frame = finding_frame(s->r, rows->at[i].site, &line);
        if (rows->at[i].site == f->site || !frame || !line.file)
            continue;
        char *path = source_path(s->how, line.file);
        open_object(&s->j, NULL);
        put_number(&s->j, "id", i);
        physical_put(s, path, line.line > 0 ? (uint32_t)line.line : 0);
        message_put(&s->j, "message", rows->at[i].label);
        close_object(&s->j);
        free(path);
    }
    close_array(&s->j);
}

/* ---- results --------------------------------------------------------------------------------- */

static void figures_put(struct sarif *s, const struct finding *f)
{
    open_object(&s->j, "properties");
    put_text(&s->j, "id", f->id);
    if (f->error) {
        put_number(&s->j, "count", f->error->count);
    } else {
        put_number(&s->j, "bytes", f->leak.bytes);
        put_number(&s->j, "blocks", f->leak.blocks);
        put_text(&s->j, "class", reach_name(f->leak.first->class));
    }
    close_object(&s->j);
}

static void result_put(struct sarif *s, const struct finding *f)
{
    struct error_rows rows = finding_rows(f);
    char *sentence = finding_sentence(s->r, f, true);

    open_object(&s->j, NULL);
    put_text(&s->j, "ruleId", f->code);
    put_number(&s->j, "ruleIndex", check_of(f->code));
    put_text(&s->j, "level", level_name(f->level));
    message_put(&s->j, "message", sentence);
    location_put(s, f);
    open_object(&s->j, "partialFingerprints");
    put_text(&s->j, "rtcheckId/v1", f->id);
    close_object(&s->j);
    flows_put(s, &rows);
    related_put(s, f, &rows);
    figures_put(s, f);
    close_object(&s->j);
    free(sentence);
}

/* ---- the tool, and how it went --------------------------------------------------------------- */

static bool code_is_warning(const char *code)
{
    for (uint32_t kind = 0; kind < ERROR_KIND_COUNT; kind++)
        if (error_is_warning(kind) && strcmp(error_code(kind), code) == 0)
            return true;
    return false;
}

static void rule_put(struct json *j, const struct check *check)
{
    open_object(j, NULL);
    put_text(j, "id", check->code);
    message_put(j, "shortDescription", check->title);
    message_put(j, "fullDescription", check->help);
    message_put(j, "help", check->help);
    open_object(j, "defaultConfiguration");
    put_text(j, "level",
             code_is_warning(check->code)          ? "warning"
             : strncmp(check->code, "biu", 3) == 0 ? "note"
                                                   : "error");
    close_object(j);
    open_object(j, "properties");
    open_array(j, "tags");
    put_text(j, NULL, "memory");
    close_array(j);
    close_object(j);
    close_object(j);
}

static void tool_put(struct json *j)
{
    open_object(j, "tool");
    open_object(j, "driver");
    put_text(j, "name", "rtcheck");
    put_text(j, "semanticVersion", RTC_VERSION);
    open_array(j, "rules");
    for (uint32_t i = 0; check_at(i); i++)
        rule_put(j, check_at(i));
    close_array(j);
    close_object(j);
    close_object(j);
}

/* Was the program checked, and which limits apply to the findings? */
static void invocation_put(struct sarif *s, const struct image *main)
{
    struct notes notes = notes_make(s->r, main, s->how);

    open_array(&s->j, "invocations");
    open_object(&s->j, NULL);
    put_flag(&s->j, "executionSuccessful",
             is_in_control(s->r, main) && !report_is_incomplete(s->r, true));
    open_array(&s->j, "toolExecutionNotifications");
    for (uint32_t i = 0; i < notes.count; i++) {
        open_object(&s->j, NULL);
        message_put(&s->j, "message", notes.at[i].text);
        put_text(&s->j, "level", notes.at[i].against ? "warning" : "note");
        close_object(&s->j);
    }
    close_array(&s->j);
    close_object(&s->j);
    close_array(&s->j);
    notes_free(&notes);
}

void sarif_print(struct report *r, FILE *out, const struct print_options *how)
{
    struct sarif s = {{.out = out, .is_first = true}, r, how};
    struct findings all = findings_make(r, how, how->leak_kinds);

    open_object(&s.j, NULL);
    put_text(&s.j, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    put_text(&s.j, "version", "2.1.0");
    open_array(&s.j, "runs");
    open_object(&s.j, NULL);
    tool_put(&s.j);
    invocation_put(&s, image_main(r));
    open_array(&s.j, "results");
    for (uint32_t i = 0; i < all.count; i++)
        result_put(&s, &all.at[i]);
    close_array(&s.j);
    close_object(&s.j);
    close_array(&s.j);
    close_object(&s.j);
    fputc('\n', out);
    findings_free(&all);
}
