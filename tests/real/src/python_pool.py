"""multiprocessing: a pool of forked workers, a queue, shared memory and a manager."""
import multiprocessing as mp


def primes(limit):
    return [n for n in range(2, limit) if all(n % d for d in range(2, int(n ** 0.5) + 1))]


def feed(queue, n):
    for i in range(n):
        queue.put({"i": i, "text": "x" * i})


def main():
    mp.set_start_method("fork")
    with mp.Pool(3) as pool:
        found = pool.map(primes, [500 * i for i in range(1, 9)])
        print("primes", [len(p) for p in found], sum(map(sum, found)))
        print("starmap", pool.starmap(divmod, [(i * 97, 7) for i in range(20)]))
    queue = mp.Queue()
    feeder = mp.Process(target=feed, args=(queue, 200))
    feeder.start()
    print("queue", sum(len(queue.get()["text"]) for _ in range(200)))
    feeder.join()
    counter = mp.Value("i", 0)
    adders = [mp.Process(target=add, args=(counter,)) for _ in range(3)]
    for p in adders:
        p.start()
    for p in adders:
        p.join()
    print("counter", counter.value, [p.exitcode for p in adders + [feeder]])


def add(counter):
    for _ in range(500):
        with counter.get_lock():
            counter.value += 1


if __name__ == "__main__":
    main()
