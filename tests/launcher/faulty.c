/*
 * faulty.c - frees a block twice, in children too: faulty STATUS [fork] [kill]
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void free_twice(void)
{
    char *volatile block = malloc(40);

    free(block);
    free(block);
}

int main(int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "fork") == 0 && fork() == 0) {
            free_twice();
            _exit(0);
        }
        if (strcmp(argv[i], "kill") == 0) {
            free_twice();
            raise(SIGKILL);
        }
    }
    while (wait(NULL) > 0)
        ;
    if (argc == 2)
        free_twice();
    return argc > 1 ? atoi(argv[1]) : 0;
}
