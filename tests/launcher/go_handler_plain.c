/*
 * go_handler_plain.c - go_handler.c without the note of Go's linker.
 *
 * rtc-build: -D_GNU_SOURCE -lpthread
 */
#define PLAIN
#include "go_handler.c"
