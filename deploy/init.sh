#!/bin/sh
# Makes what the processes of a cluster share, once: the key for orders, a token for the server, and a certificate of its own.
# Usage: init.sh FOLDER
set -eu
umask 077
folder=${1:?usage: init.sh FOLDER}
mkdir -p "$folder"
[ -s "$folder/order-key" ] || openssl rand -hex 32 > "$folder/order-key"
[ -s "$folder/tokens" ] || printf '%s start cluster\n' "$(openssl rand -hex 32)" > "$folder/tokens"
[ -s "$folder/cert.pem" ] || openssl req -x509 -newkey rsa:2048 -nodes -days 825 -subj /CN=localhost \
  -addext subjectAltName=DNS:localhost,DNS:server,IP:127.0.0.1 -keyout "$folder/key.pem" -out "$folder/cert.pem" 2> /dev/null
echo "the key for orders, a token and a certificate are in $folder"
