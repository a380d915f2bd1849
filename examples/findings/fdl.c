/* fdl.c - a descriptor that is left open: run with --track-fds=yes. */
#include <fcntl.h>
#include <unistd.h>

static int first_byte(const char *path)
{
    char byte;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || read(fd, &byte, 1) != 1)
        return -1; /* fd may be open */
    close(fd);
    return byte;
}

int main(void)
{
    return first_byte("/dev/null") == 'x';
}
