# Archives of a tree: through a packer, listed, compared, extracted, in cpio's format too.
set -e
tar -C "$1" --sort=name --mtime=@1000000000 --owner=0 --group=0 --numeric-owner --mode=go-w \
    -cf tree.tar project www
tar -tvf tree.tar
tar -C "$1" --sort=name --mtime=@1000000000 --owner=0 --group=0 -czf tree.tgz project www
mkdir out
tar -C out -xzf tree.tgz
diff -r "$1/project" out/project && diff -r "$1/www" out/www && echo same
tar -tf tree.tgz --wildcards '*.c' | sort
