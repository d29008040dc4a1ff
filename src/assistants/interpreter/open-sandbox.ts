import { join } from 'node:path';
import { SettingsError } from '../../core/filed-secret.ts';
import { fencesFor, missingFences } from './fences.ts';
import { findSandbox } from './find.ts';
import { NoJail, openJail } from './jail.ts';
import { SandboxPool } from './sandbox.ts';

/** Where and how code of models is run; `src/settings.ts` says what each member means. */
export interface InterpreterSettings {
  readonly isOn: boolean;
  readonly deno: string | null;
  readonly pyodide: string | null;
  readonly wheels: string | null;
  readonly python: string | null;
  readonly cellSeconds: number;
  readonly memoryMb: number;
  readonly processes: number;
  readonly areFencesRequired: boolean;
}

/** Null when it is switched off, or when there is nothing to run code with. */
export async function openSandbox(interpreter: InterpreterSettings, dataDir: string): Promise<SandboxPool | null> {
  const { isOn, python } = interpreter;
  if (isOn && python !== null) return openJailed({ ...interpreter, python }, dataDir);
  const found = interpreter.isOn ? findSandbox(interpreter) : null;
  // An operator who names a place for it wants to have it.
  if (found && 'problem' in found && (interpreter.deno ?? interpreter.pyodide ?? interpreter.wheels) !== null)
    process.stderr.write(`Warning: code of models cannot be run: ${found.problem}.\n`);
  if (!found || !('place' in found)) return null;
  const missing = interpreter.areFencesRequired ? missingFences(await fencesFor(found.place.deno)) : [];
  for (const fence of missing)
    process.stderr.write(
      `Warning: code of models is not run: GATEWAY_INTERPRETER_FENCES is required, and the fence around ${fence.name} is missing (${fence.missing}).\n`,
    );
  if (missing.length > 0) return null;
  return new SandboxPool({ ...interpreter, ...found.place, folder: join(dataDir, 'interpreter') });
}

/** Throws where code could not be kept in: an operator who asks for this Python gets no other one instead, and none without a jail. */
async function openJailed(
  { python, memoryMb, cellSeconds, processes }: InterpreterSettings & { readonly python: string },
  dataDir: string,
): Promise<SandboxPool> {
  try {
    const jail = await openJail({ python, memoryMb, cellSeconds, folder: join(dataDir, 'interpreter') });
    return new SandboxPool({ jail, processes });
  } catch (error) {
    if (!(error instanceof NoJail)) throw error;
    throw new SettingsError(
      `GATEWAY_INTERPRETER_PYTHON is set, and code of models cannot be kept in: ${error.message}.`,
    );
  }
}
