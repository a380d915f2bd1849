/* replaced_new.cc - see replaced.cc. */
/* rtc-build: -fsized-deallocation */
#define ONLY_NEW
#include "replaced.cc"
