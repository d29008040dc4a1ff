import * as z from 'zod';
import type { CodeTools } from '../../core/code-runner.ts';
import type { WorkspaceId } from '../../core/ids.ts';
import { type Checked, schemaOf } from '../../core/schema.ts';
import { type Child, TRANSFER_MS } from './child.ts';
import { BrokenFrame, wholeOf } from './frames.ts';
import tools from './guest/tools.py' with { type: 'text' };
import { type CellLimits, LIMITS } from './limits.ts';
import { createTurns } from './turns.ts';

/** A file that code finds in its working folder. */
export interface CellFile {
  /** A name, not a path. */
  readonly name: string;
  readonly bytes: number;
  /** Null when it is not there any more. */
  open(): Promise<AsyncIterable<Uint8Array> | null>;
}

export interface Cell {
  readonly id: string;
  readonly code: string;
  /** What is mounted before it runs. */
  readonly files: readonly CellFile[];
  /** What it may call outside; nothing unless given. */
  readonly tools?: CodeTools;
}

/** Takes in what a cell has made, one thing after the other. */
export type Keep = (made: Made, content: AsyncIterable<Uint8Array>) => Promise<void>;
export type Made = { readonly type: 'image' } | { readonly type: 'file'; readonly path: string };

/** What every sandbox of this gateway starts from. */
export interface Base {
  /** A process in which a Python waits to be told for whom it is. */
  open(cpuSeconds: number): Child;
  /** What else it is told then. */
  readonly start: object;
  readonly sources: readonly Uint8Array[];
  /** What code may have of the memory. */
  readonly codeMb: number;
  readonly cellMs: number;
  /** Ends what waits to be used. */
  close(): void;
}

const START_MS = 120_000;
/** A sandbox works on one cell after the other; this is what all of them may take, with what they begin beside themselves. */
const CPU_TIMES = 20;

const resultHeader = () =>
  z.object({
    type: z.literal('result'),
    images: z.int().min(0).max(LIMITS.images),
    paths: z.array(z.string()).max(LIMITS.files),
    sizes: z.array(z.int().min(0)),
    isFailed: z.boolean().optional(),
  });
type ResultHeader = Checked<typeof resultHeader>;

/** Arguments of calls that wait for their turn. */
const MOST_HELD_BYTES = 16 << 20;
const LONGEST_NAME_BYTES = 1_024;
const callHeader = () =>
  z.object({
    type: z.literal('call'),
    id: z.int().min(1),
    sizes: z.tuple([z.int().min(1).max(LONGEST_NAME_BYTES), z.int().min(0)]),
  });

const encoder = new TextEncoder();
const toolsSource = encoder.encode(tools);

/** For whom a Python is started. */
export interface Owner {
  readonly threadId: string;
  readonly workspaceId: WorkspaceId;
  /** Less than cells usually may bring out. */
  readonly limits?: Partial<CellLimits>;
}

/** One Python with what the cells of one thread have left in it. */
export class Session {
  readonly threadId: string;
  readonly workspaceId: WorkspaceId;
  readonly #limits: object;
  readonly child: Child;
  /** The cells that have run in it, in their order. */
  readonly ran: string[] = [];
  readonly #base: Base;

  constructor(base: Base, owner: Owner) {
    this.#base = base;
    this.#limits = { ...LIMITS, ...owner.limits };
    this.threadId = owner.threadId;
    this.workspaceId = owner.workspaceId;
    const cpuSeconds = Math.ceil((base.cellMs * CPU_TIMES) / 1_000);
    this.child = base.open(cpuSeconds);
  }

  async start(): Promise<void> {
    const { start, sources, codeMb } = this.#base;
    const limits = { ...this.#limits, memoryBytes: codeMb * 1_048_576 };
    const header = { type: 'start', ...start, seed: this.threadId, limits };
    const answer = await this.child.ask(header, sources, START_MS);
    if ((answer as { type?: unknown } | null)?.type === 'ready') return;
    const { reason = 'an answer that is none' } = (answer ?? {}) as { reason?: unknown };
    throw new BrokenFrame(`Python does not start: ${String(reason).slice(0, 500)}`);
  }

  /** Brings back what a cell has left in another Python; what it printed and made is known already. */
  async replay(cell: Cell): Promise<void> {
    await this.#ask(cell, true);
    this.ran.push(cell.id);
  }

  /** Answers what the cell printed. */
  async run(cell: Cell, keep: Keep): Promise<{ readonly logs: string; readonly isFailed: boolean }> {
    const header = await this.#ask(cell, false);
    const logs = await this.child.within(TRANSFER_MS, () => this.#receive(header, keep));
    this.ran.push(cell.id);
    return { logs, isFailed: header.isFailed === true };
  }

  async #ask({ code, files, tools }: Cell, isReplay: boolean): Promise<ResultHeader> {
    const mounted: { name: string; body: { bytes: number; content: AsyncIterable<Uint8Array> } }[] = [];
    for (const { name, bytes, open } of files) {
      const content = await open();
      if (content) mounted.push({ name, body: { bytes, content } });
    }
    const names = mounted.map(({ name }) => name);
    const bodies = [encoder.encode(code), ...mounted.map(({ body }) => body)];
    const { cellMs } = this.#base;
    if (!tools) return checked(await this.child.ask({ type: 'cell', isReplay, files: names }, bodies, cellMs));
    const { functions, mostCalls, mostBytes } = tools;
    const header = { type: 'cell', isReplay, files: names, tools: { functions, mostCalls, mostBytes } };
    const hear = () => this.#serve(tools);
    return checked(await this.child.ask(header, [...bodies, toolsSource], cellMs, hear));
  }

  /** Makes the calls that code asks for, until it has ended. Answers what it says then. */
  async #serve({ call, mostCalls, mostParallel, mostBytes }: CodeTools): Promise<unknown> {
    const turn = createTurns(mostParallel);
    let held = 0;
    let freed = Promise.withResolvers<void>();
    const free = (bytes: number) => {
      held -= bytes;
      freed.resolve();
      freed = Promise.withResolvers<void>();
    };
    for (let made = 0; ; made++) {
      // Calls that wait for their turn do so in the sandbox, when they are large.
      while (held > MOST_HELD_BYTES && this.child.isAlive) await Promise.race([freed.promise, this.child.exited]);
      const header = await this.child.header();
      const { success, data } = schemaOf(callHeader).safeParse(header);
      if (!success) return header;
      const [nameSize, givenSize] = data.sizes;
      // The code counts and measures by itself; what still comes was sent past that.
      if (made >= mostCalls || givenSize > mostBytes) throw new BrokenFrame('more calls than were agreed');
      const name = new TextDecoder().decode(await wholeOf(this.child.take(nameSize)));
      const given = await wholeOf(this.child.take(givenSize));
      held += givenSize;
      void turn(async () => this.child.say({ type: 'answer', id: data.id }, [await call(name, given)]))
        .catch(() => this.child.kill())
        .finally(() => free(givenSize));
    }
  }

  async #receive({ images, paths, sizes: [logSize, ...sizes] }: ResultHeader, keep: Keep): Promise<string> {
    const logs = new TextDecoder().decode(await wholeOf(this.child.take(logSize!)));
    for (const [index, size] of sizes.entries()) {
      const made: Made = index < images ? { type: 'image' } : { type: 'file', path: paths[index - images]! };
      await keep(made, this.child.take(size));
    }
    return logs;
  }
}

/** An answer that could be one. */
function checked(answer: unknown): ResultHeader {
  const { success, data } = schemaOf(resultHeader).safeParse(answer);
  if (!success) throw new BrokenFrame('an answer that is none');
  const [logSize = Number.POSITIVE_INFINITY, ...sizes] = data.sizes;
  const isAgreed =
    sizes.length === data.images + data.paths.length &&
    // The sentence about what was cut comes on top.
    logSize <= LIMITS.logBytes * 4 &&
    sizes.reduce((sum, size) => sum + size, 0) <= LIMITS.fileBytes;
  if (!isAgreed) throw new BrokenFrame('an answer that is too large');
  return data;
}
