/* rui.c - uninitialised read: a record is written with members that were not set. Run with --malloc-fill=block. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct record {
    long size;
    char name[24];
    long time; /* forgotten */
};

static struct record *new_record(const char *name, long size)
{
    struct record *r = malloc(sizeof *r);
    if (!r)
        exit(1);
    r->size = size;
    strncpy(r->name, name, sizeof r->name);
    return r;
}

int main(void)
{
    struct record *r = new_record("a file", 12);
    int ends[2];
    if (pipe(ends) != 0)
        return 1;
    write(ends[1], r, sizeof *r);
    free(r);
    return 0;
}
