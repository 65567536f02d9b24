# The image of a Retinue server or worker. deploy/compose.yaml starts a cluster of them; docs/cluster.md explains it.
FROM node:24-bookworm-slim AS build
WORKDIR /build
COPY . .
RUN npm ci --no-audit --no-fund
RUN npm pack --pack-destination /tmp

FROM node:24-bookworm-slim
# git for checkouts, bubblewrap for the sandbox of shell commands, openssl for the keys that deploy/init.sh makes.
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap ca-certificates git openssl && rm -rf /var/lib/apt/lists/*
COPY --from=build /tmp/retinue-*.tgz /tmp/retinue.tgz
RUN npm install --global --omit=optional --no-audit --no-fund /tmp/retinue.tgz && rm /tmp/retinue.tgz
COPY deploy/init.sh /usr/local/bin/retinue-init
RUN useradd --create-home --uid 10001 retinue && install -d -o retinue -g retinue /etc/retinue /var/lib/retinue /workspace
USER retinue
WORKDIR /workspace
ENTRYPOINT ["retinue"]
CMD ["--help"]
