/*
 * print_json_leaks.c - leaks in the JSON report, with the cost of the leak check.
 */
#include <stdlib.h>
#include <string.h>

#include "print_json_priv.h"

/* ---- referrers ------------------------------------------------------------------------------- */

static const char *witness_type(const struct leak *leak)
{
    const struct holder *h = &leak->holder;

    static const char *const roots[] = {"unknown", "stack", "module", "mapped", "given"};
    static const char *const others[] = {"nobody", NULL, "block", "register", "rule"};
    static_assert(countof(roots) == ROOT_KIND_COUNT && countof(others) == WITNESS_COUNT,
                  "each is named");

    if (h->what == WITNESS_ROOT || leak->class == CLASS_MAPPED)
        return roots[h->root];
    return others[h->what];
}

static void stack_put(struct json *j, const char *name, uint32_t site)
{
    if (site != NO_SITE)
        put_number(j, name, site);
}

static void from_put(struct json *j, const struct holder *h)
{
    open_object(j, "block");
    put_hex(j, "addr", h->from);
    put_number(j, "size", h->from_bytes);
    put_number(j, "offset", h->at - h->from);
    stack_put(j, "stack", h->from_stack);
    close_object(j);
}

static void witness_object(struct json *j, struct report *r, const struct leak *leak)
{
    const struct holder *h = &leak->holder;
    char *sentence = witness_sentence(r, leak, false);

    open_object(j, "witness");
    put_text(j, "type", witness_type(leak));
    put_text(j, "where", sentence);
    if (h->what != WITNESS_NONE && h->what != WITNESS_SELF)
        put_number(j, "inside", h->inside);
    if (h->what == WITNESS_ROOT || h->what == WITNESS_BLOCK)
        put_hex(j, "addr", h->at);
    if (h->what == WITNESS_REGISTER)
        put_number(j, "register", h->at);
    if (h->root != ROOT_NONE)
        json_region(j, r, h->region);
    stack_put(j, "function", h->function);
    json_variable_of_thread(j, r, h);
    if (h->what == WITNESS_BLOCK)
        from_put(j, h);
    if (h->region)
        json_thread(j, "thread", r, leak->image, &h->region->thread);
    close_object(j);
    free(sentence);
}

/* ---- leaks ----------------------------------------------------------------------------------- */

static void counts_object(struct json *j, const char *name, uint64_t bytes, uint64_t blocks)
{
    open_object(j, name);
    put_number(j, "bytes", bytes);
    put_number(j, "blocks", blocks);
    close_object(j);
}

static void leak_object(struct json *j, struct report *r, const struct leak *leak)
{
    open_object(j, NULL);
    put_text(j, "id", leak->id);
    put_text(j, "rtc", leak_code(leak->class));
    put_text(j, "class", reach_name(leak->class));
    json_images(j, &leak->images);
    put_number(j, "bytes", leak->bytes);
    put_number(j, "blocks", leak->blocks);
    counts_object(j, "new", leak->new_bytes, leak->new_blocks);
    counts_object(j, "behind", leak->indirect_bytes, leak->indirect_blocks);
    stack_put(j, "stack", leak->site);
    open_object(j, "first");
    put_hex(j, "addr", leak->block);
    put_number(j, "size", leak->block_bytes);
    put_flag(j, "circle", leak->is_cycle);
    json_thread(j, "thread", r, leak->image, &leak->thread);
    close_object(j);
    witness_object(j, r, leak);
    json_disposition(j, &leak->disposition);
    close_object(j);
}

void json_leaks(struct json *j, struct report *r)
{
    open_array(j, "leaks");
    for (uint32_t i = 0; i < r->leak_count; i++)
        leak_object(j, r, &r->leaks[i]);
    close_array(j);
}

void json_leak_check(struct json *j, const struct image *image)
{
    static const char *const names[] = {"not_asked", "found",   "no_memory", "sandbox",
                                        "busy",      "no_proc", "cut",       "unknown"};
    static_assert(countof(names) == LEAKS_CHECK_COUNT + 1, "each has its name");

    put_text(j, "leak_check", names[image->leak_check]);
    put_number(j, "threads_unheard", image->threads_not_stopped);
    put_number(j, "threads_deaf", image->threads_unresponsive);
    put_number(j, "threads_waiting", image->threads_waiting);
    put_flag(j, "witnessed", (image->flags & IMAGE_POST_MORTEM) != 0);
    put_number(j, "marks", image->marks);
    put_number(j, "leak_checks", image->leak_checks);
}

/* ---- sums ------------------------------------------------------------------------------------ */

static struct leak_sum sum_of(const struct report *r, const char *code)
{
    struct leak_sum sum = {0};

    for (uint32_t i = 0; i < r->leak_count; i++) {
        if (strcmp(leak_code(r->leaks[i].class), code) != 0 || is_hidden(&r->leaks[i].disposition))
            continue;
        sum.blocks += r->leaks[i].blocks;
        sum.bytes += r->leaks[i].bytes;
    }
    return sum;
}

static const char *const codes[] = {"mel", "aib", "air"};

void json_leak_blocks(struct json *j, const struct report *r)
{
    for (size_t i = 0; leaks_are_known(r) && i < countof(codes); i++)
        put_number(j, codes[i], sum_of(r, codes[i]).blocks);
}

void json_leak_bytes(struct json *j, const struct report *r)
{
    for (size_t i = 0; leaks_are_known(r) && i < countof(codes); i++)
        put_number(j, codes[i], sum_of(r, codes[i]).bytes);
}

void json_leak_cost(struct json *j, const struct leak_cost *cost)
{
    if (cost->processes == 0)
        return;
    open_object(j, "leaks");
    put_number(j, "processes", cost->processes);
    put_number(j, "ns", cost->ns);
    put_text(j, "source", COST_BY_CLOCK);
    put_number(j, "root_bytes", cost->root_bytes);
    put_number(j, "root_bytes_skipped", cost->root_bytes_skipped);
    close_object(j);
}
