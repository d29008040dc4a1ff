import { refuseForbidden } from '../core/forbidden.ts';
import { askedProvider, type Selection } from '../http/asked-provider.ts';
import { headerOf, type SentHeaders } from '../http/headers.ts';
import { type Route, selectProvider, selectRoute } from '../routing/select.ts';
import type { OpenCall } from './call.ts';
import { withLateModel } from './late-model.ts';
import type { MeantKey, ModelNames } from './model-names.ts';
import { renamed } from './receive.ts';

export interface ChooseDeps {
  readonly names: ModelNames;
}

/** Who a call goes to, and the call with the name that its model has there. */
export interface Chosen<To extends Route = Route> {
  readonly call: OpenCall;
  readonly route: To;
}

/** Whom a call asks: by its headers, the defaults of its key, or its model. */
export async function choose(call: OpenCall, { names }: ChooseDeps): Promise<Chosen> {
  const { headers, principal } = call;
  if (!isSlugged(call)) {
    const route = selectRoute(call, principal.defaults);
    return route ? { call, route } : byName(call, names);
  }
  const asked = isHostAlone(headers) ? null : selectRoute(call, principal.defaults);
  const slugged = await names.slugged(principal, call.named!, asked);
  if (!slugged) return asked ? { call, route: asked } : byName(call, names);
  // A model that a check asks was chosen by the author of the check, not by the caller.
  if (!call.isUnguarded) refuseForbidden(principal.forbids, 'virtual_key', 'model');
  const { slug, name } = slugged;
  // Refuses headers that contradict it. What else a config says holds whichever virtual key the model names.
  const own = askedProvider(headers, slug)!;
  return { call: { ...renamed(call, name), slug }, route: asked?.by === 'config' ? asked : own };
}

/** The same for a target of a config that leaves it to the request; `where` says where the model stands when it is the caller's. */
export async function chooseTarget(
  call: OpenCall,
  where: string | null,
  { names }: ChooseDeps,
): Promise<Chosen<Selection>> {
  const { principal } = call;
  const asked = selectProvider(call, principal.defaults);
  if (!isSlugged(call)) return asked ? { call, route: asked } : byName(call, names);
  const slugged = await names.slugged(principal, call.named!, asked);
  if (!slugged) return asked ? { call, route: asked } : byName(call, names);
  if (where !== null) refuseForbidden(principal.forbids, 'virtual_key', where);
  return { call: renamed(call, slugged.name), route: { by: 'virtual-key', slug: slugged.slug } };
}

/** A host that no provider stands beside chooses nothing; beside a slug it is refused for that. */
const isHostAlone = (headers: SentHeaders): boolean =>
  headerOf(headers, 'x-gateway-custom-host') !== null && headerOf(headers, 'x-gateway-provider') === null;

const isSlugged = ({ readsModel, named }: OpenCall): boolean => readsModel && (named?.startsWith('@') ?? false);

/** Nothing else says who is asked: the plain name of the model does. */
async function byName(given: OpenCall, names: ModelNames): Promise<Chosen<Selection>> {
  const { principal } = given;
  askedProvider(given.headers);
  const mayChoose = given.isUnguarded || !principal.forbids?.has('virtual_key');
  if (names.plainModels === 'off' || !mayChoose) return names.refuse(principal);
  const call = given.named === null && given.addressed === null ? await withLateModel(given) : given;
  const model = call.addressed ?? call.named;
  if (model === null || model === '') return names.refuse(principal);
  // What an address or a forced pass-through says stays as it is.
  const maySplit = call.readsModel && call.addressed === null;
  const found = await names.find(principal, model, maySplit);
  return {
    call: { ...(maySplit ? renamed(call, found.name) : call), foundBy: foundBy(found) },
    route: { by: 'virtual-key', slug: found.slug },
  };
}

/** What the answer says of a choice that the caller left open. */
export const foundBy = ({ slug, others }: MeantKey): SentHeaders => ({
  'x-gateway-virtual-key': slug,
  ...(others.length > 0 && { 'x-gateway-ambiguous': others.slice(0, MOST_SHOWN).join(', ') }),
});

/** Proxies refuse long header lines. */
const MOST_SHOWN = 20;
