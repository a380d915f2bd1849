export HGRCPATH= HGUSER=me
/usr/bin/hg init r && cd r || exit
cp "$1/small.txt" a && /usr/bin/hg add a && /usr/bin/hg commit -d '1000000000 0' -m first
sed -i 's/e/E/' a && /usr/bin/hg commit -d '1000000001 0' -m second && /usr/bin/hg log -p | head -n 60
cd .. && /usr/bin/svnadmin create s && /usr/bin/svn -q import -m first "$1/project" "file://$PWD/s/trunk"
/usr/bin/svn -q checkout "file://$PWD/s/trunk" w && echo >>w/m1.c && /usr/bin/svn status w && /usr/bin/svn -q commit -m second w
/usr/bin/svn log -q "file://$PWD/s" | sed 's/|.*//'
/usr/bin/svn ls -R "file://$PWD/s"
