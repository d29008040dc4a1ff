import { doctor } from './cli/doctor.ts';
import { migrateOnly } from './cli/migrate.ts';
import { readSettings, type Settings, SettingsError, unknownVariables } from './settings.ts';
import { type Gateway, start } from './start.ts';
import { version } from './version.ts';

/** Bun's fetch runs 256 requests at once unless this stands in the environment before the process starts. */
const REQUEST_LIMIT = 'BUN_CONFIG_MAX_HTTP_REQUESTS';
const USAGE = `gateway ${version}

  gateway [serve]   start the gateway (the default)
  gateway doctor    check the installation and say what is wrong
  gateway migrate   bring the database up to date and end
  gateway version   print the version
`;

/** In the executable this file has another name, and the worker lies beside it. */
const logWorker = new URL('./telemetry/log-worker.ts', import.meta.url);

function restartWithRequestLimit(): void {
  if (process.env[REQUEST_LIMIT]) return;
  const isCompiled = Bun.main.startsWith('/$bunfs/') || Bun.main.includes('~BUN');
  const argv = isCompiled ? [process.execPath, ...process.argv.slice(2)] : [process.execPath, ...process.argv.slice(1)];
  // Replaces this process: same pid, same terminal, same signals.
  process.execve?.(process.execPath, argv, { ...process.env, [REQUEST_LIMIT]: '65336' } as NodeJS.ProcessEnv);
}

async function serve(settings: Settings) {
  const gateway = await start(settings, { logWorker });
  greet(settings, gateway);
  let isStopping = false;
  const stop = async (signal: string) => {
    if (isStopping) return;
    isStopping = true;
    console.log(`${signal}: finishing open requests (at most ${settings.shutdownSeconds} s) …`);
    const { cut } = await gateway.stop();
    console.log(cut === 0 ? 'Stopped.' : `Stopped; ${cut} requests were still open and were cut.`);
    process.exit(0);
  };
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGINT', () => stop('SIGINT'));
}

function greet(settings: Settings, { server, adminKey }: Gateway) {
  const store = settings.databaseUrl ? 'PostgreSQL' : `embedded store in ${settings.dataDir}`;
  const lines = [`Gateway ${version} on ${server.url} (${store})`];
  for (const name of unknownVariables(process.env)) lines.push(`Warning: ${name} is not a setting of this version.`);
  if (settings.redisUrl) lines.push('Note: REDIS_URL is set; this version does not use Redis yet.');
  if (adminKey?.isNew)
    lines.push('', `Admin key, shown this once and kept in ${settings.dataDir}: ${adminKey.key.reveal()}`);
  if (adminKey) {
    lines.push(
      '',
      'Try it, offline (the answer is simulated):',
      '',
      `  curl ${server.url}/v1/chat/completions -H "x-gateway-api-key: ${adminKey.shell}" -H "x-gateway-virtual-key: demo" \\`,
      `    -H "content-type: application/json" -d '{"model":"demo","messages":[{"role":"user","content":"Hello"}]}'`,
      '',
    );
  }
  lines.push(`The API is described at ${server.url}/docs`);
  console.log(lines.join('\n'));
}

async function main(): Promise<void> {
  const [command = 'serve', ...rest] = process.argv.slice(2);
  if (['help', '--help', '-h'].includes(command)) return void console.log(USAGE);
  if (['version', '--version', '-v'].includes(command)) return void console.log(version);
  const commands: Record<string, (settings: Settings) => Promise<void>> = { serve, doctor, migrate: migrateOnly };
  const run = commands[command];
  if (!run || rest.length > 0) {
    console.error(`gateway: "${[command, ...rest].join(' ')}" is not a command.\n\n${USAGE}`);
    process.exit(2);
  }
  if (command === 'serve') restartWithRequestLimit();
  // Databases, logs and spools hold what people said: nobody else on this machine may read them.
  process.umask(0o077);
  await run(readSettings(process.env));
}

main().catch((error: unknown) => {
  const isExpected = error instanceof SettingsError || error instanceof Error;
  console.error(`gateway: ${isExpected ? (error as Error).message : String(error)}`);
  process.exit(1);
});
