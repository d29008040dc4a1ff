import { fail } from '../core/errors.ts';
import { askedProvider, type Selection } from '../http/asked-provider.ts';
import { headerOf, type SentHeaders } from '../http/headers.ts';

export interface KeyDefaults {
  readonly virtual_key?: string;
  readonly config?: string;
}

/** Endpoint families whose calls name a virtual key (spec 5.1). */
const NEEDS_VIRTUAL_KEY = /^\/(threads|batches|fine_tuning)(\/|$)/;

/** What a request says about its provider: one target, or a config that has several. */
export type Route = Selection | { readonly by: 'config'; readonly reference: string };

/**
 * The order of the operator contract, behind a model "@slug/…": config, virtual key, provider, the key's defaults. Null:
 * none of them says anything, and the model's plain name is left.
 */
export function selectRoute(request: Asking, defaults: KeyDefaults): Route | null {
  const asked = headerOf(request.headers, 'x-gateway-config');
  if (asked !== null) return { by: 'config', reference: asked };
  const own = askedProvider(request.headers);
  if (own) return own;
  if (defaults.config) return { by: 'config', reference: defaults.config };
  return selectProvider(request, defaults);
}

interface Asking {
  readonly headers: SentHeaders;
  readonly path: string;
}

/** The same without configs: for calls that have none, and for targets that leave the choice to the request. */
export function selectProvider({ headers, path }: Asking, defaults: KeyDefaults): Selection | null {
  const asked = askedProvider(headers);
  if (asked) return asked;
  if (defaults.virtual_key) return { by: 'virtual-key', slug: defaults.virtual_key };
  return NEEDS_VIRTUAL_KEY.test(path) ? fail('missing_virtual_key') : null;
}

/** Whether anything says who is asked; a request that contradicts itself is refused. */
export const choosesProvider = (headers: SentHeaders, defaults: KeyDefaults): boolean =>
  headerOf(headers, 'x-gateway-config') !== null ||
  askedProvider(headers) !== null ||
  Boolean(defaults.config ?? defaults.virtual_key);

/** `@slug/name` → its two parts; a plain model name is none. */
export function splitModel(model: string): { slug: string; name: string } | null {
  if (!model.startsWith('@')) return null;
  const slash = model.indexOf('/');
  if (slash < 2 || slash === model.length - 1) {
    fail('invalid_request', 'model', `"${model.slice(0, 80)}" starts with @ but is not "@virtual-key-slug/model-name"`);
  }
  return { slug: model.slice(1, slash), name: model.slice(slash + 1) };
}
