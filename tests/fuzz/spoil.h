/*
 * spoil.h - valid run files as real files, and their corruption by an input.
 */
#ifndef SPOIL_H
#define SPOIL_H

#include "fuzz.h"
#include "runs.h"

/*
 * A descriptor of a file with the content of the base; it is reused by all calls and never closed.
 */
int run_file_begin(const struct run_base *base);

/* Apply the input's edits, up to the next pause or the input's end. */
void run_file_spoil(int fd, struct input *in, const struct run_base *base);

#endif
