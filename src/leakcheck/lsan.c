/*
 * lsan.c - checks by the interface of <sanitizer/lsan_interface.h>, and a program's own LSan
 * settings.
 *
 * A program may define three functions that LeakSanitizer calls.  They are found if the program
 * exports them: if they are defined in a library, or if the program is linked with -rdynamic.
 * __lsan_is_turned_off is called at each check, so the program may turn checks on and off as it
 * runs.  A signal handler cannot call it: if a signal ends a program that defines it, leaks are not
 * searched.  Supported options are applied; the report lists the others as unknown.  The reporter
 * reads the suppressions.  If a sanitizer's runtime is in the process, all calls are passed to that
 * runtime.
 *
 * __lsan_do_leak_check ends a program that has leaks, unless the reporter answers that all are
 * suppressed.  Without an answer it ends the program.
 */
#include "leakcheck_priv.h"

#include <string.h>

#define EXIT_STATUS 23 /* LeakSanitizer's default exit status with leaks */
#define TEXTS 16u

extern int __lsan_is_turned_off(void) __attribute__((weak));
extern const char *__lsan_default_options(void) __attribute__((weak));
extern const char *__lsan_default_suppressions(void) __attribute__((weak));

static int exit_status = EXIT_STATUS; /* 0: continue in spite of leaks */

/* ---- the program's own options --------------------------------------------------------------- */

struct setting {
    const char *key, *value;
    size_t key_length, value_length;
};

static bool is_between(char c)
{
    return c == ':' || c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Parse the next key=value of a text, whose value may be quoted.  Return false at the end. */
static bool next_setting(const char **text, struct setting *s)
{
    const char *at = *text;
    while (is_between(*at))
        at++;
    s->key = at;
    while (*at && *at != '=' && !is_between(*at))
        at++;
    s->key_length = (size_t)(at - s->key);
    at += *at == '=';
    char quote = *at == '\'' || *at == '"' ? *at++ : '\0';
    s->value = at;
    while (*at && (quote ? *at != quote : !is_between(*at)))
        at++;
    s->value_length = (size_t)(at - s->value);
    *text = at + (quote && *at);
    return s->key_length > 0;
}

static bool is_word(const char *at, size_t length, const char *word)
{
    return text_length(word) == length && !memcmp(at, word, length);
}

static bool is_off(const struct setting *s)
{
    return is_word(s->value, s->value_length, "0") || is_word(s->value, s->value_length, "no") ||
           is_word(s->value, s->value_length, "false");
}

static bool read_status(const struct setting *s)
{
    const char *at = s->value;
    uint64_t n;
    if (!text_parse_decimal(&at, &n) || at != s->value + s->value_length || n > 255)
        return false;
    exit_status = (int)n;
    return true;
}

/* Apply a setting.  Return false if it is not supported. */
static bool take_setting(const struct setting *s)
{
    if (is_word(s->key, s->key_length, "detect_leaks"))
        rt.options.leaks = rt.options.leaks && !is_off(s);
    else if (is_word(s->key, s->key_length, "leak_check_at_exit"))
        rt.no_check_at_end = is_off(s);
    else
        return is_word(s->key, s->key_length, "exitcode") && read_status(s);
    return true;
}

/* Write a text to the run file. */
static void note_text(enum text_kind kind, uint32_t piece, const char *at, size_t length)
{
    static struct segment *texts;
    static uint32_t count;
    struct section section;
    if (!section_begin(&section))
        return;
    if (count % TEXTS == 0 &&
        (texts = segment_take(SEGMENT_TEXTS, TEXTS, sizeof(struct text_record), count / TEXTS)))
        segment_publish(texts);
    if (texts) {
        struct text_record *r = (struct text_record *)segment_items(texts) + count % TEXTS;
        struct text t = text_begin(r->text, sizeof r->text);
        text_put_n(&t, at, length);
        text_end(&t);
        r->kind = kind;
        r->piece = piece;
        atomic_store_explicit(&texts->count, count++ % TEXTS + 1, memory_order_release);
    }
    section_end(&section);
}

/* ---- and its suppressions -------------------------------------------------------------------- */

/*
 * Write the text in pieces.  The last piece is not full, so a reader can detect a truncated list.
 */
static void note_suppressions(const char *text)
{
    size_t left = text_length(text);
    if (!left)
        return;
    for (uint32_t piece = 0; piece < TEXT_PIECES_MAX; piece++) {
        size_t n = left < TEXT_PIECE_BYTES ? left : TEXT_PIECE_BYTES;
        note_text(TEXT_SUPPRESSIONS, piece, text, n);
        if (n < TEXT_PIECE_BYTES)
            return;
        text += n;
        left -= n;
    }
}

/* ---- start ----------------------------------------------------------------------------------- */

void finish_start(void)
{
    if (next.lsan_do_leak_check)
        return;
    const char *text = __lsan_default_options ? __lsan_default_options() : NULL;
    struct setting s;
    while (text && next_setting(&text, &s))
        if (!take_setting(&s))
            note_text(TEXT_UNKNOWN_SETTING, 0, s.key, (size_t)(s.value + s.value_length - s.key));
    if (wants_leaks() && __lsan_default_suppressions && (text = __lsan_default_suppressions()))
        note_suppressions(text);
    if (!wants_leaks_at_end())
        image()->checks &= ~(CHECK_LEAKS | CHECK_POST_MORTEM);
}

/* ---- checks turned off by the program -------------------------------------------------------- */

/* A program that can turn checks off must be called for it, which no signal handler may do. */
bool lsan_can_turn_off(void)
{
    return __lsan_is_turned_off && !next.lsan_do_leak_check;
}

bool lsan_is_turned_off(void)
{
    return lsan_can_turn_off() && __lsan_is_turned_off();
}

bool lsan_allows_end(void)
{
    return lsan_note_end(!lsan_is_turned_off());
}

/* Sets the flags again if a check before a failed exec has cleared them. */
bool lsan_note_end(bool allowed)
{
    uint32_t checks = CHECK_LEAKS | (rt.options.witness ? CHECK_POST_MORTEM : 0);
    if (!allowed)
        image()->checks &= ~checks;
    else if (wants_leaks_at_end())
        image()->checks |= checks;
    return allowed;
}

/* ---- checks ---------------------------------------------------------------------------------- */

EXPORT void __lsan_do_leak_check(void);
EXPORT void __lsan_do_leak_check(void)
{
    if (next.lsan_do_leak_check) {
        next.lsan_do_leak_check();
        return;
    }
    int status = rt.options.error_exitcode > 0 ? rt.options.error_exitcode : exit_status;
    if (!finish_check_early() || !status || !leaks_any_unsuppressed())
        return;
    os_exit_now(finish_image(END_EXIT_NOW, status));
}

EXPORT int __lsan_do_recoverable_leak_check(void);
EXPORT int __lsan_do_recoverable_leak_check(void)
{
    struct leaks_now now = {.is_reported = true};
    if (next.lsan_do_recoverable_leak_check)
        return next.lsan_do_recoverable_leak_check();
    bool known = leaks_on_demand(&now) && leak_check_was_made(now.result) && !now.not_stopped;
    uint64_t lost = now.sum[REACH_LOST].blocks + now.sum[REACH_CYCLE].blocks +
                    now.sum[REACH_LOST_INDIRECT].blocks;
    return known && lost;
}
