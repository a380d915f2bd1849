// An HTTP server on a unix socket that builds each answer.
const http = require("http");
const server = http.createServer((request, response) => {
  const n = parseInt(request.url.slice(1), 10) || 0;
  const body = JSON.stringify({ n, list: Array.from({ length: n % 20 }, (_, i) => "item " + i * n) });
  response.setHeader("Content-Length", Buffer.byteLength(body));
  response.end(body);
});
server.listen(process.argv[2]);
process.on("SIGTERM", () => process.exit(0));
