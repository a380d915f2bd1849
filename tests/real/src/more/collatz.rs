use std::collections::{BTreeMap, HashMap};
use std::sync::{mpsc, Arc, Mutex};
use std::thread;

fn steps(mut n: u64) -> u32 {
    let mut count = 0;
    while n != 1 {
        n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
        count += 1;
    }
    count
}

fn main() {
    let longest: Arc<Mutex<BTreeMap<u32, Vec<u64>>>> = Arc::default();
    let (send, receive) = mpsc::channel::<Box<[u64]>>();
    let threads: Vec<_> = (0..4u64)
        .map(|t| {
            let (all, send) = (Arc::clone(&longest), send.clone());
            thread::spawn(move || {
                for n in (t + 1..4000).step_by(4) {
                    all.lock().unwrap().entry(steps(n)).or_default().push(n);
                }
                send.send((0..t + 3).map(|x| x * x).collect()).unwrap();
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    drop(send);
    let squares: u64 = receive.iter().flat_map(|b| b.to_vec()).sum();
    for (count, numbers) in longest.lock().unwrap().iter_mut() {
        numbers.sort_unstable();
        println!("{count}: {} {:?}", numbers.len(), numbers.first());
    }
    let words: HashMap<String, usize> = (0..500).map(|n| (format!("word {}", n % 50), n)).collect();
    let mut sorted: Vec<_> = words.into_iter().collect();
    sorted.sort();
    println!("{squares} {sorted:?}");
}
