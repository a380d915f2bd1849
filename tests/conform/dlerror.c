/*
 * dlerror.c - the text of a failed dlopen survives calls of functions that the runtime interposes, which
 * it may only look up before: dlsym frees that text.
 *
 * rtc-build: -O1 -g -D_GNU_SOURCE -fno-builtin -ldl
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static FILE *sink;

static void by_printf(void)
{
    printf("%s", "");
}
static void by_fprintf(void)
{
    fprintf(sink, "%d", 1);
}
static void by_dprintf(void)
{
    dprintf(fileno(sink), "%d", 1);
}
static void by_asprintf(void)
{
    char *text = NULL;
    if (asprintf(&text, "%d", 1) > 0)
        free(text);
}
static void by_snprintf(void)
{
    char text[8];
    snprintf(text, sizeof text, "%d", 1);
}
static void by_open(void)
{
    close(open("/dev/null", O_RDONLY));
}
static void by_openat(void)
{
    close(openat(AT_FDCWD, "/dev/null", O_RDONLY));
}
static void by_fopen(void)
{
    fclose(fopen("/dev/null", "r"));
}
static void by_opendir(void)
{
    closedir(opendir("/"));
}
static void by_dup(void)
{
    close(dup(1));
}
static void by_dup2(void)
{
    close(dup2(1, 100));
}
static void by_fcntl(void)
{
    close(fcntl(1, F_DUPFD, 3));
}
static void by_socket(void)
{
    close(socket(AF_UNIX, SOCK_STREAM, 0));
}
static void by_epoll(void)
{
    close(epoll_create1(0));
}
static void by_eventfd(void)
{
    close(eventfd(0, 0));
}
static void by_pipe(void)
{
    int fds[2];
    if (pipe(fds) == 0) {
        close(fds[0]);
        close(fds[1]);
    }
}
static void by_stat(void)
{
    struct stat st;
    stat("/", &st);
}
static void by_getenv(void)
{
    getenv("HOME");
}
static void by_strtol(void)
{
    strtol("1", NULL, 10);
}
static void by_qsort(void)
{
    qsort("", 0, 1, (int (*)(const void *, const void *))strcmp);
}

static const struct {
    const char *name;
    void (*act)(void);
} calls[] = {
#define CALL(name)  \
    {               \
#name, name \
    }
    CALL(by_printf), CALL(by_fprintf), CALL(by_dprintf), CALL(by_asprintf), CALL(by_snprintf),
    CALL(by_open),   CALL(by_openat),  CALL(by_fopen),   CALL(by_opendir),  CALL(by_dup),
    CALL(by_dup2),   CALL(by_fcntl),   CALL(by_socket),  CALL(by_epoll),    CALL(by_eventfd),
    CALL(by_pipe),   CALL(by_stat),    CALL(by_getenv),  CALL(by_strtol),   CALL(by_qsort)};

int main(int argc, char **argv)
{
    char before[256], missing[] = "/nowhere/lib.so";
    unsigned wanted = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
    if (wanted >= sizeof calls / sizeof *calls)
        return 77;
    sink = fopen("/dev/null", "w");
    if (!sink || dlopen(missing, RTLD_NOW))
        return 2;
    const char *text = dlerror();
    strcpy(before, text);
    /* It is the first call of this function: the program is run once for each. */
    calls[wanted].act();
    int is_kept = strcmp(text, before) == 0;
    dlopen(missing, RTLD_NOW);
    calls[wanted].act();
    text = dlerror();
    int is_pending = text && strcmp(text, before) == 0;
    fclose(sink);
    fputs(calls[wanted].name, stdout);
    puts(is_kept && is_pending ? " keeps it"
         : is_kept             ? " loses one that is pending"
                               : " frees it");
    return !is_kept || !is_pending;
}
