/**
 * Holds traces and metrics against a real OpenTelemetry Collector. Not part of `npm test`: it builds the collector from Go
 * modules, which takes minutes, a Go toolchain and the module proxy.
 *
 * It has not been run to its end yet: the module proxy at hand refused a module of the collector. What it looks for in the
 * collector's output is therefore unproven; the tests decode with OpenTelemetry's generated code.
 *
 *     npm run bundle && bun scripts/check-collector.ts [folder of an earlier build]
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const VERSION = 'v0.164.0';
const STABLE = 'v1.70.0';
const root = join(import.meta.dir, '..');
const given = process.argv[2];
const folder = given ?? mkdtempSync(join(tmpdir(), 'gateway-collector-'));
const ADMIN_KEY = 'gw-admin-key-of-the-check';

const MANIFEST = `dist:
  name: collector
  output_path: ./out
receivers:
  - gomod: go.opentelemetry.io/collector/receiver/otlpreceiver ${VERSION}
exporters:
  - gomod: go.opentelemetry.io/collector/exporter/debugexporter ${VERSION}
providers:
  - gomod: go.opentelemetry.io/collector/confmap/provider/fileprovider ${STABLE}
`;

async function run(command: string[], cwd: string, env: Record<string, string> = {}): Promise<void> {
  const child = Bun.spawn(command, { cwd, env: { ...process.env, ...env }, stdout: 'inherit', stderr: 'inherit' });
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')} failed`);
}

async function build(): Promise<string> {
  const binary = join(folder, 'out', 'collector');
  if (await Bun.file(binary).exists()) return binary;
  if (!Bun.which('go')) throw new Error('There is no go on this machine: nothing was checked.');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'manifest.yaml'), MANIFEST);
  await run(['go', 'install', `go.opentelemetry.io/collector/cmd/builder@${VERSION}`], folder, {
    GOBIN: join(folder, 'bin'),
  });
  await run([join(folder, 'bin', 'builder'), '--config', 'manifest.yaml'], folder);
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
  const send = (body: object) =>
    fetch(`${origin}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(body) });
  for (const body of [chat, { ...chat, stream: true }]) await (await send(body)).text();
  await until('spans', () => heard.split(`Trace ID       : ${traceId}`).length - 1 >= 4);
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
    'gen_ai.usage.input_tokens',
    'Parent ID      : 00f067aa0ba902b7',
  ])
    if (!heard.includes(word)) throw new Error(`the collector has not seen ${word}`);
  console.log(`A collector ${VERSION} took the spans and metrics of two calls.`);
} finally {
  gateway?.kill();
  await gateway?.exited;
  collector.kill();
  await collector.exited;
  rmSync(dataDir, { recursive: true, force: true });
  if (!given) rmSync(folder, { recursive: true, force: true });
}
