/*
 * mpi_swap.c - two ranks exchange newly allocated buffers of a MiB each time, and check every word.
 *
 *     mpirun -np 2 mpi_swap ROUNDS
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "rtcheck/event.h"

#define WORDS (1u << 17)

static volatile unsigned long gone; /* unmapped ranges, by events */

static void count(unsigned type, union rtc_event *e, void *arg)
{
    (void)type, (void)e, (void)arg;
    gone++;
}

static uint64_t word(unsigned round, int rank, unsigned i)
{
    return (uint64_t)round << 40 ^ (uint64_t)rank << 32 ^ i * 2654435761u;
}

static unsigned long swap(unsigned round, int rank)
{
    unsigned long wrong = 0;
    uint64_t *out = malloc(WORDS * sizeof *out), *in = malloc(WORDS * sizeof *in);
    for (unsigned i = 0; i < WORDS; i++)
        out[i] = word(round, rank, i);
    MPI_Sendrecv(out, WORDS, MPI_UINT64_T, !rank, 1, in, WORDS, MPI_UINT64_T, !rank, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (unsigned i = 0; i < WORDS; i++)
        wrong += in[i] != word(round, !rank, i);
    free(out);
    out = realloc(in, 2 * WORDS * sizeof *in); /* and moves on */
    free(out);
    return wrong;
}

int main(int argc, char **argv)
{
    int rank, ranks,
        is_set = rtc_event_set_handler &&
                 rtc_event_set_handler(RTC_EVENT_VM_UNMAPPED, 0, count, NULL) == 0;
    unsigned long wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    unsigned rounds = (unsigned)strtoul(argv[1], NULL, 10);
    for (unsigned round = 0; round < rounds; round++)
        wrong += swap(round, rank);
    printf("rank %d of %d: %u rounds, %lu words wrong, %s\n", rank, ranks, rounds, wrong,
           !is_set         ? "not checked"
           : gone < rounds ? "checked, not told"
                           : "checked");
    MPI_Finalize();
    return wrong != 0;
}
