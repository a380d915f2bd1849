awk 'BEGIN { print "digraph g { rankdir=LR;" } NR <= 60 { print "  \"" $1 "\" -> \"" prev "\" [label=\"" NR "\"];"; prev = $1; if (NR % 7 == 0) print "  \"" $1 "\" -> \"" first "\";"; if (NR == 1) first = $1 } END { print "}" }' "$1/words.txt" >g.dot
/usr/bin/dot -Tplain g.dot | head -n 60
/usr/bin/dot -Tsvg g.dot | sha256sum
/usr/bin/neato -Tplain g.dot | wc -l
