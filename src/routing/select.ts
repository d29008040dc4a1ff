import { fail } from '../core/errors.ts';
import { headerOf, type SentHeaders } from '../http/headers.ts';

/** How the provider of a call is chosen: a stored credential, or the caller's own. */
export type Selection =
  | { readonly by: 'virtual-key'; readonly slug: string }
  | { readonly by: 'provider'; readonly name: string; readonly customHost: string | null };

export interface KeyDefaults {
  readonly virtual_key?: string;
  readonly config?: string;
}

const MAX_HOST_LENGTH = 2_048;

/** Endpoint families whose calls name a virtual key (spec 5.1). */
const NEEDS_VIRTUAL_KEY = /^\/(threads|batches|fine_tuning)(\/|$)/;

/** What a request says about its provider: one target, or a config that has several. */
export type Route = Selection | { readonly by: 'config'; readonly reference: string };

/** The order of the operator contract: model "@slug/…", config, virtual key, provider, the key's defaults. */
export function selectRoute(request: Asking, defaults: KeyDefaults, modelSlug: string | null): Route {
  const asked = headerOf(request.headers, 'x-gateway-config');
  if (asked !== null) return { by: 'config', reference: asked };
  const own = askedProvider(request.headers, modelSlug);
  if (own) return own;
  if (defaults.config) return { by: 'config', reference: defaults.config };
  return selectProvider(request, defaults, modelSlug);
}

interface Asking {
  readonly headers: SentHeaders;
  readonly path: string;
}

/** The same without configs: for calls that have none, and for targets that leave the choice to the request. */
export function selectProvider({ headers, path }: Asking, defaults: KeyDefaults, modelSlug: string | null): Selection {
  const asked = askedProvider(headers, modelSlug);
  if (asked) return asked;
  if (defaults.virtual_key) return { by: 'virtual-key', slug: defaults.virtual_key };
  return fail(NEEDS_VIRTUAL_KEY.test(path) ? 'missing_virtual_key' : 'missing_provider');
}

/** Whether anything says who is asked; a request that contradicts itself is refused. */
export const choosesProvider = (headers: SentHeaders, defaults: KeyDefaults): boolean =>
  headerOf(headers, 'x-gateway-config') !== null ||
  askedProvider(headers, null) !== null ||
  Boolean(defaults.config ?? defaults.virtual_key);

function askedProvider(headers: SentHeaders, modelSlug: string | null): Selection | null {
  const provider = headerOf(headers, 'x-gateway-provider');
  const customHost = headerOf(headers, 'x-gateway-custom-host');
  const slug = modelSlug ?? headerOf(headers, 'x-gateway-virtual-key') ?? slugOfProvider(provider);
  if (slug !== null) {
    // A stored credential goes only to the host stored with it.
    if (provider !== null && slugOfProvider(provider) === null) fail('conflicting_provider', 'x-gateway-provider');
    if (customHost !== null) fail('conflicting_provider', 'x-gateway-custom-host');
    return { by: 'virtual-key', slug };
  }
  if (customHost !== null && customHost.length > MAX_HOST_LENGTH) {
    fail('invalid_header', 'x-gateway-custom-host', `is longer than ${MAX_HOST_LENGTH} characters`);
  }
  if (provider !== null) return { by: 'provider', name: provider, customHost };
  if (customHost !== null) {
    fail(
      'invalid_header',
      'x-gateway-custom-host',
      'also send x-gateway-provider, which says how that host is spoken to',
    );
  }
  return null;
}

/** `x-gateway-provider: @slug` names a stored credential. */
const slugOfProvider = (provider: string | null) => (provider?.startsWith('@') ? provider.slice(1) : null);

/** `@slug/name` → its two parts; a plain model name is none. */
export function splitModel(model: string): { slug: string; name: string } | null {
  if (!model.startsWith('@')) return null;
  const slash = model.indexOf('/');
  if (slash < 2 || slash === model.length - 1) {
    fail('invalid_request', 'model', `"${model.slice(0, 80)}" starts with @ but is not "@virtual-key-slug/model-name"`);
  }
  return { slug: model.slice(1, slash), name: model.slice(slash + 1) };
}
