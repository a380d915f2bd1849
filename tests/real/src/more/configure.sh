printf 'AC_INIT([p], [1])\nAC_PROG_CC\nAC_CHECK_HEADERS([stdio.h no_such.h])\nAC_CHECK_FUNCS([fork no_such])\nAC_CONFIG_HEADERS([config.h])\nAC_OUTPUT\n' >configure.ac
/usr/bin/autoconf && /usr/bin/autoheader 2>&1 && ./configure -q && grep -E '^#define (HAVE|PACKAGE_)' config.h
grep -c . configure
