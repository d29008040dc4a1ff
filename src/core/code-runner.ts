import type { WorkspaceId } from './ids.ts';

/** What code may call outside of its sandbox. */
export interface CodeTools {
  /** The tool that each function of the code calls. */
  readonly functions: Readonly<Record<string, string>>;
  /** The most calls of one program. Code that gets around the count ends with its sandbox. */
  readonly mostCalls: number;
  /** So many at a time; the others wait. */
  readonly mostParallel: number;
  /** Of the arguments of one call. */
  readonly mostBytes: number;
  /** Any name, and any bytes: code has made both. Answers a JSON-RPC message with a result or an error. Never throws. */
  readonly call: (name: string, given: Uint8Array) => Promise<Uint8Array>;
}

/** Code of a model that runs once, in a sandbox in which nothing has run before and nothing will after. */
export interface Program {
  readonly workspaceId: WorkspaceId;
  readonly code: string;
  readonly tools: CodeTools;
  /** Ends the sandbox at once. */
  readonly signal: AbortSignal;
}

export interface ProgramEnd {
  /** What it printed; nothing where it was stopped. */
  readonly printed: string;
  /** `failed`: an exception that it did not catch. `busy`, `broken`: it did not run. */
  readonly how: 'well' | 'failed' | 'too_long' | 'crashed' | 'busy' | 'broken';
}

/** Runs code of models, and has bounds for it. */
export interface CodeRunner {
  readonly seconds: number;
  readonly memoryMb: number;
  readonly mostCodeBytes: number;
  run(program: Program): Promise<ProgramEnd>;
}
