/*
 * pattern.h - bytes that the runtime writes around blocks and into freed ones.  Readers of a heap that
 * lies in the run file (heap=file) compare them.
 *
 *  slot   | requested ............ | slack: REDZONE_BYTE        |  next slot
 *         0                        request                  slot_bytes
 *
 * The slack holds REDZONE_BYTE in its first REDZONE_REACH bytes and in its last REDZONE_TAIL; after and
 * before a large block there are up to LARGE_REACH such bytes.  --redzone-size widens all of them
 * (redzone.h).  The words in freed blocks: fill_word.h.
 */
#ifndef RTCHECK_PATTERN_H
#define RTCHECK_PATTERN_H

#define REDZONE_BYTE 0xb5
#define REDZONE_TAIL 16u
#define REDZONE_REACH 240u /* all slack of slots up to 256 bytes, the most frequent */
#define LARGE_REACH 128u

/* Freed blocks up to FILL_WHOLE bytes are filled as a whole, others in both ends. */
#define FILL_WHOLE 4096u
#define FILL_ENDS 64u

#endif
