/*
 * translated.c - addresses in copies: of which original instruction they are, and which check has
 * called the handler.
 *
 * Every object has its own range of copied code; there are few of them, so they are searched one by one.
 */
#include "translated_priv.h"

struct copied_objects copied;

static const struct copied_object *object_at(uintptr_t pc)
{
    for (uint32_t i = 0; i < copied.count; i++)
        if (pc - copied.of[i].copy < copied.of[i].copy_bytes)
            return &copied.of[i];
    return NULL;
}

struct translated_counts translated_counts(void)
{
    return (struct translated_counts){copied.count, copied.native};
}

bool translated_has(uintptr_t pc)
{
    return object_at(pc);
}

uintptr_t translated_original(uintptr_t pc)
{
    const struct copied_object *o = object_at(pc);
    uint32_t offset = o ? plan_original_of(&o->plan, (uint32_t)(pc - o->copy)) : PLAN_NOWHERE;
    return offset == PLAN_NOWHERE ? pc : o->text + offset;
}

uintptr_t translated_end(uintptr_t pc)
{
    const struct copied_object *o = object_at(pc);
    uint32_t end = o ? plan_end_of(&o->plan, (uint32_t)(pc - o->copy)) : PLAN_NOWHERE;
    return end == PLAN_NOWHERE ? 0 : o->copy + end;
}

uintptr_t translated_copy_of(uintptr_t pc)
{
    for (uint32_t i = 0; i < copied.count; i++) {
        const struct copied_object *o = &copied.of[i];
        uint32_t offset = pc - o->text < o->plan.header->text_bytes
                              ? plan_copy_of(&o->plan, (uint32_t)(pc - o->text))
                              : PLAN_NOWHERE;
        if (offset != PLAN_NOWHERE)
            return o->copy + offset;
    }
    return pc;
}

uintptr_t translated_return(uintptr_t pc)
{
    const struct copied_object *o = object_at(pc - 1);
    uint32_t offset = o ? plan_return_of(&o->plan, (uint32_t)(pc - o->copy)) : PLAN_NOWHERE;
    return offset == PLAN_NOWHERE ? pc : o->text + offset;
}

static void describe(const struct copied_object *o, struct translated_copy *out)
{
    const struct plan_header *h = o->plan.header;
    *out = (struct translated_copy){.start = o->copy,
                                    .end = o->copy + plan_mapped_bytes(h),
                                    .unwind = o->copy + plan_unwind_at(h),
                                    .text = o->text,
                                    .headers = o->headers};
}

bool translated_copy_at(uintptr_t pc, struct translated_copy *out)
{
    const struct copied_object *o = object_at(pc);
    if (o)
        describe(o, out);
    return o;
}

bool translated_copy_number(uint32_t number, struct translated_copy *out)
{
    if (number >= copied.count)
        return false;
    describe(&copied.of[number], out);
    return true;
}

bool translated_site(uintptr_t returns_to, struct translated_site *out)
{
    const struct copied_object *o = object_at(returns_to);
    const struct plan_site *s = o ? plan_site_at(&o->plan, (uint32_t)(returns_to - o->copy)) : NULL;
    if (!s)
        return false;
    *out = (struct translated_site){o->text + s->original, s->bytes, s->kind};
    return true;
}

static uint64_t *words(void)
{
    char *thread = processor_thread();
    return copied.count ? (uint64_t *)(void *)(thread + copied.of[0].plan.header->spill) : NULL;
}

uintptr_t translated_bad_address(void)
{
    return copied.count ? words()[SPILL_ADDRESS] : 0;
}

struct translated_words translated_words(void)
{
    struct translated_words kept = {0};
    if (copied.count)
        __builtin_memcpy(kept.at, words(), sizeof kept.at);
    return kept;
}

void translated_words_restore(const struct translated_words *kept)
{
    if (copied.count)
        __builtin_memcpy(words(), kept->at, sizeof kept->at);
}
