# Two stages: npm is needed to install, and only what it installed is needed to run.
FROM node:20-slim AS install
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY bin bin
RUN npm ci --omit=dev
COPY src src
COPY simulator simulator
COPY web web
RUN bin/build bundle

FROM debian:12-slim
LABEL org.opencontainers.image.title="Gateway" \
  org.opencontainers.image.description="One API in front of every model provider: keys, routing, logs, and nothing lost." \
  org.opencontainers.image.licenses="Apache-2.0"
WORKDIR /app
RUN groupadd --system --gid 10001 gateway \
  && useradd --system --uid 10001 --gid 10001 --no-create-home --shell /usr/sbin/nologin gateway \
  && mkdir --mode=700 /data \
  && chown 10001:10001 /data
COPY --from=install /app/node_modules node_modules
COPY package.json ./
COPY bin bin
COPY src src
COPY simulator simulator
COPY web web
COPY --from=install /app/dist dist

ENV HOST=0.0.0.0 \
  PORT=8787 \
  GATEWAY_DATA_DIR=/data
# A number, so that a cluster can see that it is not root.
USER 10001:10001
VOLUME /data
EXPOSE 8787

HEALTHCHECK --interval=30s --timeout=5s --start-period=40s \
  CMD ["node_modules/.bin/bun", "-e", "process.exit((await fetch(`http${process.env.GATEWAY_TLS_CERT_FILE ? 's' : ''}://127.0.0.1:${process.env.PORT}/health`, { tls: { rejectUnauthorized: false } })).ok ? 0 : 1)"]

# The script replaces itself with Bun, so the gateway is process 1 and gets SIGTERM itself.
ENTRYPOINT ["bin/gateway"]
