printf '#include <stdlib.h>\nint f(int n)\n{\n    int a[4], x;\n    char *p = malloc(10);\n    if (n > 3)\n        return a[n + 4] + x;\n    p[20] = 0;\n    return *p / 0;\n}\n' >bad.c
/usr/bin/cppcheck -q --enable=all --inconclusive --suppress=missingIncludeSystem --error-exitcode=3 bad.c "$1/project" 2>&1; echo "status $?"
