import type { Clock } from '../core/clock.ts';
import { fail, GatewayError } from '../core/errors.ts';
import {
  IDENTITY_OPTION,
  type IdentityKind,
  type IdentityUse,
  type LendingFor,
  type LentIdentity,
  type MachineIdentities,
  type MachineKey,
  type OwnIdentity,
} from '../core/machine-identity.ts';
import { UpstreamFailure } from '../http/upstream.ts';
import { findProvider } from '../providers/registry.ts';
import type { IdentitySettings } from './settings.ts';
import { type Given, kindOf, type Source, type SourceParts, sourceOf } from './sources.ts';

/** Before its end another one is fetched beside the calls; shortly before it, calls wait for that. */
const AHEAD_MS = 300_000;
const LEAST_MS = 30_000;
/** A source that has just failed is left alone so long. */
const PAUSE_MS = 5_000;

/**
 * The hosts of a cloud's model services: nothing else gets what a machine's identity signs. Names that customers of the cloud
 * can serve under are not among them, nor are storage and administration, where the identity may be allowed more than models.
 */
const MODEL_HOSTS: Readonly<Record<IdentityKind, RegExp>> = {
  aws: /^(?:bedrock-runtime|runtime\.sagemaker)\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?$/,
  google: /^(?:[a-z0-9-]+-)?aiplatform\.googleapis\.com$/,
  azure: /^[a-z0-9-]+\.(?:openai|cognitiveservices|services\.ai)\.azure\.com$/,
};
/** Lists of models stand there, beside jobs. */
const READ_HOSTS = /^bedrock\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?$/;

function isModelHost(kind: IdentityKind, { method, url }: LendingFor): boolean {
  const { protocol, hostname, port } = new URL(url);
  if (protocol !== 'https:' || port !== '') return false;
  return MODEL_HOSTS[kind].test(hostname) || (kind === 'aws' && method === 'GET' && READ_HOSTS.test(hostname));
}

const refusalBy =
  (settings: ReadonlyMap<string, IdentitySettings>): MachineIdentities['refusal'] =>
  (name, { workspace, provider, addresses }) => {
    const identity = settings.get(name);
    const isLent = identity && (identity.workspaces.includes('*') || identity.workspaces.includes(workspace));
    // One that is lent to others is answered like one that is missing.
    if (!isLent) {
      const known = [...settings.values()]
        .filter(({ workspaces }) => workspaces.includes('*') || workspaces.includes(workspace))
        .map((each) => each.name);
      const lent = known.length > 0 ? `lent are ${known.join(', ')}` : 'the operator lends it none';
      return `the operator lends workspace ${workspace} no identity "${name.slice(0, 80)}"; ${lent}`;
    }
    const kind = kindOf(identity);
    const wanted = findProvider(provider)?.machineIdentity;
    if (wanted !== kind)
      return `"${name}" is an identity of ${NAMES[kind]}, and provider ${provider} takes ${wanted ? `one of ${NAMES[wanted]}` : 'none'}`;
    if (addresses.some((url) => !URL.canParse(url) || !isModelHost(kind, { method: 'POST', url })))
      return `an identity of ${NAMES[kind]} goes to its own hosts alone; leave custom_host out`;
    return null;
  };

const NAMES: Readonly<Record<IdentityKind, string>> = { aws: 'AWS', google: 'Google', azure: 'Azure' };

/** Which identities the operator lends, without any of them being asked for. */
export const identityRules = (settings: readonly IdentitySettings[]): Pick<MachineIdentities, 'refusal'> => ({
  refusal: refusalBy(new Map(settings.map((each) => [each.name, each]))),
});

/** Lends what the operator has listed. Nothing is fetched before the first call that needs it. */
export function createIdentities(
  settings: readonly IdentitySettings[],
  parts: SourceParts,
): MachineIdentities & { readonly own: OwnIdentity } {
  const known = new Map(settings.map((each) => [each.name, each]));
  const refusal = refusalBy(known);
  const kept = new Map(settings.map((each) => [each.name, keeping(each.name, sourceOf(each, parts), parts.now)]));

  const ofOperator = new Map<string, () => Promise<Given['value']>>();
  const own: OwnIdentity = (name, resource) => {
    const place = `${name} ${resource ?? ''}`;
    let get = ofOperator.get(place);
    if (!get) {
      get = keeping(name, sourceOf(known.get(name)!, parts, resource), parts.now);
      ofOperator.set(place, get);
    }
    return get();
  };

  return {
    own,
    refusal,
    lend(name, use): LentIdentity {
      const why = refusal(name, use);
      const identity = known.get(name);
      const given = async (request: LendingFor): Promise<Given['value']> => {
        // The operator may have changed the list since the virtual key was saved.
        if (why !== null || !identity) fail('invalid_provider_option', IDENTITY_OPTION, `${why}.`);
        const kind = kindOf(identity);
        if (!isModelHost(kind, request))
          fail(
            'invalid_provider_option',
            IDENTITY_OPTION,
            `the identity of the machine is for models, and is not lent to ${new URL(request.url).host}.`,
          );
        return kept.get(name)!();
      };
      return {
        name,
        kind: identity ? kindOf(identity) : 'aws',
        key: async (request) => (await given(request)) as MachineKey,
        token: async (request) => (await given(request)) as string,
      };
    },
  };
}

export type { IdentityUse };

/** Fetched once however many calls wait, and again before its end. */
function keeping(name: string, source: Source, now: Clock): () => Promise<Given['value']> {
  let current: Given | null = null;
  let fetching: Promise<void> | null = null;
  let failure: { readonly why: string; readonly at: number } | null = null;

  const load = (): Promise<void> => {
    fetching ??= source()
      .then(
        (given) => {
          current = given;
          failure = null;
        },
        (error: unknown) => {
          failure = { why: reasonOf(error), at: now() };
        },
      )
      .finally(() => {
        fetching = null;
      });
    return fetching;
  };

  return async () => {
    const left = (current?.expiresAt ?? 0) - now();
    const isPausing = failure !== null && now() - failure.at < PAUSE_MS;
    if (left < AHEAD_MS && !isPausing) void load();
    if (left < LEAST_MS && fetching) await fetching;
    if (current && current.expiresAt > now()) return current.value;
    return fail('identity_unavailable', name, failure?.why ?? 'what its source gives has ended already');
  };
}

function reasonOf(error: unknown): string {
  if (error instanceof UpstreamFailure) return 'its source cannot be reached';
  if (error instanceof GatewayError)
    return error.code === 'egress_refused' ? 'the egress policy refuses its source' : 'its source cannot be reached';
  return error instanceof Error ? error.message : 'its source cannot be read';
}
