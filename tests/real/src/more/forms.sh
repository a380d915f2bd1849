# XML by libxml2 and libxslt, HTML by tidy and w3m.
printf '<list>' >a.xml; awk '{ printf "<item n=\"%d\"><name>%s</name></item>\n", NR, $2 }' "$1/small.txt" >>a.xml; printf '</list>' >>a.xml
cat >a.xsl <<'X'
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:output method="html"/>
<xsl:template match="/"><html><title>names</title><ul><xsl:for-each select="list/item[@n mod 5 = 0]"><xsl:sort select="name"/><li><xsl:value-of select="concat(@n, ': ', name)"/></li></xsl:for-each></ul></html></xsl:template></xsl:stylesheet>
X
/usr/bin/xsltproc a.xsl a.xml >a.html || exit
/usr/bin/xmllint --xpath 'sum(/list/item/@n)' a.xml; echo
/usr/bin/xmllint --noout no-such.xml; echo "xmllint $?"
/usr/bin/tidy -q -w 70 a.html
/usr/bin/w3m -dump -cols 70 a.html | tail -n 30
