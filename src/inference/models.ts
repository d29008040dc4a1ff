import * as z from 'zod';
import { fail } from '../core/errors.ts';
import { refuseForbidden } from '../core/forbidden.ts';
import { integerInQuery } from '../core/list.ts';
import { schemaOf } from '../core/schema.ts';
import { readQuery } from '../http/input.ts';
import { json } from '../http/reply.ts';
import type { Call, Route } from '../http/route.ts';
import type { ModelCall } from '../relay/call.ts';
import type { CataloguedModel, ModelCatalogue } from '../relay/model-catalogue.ts';
import type { ModelNames } from '../relay/model-names.ts';
import type { Configs } from '../routing/configs.ts';
import { choosesProvider, selectRoute } from '../routing/select.ts';

const VERSION = '/v1';
const MODELS = '/models';

const catalogueQuery = () =>
  z.strictObject({
    provider: z.string().min(1).optional(),
    sort: z.enum(['name', 'provider']).default('name'),
    order: z.enum(['asc', 'desc']).default('asc'),
    offset: integerInQuery(0).default(0),
    limit: integerInQuery(1).optional(),
    // Codex says which version it is; the list is the same for all.
    client_version: z.string().optional(),
  });

export interface ModelParts {
  readonly relay: (call: ModelCall) => Promise<Response>;
  readonly catalogue: ModelCatalogue;
  readonly names: ModelNames;
  readonly configs: Pick<Configs, 'resolve'>;
}

/** Which models there are: those that a config knows by name, of the provider that the call names, or of every virtual key. */
export const modelRoutes = ({ relay, catalogue, names, configs }: ModelParts): Route[] => [
  {
    method: 'GET',
    path: VERSION + MODELS,
    scopes: ['models.list'],
    isProviders: true,
    summary: 'Models that the config knows by name, of the provider that was chosen, or of all virtual keys',
    handle: async (call: Call) => {
      const named = await namedByConfig(call, MODELS, configs);
      if (named) return paged(call, named);
      return choosesProvider(call.headers, call.principal.defaults)
        ? relay(asModelCall(call, MODELS))
        : wholeCatalogue(call, catalogue, names.plainModels !== 'off');
    },
  },
  {
    method: 'GET',
    path: `${VERSION}${MODELS}/*`,
    scopes: ['models.list'],
    isProviders: true,
    summary: 'One model, by its name or as @slug/name',
    handle: async (call: Call) => {
      const path = call.path.slice(VERSION.length);
      const model = decoded(path.slice(MODELS.length + 1));
      const known = (await namedByConfig(call, path, configs))?.find(({ id }) => id === model);
      return known ? json(known) : relay(await asNamed(call, names));
    },
  },
];

interface NamedModel extends Pick<CataloguedModel, 'id' | 'object' | 'created' | 'owned_by'> {
  readonly provider?: string;
}

/** The names that the config of a call knows, as far as the key may call them. Null: no config, or one without names. */
async function namedByConfig(
  { headers, principal }: Call,
  path: string,
  configs: ModelParts['configs'],
): Promise<readonly NamedModel[] | null> {
  const route = selectRoute({ headers, path }, principal.defaults);
  if (route?.by !== 'config') return null;
  const { names } = await configs.resolve(principal, route.reference);
  if (names.length === 0) return null;
  const shown = principal.models ? names.filter((name) => principal.models!.allows(name)) : names;
  return shown.map((id) => ({ id, object: 'model', created: 0, owned_by: 'gateway' }));
}

const asModelCall = (call: Call, path: string, headers = call.headers): ModelCall => ({
  request: call.request,
  headers,
  stamp: call.stamp,
  endpoint: 'listModels',
  path,
  search: call.search,
  principal: call.principal,
  providerKey: call.providerKey,
  readsModel: false,
  log: call.log,
});

/**
 * `/models/@slug/name` chooses the virtual key as `model: "@slug/name"` does, before any config could, and so does a plain
 * name where nothing else chooses.
 */
async function asNamed(call: Call, names: ModelNames): Promise<ModelCall> {
  const { principal, headers } = call;
  const path = call.path.slice(VERSION.length);
  const model = decoded(path.slice(MODELS.length + 1));
  // Decoded and put into a path again, they would lead elsewhere.
  if (/(?:^|\/)\.{0,2}(?:\/|$)/.test(model))
    fail('invalid_path', 'a name of a model has no empty parts and none of dots');
  const asked = selectRoute({ headers, path }, principal.defaults);
  const slugged = model.startsWith('@') ? await names.slugged(principal, model, asked) : null;
  if (!slugged && asked) return asModelCall(call, path);
  if (slugged) refuseForbidden(principal.forbids, 'virtual_key', 'path');
  const mayChoose = names.plainModels !== 'off' && !principal.forbids?.has('virtual_key');
  const { slug, name } =
    slugged ?? (mayChoose ? await names.find(principal, model, true) : await names.refuse(principal));
  const { 'x-gateway-config': _, ...others } = headers;
  const plain = name.split('/').map(encodeURIComponent).join('/');
  return asModelCall(call, `${MODELS}/${plain}`, { ...others, 'x-gateway-virtual-key': slug });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return fail('invalid_path', 'it holds a broken percent escape');
  }
}

async function wholeCatalogue(call: Call, catalogue: ModelCatalogue, takesPlain: boolean): Promise<Response> {
  const { provider } = readQuery(call.search, schemaOf(catalogueQuery));
  const { models, missing } = await catalogue.read(call.principal, provider);
  const response = paged(call, takesPlain && isOfAnthropics(call) ? withPlainNames(models) : models);
  if (missing.length > 0) response.headers.set('x-gateway-incomplete', shortened(missing));
  return response;
}

const isOfAnthropics = ({ headers }: Call): boolean => headers['anthropic-version'] !== undefined;

/** Claude Code shows only models whose names begin as Claude's do. Such a name is enough to call one. */
function withPlainNames(models: readonly CataloguedModel[]): readonly CataloguedModel[] {
  const plain = new Map<string, CataloguedModel>();
  for (const model of models) {
    const id = model.id.slice(model.id.indexOf('/') + 1);
    if (/^(?:claude|anthropic)/.test(id) && !plain.has(id)) plain.set(id, { ...model, id });
  }
  return [...plain.values(), ...models];
}

function paged(call: Call, all: readonly NamedModel[]): Response {
  const { search } = call;
  const { provider: wanted, sort, order, offset, limit } = readQuery(search, schemaOf(catalogueQuery));
  const models = wanted === undefined ? all : all.filter(({ provider }) => provider === wanted);
  const keyOf = ({ provider, id }: NamedModel) => (sort === 'name' || !provider ? id : `${provider} ${id}`);
  const sign = order === 'asc' ? 1 : -1;
  const sorted = models.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -sign : sign));
  const data = limit === undefined ? sorted.slice(offset) : sorted.slice(offset, offset + limit);
  return json({
    object: 'list',
    data: isOfAnthropics(call) ? data.map((model) => ({ type: 'model', display_name: model.id, ...model })) : data,
    total: models.length,
    has_more: offset + data.length < models.length,
  });
}

/** Proxies refuse long header lines. */
const MOST_NAMED = 50;

const shortened = (missing: readonly string[]): string =>
  missing.length > MOST_NAMED
    ? `${missing.slice(0, MOST_NAMED).join(', ')} and ${missing.length - MOST_NAMED} more`
    : missing.join(', ');
