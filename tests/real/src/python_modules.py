"""Shared objects loaded late, callbacks from C, and what a program sees of its own process."""
import bz2
import ctypes
import ctypes.util
import lzma
import os
import ssl
import sys
import unicodedata
import xml.etree.ElementTree as xml

libc = ctypes.CDLL("libc.so.6")
compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
numbers = (ctypes.c_int * 500)(*[i * 7919 % 1009 for i in range(500)])
libc.qsort(numbers, 500, 4, compare(lambda a, b: a[0] - b[0]))
print("qsort", numbers[:5], numbers[-5:])
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
blocks = [libc.malloc(i) for i in range(2000)]
print("malloc", len(set(blocks)), all(b % 16 == 0 for b in blocks))
for b in blocks:
    libc.free(b)
print("libm", ctypes.CDLL("libm.so.6", mode=os.RTLD_NOW | os.RTLD_GLOBAL).abs(-3))
text = b"squeeze " * 5000
print("bz2", len(bz2.compress(text)), "lzma", len(lzma.compress(text)))
print("ssl", ssl.OPENSSL_VERSION, len(ssl.create_default_context().get_ciphers()))
print("xml", xml.tostring(xml.fromstring("<a>" + "<b c='1'>x</b>" * 3 + "</a>")))
print("unicode", unicodedata.normalize("NFD", "\u00e9").encode())
print("open", sorted(int(n) for n in os.listdir("/proc/self/fd"))[:-1])
print("environment", sorted(os.environ))
print("arguments", sys.argv[1:], open("/proc/self/comm").read())
os.closerange(3, 4096)
if os.fork() == 0:
    os._exit(len([str(i) for i in range(3000)]) % 251)
print("child", os.waitstatus_to_exitcode(os.wait()[1]))
