import { resolve } from 'node:path';
import { DEFAULT_WORKSPACE } from '../auth/workspaces.ts';
import type { WorkspaceId } from '../core/ids.ts';
import { COMMAND_LINE, recordChanges } from '../desired/change-records.ts';
import { createFindings, type Findings } from '../desired/reading/findings.ts';
import { createFiles } from '../files/files.ts';
import { openBlobs } from '../files/open-blobs.ts';
import { createEgressPolicy } from '../http/egress.ts';
import { createUpstream } from '../http/upstream.ts';
import type { Settings } from '../settings.ts';
import type { Db } from '../storage/store.ts';
import { readArguments } from './arguments.ts';
import { type Export, FILES, readExport } from './assistants/export.ts';
import { type Written, writeExport } from './assistants/write.ts';
import { type Installation, openInstallation } from './installation.ts';
import { showBar } from './progress.ts';
import { refuseFaults, showLeftOut } from './report.ts';

export const ASSISTANTS_USAGE = `gateway import assistants <folder> [--workspace slug] [--leave-out-missing-files] [--dry-run]

Takes over assistants, threads and messages that were exported as JSON lines, and files. Assistants, threads and files
keep their ids.

  <folder>                   assistants.jsonl, threads.jsonl, messages.jsonl, files.jsonl, and files/<id> with contents
  --workspace                where they go; default: default
  --leave-out-missing-files  files that are spoken of and nowhere to be found, or of which the export has no content, are
                             no fault
  --dry-run                  read, check and count, and change nothing
`;

const options = {
  workspace: { type: 'string', default: DEFAULT_WORKSPACE },
  'leave-out-missing-files': { type: 'boolean', default: false },
  'dry-run': { type: 'boolean', default: false },
} as const;

/** Reads everything, says what is wrong with it, and writes only when nothing is. */
export async function importAssistants(settings: Settings, rest: readonly string[]): Promise<void> {
  const { values, positionals } = readArguments(rest, { options, positionals: 1, usage: ASSISTANTS_USAGE });
  const findings = createFindings();
  const read = await readExport(resolve(positionals[0]!), findings);
  // Without a database that may not exist yet, as long as the files themselves are wrong.
  if (refuseFaults(findings)) return;
  const isDryRun = values['dry-run'];
  const installation = await openInstallation(settings, { isDryRun });
  try {
    const workspaceId = await workspaceOf(installation, values.workspace);
    const missing = await missingFiles(installation.store.db, workspaceId, read, findings, {
      mayMiss: values['leave-out-missing-files'],
    });
    await refuseForeign(installation.store.db, workspaceId, read, findings);
    if (refuseFaults(findings)) return;
    console.log(`${countsOf(sizesOf(read))} in the export.`);
    if (!isDryRun) {
      // Recorded before the first write: the import takes many transactions, and none may be without a record.
      const { store, sealer, who } = installation;
      const change = {
        command: 'import/assistants',
        method: 'POST',
        resource: 'assistants',
        action: 'import',
      } as const;
      await recordChanges(store.db, { sealer, who, author: COMMAND_LINE, now: Date.now() }, [
        { ...change, workspaceId, body: { workspace: values.workspace, fields: sizesOf(read) } },
      ]);
      const written = await write(settings, installation, read, { workspaceId, missing });
      console.log(`${countsOf(written)} taken over; the rest was here already.`);
    }
  } finally {
    await installation.close();
  }
  showLeftOut(findings);
}

async function write(
  settings: Settings,
  { store }: Installation,
  read: Export,
  { workspaceId, missing }: { workspaceId: WorkspaceId; missing: ReadonlySet<string> },
): Promise<Written> {
  const egress = createEgressPolicy({
    trustedHosts: [...settings.trustedCustomHosts],
    proxy: settings.egressProxy,
  });
  const upstream = createUpstream({ egress });
  const blobs = openBlobs({ s3: settings.blobs, store, dataDir: settings.dataDir, upstream });
  const sizes = sizesOf(read);
  const total = Object.values(sizes).reduce((sum, count) => sum + count, 0);
  const progress = showBar({ what: 'objects', total });
  try {
    return await writeExport(read, {
      store,
      files: createFiles({ store, blobs }),
      workspaceId,
      missing,
      onDone: (_what, count) => progress.add(count),
    });
  } finally {
    progress.end();
  }
}

const sizesOf = ({ assistants, threads, messages, files }: Export): Written => ({
  assistants: assistants.size,
  threads: threads.size,
  messages,
  files: files.size,
});

const countsOf = (counts: Written): string =>
  (['assistants', 'threads', 'messages', 'files'] as const).map((what) => `${counts[what]} ${what}`).join(', ');

async function workspaceOf({ store, who }: Installation, slug: string): Promise<WorkspaceId> {
  const row = await store.db
    .selectFrom('workspaces')
    .select('id')
    .where('organisation_id', '=', who.organisationId)
    .where('slug', '=', slug)
    .executeTakeFirst();
  if (!row) throw new Error(`--workspace: there is no workspace "${slug}".`);
  return row.id as WorkspaceId;
}

const LEFT_OUT = { use: 'it is left out', content: 'it is left out', citation: 'the citation leads nowhere' } as const;

/** The files that are spoken of, but are neither in the export nor here. */
async function missingFiles(
  db: Db,
  workspaceId: WorkspaceId,
  { references }: Export,
  findings: Findings,
  { mayMiss }: { mayMiss: boolean },
): Promise<Set<string>> {
  const asked = [...new Set(references.map(({ fileId }) => fileId))];
  const here = new Set<string>();
  for await (const id of known(db, 'files', workspaceId, asked, '=')) here.add(id);
  const missing = references.filter(({ fileId }) => !here.has(fileId));
  const contentless = new Set(missing.flatMap(({ fileId, by }) => (by === 'content' ? fileId : [])));
  for (const { fileId, by, ...place } of missing) {
    const why = contentless.has(fileId) ? 'has no content in the export' : `is in no line of ${FILES.files}`;
    const says = `file ${fileId}${by === 'citation' ? ', which is cited,' : ''} ${why} and is not here`;
    if (!mayMiss) findings.fault(place, `${says}; with --leave-out-missing-files ${LEFT_OUT[by]}`);
    else findings.leaveOut(place, by === 'citation' ? `${says}; the citation stays` : says);
  }
  return new Set(missing.map(({ fileId }) => fileId));
}

/** Ids are unique over the whole installation. */
async function refuseForeign(db: Db, workspaceId: WorkspaceId, read: Export, findings: Findings) {
  for (const what of ['assistants', 'threads', 'files'] as const)
    for await (const id of known(db, what, workspaceId, [...read[what].keys()], '!='))
      findings.fault({ file: FILES[what], line: read[what].get(id)!.line }, `id: ${id} is in another workspace`);
}

const AT_ONCE = 500;

async function* known(
  db: Db,
  table: 'assistants' | 'threads' | 'files',
  workspaceId: WorkspaceId,
  ids: readonly string[],
  operator: '=' | '!=',
): AsyncGenerator<string> {
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    const rows = await db
      .selectFrom(table)
      .select('id')
      .where('id', 'in', ids.slice(at, at + AT_ONCE))
      .where('workspace_id', operator, workspaceId)
      .execute();
    for (const { id } of rows) yield id;
  }
}
