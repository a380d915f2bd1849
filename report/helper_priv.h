/*
 * helper_priv.h - the protocol between the helper process and its parent (helper.c,
 * helper_answers.c).
 */
#ifndef HELPER_PRIV_H
#define HELPER_PRIV_H

#include "report_priv.h"
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

#endif
