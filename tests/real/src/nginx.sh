# nginx.sh SOURCES: nginx in the foreground, with everything it writes in the current folder.
sed -e "s|@D@|$PWD|g" -e "s|@S@|$1|g" "$1/nginx.conf" >nginx.conf
exec /usr/sbin/nginx -p "$PWD" -c "$PWD/nginx.conf" -e "$PWD/error.log"
