cp -r "$1/project" p && find p -exec touch -d @1000000000 {} +
/usr/bin/zip -q -X -r a.zip p && /usr/bin/unzip -t a.zip | tail -n 1 && /usr/bin/unzip -l a.zip | tail -n 1
/usr/bin/7zz a -bd -bso0 -mmt2 a.7z p && /usr/bin/7zz t -bd a.7z | grep -E '^(Files|Size|Everything)'
/usr/bin/7zz l a.7z | grep -c 'm[0-9].c'
/usr/bin/unzip -q no.zip; echo "unzip $?"
