import type { FailedBy, Usage } from '../record.ts';
import { OTHER } from './capped.ts';
import type { Cell, NumberSeries } from './family.ts';
import type { Registry } from './registry.ts';

/** A caller that was silent for so long goes: what was deleted does not stay, and its room is for others. */
const SILENT_MS = 24 * 60 * 60 * 1000;

/** A call as it is counted for its caller, who is known by what does not change. */
export interface MeteredCall {
  /** Its slug; null: the caller is a stranger. */
  readonly workspace: string | null;
  /** Its id; null: a user who signed in, and has no key. */
  readonly apiKey: string | null;
  /** What the key is called; null where that would be the name of a person. */
  readonly apiKeyName: string | null;
  readonly virtualKey: string | null;
  readonly failedBy: FailedBy | null;
  readonly usage: Usage | null;
  readonly cost: number | null;
}

/** What one caller has done with one virtual key. */
interface Account {
  readonly workspace: string;
  readonly apiKey: string;
  apiKeyName: string;
  readonly virtualKey: string;
  isHeard: boolean;
  succeeded: number;
  gateway: number;
  provider: number;
  client: number;
  inputTokens: number;
  outputTokens: number;
  cost: number;
}

const accountOf = (workspace: string, apiKey: string, virtualKey: string): Account => ({
  ...{ workspace, apiKey, apiKeyName: '', virtualKey },
  isHeard: true,
  ...{ succeeded: 0, gateway: 0, provider: 0, client: 0, inputTokens: 0, outputTokens: 0, cost: 0 },
});

export interface CallersOptions {
  readonly registry: Registry;
  /** So many callers are told apart; one with two virtual keys counts twice. */
  readonly most: number;
  /** Counts calls of those beyond. */
  readonly beyond: Cell;
  readonly now: () => number;
}

const LABELS = ['workspace', 'api_key', 'api_key_name', 'virtual_key'] as const;

/** Calls, tokens and cost by caller. One look finds all that is counted of a call. */
export class Callers {
  readonly #accounts = new Map<string, Map<string, Map<string, Account>>>();
  readonly #options: CallersOptions;
  #size = 0;
  #others: Account | null = null;
  #sweptAt: number;

  constructor(options: CallersOptions) {
    const { registry, now } = options;
    this.#options = options;
    this.#sweptAt = now();
    const counter = (
      name: string,
      help: string,
      label: string | null,
      read: (account: Account) => [string, number][],
    ) =>
      registry.collected(
        { name: `${name}_total`, type: 'counter', help, labels: label === null ? LABELS : [...LABELS, label] },
        () => this.#read(label !== null, read),
      );
    counter('gateway_caller_requests', 'Finished requests of a caller.', 'failed_by', (account) => [
      ['', account.succeeded],
      ['gateway', account.gateway],
      ['provider', account.provider],
      ['client', account.client],
    ]);
    counter('gateway_caller_tokens', 'Tokens of a caller, as providers counted them.', 'kind', (account) => [
      ['input', account.inputTokens],
      ['output', account.outputTokens],
    ]);
    counter('gateway_caller_cost_usd', 'Cost of a caller, where model and usage are known.', null, ({ cost }) => [
      ['', cost],
    ]);
  }

  count({ workspace, apiKey, apiKeyName, virtualKey, failedBy, usage, cost }: MeteredCall): void {
    if (workspace === null) return;
    const account = this.#at(workspace, apiKey ?? '', virtualKey ?? '');
    account.isHeard = true;
    // A key that got another name goes on counting under it.
    if (account !== this.#others) account.apiKeyName = apiKeyName ?? '';
    account[failedBy ?? 'succeeded']++;
    if (usage?.inputTokens) account.inputTokens += usage.inputTokens;
    if (usage?.outputTokens) account.outputTokens += usage.outputTokens;
    if (cost) account.cost += cost;
  }

  #at(workspace: string, apiKey: string, virtualKey: string): Account {
    return (
      this.#accounts.get(workspace)?.get(apiKey)?.get(virtualKey) ??
      (this.#size < this.#options.most ? this.#add(workspace, apiKey, virtualKey) : this.#other())
    );
  }

  #other(): Account {
    this.#options.beyond.value++;
    this.#others ??= { ...accountOf(OTHER, OTHER, OTHER), apiKeyName: OTHER };
    return this.#others;
  }

  #add(workspace: string, apiKey: string, virtualKey: string): Account {
    const account = accountOf(workspace, apiKey, virtualKey);
    const keys = this.#accounts.get(workspace) ?? new Map<string, Map<string, Account>>();
    const ofKey = keys.get(apiKey) ?? new Map<string, Account>();
    this.#accounts.set(workspace, keys.set(apiKey, ofKey.set(virtualKey, account)));
    this.#size++;
    return account;
  }

  #read(isLabelled: boolean, read: (account: Account) => [string, number][]): NumberSeries[] {
    if (this.#options.now() - this.#sweptAt >= SILENT_MS) this.#sweep();
    const found: NumberSeries[] = [];
    for (const account of this.#all()) {
      const { workspace, apiKey, apiKeyName, virtualKey } = account;
      const labelled = [workspace, apiKey, apiKeyName, virtualKey];
      for (const [last, value] of read(account))
        if (value > 0) found.push({ labelled: isLabelled ? [...labelled, last] : labelled, value });
    }
    return found;
  }

  *#all(): Iterable<Account> {
    for (const keys of this.#accounts.values()) for (const ofKey of keys.values()) yield* ofKey.values();
    if (this.#others) yield this.#others;
  }

  #sweep() {
    this.#sweptAt = this.#options.now();
    for (const [workspace, keys] of this.#accounts) {
      for (const [apiKey, ofKey] of keys) {
        for (const [virtualKey, account] of ofKey) {
          if (account.isHeard) account.isHeard = false;
          else if (ofKey.delete(virtualKey)) this.#size--;
        }
        if (ofKey.size === 0) keys.delete(apiKey);
      }
      if (keys.size === 0) this.#accounts.delete(workspace);
    }
  }
}
