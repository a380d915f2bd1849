/*
 * patterns.h - many patterns against many texts, each once.
 *
 * Both are interned and have numbers from 1; 0 is no pattern, and no text.  Which patterns a text
 * meets is found out when somebody first asks, and kept.
 */
#ifndef PATTERNS_H
#define PATTERNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In a pattern; all other bytes stand for themselves. */
#define PATTERN_RUN '\1' /* any bytes, or none */
#define PATTERN_ONE '\2' /* any byte */

struct patterns;

struct patterns *patterns_new(void);
void patterns_free(struct patterns *all);

/* Only before any text is asked about.  How often a pattern was interned is kept. */
uint32_t pattern_intern(struct patterns *all, const char *pattern, size_t bytes);
const char *pattern_text(const struct patterns *all, uint32_t pattern);
uint32_t pattern_uses(const struct patterns *all, uint32_t pattern);
uint32_t patterns_count(const struct patterns *all);
/* Does every text meet it, but perhaps an empty one? */
bool pattern_is_trivial(const struct patterns *all, uint32_t pattern);

uint32_t text_intern(struct patterns *all, const char *text);
/* The patterns that it meets, ascending. */
const uint32_t *text_patterns(struct patterns *all, uint32_t text, uint32_t *count);
bool text_matches(struct patterns *all, uint32_t text, uint32_t pattern);

/* How many pairs were compared byte by byte. */
uint64_t patterns_compared(const struct patterns *all);

/* One pair, at once. */
bool pattern_matches(const char *pattern, const char *text);

#endif
