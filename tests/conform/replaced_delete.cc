/* replaced_delete.cc - see replaced.cc. */
/* rtc-build: -Wno-sized-deallocation */
#define ONLY_DELETE
#include "replaced.cc"
