/*
 * streams.c - reading and writing of streams, printf and scanf.
 *
 * How much fread, fgets, sprintf and scanf write is known when they have returned: so they are
 * checked then. What libc reads for the program is checked before. Large blocks are not copied: the
 * kernel accesses them, and a guard would make its call fail.
 */
#include "check.h"
#include "formats.h"
#include "next_functions.h"
#include "string_length.h"
#include "string_reads.h"
#include "system_calls.h"
#include "variadic_jump.h"

#define READS_TEXT(s, name)                             \
    do {                                                \
        if (access_is_on)                               \
            string_read_whole(s, ENTRY_##name, CALLER); \
    } while (0)

/* size * n, as large as can be if it is larger. */
static uint64_t product(size_t size, size_t n)
{
    size_t bytes;
    return __builtin_mul_overflow(size, n, &bytes) ? SIZE_MAX : bytes;
}

/* ---- blocks and lines ------------------------------------------------------------------------ */

#define READ_BLOCK(name, entry, PARAMETERS, ...)        \
    EXPORT size_t name PARAMETERS                       \
    {                                                   \
        opens_guards(to, product(size, n));             \
        size_t complete = NEXT_OF(name)(__VA_ARGS__);   \
        if (access_is_on)                               \
            WRITES(to, product(size, complete), entry); \
        return complete;                                \
    }                                                   \
    static_assert(true, "ends with a semicolon")

READ_BLOCK(fread, FREAD, (void *to, size_t size, size_t n, struct _IO_FILE *stream), to, size, n,
           stream);
READ_BLOCK(fread_unlocked, FREAD, (void *to, size_t size, size_t n, struct _IO_FILE *stream), to,
           size, n, stream);
READ_BLOCK(__fread_chk, FREAD,
           (void *to, size_t room, size_t size, size_t n, struct _IO_FILE *stream), to, room, size,
           n, stream);
READ_BLOCK(__fread_unlocked_chk, FREAD,
           (void *to, size_t room, size_t size, size_t n, struct _IO_FILE *stream), to, room, size,
           n, stream);

#define WRITE_BLOCK(name)                                                                \
    EXPORT size_t name(const void *from, size_t size, size_t n, struct _IO_FILE *stream) \
    {                                                                                    \
        if (access_is_on)                                                                \
            READS(from, product(size, n), FWRITE);                                       \
        else                                                                             \
            opens_guards(from, product(size, n));                                        \
        size_t complete = NEXT_OF(name)(from, size, n, stream);                          \
        USES(from, product(size, complete), FWRITE);                                     \
        return complete;                                                                 \
    }                                                                                    \
    static_assert(true, "ends with a semicolon")

WRITE_BLOCK(fwrite);
WRITE_BLOCK(fwrite_unlocked);

#define READ_LINE(name, PARAMETERS, ...)                       \
    EXPORT char *name PARAMETERS                               \
    {                                                          \
        char *line = NEXT_OF(name)(__VA_ARGS__);               \
        if (line && access_is_on && is_in_heap(line))          \
            WRITES(line, string_bytes(line, SIZE_MAX), FGETS); \
        return line;                                           \
    }                                                          \
    static_assert(true, "ends with a semicolon")

READ_LINE(fgets, (char *to, int n, struct _IO_FILE *stream), to, n, stream);
READ_LINE(fgets_unlocked, (char *to, int n, struct _IO_FILE *stream), to, n, stream);
READ_LINE(__fgets_chk, (char *to, size_t room, int n, struct _IO_FILE *stream), to, room, n,
          stream);
READ_LINE(__fgets_unlocked_chk, (char *to, size_t room, int n, struct _IO_FILE *stream), to, room,
          n, stream);

EXPORT int fputs(const char *s, struct _IO_FILE *stream)
{
    READS_TEXT(s, FPUTS);
    return NEXT_OF(fputs)(s, stream);
}

EXPORT int fputs_unlocked(const char *s, struct _IO_FILE *stream)
{
    READS_TEXT(s, FPUTS);
    return NEXT_OF(fputs_unlocked)(s, stream);
}

EXPORT int puts(const char *s)
{
    READS_TEXT(s, PUTS);
    return NEXT_OF(puts)(s);
}

EXPORT void perror(const char *s)
{
    READS_TEXT(s, PERROR);
    NEXT_OF(perror)(s);
}

/* ---- printf: what it reads is known before ----------------------------------------------------- */

#define FROM_ASSEMBLY __attribute__((used)) HIDDEN

static NOINLINE void check_printed(const struct saved_arguments *saved, const struct entry *at,
                                   unsigned format_at, uint32_t entry)
{
    va_list list;
    const char *to = (const char *)saved->word[0];
    if (!access_is_on || is_skipped((const void *)at->pc))
        return;
    if (entry == ENTRY_ASPRINTF && is_in_heap(to) && unlikely(!is_allowed(to, sizeof(char *))))
        access_refused(
            &(struct access){.at = to, .bytes = sizeof(char *), .is_write = true, .entry = entry},
            at);
    saved_list(&list, saved, format_at + 1, at);
    format_check_printed((const char *)saved->word[format_at], list, entry, at);
}

/* Exported: `name`, whose argument number format_at is the format. */
#define PRINTF(name, id, format_at)                                                               \
    FROM_ASSEMBLY void *next_##name;                                                              \
    FROM_ASSEMBLY void check_##name(const struct saved_arguments *saved, const struct entry *at); \
    void check_##name(const struct saved_arguments *saved, const struct entry *at)                \
    {                                                                                             \
        if (unlikely(!next_##name)) /* in a library's constructor that runs before ours */        \
            boundary_look_up(&next_##name, #name);                                                \
        check_printed(saved, at, format_at, ENTRY_##id);                                          \
    }                                                                                             \
    VARIADIC_JUMP(name)

PRINTF(printf, PRINTF, 0);
PRINTF(__printf_chk, PRINTF, 1);
PRINTF(fprintf, FPRINTF, 1);
PRINTF(__fprintf_chk, FPRINTF, 2);
PRINTF(dprintf, DPRINTF, 1);
PRINTF(__dprintf_chk, DPRINTF, 2);
PRINTF(asprintf, ASPRINTF, 1);
PRINTF(__asprintf_chk, ASPRINTF, 2);

void streams_start(void)
{
    static const struct {
        void *slot;
        const char *name;
    } jumps[] = {{&next_printf, "printf"},     {&next___printf_chk, "__printf_chk"},
                 {&next_fprintf, "fprintf"},   {&next___fprintf_chk, "__fprintf_chk"},
                 {&next_dprintf, "dprintf"},   {&next___dprintf_chk, "__dprintf_chk"},
                 {&next_asprintf, "asprintf"}, {&next___asprintf_chk, "__asprintf_chk"}};
    for (uint32_t i = 0; i < countof(jumps); i++)
        boundary_look_up(jumps[i].slot, jumps[i].name);
}

#define LIST(...) __VA_ARGS__

/* The same with a list of arguments: a jump, after the check. */
#define VPRINTF(name, entry, PARAMETERS, ARGUMENTS)                    \
    EXPORT int name(LIST PARAMETERS, va_list list)                     \
    {                                                                  \
        if (access_is_on && !is_skipped(SITE))                         \
            format_check_printed(format, list, ENTRY_##entry, CALLER); \
        return NEXT_OF(name)(LIST ARGUMENTS, list);                    \
    }                                                                  \
    static_assert(true, "ends with a semicolon")

VPRINTF(vprintf, VPRINTF, (const char *format), (format));
VPRINTF(__vprintf_chk, VPRINTF, (int flag, const char *format), (flag, format));
VPRINTF(vfprintf, VFPRINTF, (struct _IO_FILE * stream, const char *format), (stream, format));
VPRINTF(__vfprintf_chk, VFPRINTF, (struct _IO_FILE * stream, int flag, const char *format),
        (stream, flag, format));
VPRINTF(vdprintf, VDPRINTF, (int fd, const char *format), (fd, format));
VPRINTF(__vdprintf_chk, VDPRINTF, (int fd, int flag, const char *format), (fd, flag, format));

#define VASPRINTF(name, PARAMETERS, ARGUMENTS)                               \
    EXPORT int name(LIST PARAMETERS, va_list list)                           \
    {                                                                        \
        if (access_is_on) {                                                  \
            WRITES(to, sizeof *to, VASPRINTF);                               \
            if (!is_skipped(SITE))                                           \
                format_check_printed(format, list, ENTRY_VASPRINTF, CALLER); \
        }                                                                    \
        return NEXT_OF(name)(LIST ARGUMENTS, list);                          \
    }                                                                        \
    static_assert(true, "ends with a semicolon")

VASPRINTF(vasprintf, (char **to, const char *format), (to, format));
VASPRINTF(__vasprintf_chk, (char **to, int flag, const char *format), (to, flag, format));

/* ---- sprintf: how much it writes is known afterwards -------------------------------------------- */

/* The characters and the zero byte after them, unless the call has failed. */
#define TEXT(result, entry)            \
    if ((result) >= 0 && access_is_on) \
    WRITES(to, (uint64_t)(result) + 1, entry)
#define TEXT_N(result, entry)                   \
    if ((result) >= 0 && n > 0 && access_is_on) \
    WRITES(to, (uint64_t)(result) < n ? (uint64_t)(result) + 1 : (uint64_t)n, entry)

/* A sprintf and the function that takes a list; `written` checks what was written. */
#define SPRINTF(name, list_name, entry, PARAMETERS, ARGUMENTS, written) \
    EXPORT int list_name(LIST PARAMETERS, va_list list)                 \
    {                                                                   \
        if (access_is_on && !is_skipped(SITE))                          \
            format_check_printed(format, list, ENTRY_V##entry, CALLER); \
        int result = NEXT_OF(list_name)(LIST ARGUMENTS, list);          \
        written(result, V##entry);                                      \
        return result;                                                  \
    }                                                                   \
    EXPORT int name(LIST PARAMETERS, ...)                               \
    {                                                                   \
        va_list list;                                                   \
        va_start(list, format);                                         \
        if (access_is_on && !is_skipped(SITE))                          \
            format_check_printed(format, list, ENTRY_##entry, CALLER);  \
        int result = NEXT_OF(list_name)(LIST ARGUMENTS, list);          \
        va_end(list);                                                   \
        written(result, entry);                                         \
        return result;                                                  \
    }                                                                   \
    static_assert(true, "ends with a semicolon")

SPRINTF(sprintf, vsprintf, SPRINTF, (char *to, const char *format), (to, format), TEXT);
SPRINTF(__sprintf_chk, __vsprintf_chk, SPRINTF,
        (char *to, int flag, size_t room, const char *format), (to, flag, room, format), TEXT);
SPRINTF(snprintf, vsnprintf, SNPRINTF, (char *to, size_t n, const char *format), (to, n, format),
        TEXT_N);
SPRINTF(__snprintf_chk, __vsnprintf_chk, SNPRINTF,
        (char *to, size_t n, int flag, size_t room, const char *format),
        (to, n, flag, room, format), TEXT_N);

/* ---- scanf ----------------------------------------------------------------------------------- */

#define SCANF(name, list_name, entry, PARAMETERS, ARGUMENTS, source, has_a)                 \
    EXPORT int list_name(LIST PARAMETERS, va_list list)                                     \
    {                                                                                       \
        source(V##entry);                                                                   \
        va_list walked;                                                                     \
        va_copy(walked, list);                                                              \
        int assigned = NEXT_OF(list_name)(LIST ARGUMENTS, list);                            \
        if (access_is_on)                                                                   \
            format_check_assigned(format, walked, assigned, has_a, ENTRY_V##entry, CALLER); \
        va_end(walked);                                                                     \
        return assigned;                                                                    \
    }                                                                                       \
    EXPORT int name(LIST PARAMETERS, ...)                                                   \
    {                                                                                       \
        source(entry);                                                                      \
        va_list list, walked;                                                               \
        va_start(list, format);                                                             \
        va_copy(walked, list);                                                              \
        int assigned = NEXT_OF(list_name)(LIST ARGUMENTS, list);                            \
        if (access_is_on)                                                                   \
            format_check_assigned(format, walked, assigned, has_a, ENTRY_##entry, CALLER);  \
        va_end(walked);                                                                     \
        va_end(list);                                                                       \
        return assigned;                                                                    \
    }                                                                                       \
    static_assert(true, "ends with a semicolon")

#define STREAM(entry) (void)0
#define STRING(entry) READS_TEXT(from, entry)

SCANF(scanf, vscanf, SCANF, (const char *format), (format), STREAM, true);
SCANF(fscanf, vfscanf, FSCANF, (struct _IO_FILE * stream, const char *format), (stream, format),
      STREAM, true);
SCANF(sscanf, vsscanf, SSCANF, (const char *from, const char *format), (from, format), STRING,
      true);
SCANF(__isoc99_scanf, __isoc99_vscanf, SCANF, (const char *format), (format), STREAM, false);
SCANF(__isoc99_fscanf, __isoc99_vfscanf, FSCANF, (struct _IO_FILE * stream, const char *format),
      (stream, format), STREAM, false);
SCANF(__isoc99_sscanf, __isoc99_vsscanf, SSCANF, (const char *from, const char *format),
      (from, format), STRING, false);
