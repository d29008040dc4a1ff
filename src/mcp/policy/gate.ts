import type { Caller } from '../caller.ts';
import { type Capability, type CapabilityType, type Pinned, pinStatus } from './capability.ts';
import { folded, templateMatcher } from './names.ts';
import type { ServerPolicy } from './rules.ts';

/** What is stored of a server for its policy. */
export interface PolicyFacts {
  /** Names that are switched off. */
  readonly off: Readonly<Record<CapabilityType, ReadonlySet<string>>>;
  /** Definitions that were seen. */
  readonly tools: ReadonlyMap<string, Pinned>;
  /** No more can be remembered of what this server offers. */
  readonly isFull: boolean;
  readonly opensToAll: boolean;
  /** Users for whom something else was said. */
  readonly users: ReadonlyMap<string, boolean>;
}

export type Refusal = 'unavailable' | 'unapproved';

/** What one caller may use and see of one server. */
export interface Gate {
  /** Whether something may be refused or flagged, so that messages have to be read. */
  readonly isWatching: boolean;
  /** Null: it may be used. */
  refusal(type: CapabilityType, name: string): Refusal | null;
  /** Whether it may stand in a list. */
  shows(capability: Capability): boolean;
}

export const isOpenTo = ({ opensToAll, users }: PolicyFacts, { userId }: Pick<Caller, 'userId'>): boolean =>
  (userId === null ? undefined : users.get(userId)) ?? opensToAll;

export function gateFor(policy: ServerPolicy, facts: PolicyFacts, caller: Pick<Caller, 'claims'>): Gate {
  const { allows, pinning } = policy;
  const { off, tools } = facts;
  const { offTemplates, foldedOff } = prepared(off);

  const isOff = (type: CapabilityType, name: string): boolean => {
    if (off[type].has(name)) return true;
    if (type === 'resource') return offTemplates.some((fits) => fits(name));
    if (type === 'resource_template') return false;
    // Another spelling of it, unless the server has a thing of exactly that name.
    return foldedOff[type].has(folded(name)) && !(type === 'tool' && tools.has(name));
  };
  const isAllowed = (type: CapabilityType, name: string): boolean =>
    allows[type === 'resource_template' ? 'resource' : type]?.(name, caller) ?? true;
  const isUnapproved = (pinned: Pinned | undefined): boolean => {
    if (pinning?.mode !== 'block') return false;
    return pinned ? pinStatus(pinned) !== 'approved' : !pinning.trustsFirst || facts.isFull;
  };
  return {
    isWatching:
      pinning !== null ||
      Object.values(allows).some((rule) => rule !== null) ||
      Object.values(off).some((names) => names.size > 0),
    refusal: (type, name) => {
      if (isOff(type, name) || !isAllowed(type, name)) return 'unavailable';
      return type === 'tool' && isUnapproved(tools.get(name)) ? 'unapproved' : null;
    },
    shows: (capability) => {
      const { type, name } = capability;
      if (isOff(type, name) || !isAllowed(type, name)) return false;
      return type !== 'tool' || !isUnapproved(pinnedAs(capability, tools.get(name), policy, facts));
    },
  };
}

interface Prepared {
  readonly offTemplates: readonly ((uri: string) => boolean)[];
  readonly foldedOff: Readonly<Record<'tool' | 'prompt', ReadonlySet<string>>>;
}

/** The same for every call until something is switched. */
const preparations = new WeakMap<PolicyFacts['off'], Prepared>();

function prepared(off: PolicyFacts['off']): Prepared {
  let found = preparations.get(off);
  if (!found) {
    found = {
      offTemplates: [...off.resource_template].map(templateMatcher),
      foldedOff: { tool: foldedNames(off.tool), prompt: foldedNames(off.prompt) },
    };
    preparations.set(off, found);
  }
  return found;
}

const foldedNames = (names: ReadonlySet<string>): ReadonlySet<string> => new Set([...names].map(folded));

/** How a definition stands that a server has just shown. */
export function pinnedAs(
  { hash, flags }: Capability,
  known: Pinned | undefined,
  { pinning }: Pick<ServerPolicy, 'pinning'>,
  { isFull }: Pick<PolicyFacts, 'isFull'>,
): Pinned {
  if (known) return { hash, approvedHash: known.approvedHash };
  return { hash, approvedHash: isTrustedAtOnce(flags, pinning) && !isFull ? hash : null };
}

/** Nobody has approved what nobody could see. */
export const isTrustedAtOnce = (flags: Capability['flags'], pinning: ServerPolicy['pinning']): boolean =>
  (pinning?.trustsFirst ?? true) && !flags.includes('hidden_unicode');
