import type { StoreFile } from '../assistants/vector-stores/file.ts';
import type { SyncProgress } from '../assistants/vector-stores/sync.ts';
import type { Settings } from '../settings.ts';
import { readArguments, UsageError } from './arguments.ts';
import { type Remote, remoteForCaller, remoteOptions } from './remote.ts';
import type { AttributeRules, Attributes } from './syncing/attributes.ts';
import { bucketSource } from './syncing/bucket.ts';
import { carryOut } from './syncing/carry-out.ts';
import { folderSource } from './syncing/folder.ts';
import { gatewayAt, Refused, type SyncGateway } from './syncing/gateway.ts';
import { isDead, ownHolder } from './syncing/holder.ts';
import { planOf, type SyncPlan } from './syncing/plan.ts';
import { jsonReport, plainReport } from './syncing/report.ts';
import { repositorySource } from './syncing/repository.ts';
import { choiceOf, type Source } from './syncing/source.ts';

const USAGE = `gateway sync folder <folder> --store <id or name> […]
gateway sync s3 <s3://bucket/prefix?endpoint=…&region=…> --store <id or name> […]
gateway sync git <folder or address> --store <id or name> [--ref <branch, tag or commit>] [--path <folder>] […]

Makes a vector store of a running gateway hold what the source holds: brings files that are new or changed, and removes those that
are gone. A changed file is found as it was until it is taken in as it is. Files that others put into the store stay.

  --store <id or name>      the vector store; --create makes one of that name where there is none
  --dry-run                 show what would be done and do nothing
  --include <pattern>       only files of these names (*.md) or paths (guides/**); may be given several times
  --exclude <pattern>       not these; may be given several times
  --hidden                  files and folders whose name begins with a dot, too
  --no-gitignore            folder: what .gitignore names, too
  --attribute <key=value>   an attribute for every file; may be given several times
  --folders <names>         attributes by the folders of a path: team/product makes team=search of search/api/a.md
  --no-front-matter         do not make attributes of the YAML at the beginning of texts
  --as <name>               what this source is called in the store; by this name another machine syncs the same files
  --retry                   bring files again that could not be read
  --allow-empty             a source without any file empties the store: say that this is meant
  --take-over               end a sync of another process that holds the store
  --json                    one JSON object a line
  --url <address>           where the gateway is; where you have signed in, or this machine's, unless given
  --key-file <file>         the file that holds the API key; else GATEWAY_API_KEY, or where you have signed in
  --plain-http              with --url: send the key and the files in clear to another machine

A bucket's keys are AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; for git over https GATEWAY_SYNC_GIT_TOKEN, or
whatever git asks by itself. Ends with 0 when the store is in step, 3 when all is in step but files that cannot be read, 4 when
another sync holds the store, 1 when something failed.
`;

const options = {
  store: { type: 'string' },
  create: { type: 'boolean', default: false },
  'dry-run': { type: 'boolean', default: false },
  include: { type: 'string', multiple: true, default: [] as string[] },
  exclude: { type: 'string', multiple: true, default: [] as string[] },
  hidden: { type: 'boolean', default: false },
  'no-gitignore': { type: 'boolean', default: false },
  attribute: { type: 'string', multiple: true, default: [] as string[] },
  folders: { type: 'string', default: '' },
  'no-front-matter': { type: 'boolean', default: false },
  as: { type: 'string' },
  retry: { type: 'boolean', default: false },
  'allow-empty': { type: 'boolean', default: false },
  'take-over': { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  ref: { type: 'string' },
  path: { type: 'string' },
  ...remoteOptions,
} as const;

const KINDS = ['folder', 's3', 'git'] as const;
type Kind = (typeof KINDS)[number];

const EXIT = { failed: 1, unreadable: 3, busy: 4 } as const;
/** As shells tell of a program that a signal has ended. */
const INTERRUPTED = 130;
const RELEASE_MS = 10_000;

export async function sync(settings: Settings, [kind, ...rest]: readonly string[]): Promise<void> {
  if (kind === '--help' || kind === '-h') return void console.log(USAGE);
  if (!isKind(kind))
    throw new UsageError(`${kind ? `"${kind}" is not one of` : 'One is missing of'} ${KINDS.join(', ')}.\n\n${USAGE}`);
  const what = { folder: 'a folder', s3: 'an s3:// address', git: 'a repository' }[kind];
  const { values, positionals } = readArguments(rest, { options, positionals: 1, usage: USAGE, what });
  const { store } = values;
  if (!store) throw new UsageError(`--store is missing.\n\n${USAGE}`);
  if (kind !== 'git' && (values.ref !== undefined || values.path !== undefined))
    throw new UsageError(`--ref and --path are for git alone.\n\n${USAGE}`);
  if (kind !== 'folder' && values['no-gitignore'])
    throw new UsageError(`--no-gitignore is for folders alone.\n\n${USAGE}`);
  const isDryRun = values['dry-run'];
  const given = { fixed: fixedOf(values.attribute), folders: foldersOf(values.folders) };
  const remote = remoteForCaller(settings, values);
  const report = values.json ? jsonReport() : plainReport({ isDryRun });

  const stopping = new AbortController();
  const stop = () => stopping.abort(new Error('it was told to stop'));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  const gateway = gatewayAt(remote, { signal: stopping.signal });

  const source = await sourceOf(kind, positionals[0]!, settings, values);
  let held: Held | null = null;
  try {
    const listing = await source.list(choiceOf(values));
    const name = values.as ?? source.name;
    if (!/^[^\p{Cc}]{1,256}$/u.test(name))
      throw new Error(`A source has a name of at most 256 characters; give one with --as.`);
    const rules: AttributeRules = { source: name, ...given, frontMatter: !values['no-front-matter'] };
    const storeId = await findStore(gateway, store, { create: values.create, isDryRun });
    if (!isDryRun && storeId !== null) held = await hold(gateway, storeId, name, { mayTakeOver: values['take-over'] });
    const inStore: StoreFile[] = [];
    if (storeId !== null) for await (const file of gateway.files(storeId)) inStore.push(file);
    const plan = planOf(listing, inStore, { rules, retry: values.retry });
    report.plan(plan, listing.leftOut, { store: storeId ?? store, source: name });
    for (const { path, message } of plan.warnings) report.warning(path, message);
    tellOfOthers(inStore, name, plan);
    if (listing.files.length === 0 && plan.known > 0 && !values['allow-empty'])
      throw new Error(
        `The source has no file that is meant, and the store has ${plan.known} of it. Say --allow-empty if they are all to go. Nothing was changed.`,
      );
    if (!held || storeId === null) return;
    const faults = listing.leftOut.filter(({ isFault }) => isFault).length;
    const { signal } = stopping;
    const summary = await carryOut({ gateway, storeId, syncId: held.id, source, plan, rules, report, faults, signal });
    held = null;
    report.end(summary);
    if (summary.failed > 0) process.exitCode = EXIT.failed;
    else if (summary.unreadable > 0) process.exitCode = EXIT.unreadable;
  } catch (error) {
    if (stopping.signal.aborted) {
      console.error('gateway: stopped; the next sync goes on from here.');
      process.exitCode = INTERRUPTED;
    } else if (error instanceof Refused && error.code === 'vector_store_sync_busy') {
      console.error(`gateway: ${error.message}`);
      process.exitCode = EXIT.busy;
    } else throw error;
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, stop);
    source.close();
    if (held) await release(remote, held);
  }
}

const isKind = (kind: string | undefined): kind is Kind => (KINDS as readonly (string | undefined)[]).includes(kind);

async function sourceOf(
  kind: Kind,
  given: string,
  settings: Settings,
  { 'no-gitignore': noGitignore, ref, path }: { 'no-gitignore': boolean; ref?: string; path?: string },
): Promise<Source> {
  const { environment } = settings;
  switch (kind) {
    case 'folder':
      return folderSource(given, { gitignore: !noGitignore });
    case 's3':
      return bucketSource(settings, given);
    case 'git':
      return repositorySource(given, {
        ...{ ref: ref ?? null, below: (path ?? '').replace(/^\/+|\/+$/g, ''), environment },
        token: environment.GATEWAY_SYNC_GIT_TOKEN || null,
      });
    default:
      return kind satisfies never;
  }
}

function fixedOf(given: readonly string[]): Attributes {
  const pairs = given.map((text): [string, string] => {
    const [, key, value] = /^([^=]+)=([\s\S]*)$/.exec(text) ?? [];
    if (key === undefined) throw new UsageError(`--attribute ${JSON.stringify(text)} is not key=value.\n\n${USAGE}`);
    return [key, value!];
  });
  return Object.fromEntries(pairs);
}

function foldersOf(given: string): string[] {
  const names = given === '' ? [] : given.split('/');
  const twice = names.find((name, index) => name !== '' && names.indexOf(name) !== index);
  if (twice !== undefined) throw new UsageError(`--folders names ${JSON.stringify(twice)} twice.\n\n${USAGE}`);
  return names;
}

/** Null: there is none yet, and this is only a look. */
async function findStore(
  gateway: SyncGateway,
  given: string,
  { create, isDryRun }: { create: boolean; isDryRun: boolean },
): Promise<string | null> {
  if (/^vs_/.test(given)) {
    const { id, status } = await gateway.store(given);
    if (status === 'expired') throw new Error(`The vector store ${id} has expired.`);
    return id;
  }
  const found: string[] = [];
  for await (const { id, name, status } of gateway.stores()) if (name === given && status !== 'expired') found.push(id);
  if (found.length > 1)
    throw new Error(
      `${found.length} vector stores are named ${JSON.stringify(given)}: give one of ${found.slice(0, 10).join(', ')}.`,
    );
  if (found[0] !== undefined) return found[0];
  if (!create) throw new Error(`There is no vector store named ${JSON.stringify(given)}; --create makes one.`);
  return isDryRun ? null : (await gateway.makeStore(given)).id;
}

interface Held {
  readonly storeId: string;
  readonly id: string;
  readonly progress: SyncProgress;
}

/** It has ended before its end; others need not wait until its lease has. */
async function release(remote: Remote, { storeId, id, progress }: Held): Promise<void> {
  const gateway = gatewayAt(remote, { signal: AbortSignal.timeout(RELEASE_MS) });
  await gateway.tell(storeId, id, { progress, status: 'failed' }).catch(() => {});
}

/** The store is this sync's alone. One that died on this machine does not hold it any longer. */
async function hold(
  gateway: SyncGateway,
  storeId: string,
  source: string,
  { mayTakeOver }: { mayTakeOver: boolean },
): Promise<Held> {
  const holder = ownHolder();
  const begin = async () => {
    try {
      return await gateway.begin(storeId, { source, holder });
    } catch (error) {
      if (!(error instanceof Refused && error.code === 'vector_store_sync_busy')) throw error;
      const other = await gateway.sync(storeId);
      // Its own, where the answer was lost.
      if (!mayTakeOver && other.holder !== holder && !isDead(other.holder)) throw error;
      return gateway.begin(storeId, { source, holder, takes_over: other.id });
    }
  };
  const { id, progress } = await begin();
  return { storeId, id, progress };
}

/** Most likely the same files under another name, which would be in the store twice. */
function tellOfOthers(inStore: readonly StoreFile[], name: string, { known, uploads }: SyncPlan) {
  if (known > 0 || uploads.length === 0) return;
  const others = new Set(inStore.map(({ origin }) => origin?.source).filter((source) => source !== undefined));
  if (others.size > 0)
    console.error(
      `Nothing of ${name} is in the store yet; it has files of ${[...others].slice(0, 5).join(', ')}, which stay. If these are the same files, sync them --as that name.`,
    );
}
