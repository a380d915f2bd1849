/*
 * cutter.c - a program that makes the run file shorter while it is checked.
 *
 *     cutter parent   finds the run file among the descriptors of its parent, the launcher
 *     cutter FILE     cuts that file
 *
 * Prints what came of it, and ends without touching memory of the checker: by a raw system call.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STATUS 3
#define HUGE_FILE (1ll << 30)

#ifndef F_ADD_SEALS
#define F_ADD_SEALS 1033
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

/* Only the run file has this size. */
static int open_run_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct stat st;
    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < HUGE_FILE)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int open_of_parent(void)
{
    char folder[64], path[400];
    int fd = -1;
    snprintf(folder, sizeof folder, "/proc/%d/fd", getppid());
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && fd < 0 && (e = readdir(dir));)
        if (e->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
            fd = open_run_file(path);
        }
    if (dir)
        closedir(dir);
    return fd;
}

static const char *outcome(int result)
{
    return result == 0 ? "done" : strerrorname_np(errno);
}

int main(int argc, char **argv)
{
    char line[256];
    int n;
    free(malloc(100));
    int fd = argc > 1 && strcmp(argv[1], "parent") ? open_run_file(argv[1]) : open_of_parent();
    if (fd < 0) {
        n = snprintf(line, sizeof line, "no run file\n");
    } else {
        struct stat st = {0};
        fstat(fd, &st);
        const char *seal = outcome(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE));
        const char *grow = outcome(ftruncate(fd, st.st_size + 4096));
        const char *shrink = outcome(ftruncate(fd, 0));
        n = snprintf(line, sizeof line, "seal %s, grow %s, shrink %s\n", seal, grow, shrink);
        if (strcmp(shrink, "done")) { /* the truncation succeeded: continue the run */
            free(malloc(100));
            free(malloc(100));
        }
    }
    if (write(1, line, (size_t)n) != n)
        return 1;
    if (strstr(line, "shrink done"))
        syscall(SYS_exit_group, STATUS);
    return STATUS;
}
