import { sha256 } from '../../crypto/seal.ts';
import { Ambiguous, misspellingOf } from './strict-json.ts';

export const CAPABILITY_TYPES = ['tool', 'prompt', 'resource', 'resource_template'] as const;
export type CapabilityType = (typeof CAPABILITY_TYPES)[number];

/** What a reader of a definition does not see, or what is too much to be read. */
export type Flag = 'hidden_unicode' | 'overlong';

/** One thing that a server offers, as it describes it. */
export interface Capability {
  readonly type: CapabilityType;
  /** The URI or its template, where it has no other name. */
  readonly name: string;
  /** SHA-256 of its definition: of every member, because models and clients act on any, on `_meta` and icons too. */
  readonly hash: string;
  readonly flags: readonly Flag[];
  /** What was hashed, as JSON; a long one is cut. */
  readonly definition: string;
}

/** Tells what a server offers apart in the store, where names may be of any length. */
export const capabilityKey = (type: CapabilityType, name: string): string => sha256(`${type} ${name}`);

/** Where a list answer has its elements, and what of each one is its name. */
export const LISTS: Readonly<Record<string, { readonly type: CapabilityType; readonly name: string }>> = {
  tools: { type: 'tool', name: 'name' },
  prompts: { type: 'prompt', name: 'name' },
  resources: { type: 'resource', name: 'uri' },
  resourceTemplates: { type: 'resource_template', name: 'uriTemplate' },
};

export const LIST_METHODS: Readonly<Record<string, keyof typeof LISTS>> = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
};

const LONGEST_NAME = 2_048;
const LONGEST_DESCRIPTION = 4_000;
const LONGEST_KEPT = 32_768;
const DEEPEST = 100;

/**
 * Characters that people do not see and models read: tags, zero-width and bidirectional controls, and variation
 * selectors in a row, which can spell any text. A joiner after a pictograph makes one of two and is none of them.
 */
const HIDDEN =
  /[\u{e0000}-\u{e0fff}\u00ad\u061c\u115f\u1160\u180e\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0]|\u034f|[\ufe00-\ufe0f]{2}|(?<!\p{Extended_Pictographic}|\ufe0f|[\u{1f3fb}-\u{1f3ff}])\u200d/u;

/** Null for an element without a name: no client can ask for it. Throws `Ambiguous` for one that is nested too deep. */
export function capabilityOf(list: keyof typeof LISTS, element: unknown): Capability | null {
  const { type, name: named } = LISTS[list]!;
  if (element === null || typeof element !== 'object' || Array.isArray(element)) return null;
  const given = element as Readonly<Record<string, unknown>>;
  const name = Object.keys(given).some(misspellsName[named]!) ? null : given[named];
  if (typeof name !== 'string' || name === '' || name.length > LONGEST_NAME || name.includes('\0')) return null;
  const definition = canonical(given, 0);
  const description = typeof given.description === 'string' ? given.description : '';
  const flags: Flag[] = [];
  if (HIDDEN.test(definition)) flags.push('hidden_unicode');
  if (description.length > LONGEST_DESCRIPTION || definition.length > LONGEST_KEPT) flags.push('overlong');
  return { type, name, hash: sha256(definition), flags, definition: definition.slice(0, LONGEST_KEPT) };
}

const misspellsName: Readonly<Record<string, (name: string) => boolean>> = {
  name: misspellingOf(['name']),
  uri: misspellingOf(['uri']),
  uriTemplate: misspellingOf(['uriTemplate']),
};

/** The same text for the same value, in whatever order its members stand. Throws where it is nested too deep. */
export function canonical(value: unknown, depth: number): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (depth > DEEPEST) throw new Ambiguous(`it is nested deeper than ${DEEPEST} levels`);
  if (Array.isArray(value)) return `[${value.map((each) => canonical(each, depth + 1)).join(',')}]`;
  const members = value as Readonly<Record<string, unknown>>;
  const written = Object.keys(members)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(members[key], depth + 1)}`);
  return `{${written.join(',')}}`;
}

/** A definition that was seen, and the one that a manager has approved. */
export interface Pinned {
  readonly hash: string;
  readonly approvedHash: string | null;
}
export type PinStatus = 'approved' | 'changed' | 'pending';

export function pinStatus({ hash, approvedHash }: Pinned): PinStatus {
  if (approvedHash === null) return 'pending';
  return hash === approvedHash ? 'approved' : 'changed';
}
