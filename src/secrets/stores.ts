import { BoundedMap } from '../core/bounded-map.ts';
import type { Clock } from '../core/clock.ts';
import { fail, GatewayError } from '../core/errors.ts';
import type { Health } from '../core/health.ts';
import type { NowOrLater } from '../core/runtime/now-or-later.ts';
import { type ParsedReference, parseReference, REFERENCE_FORM, type SecretSource } from '../core/secret-reference.ts';
import { readHostList } from '../http/host-list.ts';
import { UpstreamFailure } from '../http/upstream.ts';
import { openAws } from './aws.ts';
import { openAzure } from './azure.ts';
import { openGoogle } from './google.ts';
import type { SecretStoreSettings } from './settings.ts';
import { SecretGone, type SecretStore, type StoredSecret, type StoreParts } from './store.ts';
import { openVault } from './vault.ts';

const MOST_KEPT = 2_000;
/** Secrets that were not used for so long are not fetched by themselves any more. */
const IDLE_MS = 600_000;
/** A store that has just failed is not waited for while an older value may be used. */
const PAUSE_MS = 5_000;
const MOST_CHARACTERS = 16_384;
/** What headers and PEM files may hold. */
const USABLE = /^[\t\n\r\x20-\x7e]+$/;

interface Kept {
  readonly store: OpenStore;
  readonly path: string;
  /** Null: the store has never given it. */
  secret: StoredSecret | null;
  fetchedAt: number;
  usedAt: number;
  triedAt: number;
  /** Why the last try gave nothing. Null: it did. */
  failure: string | null;
  /** The store may say otherwise in a moment: it was not reached, or refused the gateway and not the secret. */
  isAway: boolean;
  fetching: Promise<void> | null;
}

interface OpenStore {
  readonly name: string;
  readonly driver: SecretStore;
  readonly refreshMs: number;
  readonly staleMs: number;
  readonly isHost: (url: URL) => boolean;
  readonly mayRead: (workspace: string, path: string) => boolean;
}

const NEVER = Number.NEGATIVE_INFINITY;

const fits = (pattern: string, path: string): boolean =>
  pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern;

/** Which references the operator allows, without any store being asked. */
export function secretRules(settings: SecretStoreSettings): Pick<SecretSource, 'refusal'> {
  const parts: StoreParts = {
    send: () => Promise.reject(new Error('no store is asked here')),
    tokens: { get: () => Promise.reject(new Error('')), postForm: () => Promise.reject(new Error('')) },
    machine: () => Promise.reject(new Error('')),
    now: () => 0,
  };
  return { refusal: refusalBy(openStores(settings, () => parts)) };
}

/** One of the operator's. */
type StoreSettings = ReturnType<SecretStoreSettings['reveal']>[number];

function openStores(
  settings: SecretStoreSettings,
  partsOf: (store: StoreSettings) => StoreParts,
): ReadonlyMap<string, OpenStore> {
  const driverOf = (each: StoreSettings): SecretStore => {
    const parts = partsOf(each);
    if (each.type === 'vault') return openVault(each, parts);
    if (each.type === 'aws') return openAws(each, parts);
    return each.type === 'google' ? openGoogle(each, parts) : openAzure(each, parts);
  };
  return new Map(
    settings.reveal().map((each) => [
      each.name,
      {
        name: each.name,
        driver: driverOf(each),
        refreshMs: each.refresh_seconds * 1_000,
        staleMs: each.stale_seconds * 1_000,
        isHost: readHostList(each.hosts, (entry) => {
          throw new Error(`"${entry}" is no host`);
        }),
        mayRead: (workspace, path) =>
          [...(each.workspaces['*'] ?? []), ...(each.workspaces[workspace] ?? [])].some((one) => fits(one, path)),
      },
    ]),
  );
}

const refusalBy =
  (stores: ReadonlyMap<string, OpenStore>): SecretSource['refusal'] =>
  (reference, { workspace, addresses }) => {
    const parsed = parseReference(reference);
    if (!parsed) return `is no reference to a secret; ${REFERENCE_FORM}`;
    const store = stores.get(parsed.store);
    if (!store) {
      const known = [...stores.keys()].join(', ');
      return `there is no secret store "${parsed.store}"; ${known ? `known are ${known}` : 'the operator has set up none'}`;
    }
    const fault = store.driver.faultOf(parsed.path);
    if (fault !== null) return `"${parsed.path}" ${fault}`;
    if (!store.mayRead(workspace, parsed.path))
      return `the operator does not let workspace ${workspace} read "${parsed.path}" of the secret store "${store.name}"`;
    for (const address of addresses) {
      const url = URL.parse(address);
      if (!url || !store.isHost(url))
        return `secrets of the store "${store.name}" go to the provider's own hosts, and to others only when the operator lists them in its hosts; ${url?.host ?? 'this address'} is none of them`;
    }
    return null;
  };

export interface SecretStores extends SecretSource {
  /** Fetches what is in use and about to be too old. */
  refresh(): Promise<void>;
  readonly shortestRefreshMs: number;
}

/**
 * The operator's secret stores. What they give is kept in memory alone. Up to twice its time of refreshing a value is used
 * at once; from half of that on it is fetched again beside the calls. While a store is away the last value goes on being
 * used, for as long as the operator lets it.
 */
export function createSecretStores(
  settings: SecretStoreSettings,
  partsOf: (store: StoreSettings) => StoreParts,
  { health, now }: { health: Health; now: Clock },
): SecretStores {
  const stores = openStores(settings, partsOf);
  const kept = new BoundedMap<string, Kept>(MOST_KEPT);

  const keptOf = ({ store: name, path }: ParsedReference): Kept => {
    const key = `${name}:${path}`;
    let entry = kept.get(key);
    if (!entry) {
      const store = stores.get(name)!;
      entry = {
        ...{ store, path, secret: null, fetchedAt: NEVER, usedAt: now(), triedAt: NEVER },
        ...{ failure: null, isAway: false, fetching: null },
      };
    }
    // Kept anew, so that the least recently used one is dropped first.
    kept.set(key, entry);
    return entry;
  };

  const tell = () => {
    for (const [, each] of kept.entries()) {
      if (each.failure === null || each.usedAt + IDLE_MS < now()) continue;
      health.degraded(
        'secrets',
        'A secret store gives nothing at the moment; credentials that were fetched before are used for a while, others are missing.',
      );
      return;
    }
    health.well('secrets');
  };

  const load = (entry: Kept): Promise<void> => {
    entry.fetching ??= entry.store.driver
      .read(entry.path)
      .then(
        (secret) => {
          entry.secret = secret;
          entry.fetchedAt = now();
          entry.failure = null;
        },
        (error: unknown) => {
          if (error instanceof SecretGone) entry.secret = null;
          entry.isAway = !(error instanceof SecretGone);
          entry.failure = reasonOf(error);
        },
      )
      .finally(() => {
        entry.triedAt = now();
        entry.fetching = null;
        tell();
      });
    return entry.fetching;
  };

  const valueIn = ({ secret, fetchedAt, store, failure, isAway }: Kept, field: string | null): string => {
    if (secret === null) return fail('secret_unavailable', store.name, failure ?? 'it was not asked yet', isAway);
    if (failure !== null && now() - fetchedAt > Math.max(store.staleMs, 2 * store.refreshMs))
      fail('secret_unavailable', store.name, `${failure}, and what it gave before is too old`, isAway);
    const found = memberIn(secret, field);
    return found.value ?? fail('secret_unavailable', store.name, found.fault);
  };

  return {
    refusal: refusalBy(stores),
    shortestRefreshMs: Math.min(...[...stores.values()].map(({ refreshMs }) => refreshMs)),

    value(reference): NowOrLater<string> {
      const parsed = parseReference(reference);
      if (!parsed || !stores.has(parsed.store))
        return fail('secret_unavailable', parsed?.store ?? '', 'the operator has no such store any more');
      const entry = keptOf(parsed);
      entry.usedAt = now();
      const age = now() - entry.fetchedAt;
      const { refreshMs } = entry.store;
      const isPausing = now() - entry.triedAt < PAUSE_MS && entry.failure !== null;
      if (age > refreshMs && !isPausing) void load(entry);
      if (age <= 2 * refreshMs || isPausing || !entry.fetching) return valueIn(entry, parsed.field);
      return entry.fetching.then(() => valueIn(entry, parsed.field));
    },

    async renew(reference) {
      const parsed = parseReference(reference);
      if (!parsed || !stores.has(parsed.store)) return;
      const entry = keptOf(parsed);
      // Calls that a provider refuses must not become as many calls of the store.
      if (now() - entry.triedAt >= Math.min(PAUSE_MS, entry.store.refreshMs) || entry.fetching) await load(entry);
    },

    async refresh() {
      const due: Promise<void>[] = [];
      for (const [, entry] of kept.entries()) {
        if (entry.usedAt + IDLE_MS < now()) {
          // Not kept in memory longer than it may be used.
          if (now() - entry.fetchedAt > Math.max(entry.store.staleMs, IDLE_MS)) entry.secret = null;
          continue;
        }
        const since = now() - Math.max(entry.triedAt, entry.fetchedAt);
        if (since >= (entry.failure === null ? entry.store.refreshMs : PAUSE_MS)) due.push(load(entry));
      }
      await Promise.all(due);
    },
  };
}

/** Of a secret that is JSON text a member may be asked for, as of one that has members. */
function memberIn(
  secret: StoredSecret,
  field: string | null,
): { value: string; fault?: never } | { value?: never; fault: string } {
  let found: unknown = secret;
  if (field !== null) {
    const members = typeof secret === 'string' ? parsed(secret) : secret;
    found = members && Object.hasOwn(members, field) ? members[field] : undefined;
    if (found === undefined) return { fault: `the secret has no member "${field}"` };
  } else if (typeof secret !== 'string') {
    return { fault: 'the secret has members; write #field behind the path to say which' };
  }
  const value = typeof found === 'string' ? found.trim() : '';
  if (value === '') return { fault: 'the secret is empty, or no text' };
  if (value.length > MOST_CHARACTERS || !USABLE.test(value))
    return { fault: `the secret is longer than ${MOST_CHARACTERS} characters, or has one that no credential has` };
  return { value };
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value === 'object' ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** In the gateway's own words: a store's may hold accounts, paths and what it was sent. */
function reasonOf(error: unknown): string {
  if (error instanceof UpstreamFailure) return 'it cannot be reached';
  if (error instanceof GatewayError) {
    if (error.code === 'identity_unavailable') return 'the machine has no identity to sign in by';
    if (error.code === 'egress_refused') return 'the egress policy does not let the gateway call it';
    return error.code === 'credential_rejected' ? "the gateway's sign-in was refused" : 'it cannot be reached';
  }
  return error instanceof Error ? error.message : 'it cannot be read';
}
