/* messages.c - error sentences, warnings collected for the end, writing of text. */
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "messages.h"

int fail(char err[TOOLS_ERROR_BYTES], int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(err, TOOLS_ERROR_BYTES, format, args);
    va_end(args);
    for (char *p = err; *p; p++) /* one line, even if it contains text of the user */
        if (iscntrl((unsigned char)*p))
            *p = '?';
    return code;
}

int print_failure(const char *err)
{
    fprintf(stderr, "rtcheck: %s\n", err);
    return STATUS_SETUP;
}

void warnings_add(struct warnings *warnings, const char *format, ...)
{
    if (warnings->count == WARNINGS_MAX)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(warnings->line[warnings->count], sizeof warnings->line[0], format, args);
    va_end(args);
    warnings->count++;
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
