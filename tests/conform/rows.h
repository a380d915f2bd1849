/* rows.h - the rows of rows.def, one function each, and their shared code. */
#ifndef CONFORM_ROWS_H
#define CONFORM_ROWS_H

#include "harness.h"

#define ROW(name, needs) void row_##name(void);
#include "rows.def"
#undef ROW

#endif
