import type { Settings } from '../settings.ts';
import { UsageError } from './arguments.ts';
import { ASSISTANTS_USAGE, importAssistants } from './import-assistants.ts';
import { importLitellm, LITELLM_USAGE } from './import-litellm.ts';
import { importPortkey, PORTKEY_USAGE } from './import-portkey.ts';

/** `gateway import litellm …`, `gateway import portkey …`, `gateway import assistants …`. */
export async function importFrom(settings: Settings, [from = '', ...rest]: readonly string[]): Promise<void> {
  if (from === 'litellm') return importLitellm(settings, rest);
  if (from === 'portkey') return importPortkey(settings, rest);
  if (from === 'assistants') return importAssistants(settings, rest);
  const usage = `${LITELLM_USAGE}\n${PORTKEY_USAGE}\n${ASSISTANTS_USAGE}`;
  if (from === '--help' || from === '-h') return void console.log(usage);
  throw new UsageError(`${from === '' ? 'say where from' : `"${from}" cannot be imported from`}.\n\n${usage}`);
}
