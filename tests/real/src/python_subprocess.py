"""Children by vfork and by fork, pipes in both directions, statuses and signals."""
import os
import subprocess
import sys

out = subprocess.run(["/usr/bin/sort", "-r"], input="a\nc\nb\n", capture_output=True, text=True)
print("sort", out.returncode, out.stdout.split())
out = subprocess.run("echo to-stdout; echo to-stderr >&2; exit 7", shell=True, capture_output=True)
print("shell", out)
try:
    subprocess.run(["/no/such/program"])
except FileNotFoundError as e:
    print("missing", e)
print("killed", subprocess.run(["/bin/sh", "-c", "kill -9 $$"]).returncode)
env = {"ONLY": "this"}
print("environment", subprocess.check_output(["/usr/bin/env"], env=env))
many = [subprocess.Popen([sys.executable, "-S", "-E", "-c", f"print({i} ** 9)"], stdout=subprocess.PIPE)
        for i in range(6)]
print("many", [p.communicate()[0] for p in many], [p.returncode for p in many])
p = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                     preexec_fn=lambda: os.nice(1))
print("forked", p.communicate(b"x" * 300000)[0] == b"x" * 300000)
pid = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 5"], {})
print("spawned", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
print("system", os.waitstatus_to_exitcode(os.system("exit 4")), os.popen("echo popen").read())
