/* replaced_delete.cc - see replaced.cc. */
/* rtc-build: -fsized-deallocation */
#define ONLY_DELETE
#include "replaced.cc"
