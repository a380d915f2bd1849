/* state_dir.c - the directory in which run files are kept. */
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher.h"

/* The XDG standard requires that relative paths in these variables are ignored. */
static const char *absolute_env(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] == '/' ? value : NULL;
}

static const char *home(void)
{
    const char *dir = absolute_env("HOME");
    if (dir)
        return dir;
    const struct passwd *user = getpwuid(getuid());
    return user && user->pw_dir && user->pw_dir[0] == '/' ? user->pw_dir : NULL;
}

/* mkdir -p; new directories have mode 0700. */
static int make_dirs(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int bad = mkdir(path, 0700) != 0 && errno != EEXIST ? -errno : 0;
        struct stat st;
        if (bad && stat(path, &st) == 0) /* EROFS: may exist on a read-only file system */
            bad = 0;
        *slash = '/';
        if (bad)
            return bad;
    }
    return 0;
}

int state_last_pool(char *path, size_t room, bool make, char err[TOOLS_ERROR_BYTES])
{
    const char *state = absolute_env("XDG_STATE_HOME");
    const char *dir = state ? state : home();
    if (!dir)
        return fail(err, -ENOENT, "no state directory: neither XDG_STATE_HOME nor HOME is set");
    int n = snprintf(path, room, "%s%s/rtcheck/last.pool", dir, state ? "" : "/.local/state");
    if (n < 0 || (size_t)n >= room)
        return fail(err, -ENAMETOOLONG, "state directory %.60s..: name too long", dir);
    int bad = make ? make_dirs(path) : 0;
    return bad ? fail(err, bad, "state directory of %s: %s", path, strerror(-bad)) : 0;
}
