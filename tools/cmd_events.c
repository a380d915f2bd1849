/*
 * cmd_events.c - `rtcheck events FILE|PID`: what a run's processes have mapped by calls, and who called.
 *
 * A process says in its own maps which run file it has.  One without a name is the launcher's: it is opened
 * through a descriptor of whoever has it.
 */
#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "tools.h"

static int complain(const char *err)
{
    fprintf(stderr, "rtcheck: %s\n", err);
    return STATUS_SETUP;
}

/* ---- whose run file? ---------------------------------------------------------------------- */

struct mapped_file {
    dev_t device;
    ino_t inode;
    char path[PATH_MAX];
};

/* A line of its maps that is about a run file, by its name. */
static bool parse_line(const char *line, struct mapped_file *file)
{
    unsigned major_number, minor_number;
    unsigned long inode;
    int at = 0;

    if (sscanf(line, "%*x-%*x %*s %*x %x:%x %lu %n", &major_number, &minor_number, &inode, &at) != 3 || at == 0)
        return false;
    file->device = makedev(major_number, minor_number);
    file->inode = inode;
    snprintf(file->path, sizeof file->path, "%s", line + at);
    file->path[strcspn(file->path, "\n")] = '\0';
    const char *base = strrchr(file->path, '/');
    return base && (strcmp(file->path, "/memfd:rtcheck (deleted)") == 0 ||
                    (strncmp(base, "/rtcheck.", 9) == 0 && strcmp(base + strlen(base) - 5, ".pool") == 0));
}

static bool file_of_process(const char *pid, struct mapped_file *file)
{
    char path[64], line[PATH_MAX + 128];
    bool found = false;

    snprintf(path, sizeof path, "/proc/%s/maps", pid);
    FILE *maps = fopen(path, "r");
    while (maps && !found && fgets(line, sizeof line, maps))
        found = parse_line(line, file);
    if (maps)
        fclose(maps);
    return found;
}

/* A descriptor of this process that is the file; its path, which opens it. */
static bool descriptor_of(const char *pid, struct mapped_file *file)
{
    char folder[64];
    struct dirent *entry;
    struct stat st;
    bool found = false;

    snprintf(folder, sizeof folder, "/proc/%.20s/fd", pid);
    DIR *dir = opendir(folder);
    while (dir && !found && (entry = readdir(dir))) {
        snprintf(file->path, sizeof file->path, "%s/%.20s", folder, entry->d_name);
        found = stat(file->path, &st) == 0 && st.st_ino == file->inode && st.st_dev == file->device;
    }
    if (dir)
        closedir(dir);
    return found;
}

static bool descriptor_of_anybody(struct mapped_file *file)
{
    struct dirent *entry;
    bool found = false;
    DIR *dir = opendir("/proc");

    while (dir && !found && (entry = readdir(dir)))
        found = isdigit((unsigned char)entry->d_name[0]) && descriptor_of(entry->d_name, file);
    if (dir)
        closedir(dir);
    return found;
}

/* ---- the verb ----------------------------------------------------------------------------- */

static int tell(const char *path, uint32_t pid)
{
    char err[REPORT_ERROR_BYTES];
    struct report *r;
    int status = 0;

    if (report_open(&r, path, err))
        return complain(err);
    report_want_regions(r);
    if (report_collect(r, err))
        status = complain(err);
    else if (!report_print_events(r, pid, stdout))
        status = complain("the run file has nothing of this process");
    else if (fflush(stdout) != 0 || ferror(stdout))
        status = complain("the report cannot be written");
    report_close(r);
    return status;
}

static int tell_process(const char *word)
{
    char err[256];
    struct mapped_file file;

    if (!file_of_process(word, &file))
        snprintf(err, sizeof err, "process %.20s has no run file, or may not be asked", word);
    else if (strncmp(file.path, "/memfd:", 7) == 0 && !descriptor_of_anybody(&file))
        snprintf(err, sizeof err, "the launcher of process %.20s cannot be found", word);
    else
        return tell(file.path, (uint32_t)strtoul(word, NULL, 10));
    return complain(err);
}

static bool is_number(const char *word)
{
    return *word && word[strspn(word, "0123456789")] == '\0';
}

int cmd_events(int argc, char **argv)
{
    if (argc == 2 && is_number(argv[1]))
        return tell_process(argv[1]);
    if (argc == 2 && argv[1][0] != '-')
        return tell(argv[1], 0);
    fputs("usage: rtcheck events FILE|PID\n", stderr);
    return STATUS_SETUP;
}
