import numpy as np
rng = np.random.default_rng(1)
a = rng.random((120, 120))
print(np.round(np.linalg.det(a / 10), 6), np.round(np.sum(np.linalg.inv(a @ a.T + np.eye(120))), 6))
print(np.histogram(rng.normal(size=20000), bins=12)[0])
print(np.abs(np.fft.fft(np.sin(np.arange(512)))).argmax(), np.sort(rng.integers(0, 999, 5000))[::500])
b = np.zeros((64, 64), dtype=object); b[3, 4] = {"x": [1]}
print(b[3, 4], np.savetxt.__name__, np.array2string(a[:3, :3], precision=4))
