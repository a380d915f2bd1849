# unbound answers from data of its own; dig sends queries.
port=$(/usr/bin/python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
{ printf 'server:\n interface: 127.0.0.1@%s\n do-daemonize: no\n username: ""\n chroot: ""\n directory: "%s"\n pidfile: ""\n use-syslog: no\n logfile: "%s/log"\n num-threads: 2\n module-config: "iterator"\n local-zone: "here." static\n' "$port" "$PWD" "$PWD"
  i=0; while [ $i -lt 200 ]; do i=$((i + 1)); printf ' local-data: "h%s.here. A 10.0.0.%s"\n' $i $i; done; } >conf
/usr/sbin/unbound -d -c "$PWD/conf" & server=$!
until /usr/bin/dig +short +time=1 +tries=1 -p "$port" @127.0.0.1 h1.here >/dev/null 2>&1; do kill -0 $server || { cat log; exit 1; }; done
for i in 1 50 100 200 201; do /usr/bin/dig +noall +answer +comments -p "$port" @127.0.0.1 h$i.here | sed 's/id: .*//'; done
kill -TERM $server; wait $server; echo "ended with $?"
