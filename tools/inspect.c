/*
 * inspect.c - can this program be checked at all?  Asked before exec.
 *
 * LD_PRELOAD reaches a program through the dynamic loader of glibc, in ordinary mode.  So it is
 * lost on programs without an interpreter, with another libc's, of another machine, and on those
 * that gain privileges.  What we cannot tell (an unreadable file, a format of binfmt_misc) passes:
 * the handshake after exec has the last word.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "rtcheck/bits.h"
#include "tools.h"

#define LOADER "/lib64/ld-linux-x86-64.so.2" /* fixed by the x86-64 ABI */
#define LOADER_NAME "ld-linux-x86-64.so.2"
#define SCRIPT_LINE 256 /* as the kernel */
#define SCRIPT_DEPTH 5  /* as the kernel */
#define DEFAULT_PATH "/bin:/usr/bin"
#define PROGRAM_HEADERS_MAX 512

/* ---- finding it ------------------------------------------------------------------------------ */

/* 0, or -errno by which execve would refuse this path. */
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

/* "dir/name" as execvp builds it: an empty element is the current directory, not "./". */
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
        if (bad == -EACCES && access(path, F_OK) == 0) /* there is one, but not for us */
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

/* ---- looking at it --------------------------------------------------------------------------- */

struct look {
    char *reason;
    size_t room;
    int depth;
    bool is_guarded;
};

static bool refuse(struct look *look, const char *why, const char *detail)
{
    snprintf(look->reason, look->room, "%s%s", why, detail);
    return false;
}

static bool guard(struct look *look, const char *why)
{
    look->is_guarded = true;
    return refuse(look, why, "");
}

/*
 * Would exec give it privileges (AT_SECURE)?  The kernel compares with the real ids and gives
 * nothing on nosuid mounts and under no_new_privs; file capabilities add nothing to root.
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

/* The loader run by hand ("ld-linux-x86-64.so.2 PROGRAM") has no interpreter and preloads. */
static bool is_loader(const struct stat *st)
{
    struct stat loader;
    return stat(LOADER, &loader) == 0 && loader.st_dev == st->st_dev && loader.st_ino == st->st_ino;
}

static bool check_interpreter(struct look *look, int fd, const Elf64_Phdr *ph)
{
    char name[4096];
    size_t n = ph->p_filesz < sizeof name ? (size_t)ph->p_filesz : sizeof name - 1;
    ssize_t got = pread(fd, name, n, (off_t)ph->p_offset);
    if (got <= 0)
        return true; /* exec will say what is wrong with it */
    name[got] = '\0';
    const char *slash = strrchr(name, '/');
    if (strcmp(slash ? slash + 1 : name, LOADER_NAME) != 0)
        return refuse(look, "its loader is not glibc's: ", name);
    return true;
}

static bool check_elf(struct look *look, int fd, const struct stat *st)
{
    Elf64_Ehdr eh;
    if (pread(fd, &eh, sizeof eh, 0) != (ssize_t)sizeof eh)
        return true;
    if (eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_machine != EM_X86_64)
        return refuse(look, "it is not an x86-64 program", "");
    if (!check_privileges(look, fd, st))
        return false;
    for (unsigned i = 0; i < eh.e_phnum && i < PROGRAM_HEADERS_MAX; i++) {
        Elf64_Phdr ph;
        uint64_t at;
        if (!checked_add(eh.e_phoff, (uint64_t)i * eh.e_phentsize, &at) || at > INT64_MAX ||
            pread(fd, &ph, sizeof ph, (off_t)at) != (ssize_t)sizeof ph)
            return true;
        char runtime[64];
        if (ph.p_type == PT_INTERP)
            return check_interpreter(look, fd, &ph) &&
                   (!needs_sanitizer(fd, runtime, sizeof runtime) ||
                    refuse(look, "it was built with a sanitizer, which is its allocator: ", runtime));
    }
    return is_loader(st) || refuse(look, "it is statically linked", "");
}

static bool check_file(struct look *look, const char *path);

/* "#!": what counts is the interpreter.  set-user-ID on scripts means nothing to Linux. */
static bool check_script(struct look *look, char *line)
{
    char *name = line + strspn(line, " \t");
    name[strcspn(name, " \t\n")] = '\0';
    if (*name == '\0' || ++look->depth > SCRIPT_DEPTH)
        return true;
    if (check_file(look, name))
        return true;
    char why[128];
    snprintf(why, sizeof why, "%s", look->reason);
    snprintf(look->reason, look->room, "interpreter %.100s: %s", name, why);
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
    char head[SCRIPT_LINE + 1];
    ssize_t n = fstat(fd, &st) == 0 ? pread(fd, head, SCRIPT_LINE, 0) : 0;
    head[n > 0 ? n : 0] = '\0';
    bool good = true;
    if (n >= SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0)
        good = check_elf(look, fd, &st);
    else if (n >= 2 && head[0] == '#' && head[1] == '!')
        good = check_script(look, head + 2);
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
