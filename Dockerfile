# Two stages: npm is needed to install, and only what it installed is needed to run.
FROM node:20-slim AS install
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY bin bin
RUN npm ci --omit=dev
COPY src src
COPY simulator simulator
RUN bin/build bundle

FROM debian:12-slim
WORKDIR /app
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin gateway \
  && mkdir --mode=700 /data \
  && chown gateway /data
COPY --from=install /app/node_modules node_modules
COPY package.json ./
COPY bin bin
COPY src src
COPY simulator simulator
COPY --from=install /app/dist dist

ENV HOST=0.0.0.0 \
  PORT=8787 \
  GATEWAY_DATA_DIR=/data
USER gateway
VOLUME /data
EXPOSE 8787

HEALTHCHECK --interval=30s --timeout=5s --start-period=40s \
  CMD ["node_modules/.bin/bun", "-e", "process.exit((await fetch(`http://127.0.0.1:${process.env.PORT}/health`)).ok ? 0 : 1)"]

# The script replaces itself with Bun, so the gateway is process 1 and gets SIGTERM itself.
ENTRYPOINT ["bin/gateway"]
