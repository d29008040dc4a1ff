import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One file of a corpus holds many configs, each after a line `#: name`. */
export interface Sample {
  /** `azure.yaml: a dated version`. */
  readonly name: string;
  readonly text: string;
  /** `#! …`: why it is refused; null: it is imported. */
  readonly refusedFor: string | null;
  /** `#~ …`: what the operator is told beside. */
  readonly says: readonly string[];
}

export function samplesIn(folder: string): Sample[] {
  return readdirSync(folder)
    .sort()
    .flatMap((file) =>
      readFileSync(join(folder, file), 'utf8')
        .split(/^#: /m)
        .slice(1)
        .map((part) => sampleOf(file, part)),
    );
}

function sampleOf(file: string, part: string): Sample {
  const [title = '', ...lines] = part.split('\n');
  const marked = (mark: string) => lines.filter((line) => line.startsWith(mark)).map((line) => line.slice(mark.length));
  return {
    name: `${file}: ${title}`,
    text: lines.filter((line) => !/^#[!~] /.test(line)).join('\n'),
    refusedFor: marked('#! ')[0] ?? null,
    says: marked('#~ '),
  };
}

/** A value for every variable that a config refers to, unless its name begins with UNSET. */
export function environmentFor(text: string): Record<string, string> {
  const names = [...text.matchAll(/os\.environ\/(\w+)|env:(\w+)/g)].map(([, one, other]) => (one ?? other)!);
  const madeUp = (name: string) => {
    if (/(BASE|URL|ENDPOINT)$/.test(name)) return `https://${name.toLowerCase().replaceAll('_', '-')}.example.com/v1`;
    if (/JSON$/.test(name)) return '{"type":"service_account","project_id":"acme-project"}';
    return /VERSION$/.test(name) ? '2024-10-21' : `value-of-${name.toLowerCase().replaceAll('_', '-')}`;
  };
  const set = names.filter((name) => !name.startsWith('UNSET'));
  return {
    OPENAI_API_KEY: 'sk-openai',
    NVIDIA_NIM_API_KEY: 'nvapi',
    ...Object.fromEntries(set.map((name) => [name, madeUp(name)])),
  };
}
