/*
 * find_process.c - the run file of a running process.
 *
 * The process's maps contain the name of its run file.  A memfd, or a file that has lost its name,
 * belongs to the launcher and is opened through /proc/PID/fd of a process that has it open.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "tools.h"

struct mapped_file {
    dev_t device;
    ino_t inode;
    char path[PATH_MAX];
};

/* maps escapes line breaks in paths as \012, and no other character. */
static void path_take(const char *from, char *to, size_t room)
{
    size_t n = 0;
    for (; *from && *from != '\n' && n + 1 < room; from++) {
        bool is_break = strncmp(from, "\\012", 4) == 0;
        to[n++] = is_break ? '\n' : *from;
        from += is_break ? 3 : 0;
    }
    to[n] = '\0';
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static bool is_nameless(const char *path)
{
    return ends_with(path, " (deleted)");
}

/* Parse a line of maps; true: its file's name is that of a run file. */
static bool parse_line(const char *line, struct mapped_file *file)
{
    unsigned major_number, minor_number;
    unsigned long inode;
    int at = 0;

    if (sscanf(line, "%*x-%*x %*s %*x %x:%x %lu %n", &major_number, &minor_number, &inode, &at) !=
            3 ||
        at == 0)
        return false;
    file->device = makedev(major_number, minor_number);
    file->inode = inode;
    path_take(line + at, file->path, sizeof file->path);
    const char *base = strrchr(file->path, '/');
    return base && (strcmp(file->path, "/memfd:rtcheck (deleted)") == 0 ||
                    (strncmp(base, "/rtcheck.", 9) == 0 &&
                     (ends_with(base, ".pool") || ends_with(base, ".pool (deleted)"))));
}

/* `folder` is the /proc directory of a process or thread. */
static bool file_in_maps(const char *folder, struct mapped_file *file)
{
    char path[96], line[PATH_MAX + 128];
    bool found = false;

    snprintf(path, sizeof path, "%s/maps", folder);
    FILE *maps = fopen(path, "re");
    while (maps && !found && fgets(line, sizeof line, maps))
        found = parse_line(line, file);
    if (maps)
        fclose(maps);
    return found;
}

/*
 * If the first thread has ended, the process's maps are empty, but those of its other threads are
 * not.
 */
static bool file_of_process(const char *pid, struct mapped_file *file)
{
    char folder[32], tasks[48], task[80];
    struct dirent *entry;

    snprintf(folder, sizeof folder, "/proc/%.20s", pid);
    bool found = file_in_maps(folder, file);
    snprintf(tasks, sizeof tasks, "%s/task", folder);
    DIR *dir = found ? NULL : opendir(tasks);
    while (dir && !found && (entry = readdir(dir))) {
        snprintf(task, sizeof task, "%s/%.20s", tasks, entry->d_name);
        found = isdigit((unsigned char)entry->d_name[0]) && file_in_maps(task, file);
    }
    if (dir)
        closedir(dir);
    return found;
}

/* Find a descriptor of this process that refers to the file, and store its /proc path. */
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

int find_run_of_process(const char *pid, char *path, size_t room, char err[TOOLS_ERROR_BYTES])
{
    struct mapped_file file;

    if (!file_of_process(pid, &file))
        return fail(err, -ESRCH, "process %.20s has no run file, or its memory may not be read",
                    pid);
    if (is_nameless(file.path) && !descriptor_of_anybody(&file))
        return fail(err, -ESRCH, "the launcher of process %.20s cannot be found", pid);
    snprintf(path, room, "%s", file.path);
    return 0;
}

int find_run_named(const char *word, char *path, size_t room, char err[TOOLS_ERROR_BYTES])
{
    if (is_pid(word))
        return find_run_of_process(word, path, room, err);
    snprintf(path, room, "%s", word);
    return 0;
}

unsigned long process_of_thread(const char *tid)
{
    char path[64], line[256];
    unsigned long pid = strtoul(tid, NULL, 10);

    snprintf(path, sizeof path, "/proc/%.20s/status", tid);
    FILE *status = fopen(path, "re");
    while (status && fgets(line, sizeof line, status) && sscanf(line, "Tgid: %lu", &pid) != 1)
        ;
    if (status)
        fclose(status);
    return pid;
}

bool is_pid(const char *word)
{
    return *word && word[strspn(word, "0123456789")] == '\0';
}
