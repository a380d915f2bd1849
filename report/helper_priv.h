/*
 * helper_priv.h - what the helper's two sides say to each other (helper.c, helper_answers.c).
 */
#ifndef HELPER_PRIV_H
#define HELPER_PRIV_H

#include "report_priv.h"
#include "variables.h"

struct answer {
    char *text; /* `bytes`, and a zero behind them */
    const char *at, *end;
};

/* In the helper. */
void answer_put_frame(FILE *out, const struct report *r, uint32_t index);
void answer_put_variable(FILE *out, const struct report *r, uint32_t module,
                         const struct variable *variable);

/* From the helper.  false: no such answer was asked for. */
bool answer_get_frame(struct answer *a, struct report *r);
void answer_get_symbols(struct answer *a, struct module *module); /* comes before a variable */
void answer_get_variable(struct answer *a, struct variable *variable);

#endif
