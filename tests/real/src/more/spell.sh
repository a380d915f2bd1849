printf 'teh quick brown fox jumpd over the lazy dog\nrecieve seperate definately occured\n' | /usr/bin/hunspell -d en_US -a
/usr/bin/hunspell -d en_US -l "$1/words.txt" | head -n 200
