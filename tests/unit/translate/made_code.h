/* made_code.h - functions from bytes, for the stages of translate. */
#ifndef MADE_CODE_H
#define MADE_CODE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/bits.h"
#include "translate_priv.h"

#include <cmocka.h>

struct made {
    struct object object;
    struct functions functions;
    struct code code;
    bool *is_target;
    uint32_t *live;
};

/* Functions follow each other; `bytes` has the bytes of each. */
static inline void make(struct made *m, const void *text, uint32_t text_bytes,
                        const uint32_t *bytes, uint32_t count)
{
    char err[TOOLS_ERROR_BYTES];
    uint32_t start = 0;

    assert_int_equal(zydis_load(err), 0);
    *m = (struct made){.object = {.text_address = 0x1000, .text_bytes = text_bytes}};
    m->object.content = zeroed(text_bytes + 16, 1);
    memcpy(m->object.content, text, text_bytes);
    m->functions = (struct functions){.at = zeroed(count, sizeof *m->functions.at), .count = count};
    for (uint32_t n = 0; n < count; n++, start += bytes[n - 1])
        m->functions.at[n] = (struct plan_function){.start = start, .bytes = bytes[n]};
    code_decode(&m->code, &m->object, &m->functions);
    functions_select(&m->functions, &m->code, &m->object);
    m->is_target = zeroed(m->code.count, sizeof(bool));
}

#define MAKE(m, text, ...)                                          \
    make(m, text, sizeof text - 1, (const uint32_t[]){__VA_ARGS__}, \
         countof(((const uint32_t[]){__VA_ARGS__})))

static inline void make_live(struct made *m)
{
    m->live = liveness_of(&m->code, &m->object, &m->functions, m->is_target);
}

static inline const struct instruction *made_at(const struct made *m, uint32_t offset)
{
    uint32_t n = code_at(&m->code, &m->object, offset);
    assert_int_not_equal(n, NONE);
    return &m->code.at[n];
}

static inline uint32_t made_live(const struct made *m, uint32_t offset)
{
    return m->live[code_at(&m->code, &m->object, offset)];
}

static inline void unmake(struct made *m)
{
    free(m->object.content);
    free(m->functions.at);
    free(m->code.at);
    free(m->code.index);
    free(m->is_target);
    free(m->live);
}

#endif
