/*
 * say.c - sentences: errors on their way up, losses kept for the end, text on its way out.
 */
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools.h"

int fail(char err[TOOLS_ERROR_BYTES], int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(err, TOOLS_ERROR_BYTES, format, args);
    va_end(args);
    for (char *p = err; *p; p++) /* one line, whatever the user wrote */
        if (iscntrl((unsigned char)*p))
            *p = '?';
    return code;
}

int complain(const char *err)
{
    fprintf(stderr, "rtcheck: %s\n", err);
    return STATUS_SETUP;
}

bool is_help(int argc, char **argv)
{
    return argc == 2 && strcmp(argv[1], "--help") == 0;
}

int usage(bool asked, const char *words)
{
    fprintf(asked ? stdout : stderr, "usage: rtcheck %s\n", words);
    return asked ? 0 : STATUS_SETUP;
}

void lost_add(struct lost *lost, const char *format, ...)
{
    if (lost->count == LOST_MAX)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(lost->line[lost->count], sizeof lost->line[0], format, args);
    va_end(args);
    lost->count++;
}

int text_write(int fd, const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t n = write(fd, text, bytes);
        if (n > 0) {
            text += n;
            bytes -= (size_t)n;
        } else if (n < 0 && errno == EAGAIN) {
            poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
        } else if (n == 0 || errno != EINTR) {
            return n < 0 ? -errno : -EIO;
        }
    }
    return 0;
}

bool test_without(const char *feature)
{
    const char *at = getenv("RTCHECK_TEST_WITHOUT");
    size_t n = strlen(feature);
    for (; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, feature, n) == 0 && (at[n] == ',' || at[n] == '\0'))
            return true;
    return false;
}
