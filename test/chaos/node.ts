import {
  commands,
  type GatewayProcess,
  newDataDir,
  type ProcessOptions,
  removeDataDir,
  root,
  startProcess,
} from '../process.ts';

export interface NodeOptions {
  readonly environment: Record<string, string>;
  /** How far its clock is ahead. */
  readonly clockSkewMs: number;
}

/** A time in which a node was no good, and why. */
export interface Absence {
  readonly from: number;
  until: number;
  readonly why: 'killed' | 'stopped' | 'frozen' | 'drained';
}

/** One gateway, through all the processes it has been. Its data dir stays the same. */
export class ChaosNode {
  readonly number: number;
  readonly absences: Absence[] = [];
  readonly #options: ProcessOptions & { readonly dataDir: string };
  #process: GatewayProcess | null = null;
  /** What former processes wrote to standard error. */
  #errors = '';

  constructor(number: number, { environment, clockSkewMs }: NodeOptions) {
    this.number = number;
    const [bun, main] = commands.bundle;
    this.#options = {
      dataDir: newDataDir(),
      environment: { ...environment, ...(clockSkewMs !== 0 && { CHAOS_CLOCK_SKEW_MS: String(clockSkewMs) }) },
      ...(clockSkewMs !== 0 && { command: [bun, '--preload', `${root}/test/chaos/skewed-clock.ts`, main] }),
    };
  }

  get url(): string {
    return this.#running.url;
  }

  get api(): GatewayProcess['api'] {
    return this.#running.api;
  }

  /** As a balancer sees it: neither ended nor frozen. */
  get isServing(): boolean {
    return this.#process !== null && (this.absences.at(-1)?.until ?? 0) <= performance.now();
  }

  get dataDir(): string {
    return `${this.#options.dataDir}/data`;
  }

  get errors(): string {
    return this.#errors + (this.#process?.errors ?? '');
  }

  async start(): Promise<void> {
    this.#process = await startProcess(this.#options);
    this.comeBack();
  }

  /** SIGKILL: nothing is written down any more. */
  kill(): Promise<void> {
    return this.#end('killed', (process) => process.kill());
  }

  /** SIGTERM, as in a rollout. */
  stop(): Promise<void> {
    return this.#end('stopped', (process) => process.stop());
  }

  /** A balancer sends it nothing more, until `comeBack`. */
  leave(): void {
    this.#leave('drained');
  }

  comeBack(): void {
    const last = this.absences.at(-1);
    if (last) last.until = performance.now();
  }

  /** SIGSTOP: it keeps its connections and does nothing, until it thaws and goes on as if nothing had been. */
  freeze(): void {
    if (this.isServing) this.#leave('frozen');
    this.#process!.signal('SIGSTOP');
  }

  thaw(): void {
    this.#process!.signal('SIGCONT');
    this.comeBack();
  }

  async remove(): Promise<void> {
    if (this.#process) await this.kill();
    removeDataDir(this.#options.dataDir);
  }

  wasAbsent(from: number, until: number): boolean {
    return this.absences.some((absence) => absence.from <= until && absence.until >= from);
  }

  get #running(): GatewayProcess {
    if (!this.#process) throw new Error(`node ${this.number} is not running`);
    return this.#process;
  }

  async #end(why: 'killed' | 'stopped', end: (process: GatewayProcess) => Promise<unknown>) {
    const process = this.#process;
    if (!process) return;
    this.#leave(why);
    this.#process = null;
    await end(process);
    this.#errors += process.errors;
  }

  #leave(why: Absence['why']) {
    this.absences.push({ from: performance.now(), until: Number.POSITIVE_INFINITY, why });
  }
}
