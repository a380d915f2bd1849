#!/usr/bin/python3
"""Real programs have the same output, errors and status under events=all as without it."""
# rtc-test: events/transparent ci 60
# rtc-test: events/transparent_full full 300 --full
import os
import shutil
import socket
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + '/../stress')
from harness import Run, main, must, run_plain, wait_until

PYTHON = """
import os, signal, subprocess, threading, mmap, time
def ask(i):
    done[i] = subprocess.run(['echo', str(i)], capture_output=True).stdout
done = {}
threads = [threading.Thread(target=ask, args=(i,)) for i in range(6)]
[t.start() for t in threads]
[t.join() for t in threads]
print(sorted(done.values()))
signal.signal(signal.SIGALRM, lambda *a: print('alarm'))
signal.setitimer(signal.ITIMER_REAL, 0.02)
time.sleep(0.1)
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
m = mmap.mmap(-1, 1 << 20)
m[5] = 7
m.resize(1 << 21)
pid = os.fork()
if pid == 0:
    os._exit(m[5])
print(os.waitpid(pid, 0)[1] >> 8)
"""

SHELL = """
for i in 1 2 3; do echo $i | cat | tr 1 2; done
(exit 3); echo $?
trap 'echo got' USR1; kill -USR1 $$
sleep 0.05 & wait $!; echo $?
echo $(echo nested $(echo more))
cat <<< here | wc -c
"""

PERL = """
$SIG{ALRM} = sub { print "alarm\\n"; die "out\\n" };
eval { alarm 1; sleep 9 }; print $@;
print `echo quoted`; if (!fork) { exit 2 } wait; print $? >> 8, "\\n";
pipe R, W; if (!fork) { print W "x" x 100000; exit } close W; print length(join '', <R>), "\\n";
"""

CXX = """
#include <iostream>
#include <stdexcept>
#include <thread>
#include <vector>
#include <mutex>
#include <csignal>
#include <unistd.h>
#include <pthread.h>
static std::mutex m; static int sum;
struct counted { ~counted() { std::lock_guard<std::mutex> l(m); sum++; } };
static void *waits(void *) { counted c; pause(); return nullptr; }
int main()
{
    std::vector<std::thread> all;
    for (int i = 0; i < 8; i++)
        all.emplace_back([i] { try { counted c; throw std::runtime_error("out"); }
                               catch (std::exception &) { std::lock_guard<std::mutex> l(m); sum += i; } });
    for (auto &t : all) t.join();
    pthread_t t; pthread_create(&t, nullptr, waits, nullptr); usleep(20000);
    pthread_cancel(t); pthread_join(t, nullptr); /* its frames are left one by one: through ours */
    std::cout << sum << std::endl;
    std::thread([] { std::raise(SIGABRT); }).join();
}
"""


def same(argv, how='launcher', **more):
    def check(stage):
        plain = run_plain(stage, argv, **more)
        run = Run(stage, argv, how=how, options=['events=all', 'leaks=no'], **more).wait(50)
        must((run.status, run.out, run.err) == (plain.status, plain.out, plain.err), argv[0], plain.status, plain.out[-300:],
             plain.err[-300:], 'but:', run.status, run.out[-300:], run.err[-300:])
        reported = run.report.data['summary']['dispatched']
        must(reported['calls'] > 0 and not reported['unavailable'], reported)
        return '%d calls' % reported['calls']
    return check


def compiled(stage):
    """A compiler's own processes, and the program that it built."""
    room = stage.room()
    with open(room + '/x.cc', 'w') as f:
        f.write(CXX)
    argv = ['g++', '-O1', '-pthread', '-o', room + '/x', room + '/x.cc']
    printed = same(argv)(stage)
    return printed + ', ' + same([room + '/x'])(stage)


def listens(path):
    """The socket's name exists before the server listens."""
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(path)
    except OSError:
        return False
    return True


def served(command):
    """A server that gets requests until it answers, and is ended."""
    def check(stage):
        room = stage.room()
        path = room + '/socket'
        run = Run(stage, command(room, path), how='hand', options=['events=all', 'leaks=no'])
        try:
            wait_until(lambda: listens(path) or run.process.poll() is not None, what='its socket')
            must(run.process.poll() is None, run.process.poll())
            for _ in range(50):
                with socket.socket(socket.AF_UNIX) as s:
                    s.settimeout(20)
                    s.connect(path)
                    s.sendall(b'PING\r\n' if 'redis' in command(room, path)[0] else b'GET / HTTP/1.0\r\n\r\n')
                    must(s.recv(100), 'no answer')
        finally:
            run.process.terminate()
        run.wait(30)
        must(run.status == 0, run.status, run.err[-500:])
        return '%d calls' % run.report.data['summary']['dispatched']['calls']
    return check


def redis(room, path):
    return ['redis-server', '--port', '0', '--unixsocket', path, '--save', '', '--dir', room, '--daemonize', 'no']


def nginx(room, path):
    with open(room + '/conf', 'w') as f:
        f.write('daemon off; worker_processes 2; pid %s/pid; error_log %s/log; events {} http { access_log off;'
                'client_body_temp_path %s; proxy_temp_path %s; fastcgi_temp_path %s; uwsgi_temp_path %s; scgi_temp_path %s;'
                'server { listen unix:%s; return 200 hello; } }' % (room, room, room, room, room, room, room, path))
    return ['/usr/sbin/nginx', '-p', room, '-e', room + '/log', '-c', room + '/conf']


CI = [('python', same(['/usr/bin/python3', '-c', PYTHON], 'hand')), ('bash', same(['bash', '-c', SHELL])),
      ('perl', same(['perl', '-e', PERL])), ('compiled', compiled)]
FULL = [('sqlite', same(['sqlite3', ':memory:', 'create table t(a); insert into t values(1),(2); select sum(a) from t;'])),
        ('processes', same(['/usr/bin/python3', '-c', 'import multiprocessing as m\nwith m.Pool(3) as p: print(p.map(abs, range(-99, 0)))'])),
        ('redis', served(redis)), ('nginx', served(nginx))]

if __name__ == '__main__':
    here = {'redis': 'redis-server', 'nginx': '/usr/sbin/nginx', 'sqlite': 'sqlite3'}
    more = FULL if '--full' in sys.argv else []
    main(CI + [c for c in more if shutil.which(here.get(c[0], 'true'))])
