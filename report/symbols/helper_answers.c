/*
 * helper_answers.c - the format of the helper's answers: strings with a zero byte after each, ""
 * for NULL.
 *
 * The parent trusts no answer: a number out of range becomes "none", and a string ends where the
 * answer ends.
 */
#include <stdlib.h>
#include <string.h>

#include "helper_priv.h"

static void put(FILE *out, const char *text)
{
    fputs(text ? text : "", out);
    fputc('\0', out);
}

static void put_number(FILE *out, uint64_t number)
{
    fprintf(out, "%llu", (unsigned long long)number);
    fputc('\0', out);
}

void answer_put_frame(FILE *out, const struct report *r, uint32_t index)
{
    const struct frame *frame = &r->frames[index];

    put_number(out, index);
    put_number(out, r->modules[frame->module].symbols);
    put_number(out, frame->calls);
    put(out, frame->system_name);
    put(out, frame->function);
    put_number(out, frame->in_function);
    put(out, frame->file);
    put_number(out, (uint64_t)frame->line);
    put_number(out, frame->inlined_count);
    for (uint32_t i = 0; i < frame->inlined_count; i++) {
        put(out, frame->inlined[i].system_name);
        put(out, frame->inlined[i].function);
        put(out, frame->inlined[i].declared);
        put(out, frame->inlined[i].call_file);
        put_number(out, (uint64_t)frame->inlined[i].call_line);
    }
}

void answer_put_variable(FILE *out, const struct report *r, uint32_t module,
                         const struct variable *variable)
{
    put_number(out, r->modules[module].symbols);
    put(out, variable->name);
    put_number(out, variable->offset);
    put(out, variable->whole);
    put_number(out, variable->in_whole);
    put(out, variable->file);
    put_number(out, (uint64_t)variable->line);
    put(out, variable->section);
    put_number(out, variable->in_section);
    put(out, variable->text);
    put(out, variable->function);
    put_number(out, variable->is_parameter);
}

void answer_put_debug_files(FILE *out, const struct debug_files *files)
{
    put_number(out, files->count);
    for (uint32_t i = 0; i < files->count; i++) {
        put(out, files->at[i].found);
        put(out, files->at[i].path);
    }
}

static const char *get(struct answer *a)
{
    const char *text = a->at;

    if (text >= a->end)
        return "";
    a->at += strlen(text) + 1;
    return text;
}

static char *get_copy(struct answer *a)
{
    const char *text = get(a);
    return *text ? xalloc(strdup(text)) : NULL;
}

static uint64_t get_number(struct answer *a)
{
    return strtoull(get(a), NULL, 10);
}

static int get_line(struct answer *a)
{
    uint64_t line = get_number(a);
    return line > INT32_MAX ? 0 : (int)line;
}

static void get_inlined(struct answer *a, struct frame *frame)
{
    uint64_t count = get_number(a);

    if (count == 0 || count > INLINED_MAX)
        return;
    frame->inlined = xalloc(calloc(count, sizeof frame->inlined[0]));
    frame->inlined_count = (uint32_t)count;
    for (uint32_t i = 0; i < frame->inlined_count; i++) {
        frame->inlined[i].system_name = get_copy(a);
        frame->inlined[i].function = get_copy(a);
        frame->inlined[i].declared = get_copy(a);
        frame->inlined[i].call_file = get_copy(a);
        frame->inlined[i].call_line = get_line(a);
    }
}

void answer_get_symbols(struct answer *a, struct module *module)
{
    uint64_t symbols = get_number(a);

    if (symbols < SYMBOLS_COUNT)
        module->symbols = (enum module_symbols)symbols;
}

static uint32_t get_entry(struct answer *a)
{
    uint64_t entry = get_number(a);

    return entry < ENTRY_COUNT ? (uint32_t)entry : ENTRY_NONE;
}

static void get_names(struct answer *a, struct frame *frame)
{
    frame->calls = get_entry(a);
    frame->system_name = get_copy(a);
    frame->function = get_copy(a);
    frame->in_function = get_number(a);
    frame->file = get_copy(a);
    frame->line = get_line(a);
    get_inlined(a, frame);
}

/*
 * The helper does not see marks as tried that were set after its start. Its answers for such frames
 * are read and dropped.
 */
bool answer_get_frame(struct answer *a, struct report *r)
{
    uint64_t index = get_number(a);
    struct frame *frame, dropped = {0};

    if (index >= r->frame_count || r->frames[index].module == NO_MODULE)
        return false;
    frame = &r->frames[index];
    answer_get_symbols(a, &r->modules[frame->module]);
    get_names(a, frame->tried ? &dropped : frame);
    frame->tried = true;
    frame_free(&dropped);
    return true;
}

void answer_get_variable(struct answer *a, struct variable *variable)
{
    variable->name = get_copy(a);
    variable->offset = get_number(a);
    variable->whole = get_copy(a);
    variable->in_whole = get_number(a);
    variable->file = get_copy(a);
    variable->line = get_line(a);
    variable->section = get_copy(a);
    variable->in_section = get_number(a);
    variable->text = get_copy(a);
    variable->function = get_copy(a);
    variable->is_parameter = get_number(a) != 0;
}

void answer_get_debug_files(struct answer *a, struct debug_files *files)
{
    uint64_t count = get_number(a);

    *files = (struct debug_files){0};
    for (; count > 0 && files->count < countof(files->at); count--)
        files->at[files->count++] = (struct debug_file){get_copy(a), get_copy(a)};
}
