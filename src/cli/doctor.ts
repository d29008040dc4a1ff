import { accessSync, constants, existsSync, mkdtempSync, rmSync, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fencesFor, missingFences } from '../assistants/interpreter/fences.ts';
import { findSandbox } from '../assistants/interpreter/find.ts';
import { NoJail, openJail } from '../assistants/interpreter/jail.ts';
import { createSealer } from '../crypto/seal.ts';
import { createEgressPolicy } from '../http/egress.ts';
import { proxyHost } from '../http/proxy.ts';
import type { Settings } from '../settings.ts';
import { openStore } from '../storage/store.ts';
import { ADMIN_KEY_FILE, encryptionKeyIn, lockDataDir } from './data-dir.ts';

interface Finding {
  readonly what: string;
  readonly state: 'ok' | 'warn' | 'fault';
  readonly says: string;
}

const ok = (what: string, says: string): Finding => ({ what, state: 'ok', says });
const warn = (what: string, says: string): Finding => ({ what, state: 'warn', says });
const fault = (what: string, says: string): Finding => ({ what, state: 'fault', says });
const because = (error: unknown) =>
  error instanceof Error ? ((error.cause as Error | undefined)?.message ?? error.message) : String(error);

/** Looks at everything a start needs, changes nothing, and says what is wrong. Exit code 1 when something is. */
export async function doctor(settings: Settings): Promise<void> {
  const findings = [
    ok('settings', 'every variable has a usable value'),
    checkDataDir(settings),
    checkDisk(settings),
    checkLock(settings),
    checkTrustedHosts(settings),
    await checkPort(settings),
    await checkStore(settings),
    checkAdminKey(settings),
    ...(await checkInterpreter(settings)),
  ];
  const marks = { ok: '  ok  ', warn: ' warn ', fault: 'FAULT ' } as const;
  for (const { what, state, says } of findings) console.log(`${marks[state]} ${what.padEnd(14)} ${says}`);
  const faults = findings.filter(({ state }) => state === 'fault').length;
  console.log(
    faults === 0
      ? '\nThe gateway can start.'
      : `\n${faults} ${faults === 1 ? 'fault' : 'faults'} to mend before it can start.`,
  );
  if (faults > 0) process.exitCode = 1;
}

function checkDataDir({ dataDir }: Settings): Finding {
  if (!existsSync(dataDir)) return ok('data dir', `${dataDir} will be made at the first start`);
  try {
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch {
    return fault('data dir', `${dataDir} is not writable by this user`);
  }
  if ((statSync(dataDir).mode & 0o077) !== 0)
    return warn('data dir', `${dataDir} is open to other users; chmod 700 it`);
  return ok('data dir', dataDir);
}

function checkDisk({ dataDir }: Settings): Finding {
  const { bavail, bsize } = statfsSync(existsSync(dataDir) ? dataDir : '.');
  const free = (bavail * bsize) / 1e9;
  return free < 1 ? warn('disk', `only ${free.toFixed(2)} GB free`) : ok('disk', `${free.toFixed(0)} GB free`);
}

function checkLock({ dataDir, databaseUrl }: Settings): Finding {
  if (databaseUrl || !existsSync(dataDir)) return ok('lock', 'no other process is in the way');
  try {
    lockDataDir(dataDir).release();
    return ok('lock', 'no other process uses the data dir');
  } catch (error) {
    return fault('lock', because(error));
  }
}

function checkTrustedHosts({ trustedCustomHosts, egressProxy }: Settings): Finding {
  try {
    createEgressPolicy({ trustedHosts: [...trustedCustomHosts], proxy: egressProxy });
  } catch (error) {
    return fault('egress', because(error));
  }
  const hosts =
    trustedCustomHosts.length > 0
      ? `private hosts allowed: ${trustedCustomHosts.join(', ')}`
      : 'only public addresses over https';
  return ok('egress', egressProxy ? `${hosts}; through the proxy ${proxyHost(egressProxy)}` : hosts);
}

async function checkPort({ host, port }: Settings): Promise<Finding> {
  try {
    await Bun.serve({ hostname: host, port, fetch: () => new Response() }).stop(true);
    return ok('port', `${host}:${port} is free`);
  } catch {
    return fault('port', `${host}:${port} is taken or not ours; set HOST and PORT`);
  }
}

async function checkStore(settings: Settings): Promise<Finding> {
  const { databaseUrl, dataDir } = settings;
  const name = databaseUrl ? 'PostgreSQL' : join(dataDir, 'state.db');
  if (!databaseUrl && !existsSync(name)) return ok('store', `${name} will be made at the first start`);
  const store = await openStore({ databaseUrl: databaseUrl?.reveal() ?? null, dataDir });
  // The operator waits to be told that it does not answer.
  store.hurry();
  try {
    const proof = await store.db
      .selectFrom('facts')
      .select('value')
      .where('name', '=', 'encryption-key-proof')
      .executeTakeFirst();
    if (proof)
      createSealer(encryptionKeyIn(dataDir, settings.encryptionKey)).open('proof', 'encryption-key-proof', proof.value);
    return ok('store', `${name} answers and opens with the encryption key`);
  } catch (error) {
    const says = because(error);
    if (/no such table|does not exist/.test(says))
      return warn('store', `${name} answers but is empty; the first start fills it`);
    return fault(
      'store',
      /auth|tag|decrypt|unknown form|Unsupported state/i.test(says)
        ? `GATEWAY_ENCRYPTION_KEY is not the key ${name} was sealed with`
        : `${name}: ${says}`,
    );
  } finally {
    await store.close().catch(() => {});
  }
}

function checkAdminKey({ adminKey, dataDir }: Settings): Finding {
  if (adminKey) return ok('admin key', 'from GATEWAY_ADMIN_KEY');
  const file = join(dataDir, ADMIN_KEY_FILE);
  return ok(
    'admin key',
    existsSync(file) ? `kept in ${file}` : 'will be generated at the first start and printed once',
  );
}

/** Without it the gateway starts, and refuses tools that need it. */
async function checkInterpreter({ interpreter }: Settings): Promise<Finding[]> {
  const { isOn, areFencesRequired, python } = interpreter;
  if (!isOn) return [ok('interpreter', 'code of models is not run: GATEWAY_INTERPRETER is false')];
  if (python !== null) return [await checkJail({ ...interpreter, python })];
  const found = findSandbox(interpreter);
  if (!('place' in found)) return [warn('interpreter', `code of models cannot be run: ${found.problem}`)];
  const { deno } = found.place;
  const version = denoVersion(deno);
  if (!version) return [warn('interpreter', `code of models cannot be run: ${deno} is no Deno for this machine`)];
  const fences = await fencesFor(deno);
  const isRefused = areFencesRequired && missingFences(fences).length > 0;
  const findings = fences.all.map(({ name, keeps, missing }) =>
    missing === null ? ok('fence', `${name}: ${keeps}`) : warn('fence', `${name}: missing, because ${missing}`),
  );
  return [
    isRefused
      ? warn('interpreter', 'code of models is not run: GATEWAY_INTERPRETER_FENCES is required, and one is missing')
      : ok('interpreter', `code of models runs in Deno ${version} without permissions, inside these fences:`),
    ...findings,
  ];
}

/** Without it the gateway does not start. */
async function checkJail({
  python,
  memoryMb,
  cellSeconds,
}: Settings['interpreter'] & { python: string }): Promise<Finding> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-doctor-'));
  try {
    const { version, packages } = (await openJail({ python, memoryMb, cellSeconds, folder })).about;
    const count = Object.keys(packages).length;
    return ok(
      'interpreter',
      `code of models runs in a jail of Bubblewrap, in Python ${version} with ${count} packages`,
    );
  } catch (error) {
    if (!(error instanceof NoJail)) throw error;
    return fault('interpreter', `GATEWAY_INTERPRETER_PYTHON is set, and code cannot be kept in: ${error.message}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function denoVersion(deno: string): string | null {
  try {
    const { stdout } = Bun.spawnSync([deno, '--version'], { env: { DENO_DIR: '/dev/null/none' } });
    return /^deno ([\d.]+)/m.exec(stdout.toString())?.[1] ?? null;
  } catch {
    return null;
  }
}
