# PostScript to PDF, pages, text; and the output of qpdf for it.
/usr/bin/gs -q -dNOPAUSE -dBATCH -dSAFER -sDEVICE=pdfwrite -dCompressStreams=false -sOutputFile=page.pdf "$1/more/page.ps" || exit
/usr/bin/gs -q -dNOPAUSE -dBATCH -dSAFER -sDEVICE=pnggray -r40 -sOutputFile=page%d.png page.pdf || exit
sha256sum page1.png page2.png
/usr/bin/pdftotext -layout page.pdf - | head -n 40
/usr/bin/pdftoppm -r 30 -gray page.pdf ppm && sha256sum ppm-*.pgm
/usr/bin/qpdf --check page.pdf
/usr/bin/qpdf --static-id --linearize page.pdf linear.pdf; echo "linear $?"
