"""Threads that hand objects to each other; many short-lived ones; thread-local data."""
import concurrent.futures
import hashlib
import queue
import threading


def stage(source, sink, work):
    while True:
        item = source.get()
        if item is None:
            sink.put(None)
            return
        sink.put(work(item))


a, b, c = queue.Queue(50), queue.Queue(50), queue.Queue()
threading.Thread(target=stage, args=(a, b, lambda n: b"%d " % n * n)).start()
threading.Thread(target=stage, args=(b, c, lambda s: hashlib.md5(s * 20).hexdigest())).start()
for i in range(600):
    a.put(i)
a.put(None)
digests = []
while (d := c.get()) is not None:
    digests.append(d)
print("pipeline", len(digests), hashlib.md5("".join(digests).encode()).hexdigest())

local = threading.local()


def short(i):
    local.text = str(i) * 100
    return len(local.text)


for _ in range(20):
    threads = [threading.Thread(target=short, args=(i,)) for i in range(10)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    print("pool", list(pool.map(short, range(0, 20000, 1000))))
