/*
 * untouched.c - the cost of blocks that are allocated and never written.
 *
 *     untouched BYTES COUNT
 *
 * Prints, of the COUNT allocations of BYTES each: growth of the resident set in KiB, minor page faults, CPU
 * time in microseconds.  The blocks stay in use, held by a table whose pages were all written before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void **volatile table;

static long resident_kib(void)
{
    long all, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld %ld", &all, &resident) != 2 || fclose(f) != 0)
        abort();
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static double microseconds(const struct rusage *u)
{
    return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1e6 +
           (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 125;
    size_t bytes = strtoull(argv[1], NULL, 10), count = strtoull(argv[2], NULL, 10);
    struct rusage before, after;
    table = malloc((count + 1) * sizeof *table);
    if (!table)
        return 125;
    memset((void *)table, 0, (count + 1) * sizeof *table);
    table[count] = malloc(bytes); /* pay the cost of a first allocation */
    resident_kib();
    long resident = resident_kib();
    getrusage(RUSAGE_SELF, &before);
    for (size_t i = 0; i < count; i++)
        if (!(table[i] = malloc(bytes)))
            return 1;
    getrusage(RUSAGE_SELF, &after);
    printf("%ld %ld %.0f\n", resident_kib() - resident, after.ru_minflt - before.ru_minflt,
           microseconds(&after) - microseconds(&before));
    return 0;
}
