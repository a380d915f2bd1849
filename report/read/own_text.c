/*
 * own_text.c - the suppressions that a program contains, as text: the runtime writes them into the
 * run file in pieces, and suppress_own.c reads their rules.
 */
#include <stdlib.h>
#include <string.h>

#include "read_priv.h"

void own_text_free(struct own_text *text)
{
    free(text->exe);
    free(text->text);
    free(text->wrong);
}

/* Is it a duplicate? Each run of a program records the same text. */
static bool is_known(const struct report *r, const struct own_text *text)
{
    for (uint32_t i = 0; i < r->own_count; i++)
        if (strcmp(r->own[i].exe, text->exe) == 0 && strcmp(r->own[i].text, text->text) == 0)
            return true;
    return false;
}

/* Join the pieces of a text. false: a piece is missing, or the last one was cut. */
static bool join(char *const *pieces, uint32_t count, char **text)
{
    size_t bytes = 0, last = 0;

    for (uint32_t i = 0; i < count; i++) {
        last = pieces[i] ? strlen(pieces[i]) : 0;
        bytes += last;
        if (last != TEXT_PIECE_BYTES && i + 1 < count)
            return false;
    }
    *text = xalloc(malloc(bytes + 1));
    for (uint32_t i = 0; i < count; i++)
        memcpy(*text + i * (size_t)TEXT_PIECE_BYTES, pieces[i], strlen(pieces[i]));
    (*text)[bytes] = '\0';
    return last < TEXT_PIECE_BYTES;
}

void own_text_take(struct report *r, const struct image *image, char *const *pieces, uint32_t count)
{
    struct own_text new = {0};

    if (!join(pieces, count, &new.text))
        new.wrong = xalloc(strdup("not all of it could be kept"));
    if (!new.text)
        new.text = xalloc(strdup(""));
    new.exe = xalloc(strdup(image->exe ? image->exe : ""));
    if (is_known(r, &new)) {
        own_text_free(&new);
        return;
    }
    r->own = grow(r->own, r->own_count, sizeof *r->own);
    r->own[r->own_count++] = new;
}
