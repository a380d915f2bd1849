# find with -exec in both forms, xargs with parallel children.
cd "$1" || exit
find project www -name '*.[ch]' -o -name '*.html' | sort
find project -type f -name '*.c' -exec grep -l 'return' {} + | sort | head
find project -name 'm*.c' -exec sh -c 'wc -l <"$1"' sh {} \; | sort -n | uniq -c
find project www -type f -print0 | sort -z | xargs -0 -n 3 -P 2 sha256sum | sort
seq 1 2000 | xargs -n 50 echo | awk '{ s += $NF } END { print s }'
find project -newermt 2000-01-01 -size +0 -printf '%f %s\n' | sort
