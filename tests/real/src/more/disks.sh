/usr/bin/rrdtool create a.rrd --start 1000000000 --step 60 DS:x:GAUGE:120:U:U RRA:AVERAGE:0.5:1:100 RRA:MAX:0.5:5:20
i=0; set --; while [ $i -lt 90 ]; do i=$((i + 1)); set -- "$@" $((1000000000 + i * 60)):$((i * i % 97)); done
/usr/bin/rrdtool update a.rrd "$@"
/usr/bin/rrdtool fetch a.rrd MAX --start 1000000000 --end 1000005400
/usr/bin/rrdtool dump a.rrd | sha256sum
/usr/bin/rrdtool info a.rrd | grep -v cur_row
