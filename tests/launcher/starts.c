/*
 * starts.c - starts a program in every way there is, and waits for it.
 *
 *     starts WAY PROGRAM    prints how the program ended
 *     starts --ways         the names of the ways
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char *argv_of_child[] = {(char[]){"program"}, NULL};

/* The last part of a path, and its folder as PATH. */
static const char *by_name(const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    char folder[4096];
    snprintf(folder, sizeof folder, "/nonexistent:%.*s", (int)(name - 1 - path), path);
    setenv("PATH", folder, 1);
    return name;
}

static void way_execve(const char *p)
{
    execve(p, argv_of_child, environ);
}
static void way_execv(const char *p)
{
    execv(p, argv_of_child);
}
static void way_execvp(const char *p)
{
    execvp(by_name(p), argv_of_child);
}
static void way_execvpe(const char *p)
{
    execvpe(by_name(p), argv_of_child, environ);
}
static void way_execl(const char *p)
{
    execl(p, "program", (char *)NULL);
}
static void way_execlp(const char *p)
{
    execlp(by_name(p), "program", (char *)NULL);
}
static void way_execle(const char *p)
{
    execle(p, "program", (char *)NULL, environ);
}
static void way_fexecve(const char *p)
{
    fexecve(open(p, O_RDONLY), argv_of_child, environ);
}
static void way_fexecve_by_path(const char *p)
{
    fexecve(open(p, O_PATH), argv_of_child, environ);
}
static void way_execveat(const char *p)
{
    execveat(open("/", O_PATH), p + 1, argv_of_child, environ, 0);
}
static void way_execveat_of_descriptor(const char *p)
{
    execveat(open(p, O_PATH), "", argv_of_child, environ, AT_EMPTY_PATH);
}

/* Each in a child process. */
static const struct way {
    const char *name;
    void (*exec)(const char *path);
} ways[] = {
    {"execve", way_execve},
    {"execv", way_execv},
    {"execvp", way_execvp},
    {"execvpe", way_execvpe},
    {"execl", way_execl},
    {"execlp", way_execlp},
    {"execle", way_execle},
    {"fexecve", way_fexecve},
    {"fexecve_by_path", way_fexecve_by_path},
    {"execveat", way_execveat},
    {"execveat_of_descriptor", way_execveat_of_descriptor},
    {"vfork", NULL},
    {"posix_spawn", NULL},
    {"posix_spawnp", NULL},
    {"system", NULL},
    {"popen", NULL},
};

#define WAYS (sizeof ways / sizeof ways[0])

static int wait_for(pid_t pid)
{
    int status = -1;
    return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

static int start_forked(const struct way *way, const char *path)
{
    pid_t pid = fork();
    if (pid == 0) {
        way->exec(path);
        printf("errno %d\n", errno);
        fflush(stdout);
        _exit(99);
    }
    return wait_for(pid);
}

static int start_by_vfork(const char *path)
{
    pid_t pid = vfork();
    if (pid == 0) {
        execve(path, argv_of_child, environ);
        _exit(99);
    }
    return wait_for(pid);
}

static int start_spawned(const char *name, const char *path)
{
    pid_t pid;
    int err = strcmp(name, "posix_spawn") == 0
                  ? posix_spawn(&pid, path, NULL, NULL, argv_of_child, environ)
                  : posix_spawnp(&pid, by_name(path), NULL, NULL, argv_of_child, environ);
    if (err == 0)
        return wait_for(pid);
    printf("error %d\n", err);
    return 0;
}

static int start_by_popen(const char *path)
{
    char line[256];
    FILE *f = popen(path, "r");
    while (f && fgets(line, sizeof line, f))
        fputs(line, stdout);
    return f ? pclose(f) : -1;
}

static int start(const struct way *way, const char *path)
{
    if (way->exec)
        return start_forked(way, path);
    if (strcmp(way->name, "vfork") == 0)
        return start_by_vfork(path);
    if (strcmp(way->name, "system") == 0)
        return system(path);
    return strcmp(way->name, "popen") == 0 ? start_by_popen(path) : start_spawned(way->name, path);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < WAYS; i++) {
        if (argc == 2)
            puts(ways[i].name);
        if (argc < 3 || strcmp(ways[i].name, argv[1]) != 0)
            continue;
        int status = start(&ways[i], argv[2]);
        printf("%s %d\n", WIFEXITED(status) ? "exit" : "signal",
               WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    }
    return 0;
}
