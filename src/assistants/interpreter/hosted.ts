import { fail, GatewayError } from '../../core/errors.ts';
import { PREFIXES } from '../../core/object-ids.ts';
import { Fields, fault } from '../../dialects/fields.ts';
import type { JsonObject } from '../../dialects/ir.ts';
import { objectsIn } from '../../dialects/json.ts';
import { CODE_INTERPRETER } from '../../dialects/responses/hosted-items.ts';
import type { HostedCall, HostedCaller, HostedTool, Link, OpenTool, Ran } from '../../relay/hosted/hosted-tool.ts';
import { type CellResult, stateOf } from './cells.ts';
import { MEGABYTES, MOST_FILES } from './container.ts';
import type { Container, Containers } from './containers.ts';
import { BUSY, codeToRun, createExecutor, descriptionOf, type ExecutorDeps, PARAMETERS, unrun } from './execute.ts';
import { namesOf } from './inputs.ts';
import { spellings } from './links.ts';

export interface HostedInterpreterDeps extends ExecutorDeps {
  readonly containers: Containers;
  /** Where clients reach this gateway. */
  readonly publicUrl: () => string;
  /** Tells the operator that no sandbox can be started, and why. */
  readonly report: (problem: string) => void;
}

const BROKEN = 'The code was not run: the code interpreter of this gateway does not start.';

/** `code_interpreter` of the Responses API, in the sandboxes of this gateway. Without any: it is off. */
export const createHostedInterpreter = (deps: HostedInterpreterDeps | null): HostedTool => ({
  standsIn: true,
  open: async (tool, at, caller) => {
    if (!deps) return caller.isWanted ? fail('hosted_tool_off', at, CODE_INTERPRETER) : null;
    const asked = readTool(tool, at, deps);
    const container = await containerOf(asked, caller, deps, `${at}.container`);
    return container && openTool(container, caller, deps);
  },
});

interface Asked {
  /** Null: whichever there is, or a new one. */
  readonly containerId: string | null;
  readonly fileIds: readonly string[];
}

function readTool(tool: JsonObject, at: string, { memoryMb }: Pick<ExecutorDeps, 'memoryMb'>): Asked {
  const fields = new Fields(tool, at);
  if (fields.strings('allowed_callers')?.some((by) => by !== 'direct'))
    fault(
      fields.pathOf('allowed_callers'),
      '["direct"]: models call it themselves here',
      fields.take('allowed_callers'),
    );
  const given = fields.take('container');
  if (typeof given === 'string') return { containerId: given, fileIds: [] };
  const path = fields.pathOf('container');
  if (given === undefined) fault(path, 'the id of a container, or {"type": "auto"}', given);
  const container = new Fields(given, path);
  if (container.oneOf('type', ['auto']) === undefined) fault(container.pathOf('type'), 'auto', undefined);
  const fileIds = [...new Set(container.strings('file_ids') ?? [])];
  if (fileIds.length > MOST_FILES)
    fail('invalid_request', container.pathOf('file_ids'), `names more than ${MOST_FILES} files`);
  const memory = container.oneOf('memory_limit', Object.keys(MEGABYTES));
  if (memory && MEGABYTES[memory]! > memoryMb)
    fail('invalid_request', container.pathOf('memory_limit'), `code has ${memoryMb} MB here; leave it out`);
  const network = container.fields('network_policy');
  if (network && network.string('type') !== 'disabled')
    fault(network.pathOf('type'), 'disabled: code has no network here', network.take('type'));
  return { containerId: null, fileIds };
}

/** Null: it is the provider's affair, because nothing that it names is ours. */
async function containerOf(
  { containerId, fileIds }: Asked,
  { who, responseId, isWanted, isKept, said }: HostedCaller,
  { containers, files }: HostedInterpreterDeps,
  path: string,
): Promise<Container | null> {
  if (containerId !== null) {
    const found = await containers.find(who, containerId);
    if (!found && (await containers.hasExpired(who, containerId)))
      fail('invalid_request', path, `the container ${containerId} has expired; make another one`);
    return found ?? (isWanted ? fail('object_not_found', 'container', containerId.slice(0, 80)) : null);
  }
  const isOurs = (id: string) =>
    files.row(who.workspaceId, id).then(
      () => true,
      (error) => (error instanceof GatewayError && error.code === 'file_not_found' ? false : Promise.reject(error)),
    );
  const known = await Promise.all(fileIds.map(isOurs));
  const hasForeignOnly = fileIds.length > 0 && !known.includes(true);
  if (hasForeignOnly && !isWanted) return null;
  const missing = fileIds[known.indexOf(false)];
  if (missing !== undefined) fail('file_not_found', missing);
  const before = objectsIn(await said()).findLast(({ type }) => type === 'code_interpreter_call')?.container_id;
  const found = typeof before === 'string' ? await containers.find(who, before) : null;
  if (found) return { ...found, fileIds: [...new Set([...found.fileIds, ...fileIds])] };
  if (!isWanted && !isKept && fileIds.length === 0) return null;
  // Named after its response: a node that goes on with it finds the container that another one has made.
  const id = `${PREFIXES.container}${responseId.slice(PREFIXES.hostedResponse.length)}`;
  return (await containers.find(who, id)) ?? { id, fileIds, cells: [], isNew: true };
}

async function openTool(container: Container, caller: HostedCaller, deps: HostedInterpreterDeps): Promise<OpenTool> {
  const { workspaceId } = caller.who;
  const mounted = stateOf(container.cells).flatMap(({ inputs }) => inputs);
  const inputs = await namesOf(container.fileIds, mounted, { workspaceId, files: deps.files });
  const run = createExecutor(deps);
  return {
    links: container.cells.flatMap(({ result }) => linksOf(container.id, result)),
    functions: [
      {
        name: CODE_INTERPRETER,
        item: 'code_interpreter_call',
        description: descriptionOf(inputs, deps.cellSeconds, await deps.sandbox.about()),
        parameters: PARAMETERS,
        isChosenBy: ({ type }) => type === CODE_INTERPRETER,
        begins: (call) => {
          const { code } = codeToRun(call.arguments);
          return {
            item: { ...itemOf(call, container), status: 'in_progress', code: '', outputs: null },
            events: [
              { type: 'response.code_interpreter_call.in_progress' },
              { type: 'response.code_interpreter_call_code.delta', delta: code },
              { type: 'response.code_interpreter_call_code.done', code },
              { type: 'response.code_interpreter_call.interpreting' },
            ],
          };
        },
        runs: (call) => ran(call, container, caller, run, deps),
      },
    ],
  };
}

const itemOf = ({ id }: HostedCall, container: Container) => ({
  id,
  type: 'code_interpreter_call',
  container_id: container.id,
});

async function ran(
  call: HostedCall,
  container: Container,
  { who, signal }: HostedCaller,
  run: ReturnType<typeof createExecutor>,
  { containers, publicUrl, report }: HostedInterpreterDeps,
): Promise<Ran> {
  const item = itemOf(call, container);
  const { code, refusal } = codeToRun(call.arguments);
  const refused = (why: string): Ran => ({
    item: { ...item, status: 'failed', code, outputs: [{ type: 'logs', logs: why }] },
    events: [],
    output: why,
  });
  const completed = (result: CellResult): Ran => {
    const outputs = result.outputs.map((output) =>
      output.type === 'logs'
        ? { type: 'logs', logs: output.logs }
        : { type: 'image', url: `${publicUrl()}/v1/files/${output.image.file_id}/content` },
    );
    return {
      item: { ...item, status: 'completed', code, outputs },
      events: [{ type: 'response.code_interpreter_call.completed' }],
      output: result.output,
      links: linksOf(container.id, result),
    };
  };
  if (refusal) return refused(refusal);
  try {
    const { workspaceId } = who;
    const { id: threadId, fileIds } = container;
    // Of this response or of another that goes on in the same container.
    const written = await containers.cells(threadId);
    const done = written.find(({ id }) => id === call.id);
    // It ran on a node that died before the response was told of it.
    if (done) return completed(done.result);
    const result = await run({ id: call.id, workspaceId, threadId, written, fileIds, code, signal }, (...cell) =>
      containers.add(who, container, call.id, ...cell),
    );
    return completed(result);
  } catch (error) {
    return refused(unrun(error, signal, report) === 'busy' ? BUSY : BROKEN);
  }
}

/** Where the model says that a file lies which code has made, it is cited. */
const linksOf = (container_id: string, { files }: Pick<CellResult, 'files'>): Link[] =>
  files.flatMap(({ path, file_id }) => {
    const filename = path.split('/').at(-1)!;
    const annotation = { type: 'container_file_citation', container_id, file_id, filename };
    return spellings(path).map((text) => ({ text, annotation }));
  });
