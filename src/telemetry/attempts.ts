import type { AttemptLog, OutgoingTrace } from '../core/call-log.ts';
import type { PackedHookResults } from '../core/hook-results.ts';
import type { PriceList, Prices } from '../core/prices.ts';
import { addUsage, type Usage } from '../core/usage.ts';

/** A config may have many targets, each asked again and again; an entry has room for so many attempts. */
const MOST_KEPT = 100;
const NOT_YET = -1;

/** What a guardrail decided. */
export interface PackedDecision {
  readonly hook: 'input' | 'output';
  readonly id: string;
  readonly verdict: boolean | null;
  readonly deny: boolean;
  /** Milliseconds since the call came, and how long it took. */
  readonly at: number;
  readonly ms: number;
}

/** What the cache said, when, and how long it took to say so. */
export type PackedCache = readonly [status: string, at: number, ms: number];

/** One attempt of several as it is stored. Times are milliseconds since the call came. */
export interface PackedAttempt {
  readonly target: string;
  readonly provider?: string;
  readonly model?: string;
  readonly virtual_key?: string;
  readonly host?: string;
  readonly at: number;
  readonly connect?: number;
  readonly first?: number;
  /** Absent: until the call ended. */
  readonly end?: number;
  readonly status?: number;
  readonly error?: string;
  /** Why it was made although there had been one before, or why it was not made. */
  readonly reason?: string;
  /** The provider was not asked. */
  readonly unasked?: true;
  readonly usage?: Pick<Usage, 'inputTokens' | 'outputTokens' | 'totalTokens'>;
  readonly cost?: number;
  /** Its tokens and cost are those of the entry: no attempt before it took any. */
  readonly isLast?: true;
  readonly cache?: PackedCache;
  readonly guardrails?: readonly PackedDecision[];
}

/**
 * How attempts stand in a row. Nearly every call makes one, whose provider, model, tokens and status are those of the entry:
 * what is left are its target, its host and three times. A sixth member is the provider's status where it is another.
 */
export type PackedAttempts =
  | readonly [
      target: string,
      host: string | null,
      at: number,
      connect: number | null,
      first: number | null,
      status?: number,
    ]
  | { readonly attempts?: readonly PackedAttempt[]; readonly cache?: PackedCache; readonly target?: string };

/** What is known of the call when its entry is finished. */
export interface Ended {
  readonly status: number;
  readonly errorCode: string | null;
  /** What its last attempt took. */
  readonly usage: Usage | null;
  readonly cost: number | null;
}

/** Tokens and cost as far as they are known. */
export interface Taken {
  readonly usage: Usage | null;
  readonly cost: number | null;
}

/**
 * What an entry knows of the targets that were tried. Fields of the entry itself, and a list from the second attempt on: a
 * call of one attempt makes no object for it.
 */
export abstract class AttemptTrail implements AttemptLog {
  abstract provider: string | null;
  abstract model: string | null;
  abstract virtualKey: string | null;
  abstract prices: PriceList | null;
  abstract usage: Usage | null;
  abstract answeredBy: string | null;
  abstract hookResults: unknown;
  abstract isCached: boolean;
  /** How often a provider was asked. */
  attemptCount = 0;

  abstract outgoingTrace(): OutgoingTrace | null;
  protected abstract get openedAt(): number;
  protected abstract get openedMono(): number;
  protected abstract get priceList(): Prices;
  protected abstract readTime(): number;

  /** The target that has its turn. */
  protected get target(): string | null {
    return this.#target;
  }

  #target: string | null = null;
  #url: string | null = null;
  #isAsked = false;
  #at = 0;
  #connectMs: number | null = null;
  #firstAt = NOT_YET;
  #endAt = NOT_YET;
  #status = 0;
  #error: string | null = null;
  #reason: string | null = null;
  #cache: PackedCache | null = null;
  /** What guardrails had found before this attempt. */
  #foundBefore: unknown = null;
  #earlier: PackedAttempt[] | null = null;
  /** What attempts took whose answers did not become the call's: they are paid for all the same. */
  #spent: Taken | null = null;

  aims(target: string): void {
    if (this.#target !== null) {
      this.#leave();
      this.#reason = 'fallback';
    }
    this.#target = target;
    this.#isAsked = false;
    this.#at = this.readTime();
    this.#foundBefore = this.hookResults;
  }

  passesOver(target: string, reason: string, virtualKey: string | null, provider: string | null): void {
    this.#add({
      target,
      ...(provider !== null && { provider }),
      ...(virtualKey !== null && { virtual_key: virtualKey }),
      at: this.#since(this.readTime()),
      end: this.#since(this.readTime()),
      reason,
      unasked: true,
    });
  }

  asks(url: string | null, reason: string | null): void {
    if (this.#isAsked) {
      this.#leave();
      this.#reason = reason ?? 'retry';
      this.#foundBefore = this.hookResults;
    }
    this.attemptCount++;
    this.#isAsked = true;
    this.#url = url;
    this.#at = this.readTime();
  }

  answered(status: number, connectMs: number | null): void {
    this.#status = status;
    this.#connectMs = connectMs;
    this.#firstAt = this.readTime();
  }

  failed(status: number, code: string): void {
    if (this.#error !== null || this.#target === null) return;
    this.#error = code;
    if (this.#status === 0) this.#status = this.#isAsked ? 0 : status;
    this.leaves();
  }

  leaves(): void {
    if (this.#endAt === NOT_YET) this.#endAt = this.readTime();
  }

  looksUp(status: string, since: number): void {
    const now = this.readTime();
    this.#cache = [status, this.#since(since), rounded(now - since)];
  }

  /** What the row holds of them; null: no target was reached. */
  protected packAttempts({ status, errorCode, usage, cost }: Ended): string | null {
    const target = this.#target;
    if (target === null && this.#earlier === null) return null;
    const isOnly = this.#earlier === null && this.#cache === null && this.#error === null && this.#endAt === NOT_YET;
    if (isOnly && this.#isAsked) {
      const first = this.#firstAt === NOT_YET ? null : this.#since(this.#firstAt);
      const times = `${this.#since(this.#at)},${rounded(this.#connectMs)},${first}`;
      const other = this.#status !== 0 && this.#status !== status ? `,${this.#status}` : '';
      return `[${placeOf(target!, this.#url)},${times}${other}]`;
    }
    // Answers that were kept, or that the gateway gave itself: no provider was asked, and nothing failed.
    const isOwnAnswer = target !== null && !this.#isAsked && errorCode === null && this.#error === null;
    if (isOwnAnswer && this.#earlier === null)
      return this.#cache ? JSON.stringify({ target, cache: this.#cache }) : null;
    const cache = isOwnAnswer ? this.#cache : null;
    if (target !== null && !isOwnAnswer) {
      if (!this.#isAsked && this.#error === null) this.failed(status, errorCode ?? 'internal_error');
      else if (this.#error === null) this.#error = errorCode;
      this.#keep(this.#spent ? { usage, cost } : null);
    }
    return JSON.stringify({ attempts: this.#earlier, ...(cache && { target, cache }) });
  }

  /** What the whole call took, given what its last attempt did. */
  protected withSpent(last: Taken): Taken {
    const spent = this.#spent;
    if (spent === null) return last;
    const usage = last.usage && spent.usage ? addUsage(spent.usage, last.usage) : (last.usage ?? spent.usage);
    const cost = last.cost === null || spent.cost === null ? (last.cost ?? spent.cost) : last.cost + spent.cost;
    return { usage, cost };
  }

  /** An attempt whose answer does not become the call's. What comes next begins anew. */
  #leave(): void {
    const usage = this.#isAsked ? this.usage : null;
    const cost = this.priceList.costOf(this.provider, this.answeredBy ?? this.model, usage, this.prices);
    this.#keep({ usage, cost });
    if (usage) this.#spent = this.withSpent({ usage, cost });
    this.usage = null;
    this.answeredBy = null;
  }

  /** The attempt that is over, into the list. Null: it is the last, and took what the entry says. */
  #keep(taken: Taken | null): void {
    const isAsked = this.#isAsked;
    const guardrails = this.#decisions();
    const status = this.#status;
    this.#add({
      target: this.#target!,
      ...(this.provider !== null && { provider: this.provider }),
      ...(this.model !== null && { model: this.model.slice(0, LONGEST_MODEL) }),
      ...(this.virtualKey !== null && { virtual_key: this.virtualKey }),
      ...(isAsked && this.#url !== null && { host: hostIn(this.#url) }),
      at: this.#since(this.#at),
      ...(this.#connectMs !== null && { connect: rounded(this.#connectMs) }),
      ...(this.#firstAt !== NOT_YET && { first: this.#since(this.#firstAt) }),
      ...(this.#endAt !== NOT_YET && { end: this.#since(this.#endAt) }),
      ...(status !== 0 && { status }),
      ...(this.#error !== null && { error: this.#error }),
      ...(this.#reason !== null && { reason: this.#reason }),
      ...(!isAsked && { unasked: true as const }),
      ...(taken?.usage && { usage: tokensOf(taken.usage) }),
      ...(taken && taken.cost !== null && { cost: taken.cost }),
      ...(taken === null && { isLast: true as const }),
      ...(this.#cache && { cache: this.#cache }),
      ...(guardrails.length > 0 && { guardrails }),
    });
    this.#connectMs = null;
    this.#firstAt = NOT_YET;
    this.#endAt = NOT_YET;
    this.#status = 0;
    this.#error = null;
    this.#reason = null;
    this.#cache = null;
  }

  #add(attempt: PackedAttempt): void {
    this.#earlier ??= [];
    if (this.#earlier.length < MOST_KEPT) this.#earlier.push(attempt);
  }

  /** What guardrails have decided since this attempt began. What they found of the request is said at its first one. */
  #decisions(): PackedDecision[] {
    if (this.hookResults === this.#foundBefore || this.hookResults === null) return [];
    const { before_request_hooks = [], after_request_hooks = [] } = this.hookResults as PackedHookResults;
    const isFirst = this.#reason === null || this.#reason === 'fallback';
    return [
      ...(isFirst ? decisionsIn('input', before_request_hooks, this.openedAt) : []),
      ...decisionsIn('output', after_request_hooks, this.openedAt),
    ];
  }

  #since(mono: number): number {
    return rounded(mono - this.openedMono);
  }
}

let lastTarget = '';
let lastUrl: string | null = null;
let lastPlace = '';

/** Target and host as JSON. Most calls go where the last one went. */
function placeOf(target: string, url: string | null): string {
  if (target !== lastTarget || url !== lastUrl) {
    lastTarget = target;
    lastUrl = url;
    lastPlace = `${JSON.stringify(target)},${url === null ? null : JSON.stringify(hostIn(url))}`;
  }
  return lastPlace;
}

const LONGEST_MODEL = 256;

export const decisionsIn = (
  hook: PackedDecision['hook'],
  results: NonNullable<PackedHookResults['before_request_hooks']>,
  openedAt: number,
): PackedDecision[] =>
  results.map(({ id = '', verdict = true, deny = false, created_at = '', execution_time = 0 }) => ({
    hook,
    id,
    verdict,
    deny,
    at: Math.max(0, Date.parse(created_at) - openedAt || 0),
    ms: execution_time,
  }));

const tokensOf = ({ inputTokens, outputTokens, totalTokens }: Usage) => ({ inputTokens, outputTokens, totalTokens });

/** Of an address, without what could open a door: credentials, path and query stay out. */
export function hostIn(url: string): string {
  const start = url.indexOf('://') + 3;
  const slash = url.indexOf('/', start);
  const authority = slash < 0 ? url.slice(start) : url.slice(start, slash);
  const end = authority.search(/[?#\\]/);
  const host = end < 0 ? authority : authority.slice(0, end);
  return host.slice(host.lastIndexOf('@') + 1);
}

/** Hundredths of a millisecond: enough for a drawing, and short to write. */
function rounded(ms: number): number;
function rounded(ms: number | null): number | null;
function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 100) / 100;
}
