import * as z from 'zod';
import { DEFAULT_WORKSPACE } from '../../auth/workspaces.ts';
import { name as nameOf, slug as slugOf } from '../../http/resource.ts';
import { optionNames } from '../../providers/registry.ts';
import { configSchema } from '../../routing/config.ts';
import type { ConfigWish } from '../desired.ts';
import { checked, type Findings } from '../reading/findings.ts';
import type { Path, Source } from '../reading/source.ts';
import type { SecretReader } from './secrets.ts';

const entry = z.strictObject({
  slug: slugOf(),
  name: nameOf().optional(),
  workspace: slugOf().optional(),
  config: z.record(z.string(), z.unknown(), { error: 'give a config object' }),
});
const schema = configSchema([...optionNames]);

export function readConfig(
  value: unknown,
  path: Path,
  { source, findings, secrets }: { source: Source; findings: Findings; secrets: SecretReader },
): ConfigWish | null {
  const found = checked(entry, value, { source, path, findings });
  if (found === null) return null;
  const inside = [...path, 'config'];
  const before = findings.faults.length;
  const opened = secrets.readConfig(found.config, inside);
  if (findings.faults.length > before) return null;
  const config = checkedConfig(opened, inside, source, findings);
  if (config === null) return null;
  const { slug, workspace = DEFAULT_WORKSPACE, name = slug } = found;
  return { place: source.placeOf(path), ref: `${workspace}/${slug}`, workspace, slug, name, config };
}

/** A config object as the API checks it, each fault with its line. */
export const checkedConfig = (value: unknown, path: Path, source: Source, findings: Findings): unknown =>
  checked(schema, value, { source, path, findings });
