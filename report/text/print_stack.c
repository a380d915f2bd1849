/*
 * print_stack.c - stacks as text: labelled rows with a column of functions and a column of places,
 * or all on one line.
 *
 *   second free()  cJSON_Delete          cJSON.c:153
 *                  parse_object          cJSON.c:1384
 *                  ... 3 frames ...
 *                  main                  t.c:4
 *   malloc()       parse_string          cJSON.c:466
 *                  (callers as above)
 *
 * The columns of all rows of a finding are aligned. A function that is too long for its column has
 * its place after it, or on the next line; arguments of templates are left out if that helps.
 */
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define GAP 2u

/* ---- columns --------------------------------------------------------------------------------- */

static uint32_t at_most(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* The columns of the rows of one finding. */
struct columns {
    uint32_t function; /* where functions begin */
    uint32_t place;    /* where places begin */
};

/* The columns of a place and its mark. */
static uint32_t place_columns(const struct stack_line *line)
{
    uint32_t place = line->place ? columns_of(line->place) : 0;
    uint32_t mark = line->mark ? columns_of(line->mark) : 0;

    return place + (place && mark ? GAP : 0) + mark;
}

/* The columns of a function beside its place, without arguments of templates if need be. */
static uint32_t name_columns(const struct stack_line *line, uint32_t room, uint32_t place,
                             const struct page *page)
{
    uint32_t left = room - at_most(room, place + GAP);
    char *name = page->whole ? xalloc(strdup(line->name)) : name_shortened(line->name, left);
    uint32_t columns = columns_of(name);

    free(name);
    return columns;
}

static void columns_add(struct columns *c, const struct stack_lines *l, const struct page *page)
{
    uint32_t room = page->columns > c->function ? page->columns - c->function : 0;

    for (uint32_t i = 0; i < l->count; i++) {
        uint32_t place = place_columns(&l->at[i]);
        uint32_t name = l->at[i].is_text ? 0 : name_columns(&l->at[i], room, place, page);
        if (place > 0 && name + GAP + place <= room && c->function + name + GAP > c->place)
            c->place = c->function + name + GAP;
    }
}

static void place_put(const struct stack_line *line, const struct page *page)
{
    bool links = page->how->links && line->file && line->file[0] == '/';

    if (links)
        link_begin(page->out, line->file, line->number);
    set_colour(page, COLOUR_PLACE);
    fputs(line->place, page->out);
    set_colour(page, COLOUR_NONE);
    if (links)
        link_end(page->out);
    if (line->mark)
        fprintf(page->out, "%s%s", *line->place ? "  " : "", line->mark);
}

/* Print the function in at most `room` columns, if arguments of templates can be left out. */
static uint32_t name_put(const struct stack_line *line, uint32_t room, const struct page *page)
{
    char *name = page->whole ? xalloc(strdup(line->name)) : name_shortened(line->name, room);
    uint32_t columns = columns_of(name);

    if (line->is_program)
        set_colour(page, COLOUR_HEADING);
    fputs(name, page->out);
    if (line->is_program)
        set_colour(page, COLOUR_NONE);
    free(name);
    return columns;
}

static void line_put(const struct stack_line *line, const struct columns *c,
                     const struct page *page)
{
    uint32_t width = page->columns, place = place_columns(line), at;

    if (line->is_text) {
        fputs(line->name, page->out);
    } else if (place == 0) {
        name_put(line, width - at_most(width, c->function), page);
    } else {
        at = c->function + name_put(line, width - at_most(width, c->function + GAP + place), page);
        if (at + GAP <= c->place && c->place + place <= width) {
            spaces_put(page->out, c->place - at);
        } else if (at + GAP + place <= width || page->whole) {
            spaces_put(page->out, GAP);
        } else {
            fputc('\n', page->out);
            spaces_put(page->out, c->function + 2 * GAP);
        }
        place_put(line, page);
    }
    fputc('\n', page->out);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void label_put(const char *label, const struct columns *c, const struct page *page)
{
    uint32_t used = STACK_INDENT + columns_of(label);

    spaces_put(page->out, STACK_INDENT);
    if (*label)
        set_colour(page, COLOUR_FAINT);
    text_put(page->out, label);
    if (*label)
        set_colour(page, COLOUR_NONE);
    spaces_put(page->out, used < c->function ? c->function - used : 1);
}

static void row_put(struct report *r, const struct stack_row *row, const struct columns *c,
                    const struct page *page)
{
    const char *label = row->label;

    if (row->by) {
        label_put(label, c, page);
        words_put(page, c->function, c->function, 0, row->by);
        fputc('\n', page->out);
        label = "";
    }
    for (uint32_t i = 0; i < row->lines.count; i++, label = "") {
        label_put(label, c, page);
        line_put(&row->lines.at[i], c, page);
        if (i == row->source_line)
            source_print(r, &row->lines.at[i], i == 0 ? row->callee : NULL, page);
    }
}

/*
 * The line whose source is printed: the first one outside headers whose file is there. That of a
 * libc function seldom is.
 */
static uint32_t source_line_of(struct report *r, const struct stack_lines *l,
                               const struct page *page)
{
    for (uint32_t i = 0; page->how->source > 0 && i < l->count; i++)
        if (!l->at[i].is_header && source_is_there(r, &l->at[i]))
            return i;
    return UINT32_MAX;
}

void rows_print(struct report *r, struct stack_row *rows, uint32_t count, const struct page *page)
{
    struct columns c = {STACK_INDENT, 0};
    const struct site *before = NULL;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t columns = STACK_INDENT + columns_of(rows[i].label) + GAP;
        c.function = columns > c.function ? columns : c.function;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct site *site = rows[i].site == NO_SITE ? NULL : &r->sites[rows[i].site];
        if (!site)
            continue;
        rows[i].lines = stack_lines_make(r, rows[i].site, 0, page);
        if (before && !page->whole)
            stack_lines_share(&rows[i].lines, site, before);
        stack_lines_cut(&rows[i].lines, page->frames);
        rows[i].source_line = before ? UINT32_MAX : source_line_of(r, &rows[i].lines, page);
        columns_add(&c, &rows[i].lines, page);
        before = site;
    }
    for (uint32_t i = 0; i < count; i++) {
        row_put(r, &rows[i], &c, page);
        stack_lines_free(&rows[i].lines);
    }
}

void stack_print(struct report *r, const char *label, uint32_t site, const struct page *page)
{
    struct stack_row row = {.label = label, .site = site};

    rows_print(r, &row, 1, page);
}

static char *by_thread(const struct report *r, uint32_t image, const struct thread *thread)
{
    char *name = format_thread_of(r, image, thread), *text;

    if (asprintf(&text, "by %s", name) < 0)
        text = xalloc(NULL);
    free(name);
    return text;
}

void error_rows_print(struct report *r, uint32_t image, const struct error_rows *rows,
                      const char *found, const struct page *page)
{
    struct stack_row all[countof(rows->at) + 1] = {
        {.label = "bytes found", .by = found, .site = NO_SITE}};
    char *labels[countof(rows->at)], *by[countof(rows->at)];
    uint32_t count = found != NULL;

    for (uint32_t i = 0; i < rows->count; i++) {
        const struct error_row *row = &rows->at[i];
        symbolize_site(r, row->site);
        labels[i] = row_label(r, row);
        by[i] = row->thread ? by_thread(r, image, row->thread) : NULL;
        all[count++] = (struct stack_row){
            .label = labels[i], .by = by[i], .callee = row_callee(r, row), .site = row->site};
    }
    rows_print(r, all, count, page);
    for (uint32_t i = 0; i < rows->count; i++) {
        free(labels[i]);
        free(by[i]);
    }
}

/* ---- all in one line ------------------------------------------------------------------------- */

static char *piece_text(const struct stack_line *line, uint32_t room)
{
    char *bare = name_without_parameters(line->name), *name = name_shortened(bare, room), *text;
    bool has_place = line->place && *line->place;

    free(bare);
    if (line->is_text)
        return free(name), xalloc(strdup("..."));

    if (asprintf(&text, "%s%s%s", name, has_place ? " " : "", has_place ? line->place : "") < 0)
        text = xalloc(NULL);
    free(name);
    return text;
}

/* End a line that is filled up to column `at`, with an id at its right end. */
static void chain_end(const char *id, uint32_t at, const struct page *page)
{
    if (id)
        id_put(id, at, page);
    fputc('\n', page->out);
}

void site_put(const struct report *r, uint32_t site, uint32_t most, const struct page *page)
{
    struct stack_lines l = stack_lines_make(r, site, 0, page);

    stack_lines_skip_wrappers(&l);
    stack_lines_cut(&l, most);
    for (uint32_t i = 0; i < l.count; i++) {
        char *text = piece_text(&l.at[i], UINT32_MAX);
        fprintf(page->out, "%s%s", i ? " < " : "", text);
        free(text);
    }
    stack_lines_free(&l);
}

static struct stack_lines chain_lines(const struct report *r, const struct chain *chain,
                                      const struct page *page)
{
    struct stack_lines l = stack_lines_make(r, chain->site, chain->frames, page);

    stack_lines_skip_wrappers(&l);
    stack_lines_cut(&l, chain->most);
    return l;
}

void chain_print(const struct report *r, const struct chain *chain, const struct page *page)
{
    struct stack_lines l = chain_lines(r, chain, page);
    const char *id = chain->id;
    uint32_t at = chain->indent, reserved = id ? columns_of(id) + GAP : 0;
    uint32_t room = page->columns - at_most(page->columns, at + reserved + 2 * GAP);

    for (uint32_t i = 0; i < l.count; i++) {
        uint32_t place = l.at[i].place ? columns_of(l.at[i].place) : 0;
        char *text = piece_text(&l.at[i], room - at_most(room, place));
        uint32_t columns = columns_of(text);
        if (i > 0 && at + 3 + columns + reserved > page->columns) {
            chain_end(id, at, page);
            id = NULL;
            reserved = 0;
            at = chain->indent;
            spaces_put(page->out, at);
        }
        at += columns + (uint32_t)fprintf(page->out, "%s",
                                          i == 0                ? ""
                                          : at == chain->indent ? "< "
                                                                : " < ");
        fputs(text, page->out);
        free(text);
    }
    stack_lines_free(&l);
    chain_end(id, at, page);
}
