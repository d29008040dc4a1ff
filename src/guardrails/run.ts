import { allOf, andThen, type NowOrLater, orElse } from '../core/runtime/now-or-later.ts';
import { type Check, type CheckResult, errored, type Facts, type Hook, type Looked, type Ports } from './check.ts';
import type { Guardrail, PreparedCheck } from './guardrail.ts';
import type { Reading } from './reading.ts';
import { Unreadable } from './texts.ts';
import { type CheckOutcome, type HookResult, resultOf, writtenTime } from './verdict.ts';

/** What is judged, apart from the body. */
export type Surroundings = Omit<Facts, 'texts' | 'json' | 'on' | 'request' | 'model' | 'isStream'> & {
  /** Finding it out takes a walk over the body, and few checks ask for it. */
  readonly isStream: () => boolean;
  readonly model: string | null;
  /** The model that the address names, whatever the body says. */
  readonly addressed?: string | null;
};

export interface Judging {
  readonly hook: Hook;
  readonly guardrails: readonly Guardrail[];
  readonly reading: Reading;
  /** The request, while its answer is judged. */
  readonly request: Reading;
  readonly surroundings: Surroundings;
  readonly ports: Ports;
  /** Those that the caller wrote. */
  readonly written?: ReadonlySet<Guardrail>;
  /** Who is held to a share of the threads: a key. */
  readonly owner?: string;
}

export interface Judged {
  /** What has become of the body. */
  readonly reading: Reading;
  readonly results: readonly HookResult[];
  /** To set on the request; null takes one away. */
  readonly headers: Readonly<Record<string, string | null>>;
}

/** What checks may take of the event loop in one call, in microseconds; what is more goes to a thread. */
const MOST_HERE = 5_000;
/** What they may take of a thread, in milliseconds; what is more is not looked at, and so does not pass. */
const MOST_THREAD_MS = 5_000;
const OVER_BUDGET = errored(`the checks of this call took more than ${MOST_THREAD_MS} ms; send less text at once`);
/** What a text costs beside its characters. */
const EACH_TEXT = 32;

/** Changes of others may come while a check looks; after so many it is not asked again. */
const MOST_LOOKS = 5;

/**
 * Lets every guardrail look. Whatever a check puts in the place of what it saw, those that begin later see; two that
 * change the same text do so one after the other. So a check that finds out at once ends before the next one begins,
 * without a promise.
 */
export function judge(judging: Judging): NowOrLater<Judged> {
  const subject = new Subject(judging);
  const running = judging.guardrails.map((guardrail) => runGuardrail(guardrail, subject));
  return andThen(allOf(running), (results) => ({ reading: subject.reading, results, headers: subject.headers }));
}

const NO_HEADERS: Judged['headers'] = {};

/** The body while it is judged. */
class Subject {
  readonly hook: Hook;
  readonly ports: Ports;
  readonly written: ReadonlySet<Guardrail> | undefined;
  headers = NO_HEADERS;
  reading: Reading;
  facts: Facts;
  /** Grows with each change. */
  version = 0;
  readonly #judging: Judging;
  /** What checks have found in what is there now: what is asked twice is looked at once. */
  #found = new Map<string, NowOrLater<CheckResult>>();
  #characters: number | null = null;
  #takenHere = 0;
  #takenInThreads = 0;
  /** A call has one check in the threads at a time. */
  #line: Promise<unknown> = Promise.resolve();

  constructor(judging: Judging) {
    this.#judging = judging;
    this.hook = judging.hook;
    this.ports = judging.ports;
    this.written = judging.written;
    this.reading = judging.reading;
    this.facts = new SeenFacts(judging, judging.reading);
  }

  change(reading: Reading) {
    this.reading = reading;
    this.facts = new SeenFacts(this.#judging, reading);
    this.version++;
    this.#found = new Map();
    this.#characters = null;
  }

  /** Runs a check that needs nothing but the texts: here, or in a thread where it does not hold up other requests. */
  look(prepared: PreparedCheck, effort: NonNullable<PreparedCheck['check']['effort']>) {
    let found = this.#found.get(prepared.asked);
    if (found === undefined) {
      const takes = effort(prepared.parameters, this.#size());
      const isHere = !this.ports.threads || (!prepared.check.load && this.#takenHere + takes <= MOST_HERE);
      if (isHere) this.#takenHere += takes;
      found = isHere ? lookHere(prepared, this) : this.#lookInThread(prepared);
      this.#found.set(prepared.asked, found);
    }
    return found;
  }

  #size(): number {
    this.#characters ??= this.facts.texts.reduce((sum, { text }) => sum + text.length + EACH_TEXT, 0);
    return this.#characters;
  }

  #lookInThread(prepared: PreparedCheck): Promise<CheckResult> {
    const { owner = '' } = this.#judging;
    const { texts } = this.facts;
    const looking = this.#line.then(async (): Promise<CheckResult> => {
      if (this.#takenInThreads > MOST_THREAD_MS) return OVER_BUDGET;
      const { result, ms }: Looked = await this.ports.threads!.look({ owner, prepared, on: this.hook, texts });
      this.#takenInThreads += ms;
      return result;
    });
    this.#line = looking.catch(() => {});
    return looking.catch(broken);
  }
}

/** What checks see of a body and of what is around it. */
class SeenFacts implements Facts {
  readonly on: Hook;
  readonly texts: Facts['texts'];
  readonly request: Facts['request'];
  readonly model: string | null;
  readonly status: number | null;
  readonly endpointType: Facts['endpointType'];
  readonly metadata: Facts['metadata'];
  readonly headers: Facts['headers'];
  readonly provider: string | null;
  readonly proving: Facts['proving'];
  readonly #reading: Reading;
  readonly #surroundings: Surroundings;

  constructor({ hook, request, surroundings }: Judging, reading: Reading) {
    const isInput = hook === 'input';
    const asked = isInput ? reading : request;
    this.on = hook;
    this.texts = reading.texts;
    this.request = asked;
    this.model = surroundings.addressed ?? asked.model ?? surroundings.model;
    this.status = isInput ? null : surroundings.status;
    this.endpointType = surroundings.endpointType;
    this.metadata = surroundings.metadata;
    this.headers = surroundings.headers;
    this.provider = surroundings.provider;
    this.proving = surroundings.proving;
    this.#reading = reading;
    this.#surroundings = surroundings;
  }

  /** Putting a stream together takes time, and few checks ask for it. */
  get json(): unknown {
    return this.#reading.json;
  }

  get isStream(): boolean {
    return this.#surroundings.isStream();
  }
}

interface Start {
  /** Since 1970, in milliseconds, as the clock says. */
  readonly at: number;
  /** For measuring. */
  readonly mono: number;
}

const startNow = ({ ports }: Subject): Start => ({ at: ports.now(), mono: performance.now() });
const elapsed = ({ mono }: Start): number => Math.round((performance.now() - mono) * 1_000) / 1_000;

function runGuardrail(guardrail: Guardrail, subject: Subject): NowOrLater<HookResult> {
  const start = startNow(subject);
  const isCallers = subject.written?.has(guardrail) ?? false;
  return andThen(runChecks(guardrail, subject), (outcomes) =>
    resultOf(guardrail, outcomes, { startedAt: start.at, ms: elapsed(start), isCallers }),
  );
}

function runChecks({ checks, actions }: Guardrail, subject: Subject): NowOrLater<readonly CheckOutcome[]> {
  const { isEmpty } = subject.reading;
  const looking = checks[subject.hook].filter((prepared) => hasSomethingToSee(prepared, isEmpty));
  return actions.sequential ? inOrder(looking, subject) : allOf(looking.map((prepared) => runCheck(prepared, subject)));
}

/** A request without a body has no texts, so checks of texts have nothing to judge. */
const hasSomethingToSee = ({ check: { judges = 'texts' } }: PreparedCheck, isEmpty: boolean): boolean =>
  !isEmpty || judges !== 'texts';

async function inOrder(checks: readonly PreparedCheck[], subject: Subject): Promise<CheckOutcome[]> {
  const outcomes: CheckOutcome[] = [];
  for (const prepared of checks) outcomes.push(await runCheck(prepared, subject));
  return outcomes;
}

function runCheck(prepared: PreparedCheck, subject: Subject, looks = 1): NowOrLater<CheckOutcome> {
  const { version } = subject;
  const start = startNow(subject);
  return andThen(look(prepared, subject), (found) => taken(prepared, subject, found, { start, version, looks }));
}

/** What becomes of the body by what a check has found, and of the check when another one came between. */
function taken(
  prepared: PreparedCheck,
  subject: Subject,
  found: CheckResult,
  { start, version, looks }: { readonly start: Start; readonly version: number; readonly looks: number },
): NowOrLater<CheckOutcome> {
  let result = found;
  let isTransformed = false;
  if (found.transformed) {
    if (subject.version !== version)
      return looks < MOST_LOOKS
        ? runCheck(prepared, subject, looks + 1)
        : outcomeOf(prepared, errored('what it looked at kept changing'), start, isTransformed);
    const changed = changedBy(found, subject.reading);
    if (changed) subject.change(changed);
    else result = errored('what it puts in the place of this body cannot be put there');
    isTransformed = changed !== null;
  }
  if (result.headers) subject.headers = { ...subject.headers, ...result.headers };
  return outcomeOf(prepared, result, start, isTransformed);
}

function toldOf({ tells = NOTHING_TOLD }: Check, data: CheckResult['data']): CheckResult['data'] {
  if (data === null || tells === 'all') return data;
  const told: Record<string, unknown> = {};
  for (const name of tells) if (Object.hasOwn(data, name)) told[name] = data[name];
  return told;
}

const NOTHING_TOLD: readonly string[] = [];

/** A check that throws has not looked. */
function look(prepared: PreparedCheck, subject: Subject): NowOrLater<CheckResult> {
  const { judges = 'texts', effort } = prepared.check;
  const { obstacle } = subject.reading;
  if (obstacle !== null && judges === 'texts') return errored(`this body cannot be judged: ${obstacle}`);
  return effort ? subject.look(prepared, effort) : lookHere(prepared, subject);
}

function lookHere({ check, parameters }: PreparedCheck, { facts, ports }: Subject): NowOrLater<CheckResult> {
  return orElse(() => check.run(facts, parameters, ports), broken);
}

const broken = (): CheckResult => errored('the check failed');

function changedBy({ transformed }: CheckResult, reading: Reading): Reading | null {
  try {
    return reading.changed(transformed!);
  } catch (error) {
    if (error instanceof Unreadable) return null;
    throw error;
  }
}

function outcomeOf(
  { id, name, failsOnError, check }: PreparedCheck,
  { verdict, data, log = null, error }: CheckResult,
  start: Start,
  isTransformed: boolean,
): CheckOutcome {
  const outcome = {
    id,
    // Whatever a check answers beside true is no pass.
    verdict: verdict === true,
    data,
    told: toldOf(check, data),
    log,
    error: error === undefined ? null : { message: error },
    fail_on_error: failsOnError,
    transformed: isTransformed,
    execution_time: elapsed(start),
    created_at: writtenTime(start.at),
  };
  return name === undefined ? outcome : { ...outcome, name };
}
