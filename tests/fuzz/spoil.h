/*
 * spoil.h - good run files as real ones, and what an input does to them.
 */
#ifndef SPOIL_H
#define SPOIL_H

#include "fuzz.h"
#include "runs.h"

/* A descriptor of a file that holds the base; the same one every time, never closed. */
int run_file_begin(const struct run_base *base);

/* Does the input's edits, up to the next pause or the input's end. */
void run_file_spoil(int fd, struct input *in, const struct run_base *base);

#endif
