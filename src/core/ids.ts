import { randomBytes } from 'node:crypto';

export type OrganisationId = string & { readonly __id: 'organisation' };
export type WorkspaceId = string & { readonly __id: 'workspace' };
export type InviteId = string & { readonly __id: 'invite' };
export type UserId = string & { readonly __id: 'user' };
export type ApiKeyId = string & { readonly __id: 'api-key' };
export type VirtualKeyId = string & { readonly __id: 'virtual-key' };

/** Ids sort by the time they were made, so that keyset paging and indexes stay cheap. */
export const newId = <Id extends string>(): Id => Bun.randomUUIDv7() as unknown as Id;

/** A gateway key: 192 random bits behind a prefix that secret scanners can look for. */
export const newApiKey = (): string => `gw-${randomBytes(24).toString('base64url')}`;

/** Ids and slugs share one place in addresses; no slug looks like an id. */
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
export const isUuid = (text: string): boolean => UUID.test(text);

const SLUG = /^[a-zA-Z0-9_-]{1,255}$/;
export const isSlug = (text: string): boolean => SLUG.test(text);

/** "My OpenAI key" → "my-openai-key"; never empty. */
export function slugFrom(name: string, fallback: string): string {
  const slug = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 60);
  return slug || fallback;
}

export const randomSuffix = (): string => randomBytes(3).toString('hex');
