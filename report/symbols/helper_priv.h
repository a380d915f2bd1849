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

/* ---- object_files.c -------------------------------------------------------------------------- */

/* Separate files of debugging information of a module, and their paths below a sysroot. */
struct debug_files {
    uint32_t count;
    struct debug_file {
        char *found, *path;
    } at[4];
};

/* In the helper: find them. */
void debug_files_find(struct report *r, uint32_t module, struct debug_files *out);
void debug_files_free(struct debug_files *files);
int debug_file_open(const struct report *r, const char *path); /* symbolize.c; -1: not usable */

/* In the helper: encode an answer. */
void answer_put_frame(FILE *out, const struct report *r, uint32_t index);
void answer_put_debug_files(FILE *out, const struct debug_files *files);
void answer_put_variable(FILE *out, const struct report *r, uint32_t module,
                         const struct variable *variable);

/* In the parent: decode an answer. false: no frame with that index was sent. */
bool answer_get_frame(struct answer *a, struct report *r);
void answer_get_symbols(struct answer *a, struct module *module); /* precedes a variable */
void answer_get_variable(struct answer *a, struct variable *variable);
void answer_get_debug_files(struct answer *a, struct debug_files *files);

/* ---- helper.c -------------------------------------------------------------------------------- */

/* In the parent: ask the helper. Freed by debug_files_free. */
void debug_files_query(struct report *r, uint32_t module, struct debug_files *out);

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
