/usr/bin/ffmpeg -v error -threads 2 -f lavfi -i testsrc=size=160x120:rate=10:duration=2 -f lavfi -i sine=frequency=440:duration=2 \
    -c:v mpeg4 -c:a aac -bitexact -flags:v +bitexact -y film.mkv || exit
/usr/bin/ffmpeg -v error -i film.mkv -map 0:v -f framemd5 -bitexact - | tail -n 12
/usr/bin/ffprobe -v error -show_entries stream=codec_name,width,height,channels -of compact film.mkv
/usr/bin/ffmpeg -v error -i /no/such/file -f null -; echo "status $?"
