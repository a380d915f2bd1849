/*
 * inspect.c - can this program be checked?  Examined before exec.
 *
 * LD_PRELOAD works in the dynamic loader of glibc, outside of secure-execution mode.  So it has no
 * effect on programs without an interpreter, of another libc, of another machine, and on those that
 * gain privileges.  Undecidable cases (an unreadable file, a format of binfmt_misc) are accepted;
 * the program's registration in the run file after exec decides.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "program.h"
#include "launcher.h"

#define DEFAULT_PATH "/bin:/usr/bin"

/* ---- finding it ------------------------------------------------------------------------------ */

/* 0, or the -errno with which execve would fail for this path. */
static int check_runnable(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return -errno;
    if (S_ISDIR(st.st_mode))
        return -EISDIR;
    if (!S_ISREG(st.st_mode) || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) != 0)
        return -EACCES;
    return 0;
}

/* "dir/name" as execvp builds it: for an empty element the name alone, without "./". */
static char *join(const char *dir, size_t n, const char *name)
{
    char *path = NULL;
    if (asprintf(&path, "%.*s%s%s", (int)n, dir, n ? "/" : "", name) < 0)
        return NULL;
    return path;
}

static int search_path(const char *name, char **out)
{
    const char *at = getenv("PATH");
    int worst = -ENOENT;
    if (!at)
        at = DEFAULT_PATH;
    for (;;) {
        size_t n = strcspn(at, ":");
        char *path = join(at, n, name);
        if (!path)
            return -ENOMEM;
        int bad = check_runnable(path);
        if (!bad) {
            *out = path;
            return 0;
        }
        if (bad == -EACCES && access(path, F_OK) == 0) /* it exists, but may not be executed */
            worst = bad;
        free(path);
        if (at[n] == '\0')
            return worst;
        at += n + 1;
    }
}

static int find_program(const char *name, char **out, char err[TOOLS_ERROR_BYTES])
{
    int bad;
    if (strchr(name, '/')) {
        bad = check_runnable(name);
        if (!bad && !(*out = strdup(name)))
            bad = -ENOMEM;
    } else {
        bad = *name ? search_path(name, out) : -ENOENT;
        if (bad == -ENOENT)
            return fail(err, bad, "%s: command not found", name);
    }
    return bad ? fail(err, bad, "%s: %s", name, strerror(-bad)) : 0;
}

/* ---- examining it ---------------------------------------------------------------------------- */

struct look {
    char *reason;
    size_t room;
    int depth;
    bool is_guarded;
};

static bool refuse(struct look *look, const char *why, const char *mark, const char *detail)
{
    snprintf(look->reason, look->room, "%s%s%s", why, mark, detail);
    return false;
}

static bool guard(struct look *look, const char *why)
{
    look->is_guarded = true;
    return refuse(look, why, "", "");
}

/*
 * Would exec set AT_SECURE?  The kernel compares with the real ids.  nosuid mounts and no_new_privs
 * disable set-id bits and file capabilities; file capabilities add nothing to root.
 */
static bool check_privileges(struct look *look, int fd, const struct stat *st)
{
    struct statvfs fs;
    bool gives = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 &&
                 !(fstatvfs(fd, &fs) == 0 && fs.f_flag & ST_NOSUID);
    uid_t uid = gives && st->st_mode & S_ISUID ? st->st_uid : geteuid();
    gid_t gid =
        gives && (st->st_mode & S_ISGID) && (st->st_mode & S_IXGRP) ? st->st_gid : getegid();
    if (uid != getuid())
        return guard(look, "it runs set-user-ID");
    if (gid != getgid())
        return guard(look, "it runs set-group-ID");
    if (gives && getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0)
        return guard(look, "it has file capabilities");
    return true;
}

static long read_program(const struct program_file *file, void *to, size_t bytes, uint64_t at)
{
    return pread(file->fd, to, bytes, (off_t)at);
}

/* Example of a reason: "its loader is not glibc's: /lib/ld-musl-x86_64.so.1". */
static bool check_elf(struct look *look, int fd, const struct stat *st,
                      const struct program *program)
{
    bool detailed = program->why == UNCHECKED_LOADER || program->why == UNCHECKED_SANITIZER;
    if (program->why == UNCHECKED_MACHINE)
        return refuse(look, unchecked_text(program->why), "", "");
    if (!check_privileges(look, fd, st))
        return false;
    if (program->why == UNCHECKED_NONE)
        return true;
    return refuse(look, unchecked_text(program->why), detailed ? ": " : "",
                  detailed ? program->detail : "");
}

static bool check_file(struct look *look, const char *path);

#define INTERPRETER "interpreter "

/*
 * "#!": examine the interpreter.  The reason names the last of a chain of interpreters.  Linux
 * ignores set-id bits of scripts.
 */
static bool check_script(struct look *look, const char *name)
{
    if (++look->depth > (int)PROGRAM_SCRIPT_DEPTH)
        return true;
    if (check_file(look, name))
        return true;
    if (strncmp(look->reason, INTERPRETER, sizeof INTERPRETER - 1) == 0)
        return false;
    char why[128];
    snprintf(why, sizeof why, "%s", look->reason);
    snprintf(look->reason, look->room, INTERPRETER "%.100s: %s", name, why);
    return false;
}

static bool check_file(struct look *look, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    if (fd < 0) {
        look->is_guarded = errno == EACCES;
        return true;
    }
    bool good = true;
    struct program program;
    program_examine(&(struct program_file){read_program, fd}, &program);
    if (program.is_elf && fstat(fd, &st) == 0)
        good = check_elf(look, fd, &st, &program);
    else if (program.is_script)
        good = check_script(look, program.detail);
    close(fd);
    return good;
}

int inspect_program(const char *name, struct inspection *out, char err[TOOLS_ERROR_BYTES])
{
    memset(out, 0, sizeof *out);
    int bad = find_program(name, &out->path, err);
    if (bad)
        return bad;
    struct look look = {.reason = out->reason, .room = sizeof out->reason};
    out->is_checkable = check_file(&look, out->path);
    out->is_guarded = look.is_guarded;
    return 0;
}
