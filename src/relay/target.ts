import type { VirtualKeys } from '../auth/virtual-keys.ts';
import { fail } from '../core/errors.ts';
import { refuseForbidden } from '../core/forbidden.ts';
import type { Limit } from '../core/limits.ts';
import type { LentIdentity } from '../core/machine-identity.ts';
import type { PriceList } from '../core/prices.ts';
import type { Principal } from '../core/principal.ts';
import { andThen, type NowOrLater } from '../core/runtime/now-or-later.ts';
import { Secret } from '../core/secret.ts';
import { secretOptionNames } from '../core/secret-names.ts';
import type { StoredCredential } from '../core/stored-credential.ts';
import { sha256 } from '../crypto/seal.ts';
import type { Selection } from '../http/asked-provider.ts';
import type { ClientTls } from '../http/client-tls.ts';
import { headerOf, type SentHeaders } from '../http/headers.ts';
import { readOptions } from '../providers/address.ts';
import type { Provider, ProviderOptions } from '../providers/provider.ts';
import { findProvider } from '../providers/registry.ts';
import type { Choice } from '../routing/plan.ts';
import { clientTlsOf } from './client-certificate.ts';
import { isPaidByCaller } from './paid-by-caller.ts';

/** Where a call goes and who pays for it there. */
export interface Target {
  readonly provider: Provider;
  readonly credential: Secret | null;
  /** The identity of the machine, in the place of a credential. */
  readonly machine?: LentIdentity;
  /** The caller's own `Authorization`, which goes to the provider as it came. Left out: the credential says who pays. */
  readonly authorization?: Secret;
  /** The virtual key holds nothing that pays. */
  readonly isPaidByCaller?: boolean;
  readonly options: ProviderOptions;
  readonly customHost: string | null;
  /** Extra headers stored with the virtual key. */
  readonly headers: Readonly<Record<string, string>> | null;
  readonly virtualKey: string | null;
  /** Those of the virtual key. */
  readonly limits: readonly Limit[];
  /** What the virtual key pays where that is not the list price. */
  readonly prices: PriceList | null;
  /** Tells it from every other target of the workspace, without its secret. */
  readonly identity: string;
  /** What its connections are made with. `tlsFor` reads it. */
  readonly tls?: ClientTls;
  /** Of one whose secrets a store keeps: has them fetched again. Null: they are still the same. */
  readonly renewed?: () => Promise<Target | null>;
}

/** Opened virtual keys are immutable and cached, and so are the targets made of them. */
const targets = new WeakMap<StoredCredential, Target>();

/** At once, unless the virtual key has to be looked up. */
export function findTarget(
  selection: Selection,
  who: Principal,
  request: { headers: SentHeaders; providerKey: string | null },
  virtualKeys: Pick<VirtualKeys, 'resolve'>,
): NowOrLater<Target> {
  if (selection.by === 'virtual-key') {
    const found = andThen(virtualKeys.resolve(who, selection.slug), targetBehind);
    if (!(found instanceof Promise)) return found.isPaidByCaller ? paidByCaller(found, who, request) : found;
    return found.then((target) => (target.isPaidByCaller ? paidByCaller(target, who, request) : target));
  }
  const provider = findProvider(selection.name) ?? fail('unknown_provider', selection.name.slice(0, 80));
  const options = readOptions(provider, { headers: request.headers });
  if (request.providerKey !== null) refuseForbidden(who.forbids, 'api_key', 'authorization');
  return {
    provider,
    credential: request.providerKey === null ? null : new Secret(request.providerKey),
    options,
    customHost: selection.customHost,
    headers: null,
    virtualKey: null,
    limits: [],
    prices: null,
    get identity() {
      return identityOf(selection.name, selection.customHost, [request.providerKey, options]);
    },
  };
}

/** Options name accounts, regions and deployments, and some are credentials. */
const identityOf = (provider: string, host: string | null, secrets: readonly unknown[]): string =>
  JSON.stringify([provider, host, sha256(JSON.stringify(secrets))]);

/** The target that a config's step names. */
export function targetOfChoice(
  choice: Exclude<Choice, { by: 'request' }>,
  who: Principal,
  request: { headers: SentHeaders; providerKey: string | null },
  virtualKeys: VirtualKeys,
): NowOrLater<Target> {
  if (choice.by === 'virtual-key') return findTarget(choice, who, request, virtualKeys);
  const provider = findProvider(choice.name) ?? fail('unknown_provider', choice.name.slice(0, 80));
  const callers = request.providerKey === null ? null : new Secret(request.providerKey);
  const options = optionsOfChoice(provider, choice, request.headers);
  if (choice.credential === null && callers !== null) refuseForbidden(who.forbids, 'api_key', 'authorization');
  return {
    provider,
    credential: choice.credential ?? callers,
    options,
    customHost: choice.customHost,
    headers: null,
    virtualKey: null,
    limits: [],
    prices: null,
    get identity() {
      const credential = choice.credential?.reveal() ?? request.providerKey;
      return identityOf(choice.name, choice.customHost, [credential, options]);
    },
  };
}

/** The caller adds to what the config says, unless the config brings the credential: no header may lead that elsewhere. */
function optionsOfChoice(
  provider: Provider,
  { credential, options }: Extract<Choice, { by: 'provider' }>,
  headers: SentHeaders,
): ProviderOptions {
  const stored = readOptions(provider, { stored: options });
  const isCallers = credential === null && Object.keys(stored).every((name) => !secretOptionNames.has(name));
  return isCallers ? { ...readOptions(provider, { headers }), ...stored } : stored;
}

/**
 * The caller's subscription pays. Only `Authorization` beside a gateway key in its own header is the caller's, and only where it
 * is what the caller's key was read from; a key or token of the gateway is no subscription, and is sent nowhere.
 */
function paidByCaller(
  target: Target,
  who: Principal,
  { headers, providerKey }: { headers: SentHeaders; providerKey: string | null },
): Target {
  const sent = headerOf(headers, 'authorization');
  if (sent === null || providerKey === null || !sent.endsWith(providerKey) || OURS.test(sent))
    fail('callers_authorization_missing', target.virtualKey!);
  refuseForbidden(who.forbids, 'api_key', 'authorization');
  const { credential: _, identity, ...rest } = target;
  return { ...rest, credential: null, authorization: new Secret(sent), identity: `${identity} ${sha256(sent)}` };
}

/** Keys, and tokens of programs and of MCP clients. */
const OURS = /^\S+\s+(?:gw-|gw[a-z]{1,2}_)/;

function targetBehind(stored: StoredCredential): Target {
  let target = targets.get(stored);
  if (!target) {
    target = targetOf(stored);
    targets.set(stored, target);
  }
  return target;
}

function targetOf(stored: StoredCredential): Target {
  const provider = findProvider(stored.provider) ?? fail('unknown_provider', stored.provider);
  const options = readOptions(provider, { stored: stored.configurations });
  const tls = clientTlsOf(stored.configurations);
  return {
    provider,
    credential: stored.credential,
    options,
    customHost: stored.customHost,
    headers: (stored.configurations.custom_headers as Record<string, string> | undefined) ?? null,
    isPaidByCaller: isPaidByCaller(stored.configurations),
    virtualKey: stored.slug,
    limits: stored.limits,
    prices: stored.prices,
    // A slug may come to mean another account; a new credential for the same one gets the same answers.
    identity: `@${stored.slug} ${identityOf(stored.provider, stored.customHost, [options])}`,
    ...(tls && { tls }),
    ...(stored.machine && { machine: stored.machine }),
    ...(stored.renewed && { renewed: () => stored.renewed!().then((next) => next && targetBehind(next)) }),
  };
}
