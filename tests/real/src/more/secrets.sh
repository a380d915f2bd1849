export GNUPGHOME=$PWD/gnupg; mkdir -m 700 gnupg
/usr/bin/gpg --batch -q --print-md SHA256 "$1/text.txt" "$1/small.txt"
/usr/bin/gpg --batch -q --enarmor <"$1/small.txt" | sha256sum
/usr/bin/gpg --batch -q --list-packets "$1/small.txt"; echo "packets $?"
for i in 1 2 3 4; do /usr/bin/gpg --batch -q --print-mds "$1/www/index.html"; done
