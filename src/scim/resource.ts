/** How lists and single resources are answered (RFC 7644). */
const LIST = 'urn:ietf:params:scim:api:messages:2.0:ListResponse';
export const USER = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const GROUP = 'urn:ietf:params:scim:schemas:core:2.0:Group';
export const PATCH_OPERATIONS = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';
export const BASE = '/scim/v2';

export const MOST_ON_PAGE = 200;
const USUAL_ON_PAGE = 100;

export interface PageWish {
  /** From 1. */
  readonly startIndex: number;
  readonly count: number;
}

/** Below the least it is the least, above the most it is the most (RFC 7644 section 3.4.2.4). */
export const pageWish = ({ startIndex, count }: { startIndex?: number; count?: number }): PageWish => ({
  startIndex: Math.max(1, startIndex ?? 1),
  count: Math.min(MOST_ON_PAGE, Math.max(0, count ?? USUAL_ON_PAGE)),
});

export const listOf = (resources: readonly unknown[], total: number, startIndex = 1) => ({
  schemas: [LIST],
  totalResults: total,
  startIndex,
  itemsPerPage: resources.length,
  Resources: resources,
});

/** Which attributes of a resource are answered. */
export interface Shown {
  readonly attributes?: string;
  readonly excludedAttributes?: string;
}

const namesIn = (list: string | undefined): Set<string> | null =>
  list === undefined ? null : new Set(list.split(',').map((name) => topOf(name.trim().toLowerCase())));
const topOf = (name: string): string => name.slice(name.lastIndexOf(':') + 1).split('.')[0]!;
const ALWAYS = new Set(['schemas', 'id']);

export const isShown = ({ attributes, excludedAttributes }: Shown, name: string): boolean => {
  if (ALWAYS.has(name)) return true;
  const wanted = namesIn(attributes);
  if (wanted) return wanted.has(name.toLowerCase());
  return !namesIn(excludedAttributes)?.has(name.toLowerCase());
};

export const shownOf = <Resource extends object>(resource: Resource, shown: Shown): Partial<Resource> =>
  shown.attributes === undefined && shown.excludedAttributes === undefined
    ? resource
    : (Object.fromEntries(Object.entries(resource).filter(([name]) => isShown(shown, name))) as Partial<Resource>);

export const metaOf = (
  type: 'User' | 'Group',
  { id, created_at, updated_at }: { id: string; created_at: number; updated_at: number },
  publicUrl: string,
) => ({
  resourceType: type,
  created: new Date(Number(created_at)).toISOString(),
  lastModified: new Date(Number(updated_at)).toISOString(),
  location: `${publicUrl}${BASE}/${type}s/${id}`,
});
