/usr/bin/convert -size 64x48 plasma:red-blue -seed 1 a.jpg 2>/dev/null || /usr/bin/convert -size 64x48 gradient: a.jpg
/usr/bin/exiftool -q -Artist=me -Comment=hello -overwrite_original a.jpg; /usr/bin/exiftool -s -Artist -Comment -ImageSize -Megapixels a.jpg
/usr/bin/exiftool -list -EXIF:All | sha256sum
