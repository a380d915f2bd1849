port=$(/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
printf 'server.document-root = "%s/www"\nserver.bind = "127.0.0.1"\nserver.port = %s\nindex-file.names = ("index.html")\n' "$1" "$port" >conf
/usr/sbin/lighttpd -D -f conf 2>log & server=$!
until /usr/bin/curl -s -o /dev/null "http://127.0.0.1:$port/small.html"; do kill -0 $server || { cat log; exit 1; }; done
for i in 1 2 3 4 5; do /usr/bin/curl -sS "http://127.0.0.1:$port/index.html" | sha256sum; done
/usr/bin/curl -s -o /dev/null -w '%{http_code}\n' "http://127.0.0.1:$port/none"
kill -INT $server; wait $server; echo "ended with $?"
