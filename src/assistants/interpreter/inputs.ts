import { GatewayError } from '../../core/errors.ts';
import type { WorkspaceId } from '../../core/ids.ts';
import type { Files } from '../../files/files.ts';
import type { FileRow } from '../../storage/schema.ts';
import type { Input } from './cells.ts';
import { INPUT_BYTES } from './limits.ts';
import type { CellFile } from './session.ts';

export interface Inputs {
  readonly added: readonly Input[];
  /** What could not be mounted, in sentences. */
  readonly notes: readonly string[];
}

type ReadFiles = Pick<Files, 'row' | 'open'>;

/** The files that the next cell finds beside those that were mounted before. */
export async function newInputs(
  fileIds: readonly string[],
  mounted: readonly Input[],
  { workspaceId, files }: { workspaceId: WorkspaceId; files: ReadFiles },
): Promise<Inputs> {
  const added: Input[] = [];
  const notes: string[] = [];
  let left = mounted.reduce((sum, { bytes }) => sum - bytes, INPUT_BYTES);
  for (const id of new Set(fileIds)) {
    if (mounted.some(({ file_id }) => file_id === id)) continue;
    const row = await rowIfThere(files, workspaceId, id);
    if (!row) notes.push(`The file ${id} is not there any more.`);
    else if (row.bytes > left)
      notes.push(`${nameOf(row)} (${id}) was not mounted: all files together may have ${INPUT_BYTES} bytes.`);
    else {
      const name = freeName(row, [...mounted, ...added]);
      added.push({ file_id: id, name, bytes: row.bytes });
      left -= row.bytes;
    }
  }
  return { added, notes };
}

/** The names under which code would find files, for telling the model. */
export async function namesOf(
  fileIds: readonly string[],
  mounted: readonly Input[],
  reading: { workspaceId: WorkspaceId; files: ReadFiles },
): Promise<Input[]> {
  const { added } = await newInputs(fileIds, mounted, reading);
  return [...mounted.filter(({ file_id }) => fileIds.includes(file_id)), ...added];
}

export const cellFile = ({ file_id, name, bytes }: Input, workspaceId: WorkspaceId, files: ReadFiles): CellFile => ({
  name,
  bytes,
  open: async () => {
    const row = await rowIfThere(files, workspaceId, file_id);
    return row && ((await files.open(row)) as unknown as AsyncIterable<Uint8Array>);
  },
});

async function rowIfThere(files: ReadFiles, workspaceId: WorkspaceId, id: string): Promise<FileRow | null> {
  try {
    return await files.row(workspaceId, id);
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'file_not_found') return null;
    throw error;
  }
}

const LONGEST_NAME = 200;

/** The last part of what the file was called; never a path, never hidden, never empty. */
function nameOf({ id, filename }: Pick<FileRow, 'id' | 'filename'>): string {
  const last = filename.split(/[/\\]/).at(-1)!;
  const plain = last
    .replaceAll(/[\x00-\x1f\x7f]/g, '_')
    .replace(/^\.+/, '')
    .trim();
  return plain.slice(0, LONGEST_NAME).toWellFormed() || id;
}

function freeName(row: FileRow, taken: readonly Input[]): string {
  const name = nameOf(row);
  return taken.some((input) => input.name === name) ? `${row.id}-${name}` : name;
}
