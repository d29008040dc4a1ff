import type { WorkspaceId } from '../../core/ids.ts';
import { BrokenFrame } from './frames.ts';
import { watchIdle } from './idle.ts';
import type { OpenJail, PythonAbout } from './jail.ts';
import { Places } from './places.ts';
import { type Base, type Cell, type Keep, type Owner, Session } from './session.ts';
import type { WorkshopOptions } from './workshop.ts';

/** The Python that every gateway brings along, or the one that its operator has put into a jail. */
export type SandboxOptions = PoolOptions & (WorkshopOptions | { readonly jail: OpenJail });

interface PoolOptions {
  /** The most sandboxes at once. */
  readonly processes: number;
  /** How long one is kept for the next cell of its thread. */
  readonly idleMs?: number;
  /** How long a cell waits for a sandbox. */
  readonly queueMs?: number;
}

export interface Job {
  readonly workspaceId: WorkspaceId;
  readonly threadId: string;
  /** The cells whose state this one finds, in their order. */
  readonly past: readonly Cell[];
  readonly cell: Cell;
  /** Takes in what the cell makes. */
  readonly keep: Keep;
  readonly signal: AbortSignal;
  /** Ends the sandbox with the cell: no other cell finds what it has left. */
  readonly isOnce?: boolean;
  /** How long it waits for a sandbox; as long as the others unless given. */
  readonly queueMs?: number;
  readonly limits?: Owner['limits'];
}

export interface Outcome {
  /** What it printed. */
  readonly logs: string;
  /** Whether it ended with an exception that it did not catch. */
  readonly isFailed: boolean;
  /** Why it was stopped, when it was: nothing of what it did is left then. */
  readonly stopped: 'time' | 'crash' | null;
  /** Whether the cells before it could not be repeated: it found their input files, and nothing else. */
  readonly isStateLost: boolean;
}

/** Runs code of users where it can do no harm. */
export interface Sandbox {
  /** Runs a cell in the state that the cells before it have left. Throws `NoPlace` when its turn does not come in time. */
  run(job: Job): Promise<Outcome>;
  /** What code finds, as far as it is known. */
  about(): Promise<PythonAbout | null>;
  /** The processes that are there. */
  readonly pids: readonly number[];
  /** Ends them all. */
  stop(): Promise<void>;
}

/** No sandbox can be started here: the operator has to know. */
export class NoSandbox extends Error {
  override readonly name = 'NoSandbox';
}

const IDLE_MS = 120_000;
const QUEUE_MS = 120_000;
/** All cells of a thread together, when they are repeated. */
const REPLAY_MS = 300_000;

/** A Python, and the place it has. */
interface Seated {
  readonly session: Session;
  readonly leave: () => void;
}

export class SandboxPool implements Sandbox {
  readonly #options: SandboxOptions;
  readonly #places: Places;
  #base: Promise<Base> | null = null;
  #about: Promise<PythonAbout | null> | null = null;
  /** With what stops watching them; the one that is idle longest comes first. */
  readonly #idle = new Map<Seated, () => void>();
  readonly #busy = new Set<Session>();
  #isStopped = false;

  constructor(options: SandboxOptions) {
    this.#options = options;
    this.#places = new Places(options.processes);
  }

  get pids(): number[] {
    const sessions = [...[...this.#idle.keys()].map(({ session }) => session), ...this.#busy];
    return sessions.map(({ child }) => child.pid);
  }

  async run(job: Job): Promise<Outcome> {
    const kept = this.#takeIdle(job);
    const leave = kept?.leave ?? (await this.#enter(job));
    let session = kept?.session ?? null;
    try {
      session ??= await this.#rebuilt(job);
      const isStateLost = session === null;
      session ??= await this.#started(job);
      const files = isStateLost ? [...job.past.flatMap((cell) => cell.files), ...job.cell.files] : job.cell.files;
      return { ...(await this.#execute(session, { ...job, cell: { ...job.cell, files } })), isStateLost };
    } catch (error) {
      session?.child.kill();
      job.signal.throwIfAborted();
      throw error;
    } finally {
      if (job.isOnce) session?.child.kill();
      this.#release(session, leave);
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    const busy = [...this.#busy];
    const idle = [...this.#idle.keys()];
    for (const seated of idle) this.#endIdle(seated);
    for (const { child } of busy) child.kill();
    await Promise.all([...busy, ...idle.map(({ session }) => session)].map(({ child }) => child.exited));
    (await this.#base?.catch(() => null))?.close();
  }

  about(): Promise<PythonAbout | null> {
    this.#about ??= this.#describe();
    return this.#about;
  }

  async #describe(): Promise<PythonAbout | null> {
    if ('jail' in this.#options) return this.#options.jail.about;
    const { aboutOf } = await import('./wheels.ts');
    // What is wrong with the wheels is said when code is run.
    return aboutOf(this.#options).catch(() => null);
  }

  #prepared(): Promise<Base> {
    this.#base ??= this.#prepare().catch((error) => {
      // What failed may have been mended meanwhile.
      this.#base = null;
      throw error;
    });
    return this.#base;
  }

  /** Loaded here: a gateway that runs no code does without its memory. */
  async #prepare(): Promise<Base> {
    if ('jail' in this.#options) return this.#options.jail.prepare();
    const { prepare } = await import('./workshop.ts');
    return prepare(this.#options);
  }

  /** The Python of the thread, when exactly the cells before this one have run in it. */
  #takeIdle({ threadId, workspaceId, past }: Job): Seated | null {
    for (const [seated, unwatch] of this.#idle) {
      const { session } = seated;
      if (session.threadId !== threadId || session.workspaceId !== workspaceId) continue;
      const isSame = session.ran.length === past.length && past.every(({ id }, index) => session.ran[index] === id);
      if (!isSame || !session.child.isAlive) {
        this.#endIdle(seated);
        continue;
      }
      unwatch();
      this.#idle.delete(seated);
      this.#busy.add(session);
      return seated;
    }
    return null;
  }

  /** A sandbox that is only kept for later makes room. */
  #enter({ workspaceId, signal, queueMs = this.#options.queueMs ?? QUEUE_MS }: Job): Promise<() => void> {
    const [oldest] = this.#idle.keys();
    if (this.#places.isFull && oldest) this.#endIdle(oldest);
    return this.#places.take(workspaceId, signal, queueMs);
  }

  async #started(job: Job): Promise<Session> {
    let session: Session | null = null;
    try {
      const base = await this.#prepared();
      job.signal.throwIfAborted();
      if (this.#isStopped) throw new NoSandbox('this gateway is being stopped');
      const started = new Session(base, job);
      session = started;
      this.#busy.add(started);
      await this.#guarded(started, job.signal, () => started.start());
      return started;
    } catch (error) {
      if (session) this.#busy.delete(session);
      job.signal.throwIfAborted();
      const said = session?.child.complaint ? `: ${session.child.complaint}` : '';
      throw new NoSandbox(`${error instanceof Error ? error.message : error}${said}`, { cause: error });
    }
  }

  /** A Python in which the cells before this one have run; null when they cannot be repeated. */
  async #rebuilt(job: Job): Promise<Session | null> {
    const session = await this.#started(job);
    const deadline = performance.now() + REPLAY_MS;
    try {
      for (const cell of job.past) {
        if (performance.now() > deadline) throw new BrokenFrame('the cells before take too long');
        await this.#guarded(session, job.signal, () => session.replay(cell));
      }
      return session;
    } catch (error) {
      session.child.kill();
      this.#busy.delete(session);
      if (!(error instanceof BrokenFrame)) throw error;
      return null;
    }
  }

  async #execute(session: Session, { cell, keep, signal }: Job): Promise<Omit<Outcome, 'isStateLost'>> {
    try {
      return { ...(await this.#guarded(session, signal, () => session.run(cell, keep))), stopped: null };
    } catch (error) {
      session.child.kill();
      if (!(error instanceof BrokenFrame)) throw error;
      return { logs: '', isFailed: true, stopped: session.child.isLate ? 'time' : 'crash' };
    }
  }

  /** Ends the session as soon as its caller gives the result up. */
  async #guarded<Result>({ child }: Session, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    const abort = () => child.kill();
    signal.addEventListener('abort', abort);
    try {
      signal.throwIfAborted();
      const result = await work();
      // What was said before the end had its effect is for a caller that is not there any more.
      signal.throwIfAborted();
      return result;
    } catch (error) {
      child.kill();
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /** Keeps a session that can be used again, unless another call waits for its place. */
  #release(session: Session | null, leave: () => void) {
    if (session) this.#busy.delete(session);
    if (!session?.child.isAlive || this.#isStopped || this.#places.isWanted) {
      session?.child.kill();
      return leave();
    }
    const seated = { session, leave };
    const unwatch = watchIdle(session.child, this.#options.idleMs ?? IDLE_MS, () => this.#endIdle(seated));
    this.#idle.set(seated, unwatch);
  }

  #endIdle(seated: Seated) {
    this.#idle.get(seated)?.();
    this.#idle.delete(seated);
    seated.session.child.kill();
    seated.leave();
  }
}
