/*
 * locked.c - locks all its memory, present and future, and prints its amount.
 *
 *     locked
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BLOCKS 20000u

static void *block[BLOCKS];

static long status_kib(const char *key)
{
    char line[256];
    long kib = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, key, strlen(key)) == 0)
            kib = strtol(line + strlen(key) + 1, NULL, 10);
    if (f)
        fclose(f);
    return kib;
}

static int churn(void)
{
    for (int round = 0; round < 3; round++) {
        for (unsigned i = 0; i < BLOCKS; i++)
            if (!(block[i] = malloc(16 + i % 1000)))
                return 4;
        for (unsigned i = 0; i < BLOCKS; i++)
            free(block[i]);
    }
    void *large = malloc(5000000);
    free(large);
    return large ? 0 : 5;
}

int main(void)
{
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
        printf("mlockall: %s\n", strerror(errno));
        return 3;
    }
    int code = churn();
    fprintf(stderr, "VmRSS %ld KiB\n", status_kib("VmRSS"));
    puts(code ? "failed" : "locked");
    return code;
}
