import { migrations } from '../src/storage/migrations.ts';
import { LOG_MIGRATIONS } from '../src/telemetry/log-schema.ts';
import { version } from '../src/version.ts';

/** The last steps of each version that was released, oldest first. A release adds itself here when the next one begins. */
const RELEASED: readonly { readonly version: string; readonly state: string; readonly log: string }[] = [];

/** The steps after the one given, up to and including the other; null is the beginning, or the end. */
function between(names: readonly string[], after: string | null, last: string | null): string {
  const from = after === null ? 0 : names.indexOf(after) + 1;
  const to = last === null ? names.length : names.indexOf(last) + 1;
  const steps = names.slice(from, to);
  return steps.length === 0 ? 'none' : steps.map((name) => `\`${name}\``).join(', ');
}

/** Which version brings which steps. */
export function versionRows(): string[][] {
  const [state, log] = [migrations, LOG_MIGRATIONS].map((steps) => steps.map(({ name }) => name)) as [
    string[],
    string[],
  ];
  const all = [...RELEASED, { version, state: null, log: null }];
  return all.map((each, index) => {
    const before = RELEASED[index - 1] ?? null;
    return [
      each.version,
      between(state, before?.state ?? null, each.state),
      between(log, before?.log ?? null, each.log),
      before === null ? 'The first version: a new database gets all of them at its first start.' : '',
    ];
  });
}
