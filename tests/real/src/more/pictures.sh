# Pictures by three programs.
/usr/bin/convert -size 200x150 gradient:red-blue -rotate 10 -blur 0x2 a.ppm || exit
/usr/bin/convert a.ppm -resize 50% -colors 16 b.gif && /usr/bin/identify -format '%w %h %k\n' b.gif
sha256sum a.ppm
/usr/bin/pnmscale 0.5 a.ppm | /usr/bin/ppmtopgm | /usr/bin/pnmtopng -force 2>/dev/null | sha256sum
/usr/bin/pnmrotate 30 a.ppm | sha256sum
