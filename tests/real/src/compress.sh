# Each packer there and back; xz and zstd with threads.
set -e
for how in "gzip -n" bzip2 "xz -T2 --block-size=400000" "zstd -q -T2"; do
    $how -c "$1/data.json" >packed
    sha256sum <packed
    ${how%% *} -q -d -c <packed | cmp - "$1/data.json"
done
