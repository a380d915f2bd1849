/*
 * golden.h - for tests: printed screens, compared as a whole with a file that people read.
 *
 * golden_add collects the screens of a test program, each below a line "==== name". golden_end
 * compares them with golden/<test program>.txt beside this header. After a change of the text, read
 * the difference that is printed. If the new text is right, run the test program with RTC_BLESS=1,
 * which writes the file, and commit the file with the change.
 *
 * Files are plain text: an escape character is "\e", another control character "\xNN", a blank at
 * the end of a line "\s", and a missing newline at the end of a screen a line "\no newline".
 */
#ifndef GOLDEN_H
#define GOLDEN_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define GOLDEN_MARK "==== "
#define GOLDEN_BYTES_MAX (4u << 20)

static struct {
    char *text;
    size_t bytes;
    FILE *out;
} golden;

/* Does a text of several screens have one of this name, which has `bytes` bytes? */
static inline bool golden_has(const char *text, const char *name, size_t bytes)
{
    const size_t mark = sizeof GOLDEN_MARK - 1;

    for (; text; text = strchr(text, '\n') ? strchr(text, '\n') + 1 : NULL)
        if (strncmp(text, GOLDEN_MARK, mark) == 0 && strncmp(text + mark, name, bytes) == 0 &&
            text[mark + bytes] == '\n')
            return true;
    return false;
}

static inline void golden_put(const char *text)
{
    for (const char *at = text; *at; at++) {
        bool ends = at[1] == '\n' || !at[1];
        if (*at == '\033')
            fputs("\\e", golden.out);
        else if (*at == ' ' && ends)
            fputs("\\s", golden.out);
        else if (*at != '\n' && ((unsigned char)*at < ' ' || *at == 0x7f))
            fprintf(golden.out, "\\x%02x", (unsigned char)*at);
        else
            fputc(*at, golden.out);
    }
    if (*text && text[strlen(text) - 1] != '\n')
        fputs("\n\\no newline\n", golden.out);
}

/* Add a screen; names are unique in a test program. */
static inline void golden_add(const char *name, const char *text)
{
    if (!golden.out)
        golden.out = open_memstream(&golden.text, &golden.bytes);
    assert_non_null(golden.out);
    fflush(golden.out);
    if (golden_has(golden.text, name, strlen(name)))
        fail_msg("two screens are named %s", name);
    if (strncmp(text, GOLDEN_MARK, 5) == 0 || strstr(text, "\n" GOLDEN_MARK))
        fail_msg("the screen %s has a line like a heading", name);
    fprintf(golden.out, "%s%s%s\n", golden.bytes ? "\n" : "", GOLDEN_MARK, name);
    golden_put(text);
}

/* ---- comparison ------------------------------------------------------------------------------ */

/* "/build/tests/unit/report/test_print" -> its name, and the golden file in the source tree. */
static inline void golden_paths(char program[4096], char file[4096])
{
    const char *slash = strrchr(__FILE__, '/');
    int folder = slash ? (int)(slash - __FILE__) : 0;
    ssize_t bytes = readlink("/proc/self/exe", program, 4095);

    program[bytes > 0 ? bytes : 0] = 0;
    slash = strrchr(program, '/');
    snprintf(file, 4096, "%.*s%sgolden/%.200s.txt", folder, __FILE__, folder ? "/" : "",
             slash ? slash + 1 : program);
}

static inline char *golden_read(const char *path)
{
    char *text = calloc(1, GOLDEN_BYTES_MAX);
    FILE *in = fopen(path, "re");

    if (!text || !in || fread(text, 1, GOLDEN_BYTES_MAX - 1, in) == 0) {
        free(text);
        text = NULL;
    }
    if (in)
        fclose(in);
    return text;
}

static inline int golden_write(const char *path)
{
    FILE *out = fopen(path, "we");

    if (!out || fputs(golden.text, out) < 0 || fclose(out) != 0) {
        printf("golden: %s cannot be written\n", path);
        return 1;
    }
    printf("golden: wrote %s\n", path);
    return 0;
}

/* The screens of `text` that this run printed, too. `missed`: print the names of the others. */
static inline char *golden_common(const char *text, bool missed, bool *are_all)
{
    char *common = calloc(1, strlen(text) + 1);
    const size_t mark = sizeof GOLDEN_MARK - 1;

    *are_all = true;
    for (const char *next; common && *text; text = next) {
        const char *name = text + mark;
        size_t bytes = strcspn(name, "\n");
        next = strstr(text, "\n\n" GOLDEN_MARK);
        next = next ? next + 2 : text + strlen(text);
        if (golden_has(golden.text, name, bytes)) {
            strncat(common, text, (size_t)(next - text));
            continue;
        }
        *are_all = false;
        if (missed)
            printf("golden: the screen %.*s was not printed\n", (int)bytes, name);
    }
    while (common && !*are_all && strlen(common) > 1 &&
           strcmp(common + strlen(common) - 2, "\n\n") == 0)
        common[strlen(common) - 1] = 0;
    return common;
}

static inline int golden_memfd(const char *text)
{
    int fd = memfd_create("golden", 0);

    if (fd >= 0 && write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        printf("golden: the difference is incomplete\n");
    return fd;
}

static inline void golden_diff(const char *file, const char *expected, const char *printed)
{
    int from = golden_memfd(expected), to = golden_memfd(printed);
    char command[8192];

    snprintf(command, sizeof command,
             "diff -u --label '%s' --label printed /proc/self/fd/%d /proc/self/fd/%d", file, from,
             to);
    fflush(stdout);
    if (system(command) == -1)
        printf("golden: no difference can be shown\n");
    close(from);
    close(to);
}

/*
 * Compare what was printed with the file and return the exit status of the test program. If cases
 * `failed`, screens may be missing, which is no further failure.
 */
static inline int golden_end(int failed)
{
    char program[4096], file[4096], *expected, *common;
    const char *bless = getenv("RTC_BLESS");
    bool are_all, differs;

    if (golden.out)
        fclose(golden.out);
    golden_paths(program, file);
    if (bless && *bless == '1' && !failed && golden.text)
        return golden_write(file);
    expected = golden_read(file);
    common = expected && golden.text ? golden_common(expected, !failed, &are_all) : NULL;
    if (!common) {
        printf("golden: %s: %s\n", file,
               expected ? "no screen was printed" : "there is no such file");
        free(expected);
        return failed ? failed : 1;
    }
    differs = strcmp(common, golden.text) != 0;
    if (differs)
        golden_diff(file, common, golden.text);
    if (failed && (differs || !are_all))
        printf("golden: only the screens were compared that were printed before a case failed\n");
    else if (differs || !are_all)
        printf("golden: if the printed text is right: RTC_BLESS=1 %s\n", program);
    free(common);
    free(expected);
    free(golden.text);
    return failed ? failed : differs || !are_all;
}

#endif
