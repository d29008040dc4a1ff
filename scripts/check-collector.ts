/**
 * Holds traces and metrics against a real OpenTelemetry Collector: its own otelcol, otlpreceiver and debugexporter, put
 * together by the program below. Not part of `npm test`: it is built from Go modules, which takes some minutes, a Go
 * toolchain and the module proxy.
 *
 *     npm run bundle && bun scripts/check-collector.ts [folder of an earlier build]
 *
 * It has last said: "A collector v0.150.0 took the spans and metrics of 5 calls: 14 spans, none refused." Of later
 * versions not every proxy serves all modules (internal/statusutil of v0.164.0, for one); `VERSION` may be raised.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const VERSION = 'v0.150.0';
const STABLE = 'v1.56.0';
const root = join(import.meta.dir, '..');
const given = process.argv[2];
const folder = given ?? mkdtempSync(join(tmpdir(), 'gateway-collector-'));
const ADMIN_KEY = 'gw-admin-key-of-the-check';

const MODULES = `module collector

go 1.25.0

require (
	go.opentelemetry.io/collector/component ${STABLE}
	go.opentelemetry.io/collector/confmap ${STABLE}
	go.opentelemetry.io/collector/confmap/provider/fileprovider ${STABLE}
	go.opentelemetry.io/collector/exporter ${STABLE}
	go.opentelemetry.io/collector/exporter/debugexporter ${VERSION}
	go.opentelemetry.io/collector/otelcol ${VERSION}
	go.opentelemetry.io/collector/receiver ${STABLE}
	go.opentelemetry.io/collector/receiver/otlpreceiver ${VERSION}
	go.opentelemetry.io/collector/service ${VERSION}
)
`;

const PROGRAM = `package main

import (
	"log"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/debugexporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

func factories() (otelcol.Factories, error) {
	receivers, err := otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory())
	if err != nil {
		return otelcol.Factories{}, err
	}
	exporters, err := otelcol.MakeFactoryMap[exporter.Factory](debugexporter.NewFactory())
	return otelcol.Factories{Receivers: receivers, Exporters: exporters, Telemetry: otelconftelemetry.NewFactory()}, err
}

func main() {
	files := confmap.ResolverSettings{
		ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory()},
		DefaultScheme:     "file",
	}
	settings := otelcol.CollectorSettings{
		BuildInfo:              component.BuildInfo{Command: "collector", Version: "${VERSION}"},
		Factories:              factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: files},
	}
	if err := otelcol.NewCommand(settings).Execute(); err != nil {
		log.Fatal(err)
	}
}
`;

async function run(command: string[], cwd: string, env: Record<string, string> = {}): Promise<void> {
  const child = Bun.spawn(command, { cwd, env: { ...process.env, ...env }, stdout: 'inherit', stderr: 'inherit' });
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')} failed`);
}

async function build(): Promise<string> {
  const binary = join(folder, 'collector');
  if (await Bun.file(binary).exists()) return binary;
  if (!Bun.which('go')) throw new Error('There is no go on this machine: nothing was checked.');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'go.mod'), MODULES);
  writeFileSync(join(folder, 'main.go'), PROGRAM);
  await run(['go', 'build', '-mod=mod', '-o', binary, '.'], folder);
  return binary;
}

function freePort(): number {
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() });
  const { port } = server;
  server.stop(true);
  return port!;
}

async function until(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    if (await Promise.resolve(isTrue()).catch(() => false)) return;
    await Bun.sleep(100);
  }
  throw new Error(`${what}: not within 30 s`);
}

const binary = await build();
const port = freePort();
const config = join(folder, 'config.yaml');
writeFileSync(
  config,
  `receivers: { otlp: { protocols: { http: { endpoint: "127.0.0.1:${port}" } } } }
exporters: { debug: { verbosity: detailed } }
service:
  telemetry: { metrics: { level: none } }
  pipelines:
    traces: { receivers: [otlp], exporters: [debug] }
    metrics: { receivers: [otlp], exporters: [debug] }
`,
);
const collector = Bun.spawn([binary, '--config', config], { stdout: 'pipe', stderr: 'pipe' });
let heard = '';
const listen = async (stream: ReadableStream<Uint8Array>) => {
  for await (const piece of stream) heard += Buffer.from(piece).toString();
};
void listen(collector.stdout);
void listen(collector.stderr);
const dataDir = mkdtempSync(join(tmpdir(), 'gateway-check-'));
const gatewayPort = freePort();
const origin = `http://127.0.0.1:${gatewayPort}`;
let gateway: ReturnType<typeof Bun.spawn> | null = null;
try {
  await until('the collector', () => heard.includes('Everything is ready'));
  gateway = Bun.spawn([join(root, 'bin', 'gateway')], {
    env: {
      ...process.env,
      PORT: String(gatewayPort),
      GATEWAY_DATA_DIR: dataDir,
      GATEWAY_ADMIN_KEY: ADMIN_KEY,
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_METRIC_EXPORT_INTERVAL: '500',
      OTEL_BSP_SCHEDULE_DELAY: '100',
      GATEWAY_OTEL_SEMCONV: 'both',
    },
    stdout: 'ignore',
    stderr: 'inherit',
  });
  await until('the gateway', async () => (await fetch(`${origin}/ready`)).ok);
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  const headers = {
    'x-gateway-api-key': ADMIN_KEY,
    'content-type': 'application/json',
    traceparent: `00-${traceId}-00f067aa0ba902b7-01`,
  };
  const chat = { model: 'demo', messages: [{ role: 'user', content: 'Hello' }] };
  const words = { 'default.contains': { words: ['forbidden'], operator: 'none' }, deny: true };
  const gone = { provider: 'openai', api_key: 'none', custom_host: 'http://127.0.0.1:9/v1' };
  const configs: object[] = [
    { virtual_key: 'demo' },
    { virtual_key: 'demo', input_guardrails: [words], output_guardrails: [words] },
    { virtual_key: 'demo', cache: { mode: 'simple' } },
    { strategy: { mode: 'fallback' }, targets: [gone, { virtual_key: 'demo' }] },
  ];
  const send = (body: object, config: object) =>
    fetch(`${origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { ...headers, 'x-gateway-config': JSON.stringify(config) },
      body: JSON.stringify(body),
    });
  for (const config of configs) await (await send(chat, config)).text();
  await (await send({ ...chat, stream: true }, configs[0]!)).text();
  const spans = () => heard.split(`Trace ID       : ${traceId}`).length - 1;
  // Five calls and six requests to providers, one of which failed, two guardrails, and a look into the cache.
  await until('spans', () => spans() >= 14);
  await until(
    'metrics',
    () => heard.includes('gen_ai.client.operation.duration') && heard.includes('gen_ai.client.inference.duration'),
  );
  const counts = await (await fetch(`${origin}/metrics`, { headers })).text();
  for (const line of counts.split('\n')) {
    const [, what, number] = /^gateway_otel_(dropped|refused)_total\{.*\} (\d+)/.exec(line) ?? [];
    if (what && Number(number) > 0) throw new Error(line);
  }
  for (const word of [
    'Kind           : Server',
    'Kind           : Client',
    'Kind           : Internal',
    'Status code    : Error',
    'gen_ai.usage.input_tokens',
    'Parent ID      : 00f067aa0ba902b7',
  ])
    if (!heard.includes(word)) throw new Error(`the collector has not seen ${word}`);
  console.log(`A collector ${VERSION} took the spans and metrics of 5 calls: ${spans()} spans, none refused.`);
} finally {
  gateway?.kill();
  await gateway?.exited;
  collector.kill();
  await collector.exited;
  rmSync(dataDir, { recursive: true, force: true });
  if (!given) rmSync(folder, { recursive: true, force: true });
}
