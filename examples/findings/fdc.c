/* fdc.c - a descriptor that is closed twice: run with --track-fds=bad. */
#include <fcntl.h>
#include <unistd.h>

static int open_log(void)
{
    return open("/dev/null", O_WRONLY);
}

int main(void)
{
    int log = open_log();
    write(log, "started\n", 8);
    close(log);
    close(log); /* in a program with threads, perhaps another file by now */
    return 0;
}
