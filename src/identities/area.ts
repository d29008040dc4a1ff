import { area } from '../area/area.ts';
import type { Tools } from '../area/tools.ts';
import type { MachineIdentities, OwnIdentity } from '../core/machine-identity.ts';
import { createEgressPolicy } from '../http/egress.ts';
import { portOf } from '../http/host-list.ts';
import type { EgressProxy } from '../http/proxy.ts';
import { createUpstream, fetchSmall } from '../http/upstream.ts';
import { createIdentities } from './identities.ts';
import type { IdentitySettings } from './settings.ts';

export interface IdentitiesParts extends Tools {
  readonly settings: {
    readonly machineIdentities: readonly IdentitySettings[];
    readonly egressProxy: EgressProxy | null;
  };
}

const TIMEOUT_MS = 5_000;
const MOST_BYTES = 64 << 10;

/** The identity of the machine, for virtual keys to which the operator lends it. */
export const identitiesArea = area({
  name: 'identities',
  open: ({ settings, now }: IdentitiesParts) => {
    const { machineIdentities, egressProxy } = settings;
    const hosts = machineIdentities.flatMap(({ url }) => (url === undefined ? [] : [hostIn(url)]));
    // Metadata services are link-local, and forbidden to everything else. They are never asked through a proxy: its machine
    // would answer with an identity of its own, or the proxy would read the gateway's.
    const proxy = egressProxy && {
      ...egressProxy,
      except: [...egressProxy.except, ...metadataHosts(machineIdentities)],
    };
    const upstream = createUpstream({ egress: createEgressPolicy({ trustedHosts: hosts, proxy }) });
    const send = (url: string, init: RequestInit) =>
      fetchSmall(upstream, url, {
        ...{ timeoutMs: TIMEOUT_MS, maxBytes: MOST_BYTES, headers: init.headers },
        ...(init.method !== undefined && { method: init.method }),
        ...(init.body !== undefined && { body: init.body }),
      });
    const created = createIdentities(machineIdentities, { send, now });
    const ownIdentity: OwnIdentity = created.own;
    return { gives: { identities: created as MachineIdentities, ownIdentity } };
  },
});

const hostIn = (text: string): string => {
  const url = new URL(text);
  return `${url.hostname}:${portOf(url)}`;
};

const metadataHosts = (identities: readonly IdentitySettings[]): string[] =>
  identities.flatMap((each) =>
    each.source.endsWith('-instance') || each.source === 'aws-container' ? [hostIn(each.url!)] : [],
  );
