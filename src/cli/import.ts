import type { Settings } from '../settings.ts';
import { UsageError } from './arguments.ts';
import { importLitellm, LITELLM_USAGE } from './import-litellm.ts';
import { importPortkey, PORTKEY_USAGE } from './import-portkey.ts';

/** `gateway import litellm …`, `gateway import portkey …`. */
export async function importFrom(settings: Settings, [from = '', ...rest]: readonly string[]): Promise<void> {
  if (from === 'litellm') return importLitellm(settings, rest);
  if (from === 'portkey') return importPortkey(settings, rest);
  const usage = `${LITELLM_USAGE}\n${PORTKEY_USAGE}`;
  if (from === '--help' || from === '-h') return void console.log(usage);
  throw new UsageError(`${from === '' ? 'say where from' : `"${from}" cannot be imported from`}.\n\n${usage}`);
}
