/*
 * request.c - request a leak check of a running process.
 *
 * The process's scanner (--witness) serves it: its number is in the image's header, with two more words. The
 * requester increases check_requested, wakes the scanner by a signal, and waits on check_served, a futex. The
 * lock of the file serializes requesters, and ends with the process that holds it.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "text.h"

#define WAKE SIGUSR1
#define LOOK_NS 100000000 /* how often to look whether the scanner still runs */
#define SCANNER_NAME "rtcheck-witness"

struct first_bytes {
    char head[RTC_AREA_HEAD_BYTES];
    struct image_header image;
};

__attribute__((format(printf, 3, 4))) static int refuse(char err[REPORT_ERROR_BYTES], int code,
                                                        const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(err, REPORT_ERROR_BYTES, format, args);
    va_end(args);
    return code;
}

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static bool is_scanner(uint32_t pid)
{
    char path[32], name[sizeof SCANNER_NAME + 1] = "";

    snprintf(path, sizeof path, "/proc/%u/comm", pid);
    FILE *f = fopen(path, "re");
    bool is =
        f && fgets(name, sizeof name, f) && strncmp(name, SCANNER_NAME, strlen(SCANNER_NAME)) == 0;
    if (f)
        fclose(f);
    return is;
}

/* A pidfd, so that no later process with that number gets the signal; -1: it has ended. */
static int scanner_open(const struct image_header *h)
{
    uint32_t pid = atomic_load(&h->scanner);
    int fd = pid == 0 || pid > INT_MAX ? -1 : (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);

    if (fd >= 0 && !is_scanner(pid)) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool has_ended(int pidfd)
{
    struct pollfd p = {.fd = pidfd, .events = POLLIN};
    return poll(&p, 1, 0) != 0;
}

/* false: no answer. */
static bool request_and_wait(struct image_header *h, int pidfd, uint64_t limit_ms)
{
    const struct timespec look = {.tv_nsec = LOOK_NS};
    uint64_t end = now_ms() + limit_ms;
    uint32_t number = atomic_fetch_add(&h->check_requested, 1) + 1;
    uint32_t served;

    syscall(SYS_pidfd_send_signal, pidfd, WAKE, NULL, 0);
    while ((int32_t)((served = atomic_load(&h->check_served)) - number) < 0) {
        if (now_ms() >= end || has_ended(pidfd))
            return false;
        syscall(SYS_futex, &h->check_served, FUTEX_WAIT, served, &look, NULL, 0);
    }
    return true;
}

static int request(struct image_header *h, uint32_t pid, uint64_t limit_ms,
                   char err[REPORT_ERROR_BYTES])
{
    int pidfd = scanner_open(h), bad = 0;

    if (pidfd < 0)
        return refuse(err, -ESRCH, "process %u has no witness: start its program with --witness",
                      pid);
    if (!request_and_wait(h, pidfd, limit_ms))
        bad = has_ended(pidfd)
                  ? refuse(err, -ESRCH, "process %u ended before it was checked", pid)
                  : refuse(err, -ETIMEDOUT, "process %u was not checked within %llu ms", pid,
                           (unsigned long long)limit_ms);
    close(pidfd);
    return bad;
}

/* The newest image of the process, if it runs. */
static const struct image *running_image(struct report *r, uint32_t pid)
{
    const struct image *newest = NULL;

    if (images_refresh(r) == 0)
        for (const struct image *image = r->images; image; image = image->hh.next)
            if (image->pid == pid && image->state == IMAGE_OPEN)
                newest = image;
    return newest;
}

int report_request_check(struct report *r, int fd, uint32_t pid, uint64_t limit_ms,
                         uint32_t *number, char err[REPORT_ERROR_BYTES])
{
    while (flock(fd, LOCK_EX) != 0)
        if (errno != EINTR)
            return refuse(err, -errno, "the run file cannot be locked: %s", strerror(errno));
    const struct image *image = running_image(r, pid);
    if (!image)
        return refuse(err, -ESRCH, "process %u is not checked", pid);
    if (image->flags & IMAGE_HEAP_IN_FILE)
        return refuse(err, -ENOTSUP,
                      "process %u has its heap in the file, of which no snapshot can be taken",
                      pid);
    *number = image->number;
    struct first_bytes *first = mmap(NULL, sizeof *first, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                                     (off_t)area_offset(r->view.run, image->first_area));
    if (first == MAP_FAILED)
        return refuse(err, -errno, "the run file cannot be mapped: %s", strerror(errno));
    int bad = request(&first->image, pid, limit_ms, err);
    munmap(first, sizeof *first);
    return bad;
}
