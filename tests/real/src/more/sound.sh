/usr/bin/sox -R -n -r 8000 -c 1 a.wav synth 1 sine 300-3000 vol 0.5 || exit
/usr/bin/sox -R a.wav b.wav reverse rate 11025 && sha256sum a.wav b.wav
/usr/bin/sox a.wav -n stat 2>&1
/usr/bin/flac -s --no-padding -f a.wav && /usr/bin/flac -s -d -f -o c.wav a.flac; sha256sum c.wav
