import type { Caller } from '../caller/caller.ts';
import { type Capability, type CapabilityType, type Pinned, pinStatus } from '../message/capability.ts';
import { folded, foldedUri, templateMatcher } from '../message/names.ts';
import type { ServerPolicy } from '../server/policy-rules.ts';

/** What is stored of a server for its policy. */
export interface PolicyFacts {
  /** Names that are switched off. */
  readonly off: Readonly<Record<CapabilityType, ReadonlySet<string>>>;
  /** Names that the server has shown. */
  readonly known: Readonly<Record<CapabilityType, ReadonlySet<string>>>;
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
  /** What the server calls it, where its name was given in another spelling. */
  spelt(type: CapabilityType, name: string): string;
  /** Whether it may stand in a list. */
  shows(capability: Capability): boolean;
}

/** The user of the key is let in or kept out, too, and not only the user of the token that comes with it. */
export function isOpenTo(
  { opensToAll, users }: Pick<PolicyFacts, 'opensToAll' | 'users'>,
  { userId, principal }: { readonly userId: string | null; readonly principal?: { readonly userId: string | null } },
): boolean {
  const said = [userId, principal?.userId ?? null].map((id) => (id === null ? undefined : users.get(id)));
  return said.includes(false) ? false : said.includes(true) || opensToAll;
}

export function gateFor(policy: ServerPolicy, facts: PolicyFacts, caller: Pick<Caller, 'claims'>): Gate {
  const { allows, pinning } = policy;
  const { off, tools, known } = facts;
  const { offTemplates, foldedOff, knownAs } = prepared(facts);

  const isOff = (type: CapabilityType, name: string): boolean => {
    if (off[type].has(name)) return true;
    if (type === 'resource_template') return false;
    if (type === 'resource' && offTemplates.some((fits) => fits(name))) return true;
    // Another spelling of it, unless the server has a thing of exactly that name.
    return foldedOff[type].size > 0 && foldedOff[type].has(FOLDS[type](name)) && !known[type].has(name);
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
    spelt: (type, name) => (known[type].has(name) ? name : (knownAs(type, FOLDS[type](name)) ?? name)),
    shows: (capability) => {
      const { type, name } = capability;
      if (isOff(type, name) || !isAllowed(type, name)) return false;
      return type !== 'tool' || !isUnapproved(pinnedAs(capability, tools.get(name), policy, facts));
    },
  };
}

interface Prepared {
  readonly offTemplates: readonly ((uri: string) => boolean)[];
  readonly foldedOff: Readonly<Record<CapabilityType, ReadonlySet<string>>>;
  knownAs(type: CapabilityType, foldedName: string): string | undefined;
}

const FOLDS: Readonly<Record<CapabilityType, (name: string) => string>> = {
  tool: folded,
  prompt: folded,
  resource: foldedUri,
  resource_template: foldedUri,
};

/** The same for every call until something is switched. */
const preparations = new WeakMap<PolicyFacts['off'], Prepared>();

function prepared({ off, known }: Pick<PolicyFacts, 'off' | 'known'>): Prepared {
  let found = preparations.get(off);
  if (!found) {
    const names = new Map<CapabilityType, ReadonlyMap<string, string>>();
    found = {
      offTemplates: [...off.resource_template].map(templateMatcher),
      foldedOff: {
        tool: foldedNames('tool', off),
        prompt: foldedNames('prompt', off),
        resource: foldedNames('resource', off),
        resource_template: new Set(),
      },
      knownAs: (type, name) => {
        let own = names.get(type);
        if (!own) {
          own = new Map([...known[type]].map((each) => [FOLDS[type](each), each]));
          names.set(type, own);
        }
        return own.get(name);
      },
    };
    preparations.set(off, found);
  }
  return found;
}

const foldedNames = (type: CapabilityType, names: PolicyFacts['off']): ReadonlySet<string> =>
  new Set([...names[type]].map(FOLDS[type]));

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

/** A definition with hidden characters is not trusted at once: a person would approve what they cannot see. */
export const isTrustedAtOnce = (flags: Capability['flags'], pinning: ServerPolicy['pinning']): boolean =>
  (pinning?.trustsFirst ?? true) && !flags.includes('hidden_unicode');
