/* fds.c - keep the launcher's descriptors away from numbers that the program uses. */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "launcher.h"

#define OWN_DESCRIPTORS 64   /* more than launcher and reader need */
#define PASSED_DOWN_FROM 200 /* above the numbers of programs, below 256: no larger kernel table */

static bool was_open[3];
static struct rlimit limit;
static bool limit_is_raised;

void fds_begin(void)
{
    for (int fd = 0; fd < 3; fd++) {
        was_open[fd] = fcntl(fd, F_GETFD) >= 0;
        if (!was_open[fd])
            (void)!open("/", O_PATH | O_CLOEXEC); /* opens fd, the lowest free number */
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < OWN_DESCRIPTORS) {
        struct rlimit raised = limit;
        raised.rlim_cur = limit.rlim_max < OWN_DESCRIPTORS ? limit.rlim_max : OWN_DESCRIPTORS;
        limit_is_raised = setrlimit(RLIMIT_NOFILE, &raised) == 0;
    }
}

void fds_restore_limit(void)
{
    if (limit_is_raised)
        setrlimit(RLIMIT_NOFILE, &limit);
}

bool fds_was_open(int fd)
{
    return was_open[fd];
}

int fds_pass_down(int fd)
{
    for (int from = PASSED_DOWN_FROM; from > 3; from /= 2) {
        int copy = fcntl(fd, F_DUPFD, from);
        if (copy >= 0)
            return copy;
    }
    return -errno;
}
