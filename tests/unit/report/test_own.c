/*
 * test_own.c - the pieces of a program's own suppressions, which may be arbitrary in a corrupted
 * file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "read_priv.h"

static char full[TEXT_PIECE_BYTES + 1];

/* The text, or the reason why there is none. */
static char *taken(char **pieces, uint32_t count)
{
    struct image image = {.exe = (char[]){"/bin/prog"}};
    struct report r = {0};
    char *text;

    own_text_take(&r, &image, pieces, count);
    own_text_take(&r, &image, pieces, count); /* as another process of the program does */
    assert_int_equal(r.own_count, 1);
    text = strdup(r.own[0].wrong ? r.own[0].wrong : r.own[0].text);
    own_text_free(&r.own[0]);
    free(r.own);
    return text;
}

static void test_pieces(void **state)
{
    static const char *const torn = "not all of it could be kept";
    char end[] = "end", empty[] = "";
    const struct {
        char *pieces[3];
        uint32_t count;
        const char *text; /* NULL: incomplete */
        size_t bytes;
    } rows[] = {
        {{end}, 1, "end", 3},
        {{full, empty}, 2, full, TEXT_PIECE_BYTES},
        {{full, full, end}, 3, full, 2 * TEXT_PIECE_BYTES + 3},
        {{full}, 1, NULL, 0},
        {{full, NULL, end}, 3, NULL, 0},
        {{NULL, end}, 2, NULL, 0},
        {{end, end}, 2, NULL, 0},
    };

    (void)state;
    memset(full, '#', TEXT_PIECE_BYTES);
    for (size_t i = 0; i < countof(rows); i++) {
        char *text = taken((char **)(uintptr_t)rows[i].pieces, rows[i].count);
        if (!rows[i].text) {
            assert_string_equal(text, torn);
        } else {
            assert_int_equal(strlen(text), rows[i].bytes);
            assert_memory_equal(text, rows[i].text, strlen(rows[i].text));
        }
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
