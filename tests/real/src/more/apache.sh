# apache2 with two children; at its end it signals its whole process group.
cat >httpd.conf <<CONF
ServerName here
ServerRoot $PWD
PidFile $PWD/pid
ErrorLog $PWD/log
LoadModule mpm_prefork_module /usr/lib/apache2/modules/mod_mpm_prefork.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule dir_module /usr/lib/apache2/modules/mod_dir.so
StartServers 2
MaxRequestWorkers 2
DocumentRoot $1/www
Mutex file:$PWD
Listen 127.0.0.1:PORT
CONF
port=$(/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
sed -i "s/:PORT/:$port/" httpd.conf
/usr/bin/setsid /usr/sbin/apache2 -f "$PWD/httpd.conf" -DFOREGROUND & server=$!
until [ -s pid ] && /usr/bin/curl -s -o /dev/null "http://127.0.0.1:$port/small.html"; do kill -0 $server || { cat log; exit 1; }; done
for i in 1 2 3 4 5; do /usr/bin/curl -sS "http://127.0.0.1:$port/index.html" | sha256sum; done
/usr/bin/curl -s -o /dev/null -w '%{http_code}\n' "http://127.0.0.1:$port/none"
kill -TERM $server; wait $server; echo "ended with $?"
