import { FramingError } from '../framing-error.ts';
import type { JsonObject } from '../ir.ts';
import { countIn, isObject, objectIn, objectsIn, present, someTextIn } from '../json.ts';

/** A model as OpenAI lists it; further members are the provider's own. */
export interface Model {
  readonly id: string;
  readonly object: 'model';
  /** Seconds since the epoch; 0 where the provider does not say. */
  readonly created: number;
  readonly owned_by: string;
  readonly [more: string]: unknown;
}

/** How a provider lists its models where that is not OpenAI's way. */
export interface ModelListing {
  /** After the base, query included: all of them, in as few pages as the provider allows. */
  readonly path: string;
  /** The member of the answer that holds the list; null: the answer is the list. */
  readonly member: string | null;
  /** Where one is found; absent: it is looked for in the list. */
  readonly one?: { readonly path: (id: string) => string; readonly member?: string };
  /** Undefined: the entry is no model. */
  readonly read: (entry: JsonObject) => Model | undefined;
}

export interface ListedModels {
  readonly models: readonly Model[];
  /** The provider has more than it sent. */
  readonly hasMore: boolean;
}

export function readModels({ member, read }: ModelListing, json: unknown): ListedModels {
  const list = member === null ? json : objectIn(json)[member];
  if (!Array.isArray(list)) throw new FramingError('the answer holds no list of models');
  const { has_more, nextPageToken, next_page_token } = objectIn(json);
  return {
    models: objectsIn(list).flatMap((entry) => read(entry) ?? []),
    hasMore: Boolean(has_more || nextPageToken || next_page_token),
  };
}

const model = (id: string | undefined, owned_by: string, more: JsonObject = {}): Model | undefined =>
  id ? { ...more, id, object: 'model', created: countIn(more.created) ?? 0, owned_by } : undefined;

/** OpenAI's own list, and those of all providers that copy it. */
export const openaiModels: ModelListing = {
  path: '/models',
  member: 'data',
  read: (entry) => model(someTextIn(entry.id), someTextIn(entry.owned_by) ?? '', entry),
};

/** The same entries without the list's frame. */
export const bareModels: ModelListing = {
  ...openaiModels,
  member: null,
  read: (entry) => model(someTextIn(entry.id), someTextIn(entry.organization) ?? '', entry),
};

/** Anthropic's members stay, so that its own clients understand the list, too. */
export const anthropicModels: ModelListing = {
  path: '/models?limit=1000',
  member: 'data',
  one: { path: (id) => `/models/${encodeURIComponent(id)}` },
  read: (entry) => {
    const created = Math.floor(Date.parse(String(entry.created_at)) / 1000);
    return model(someTextIn(entry.id), 'anthropic', { ...entry, created: Number.isNaN(created) ? 0 : created });
  },
};

export const geminiModels: ModelListing = {
  path: '/models?pageSize=1000',
  member: 'models',
  one: { path: (id) => `/models/${encodeURIComponent(id.replace(/^models\//, ''))}` },
  read: ({ name, displayName }) =>
    model(someTextIn(name)?.replace(/^models\//, ''), 'google', present({ display_name: someTextIn(displayName) })),
};

export const cohereModels: ModelListing = {
  path: '/v1/models?page_size=1000',
  member: 'models',
  one: { path: (id) => `/v1/models/${encodeURIComponent(id)}` },
  read: ({ name, endpoints }) => model(someTextIn(name), 'cohere', present({ endpoints })),
};

export const bedrockModels: ModelListing = {
  path: '/foundation-models',
  member: 'modelSummaries',
  one: { path: (id) => `/foundation-models/${encodeURIComponent(id)}`, member: 'modelDetails' },
  read: ({ modelId, modelName, providerName }) =>
    model(
      someTextIn(modelId),
      someTextIn(providerName)?.toLowerCase() ?? 'amazon',
      present({ display_name: someTextIn(modelName) }),
    ),
};

export const workersModels: ModelListing = {
  path: '/models/search?per_page=1000',
  member: 'result',
  read: ({ name, created_at }) => {
    const created = Math.floor(Date.parse(String(created_at)) / 1000);
    return model(someTextIn(name), 'cloudflare', { created: Number.isNaN(created) ? 0 : created });
  },
};

/** One model out of the answer to `one`, or out of the whole list. */
export function readModel(listing: ModelListing, json: unknown, id: string): Model | undefined {
  if (!listing.one) return readModels(listing, json).models.find((each) => each.id === id);
  const entry = listing.one.member === undefined ? json : objectIn(json)[listing.one.member];
  return isObject(entry) ? listing.read(entry) : undefined;
}
