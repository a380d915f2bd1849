/*
 * helper_priv.h - the protocol between the helper process and its parent (helper.c,
 * helper_answers.c).
 */
#ifndef HELPER_PRIV_H
#define HELPER_PRIV_H

#include "symbols.h"
#include "variables.h"

struct answer {
    char *text; /* `bytes`, then a zero byte */
    const char *at, *end;
};

/* In the helper: encode an answer. */
void answer_put_frame(FILE *out, const struct report *r, uint32_t index);
void answer_put_variable(FILE *out, const struct report *r, uint32_t module,
                         const struct variable *variable);

/* In the parent: decode an answer. false: no frame with that index was sent. */
bool answer_get_frame(struct answer *a, struct report *r);
void answer_get_symbols(struct answer *a, struct module *module); /* precedes a variable */
void answer_get_variable(struct answer *a, struct variable *variable);

/* ---- symbolize.c, symbolize_variable.c ------------------------------------------------------- */

/* Look up names in this process, which a malformed file may crash. */
void frame_symbolize(struct report *r, struct frame *frame);
void variable_symbolize(struct report *r, uint32_t module, uint64_t offset, struct variable *out);
void local_symbolize(struct report *r, const struct frame *frame, struct in_frame at,
                     struct variable *out);
void thread_variable_symbolize(struct report *r, uint32_t module, uint64_t below,
                               struct variable *out);
/* Whether the module has a file to read; NO_MODULE has none. */
bool module_has_file(struct report *r, uint32_t module);

#endif
