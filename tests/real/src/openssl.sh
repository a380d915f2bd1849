# Digests, ciphers, keys, signatures and certificates, all without chance.
set -e
key=$1/ed25519.pem text=$1/text.txt
openssl dgst -sha256 -hmac key "$text" | sed 's/.*= //'
for c in aes-256-cbc camellia-128-ctr chacha20; do
    openssl enc -$c -K 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff \
        -iv 000102030405060708090a0b0c0d0e0f -in "$text" -out out.$c 2>/dev/null || true
    sha256sum out.$c
done
openssl enc -aes-128-cbc -pbkdf2 -iter 500 -S 0011223344556677 -pass pass:secret -in "$text" -out sealed
openssl enc -d -aes-128-cbc -pbkdf2 -iter 500 -S 0011223344556677 -pass pass:secret -in sealed | cmp - "$text"
openssl pkey -in "$key" -pubout -text
openssl pkeyutl -sign -rawin -inkey "$key" -in "$1/small.txt" | sha256sum
openssl x509 -in "$1/cert.pem" -noout -text -fingerprint
openssl verify -CAfile "$1/cert.pem" -no_check_time "$1/cert.pem"
openssl ecparam -name prime256v1 -text -noout -param_enc explicit
openssl prime 1000003 1000004 1000033
openssl list -cipher-algorithms | wc -l
