import { type Resource, resourceIn, SCOPE } from '../server/resources.ts';
import { isChallenge } from './secrets.ts';

/** What a client asks for in the name of a user, after it was found to be in order. */
export interface AuthorizationRequest {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly state: string | null;
  readonly challenge: string;
  readonly scope: string;
  readonly resource: Resource;
  /** Asks the user even if they have consented before. */
  readonly asksAnew: boolean;
}

/** What is wrong with a request, as its client is told (RFC 6749 section 4.1.2.1). */
export interface Fault {
  readonly error: string;
  readonly description: string;
}

export interface Parameters {
  readonly values: ReadonlyMap<string, string>;
  /** Names that came more than once. */
  readonly repeated: ReadonlySet<string>;
}

/** An empty parameter counts as absent (RFC 6749 section 3.1). */
export function readParameters(text: string): Parameters {
  const values = new Map<string, string>();
  const seen = new Set<string>();
  const repeated = new Set<string>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (seen.has(name)) repeated.add(name);
    seen.add(name);
    if (value !== '') values.set(name, value);
  }
  return { values, repeated };
}

/** The request without its client and address, which were checked before: their faults are not sent to the client. */
export function readRequest(
  { values, repeated }: Parameters,
  client: { readonly clientId: string; readonly redirectUri: string; readonly publicUrl: string },
): AuthorizationRequest | Fault {
  const twice = [...repeated].find((name) => name !== 'resource');
  if (twice !== undefined) return invalid(`${twice.slice(0, 80)} is given twice`);
  const type = values.get('response_type');
  if (type === undefined) return invalid('response_type is missing; give code');
  if (type !== 'code') return { error: 'unsupported_response_type', description: 'response_type must be code' };
  if ((values.get('response_mode') ?? 'query') !== 'query') return invalid('response_mode must be query');
  for (const name of ['request', 'request_uri'])
    if (values.has(name)) return { error: `${name}_not_supported`, description: `${name} is not possible here` };
  const challenge = values.get('code_challenge');
  if (challenge === undefined) return invalid('code_challenge is missing: PKCE is required');
  if (values.get('code_challenge_method') !== 'S256') return invalid('code_challenge_method must be S256');
  if (!isChallenge(challenge)) return invalid('code_challenge must be a SHA-256 in base64url, 43 characters');
  const resource = readResource(values.get('resource'), repeated.has('resource'), client.publicUrl);
  if ('error' in resource) return resource;
  if (!isScopeGranted(values.get('scope')))
    return { error: 'invalid_scope', description: `scope must name ${SCOPE}, or be left out` };
  const { clientId, redirectUri } = client;
  return {
    clientId,
    redirectUri,
    state: values.get('state') ?? null,
    challenge,
    scope: SCOPE,
    resource,
    asksAnew: (values.get('prompt') ?? '').split(' ').includes('consent'),
  };
}

const invalid = (description: string): Fault => ({ error: 'invalid_request', description });

function readResource(given: string | undefined, isRepeated: boolean, publicUrl: string): Resource | Fault {
  const wanted = `give the address of one MCP endpoint, such as ${publicUrl}/server/mcp`;
  if (given === undefined) return { error: 'invalid_target', description: `resource is missing; ${wanted}` };
  if (isRepeated) return { error: 'invalid_target', description: `resource is given more than once; ${wanted}` };
  return (
    resourceIn(publicUrl, given) ?? {
      error: 'invalid_target',
      description: `resource is none of this server; ${wanted}`,
    }
  );
}

/** Scopes of other servers do no harm as long as ours is among them; the answer says which one was granted. */
const isScopeGranted = (given: string | undefined): boolean => given === undefined || given.split(' ').includes(SCOPE);
