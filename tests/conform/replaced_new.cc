/* replaced_new.cc - see replaced.cc. */
/* rtc-build: -Wno-sized-deallocation */
#define ONLY_NEW
#include "replaced.cc"
