"""An interval timer that fires throughout, interrupted system calls, and an end by signal."""
import os
import signal
import select
import sys

ticks = []
signal.signal(signal.SIGALRM, lambda n, f: ticks.append(str(n) * 10))
signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
data = {}
while len(ticks) < 60:
    data = {i: [str(i)] * (i % 9) for i in range(3000)}
signal.setitimer(signal.ITIMER_REAL, 0)
print("ticks", len(ticks) >= 60, set(ticks), sum(map(len, data.values())))
r, w = os.pipe()
if os.fork() == 0:
    os.close(w)
    os.read(r, 1)
    os.kill(os.getppid(), signal.SIGUSR1)
    os._exit(0)
signal.signal(signal.SIGUSR1, lambda n, f: None)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
os.write(w, b"x")
got = signal.sigtimedwait([signal.SIGUSR1], 20)
print("signal", got.si_signo == signal.SIGUSR1, os.waitstatus_to_exitcode(os.wait()[1]))
print("text", ",".join(sorted({t for t in ticks})), "x" * 60)
print("poll", select.select([], [w], [], 1)[1] == [w])
sys.stdout.flush()
signal.signal(signal.SIGTERM, signal.SIG_DFL)
os.kill(os.getpid(), signal.SIGTERM)
