/*
 * patterns.h - match many patterns against many texts, each pair at most once.
 *
 * Patterns and texts are interned and numbered from 1; 0 is no pattern and no text. The patterns
 * that a text matches are computed on the first query and cached.
 */
#ifndef PATTERNS_H
#define PATTERNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Wildcards in a pattern; all other bytes are literal. */
#define PATTERN_RUN '\1' /* any bytes, or none */
#define PATTERN_ONE '\2' /* any byte */

struct patterns;

struct patterns *patterns_new(void);
void patterns_free(struct patterns *all);

/*
 * Call pattern_intern only before the first query of a text. It counts how often a pattern was
 * interned.
 */
uint32_t pattern_intern(struct patterns *all, const char *pattern, size_t bytes);
const char *pattern_text(const struct patterns *all, uint32_t pattern);
uint32_t pattern_uses(const struct patterns *all, uint32_t pattern);
uint32_t patterns_count(const struct patterns *all);
/* Does the pattern match every text, except perhaps the empty one? */
bool pattern_is_trivial(const struct patterns *all, uint32_t pattern);

uint32_t text_intern(struct patterns *all, const char *text);
/* The numbers of the patterns that match the text, ascending. */
const uint32_t *text_patterns(struct patterns *all, uint32_t text, uint32_t *count);
bool text_matches(struct patterns *all, uint32_t text, uint32_t pattern);

/* The number of pairs that were compared byte by byte. */
uint64_t patterns_compared(const struct patterns *all);

/* Match one pair without interning. */
bool pattern_matches(const char *pattern, const char *text);

#endif
