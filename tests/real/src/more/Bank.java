import java.util.*;
import java.util.concurrent.*;
import java.util.stream.*;

public class Bank {
    record Transfer(int from, int to, long amount) {}

    public static void main(String[] args) throws Exception {
        long[] accounts = new long[64];
        Arrays.fill(accounts, 1000);
        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Future<Integer>> done = new ArrayList<>();
        for (int t = 0; t < 4; t++) {
            Random chance = new Random(t);
            done.add(pool.submit(() -> {
                for (int i = 0; i < 5000; i++) {
                    Transfer x = new Transfer(chance.nextInt(64), chance.nextInt(64), chance.nextInt(100));
                    synchronized (accounts) {
                        accounts[x.from()] -= x.amount();
                        accounts[x.to()] += x.amount();
                    }
                }
                return 5000;
            }));
        }
        int sum = 0;
        for (Future<Integer> f : done)
            sum += f.get();
        pool.shutdown();
        try {
            Object nothing = null;
            nothing.toString();
        } catch (NullPointerException e) {
            System.out.println("a null pointer, by a signal");
        }
        System.out.println(sum + " " + Arrays.stream(accounts).sum());
        System.out.println(Arrays.stream(accounts).mapToObj(Long::toString).collect(Collectors.joining(" ")));
    }
}
