/*
 * conform.c - the allocator's surface as C programs see it; tests/conform/run compares it with
 * glibc's.
 *
 * rtc-build: +harness.c +rows_*.c -pthread
 */
#include "rows.h"

const char *const conform_library = "libc.so.6";

const struct row conform_rows[] = {
#define ROW(name, needs) {#name, needs, row_##name},
#include "rows.def"
#undef ROW
};

const size_t conform_row_count = sizeof conform_rows / sizeof conform_rows[0];

int main(int argc, char **argv)
{
    return conform_main(argc, argv);
}
