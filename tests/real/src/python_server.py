"""A threaded line server on a unix socket: one JSON request per line, one answer per line."""
import hashlib
import json
import signal
import socketserver
import sys


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            request = json.loads(line)
            text = request["text"] * request["times"]
            answer = {"id": request["id"], "md5": hashlib.md5(text.encode()).hexdigest()}
            self.wfile.write(json.dumps(answer).encode() + b"\n")


class Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


signal.signal(signal.SIGTERM, lambda n, f: sys.exit(0))
Server(sys.argv[1], Handler).serve_forever()
