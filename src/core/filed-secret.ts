import { readFileSync } from 'node:fs';

/** A variable whose value cannot be used: one sentence with its name, the fault and the right form. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

type Environment = Readonly<Record<string, string | undefined>>;

/** What a variable says, or what stands in the file that its `_FILE` names. Empty counts as absent. */
export function secretIn(environment: Environment, name: string): string | undefined {
  const given = environment[name]?.trim() || undefined;
  const file = environment[`${name}_FILE`]?.trim();
  if (!file) return given;
  if (given) throw new SettingsError(`${name}_FILE is set beside ${name}; give one of the two.`);
  const form = `give the path of a file that holds ${name}`;
  try {
    const found = readFileSync(file, 'utf8').trim();
    if (found) return found;
  } catch (error) {
    const why = (error as { code?: string }).code ?? 'unknown reason';
    throw new SettingsError(`${name}_FILE names a file that cannot be read (${file}: ${why}); ${form}.`);
  }
  throw new SettingsError(`${name}_FILE names a file that is empty (${file}); ${form}.`);
}
