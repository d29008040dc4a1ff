import { READ_DOCUMENTS } from './assistants/documents/protocol.ts';
import { UsageError } from './cli/arguments.ts';
import { doctor } from './cli/doctor.ts';
import { migrateOnly } from './cli/migrate.ts';
import { Processes, type ReadyMessage } from './cli/processes.ts';
import { createSiblings } from './cli/siblings.ts';
import { ownCommand } from './core/program.ts';
import { giveBackMemory, QUIET_AFTER_MS } from './core/runtime/idle-memory.ts';
import { tryAddress } from './http/server.ts';
import { unknownVariables } from './settings/variables.ts';
import { readSettings, type Settings } from './settings.ts';
import type { Gateway } from './start.ts';
import { version } from './version.ts';

const USAGE = `gateway ${version}

  gateway [serve]   start the gateway (the default)
  gateway worker    do background work only, beside gateways on the same PostgreSQL
  gateway doctor    check the installation and say what is wrong
  gateway migrate   bring the database up to date and end
  gateway apply     make the database as a file says
  gateway export    write what the database holds as a file for gateway apply
  gateway backup    write everything of the embedded store into a folder or a bucket, also while it is in use
  gateway restore   put a backup into an empty data dir
  gateway move      move everything from the embedded store to PostgreSQL
  gateway import    take over keys of another gateway (litellm, portkey), or assistants and their threads
  gateway audit     prove that nobody tampered with the audit log: verify, head, restart
  gateway erase     forget a person: --user <id or email>
  gateway analytics count figures anew from the request log: rebuild
  gateway sync      keep a vector store in step with a folder, a bucket or a git repository
  gateway prices    take over a checked list of prices: sync, show, remove
  gateway login     sign in at a gateway with a browser, or keep a key for it; gateway logout forgets it
  gateway token     print what gateway login calls with, for programs that ask a command for their credential
  gateway mcp       settings of MCP clients for the servers of a running gateway; take over servers of their files
  gateway keys      create and list API keys of a running gateway
  gateway logs      show the request log of a running gateway; --follow goes on
  gateway version   print the version
`;

/** Where other programs look for a proxy. */
const OTHERS_PROXIES = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy'];

/** Beyond the time that open requests have, for the log to be written. */
const STOP_MARGIN_MS = 10_000;

const serve = (settings: Settings) => run('serve', settings);

async function work(settings: Settings) {
  if (!settings.databaseUrl)
    throw new Error('gateway worker needs DATABASE_URL: on the embedded store the gateway does the work itself.');
  return run('worker', settings);
}

async function run(command: 'serve' | 'worker', settings: Settings) {
  if (settings.processes > 1 && settings.processNumber === null) return supervise(command, settings);
  // Loaded here, because a process that only watches over others does without its memory.
  const { start } = await import('./start.ts');
  const number = settings.processNumber;
  const siblings = number === null ? null : createSiblings(number, settings.processes);
  const gateway = await start(settings, { listen: command === 'serve', siblings });
  const text =
    command === 'serve' ? await greeting(settings, gateway) : `Gateway ${version} does background work (PostgreSQL)`;
  if (settings.processNumber === null) {
    console.log(text);
    if (command === 'serve' && settings.localModels.length === 0) void offer();
  } else process.send?.({ kind: 'ready', greeting: text } satisfies ReadyMessage);
  stopWhenTold(settings, gateway);
  // A process that serves requests already has use for its memory.
  setTimeout(() => gateway.server.open === 0 && giveBackMemory(), QUIET_AFTER_MS).unref();
}

/** Told when it is found: no start waits for it. */
async function offer() {
  const { offerLocalModels } = await import('./cli/find-local-models.ts');
  const found = await offerLocalModels();
  if (found) console.log(found);
}

function stopWhenTold(settings: Settings, gateway: Gateway) {
  const isAlone = settings.processNumber === null;
  let isStopping = false;
  const stop = async (why: string) => {
    if (isStopping) return;
    isStopping = true;
    if (isAlone) console.log(finishing(why, settings));
    const { cut } = await gateway.stop();
    if (cut > 0) console.log(`Stopped; ${cut} requests were still open and were cut.`);
    else if (isAlone) console.log('Stopped.');
    process.exit(0);
  };
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGINT', () => stop('SIGINT'));
  // Without its supervisor no process would stop this one or start it again, and its port would stay taken.
  if (!isAlone) process.on('disconnect', () => stop('the supervising process ended'));
}

const finishing = (why: string, { shutdownSeconds }: Settings) =>
  `${why}: finishing open requests (at most ${shutdownSeconds} s) …`;

/**
 * Starts the processes that share the port and stands for them: it takes the operator's signals and prints one
 * greeting.
 */
async function supervise(command: 'serve' | 'worker', settings: Settings) {
  const port = command === 'serve' ? await tryAddress(settings.host, settings.port) : settings.port;
  const processes = new Processes({
    count: settings.processes,
    command: [...ownCommand(), command],
    environment: (number) => ({ ...process.env, PORT: String(port), GATEWAY_PROCESS_NUMBER: String(number) }),
    stopWithinMs: settings.shutdownSeconds * 1_000 + STOP_MARGIN_MS,
    warn: (line) => console.error(line),
  });
  let stopping: Promise<void> | null = null;
  const stop = async (signal: string) => {
    console.log(finishing(signal, settings));
    const { killed } = await processes.stop();
    console.log(killed === 0 ? 'Stopped.' : `Stopped; ${killed} processes did not end by themselves and were killed.`);
    process.exit(killed === 0 ? 0 : 1);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => {
      stopping ??= stop(signal);
    });
  try {
    console.log(await processes.start());
  } catch {
    // It has said why itself.
    if (stopping) return stopping;
    await processes.stop();
    process.exit(1);
  }
}

async function greeting(settings: Settings, { server, adminKey, ownerLink }: Gateway): Promise<string> {
  const processes = settings.processes > 1 ? `, ${settings.processes} processes` : '';
  const store = settings.databaseUrl ? `PostgreSQL${processes}` : `embedded store in ${settings.dataDir}`;
  const lines = [`Gateway ${version} on ${server.url} (${store})`];
  for (const name of unknownVariables(process.env)) lines.push(`Warning: ${name} is not a setting of this version.`);
  const proxy = OTHERS_PROXIES.find((name) => process.env[name]?.trim());
  if (proxy && !settings.egressProxy)
    lines.push(
      `Warning: ${proxy} is set and not used; providers are called directly. GATEWAY_EGRESS_PROXY names a proxy for them.`,
    );
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
  // One of several processes speaks for all.
  const link = (settings.processNumber ?? 0) === 0 ? await ownerLink() : null;
  if (link) lines.push('Open the console and become its owner (once, within 15 minutes):', '', `  ${link}`, '');
  else lines.push(`The console is at ${server.url}/console`);
  lines.push(`The API is described at ${server.url}/docs`);
  return lines.join('\n');
}

const commands: Readonly<Record<string, (settings: Settings) => Promise<void>>> = {
  serve,
  worker: work,
  doctor,
  migrate: migrateOnly,
};

/** Commands that read what follows them. Loaded when they are called: a gateway does without their memory. */
const commandsWithArguments: Readonly<Record<string, (settings: Settings, rest: string[]) => Promise<void>>> = {
  analytics: async (settings, rest) => (await import('./cli/analytics.ts')).analytics(settings, rest),
  apply: async (settings, rest) => (await import('./cli/apply.ts')).apply(settings, rest),
  audit: async (settings, rest) => (await import('./cli/audit.ts')).audit(settings, rest),
  export: async (settings, rest) => (await import('./cli/export.ts')).exportState(settings, rest),
  erase: async (settings, rest) => (await import('./cli/erase.ts')).erase(settings, rest),
  keys: async (settings, rest) => (await import('./cli/keys.ts')).keys(settings, rest),
  login: async (settings, rest) => (await import('./cli/login.ts')).login(settings, rest),
  logout: async (settings, rest) => (await import('./cli/login.ts')).logout(settings, rest),
  token: async (settings, rest) => (await import('./cli/token.ts')).token(settings, rest),
  logs: async (settings, rest) => (await import('./cli/logs.ts')).logs(settings, rest),
  import: async (settings, rest) => (await import('./cli/import.ts')).importFrom(settings, rest),
  backup: async (settings, rest) => (await import('./cli/backup.ts')).backup(settings, rest),
  restore: async (settings, rest) => (await import('./cli/restore.ts')).restore(settings, rest),
  mcp: async (settings, rest) => (await import('./cli/mcp.ts')).mcp(settings, rest),
  move: async (settings, rest) => (await import('./cli/move.ts')).move(settings, rest),
  prices: async (settings, rest) => (await import('./cli/prices.ts')).prices(settings, rest),
  sync: async (settings, rest) => (await import('./cli/sync.ts')).sync(settings, rest),
};

async function main(): Promise<void> {
  const [command = 'serve', ...rest] = process.argv.slice(2);
  if (['help', '--help', '-h'].includes(command)) return void console.log(USAGE);
  if (['version', '--version', '-v'].includes(command)) return void console.log(version);
  // Called by the gateway itself, for each process that reads documents; it has no settings.
  if (command === READ_DOCUMENTS) return (await import('./assistants/documents/child.ts')).readDocuments();
  const run = commandsWithArguments[command] ?? (rest.length === 0 ? commands[command] : undefined);
  if (!run) {
    console.error(`gateway: "${[command, ...rest].join(' ')}" is not a command.\n\n${USAGE}`);
    process.exit(2);
  }
  // Databases, logs and spools hold what people said: no other user of this machine may read them.
  process.umask(0o077);
  await run(readSettings(process.env), rest);
}

main().catch((error: unknown) => {
  console.error(`gateway: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(error instanceof UsageError ? 2 : 1);
});
