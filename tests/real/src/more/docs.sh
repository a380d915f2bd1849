cp -r "$1/project" src
printf 'PROJECT_NAME=p\nINPUT=src\nEXTRACT_ALL=YES\nGENERATE_LATEX=NO\nGENERATE_XML=YES\nQUIET=YES\nWARNINGS=NO\nHAVE_DOT=NO\nNUM_PROC_THREADS=1\nTIMESTAMP=NO\n' >Doxyfile
/usr/bin/doxygen Doxyfile || exit
ls xml | sort | head -n 60
sha256sum xml/m1_8c.xml html/m1_8c.html
