import { chatLine, ended, linesIn, uploadLines } from '../batch-lines.ts';
import { ADMIN_KEY, serve } from '../gateway.ts';
import { eventually, forTests, type GatewayProcess, startProcess } from '../process.ts';
import { openaiClient } from '../sdk-clients.ts';

export interface BatchChaos {
  readonly lines: number;
  readonly harms: number;
  /** One data dir for each process; several need a database. */
  readonly dataDirs: readonly string[];
  readonly environment?: Record<string, string>;
  /** How long a process sleeps when it is frozen; kills only when left out. */
  readonly freezeMs?: number;
  readonly limitMs?: number;
}

/** What each request was asked, as the provider saw it. */
function startProvider() {
  const arrivals = new Map<string, number>();
  const { origin, stop } = serve(async (request) => {
    const { model, messages } = (await request.json()) as { model: string; messages: { content: string }[] };
    const said = messages[0]!.content;
    arrivals.set(said, (arrivals.get(said) ?? 0) + 1);
    await Bun.sleep(5 + Math.random() * 20);
    return Response.json({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model,
      choices: [{ index: 0, message: { role: 'assistant', content: `You said ${said}` }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    });
  });
  return { url: `${origin}/v1`, arrivals, stop };
}

/**
 * Kills and freezes gateways at random moments of a batch. Answers what is wrong with its end, and how many requests were
 * made twice because they were under way at such a moment.
 */
export async function harmDuringBatch(options: BatchChaos) {
  const { lines, harms, dataDirs, environment = {}, freezeMs, limitMs = 120_000 } = options;
  const provider = startProvider();
  const start = (dataDir: string) => startProcess({ dataDir, environment: { ...forTests, ...environment } });
  const nodes: GatewayProcess[] = [];
  for (const dataDir of dataDirs) nodes.push(await start(dataDir));
  try {
    await nodes[0]!.given.virtualKey(provider.url);
    const client = () => {
      const { url } = nodes.find(({ isAlive }) => isAlive)!;
      const openai = openaiClient(url, ADMIN_KEY);
      return openai.withOptions({ defaultHeaders: { 'x-gateway-virtual-key': 'sim' } });
    };
    const names = Array.from({ length: lines }, (_, index) => `request ${index}`);
    const file = await uploadLines(
      client(),
      names.map((name) => chatLine(name, name)),
    );
    const { id } = await client().batches.create({
      input_file_id: file.id,
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
    });
    let harmed = 0;
    for (; harmed < harms; harmed++) {
      const goal = ((harmed + Math.random()) * lines) / (harms + 1);
      await eventually('the batch gets on', () => provider.arrivals.size >= goal, limitMs);
      const number = Math.floor(Math.random() * nodes.length);
      const node = nodes[number]!;
      if (freezeMs !== undefined && Math.random() < 0.5) {
        node.signal('SIGSTOP');
        await Bun.sleep(freezeMs);
        node.signal('SIGCONT');
      } else {
        await node.kill();
        nodes[number] = await start(dataDirs[number]!);
      }
    }
    const batch = await ended(client(), id, limitMs);
    const output = await linesIn(client(), batch.output_file_id);
    const errors = await linesIn(client(), batch.error_file_id);
    const faults: string[] = [];
    const seen = new Map<string, number>();
    for (const line of [...output, ...errors]) seen.set(line.custom_id, (seen.get(line.custom_id) ?? 0) + 1);
    for (const name of names) if (seen.get(name) !== 1) faults.push(`${name} has ${seen.get(name) ?? 0} lines`);
    for (const line of output)
      if (line.response?.body.choices[0].message.content !== `You said ${line.custom_id}`)
        faults.push(`${line.custom_id} has the answer of another`);
    if (output.length + errors.length !== lines) faults.push(`${output.length} + ${errors.length} lines of ${lines}`);
    const { total, completed, failed } = batch.request_counts!;
    if (total !== lines || completed !== output.length || failed !== errors.length)
      faults.push(`counts are ${total}, ${completed}, ${failed}`);
    if (batch.status !== 'completed') faults.push(`it is ${batch.status}`);
    const sent = [...provider.arrivals.values()].reduce((sum, count) => sum + count, 0);
    return { faults, errors: errors.length, sentTwice: sent - lines };
  } finally {
    provider.stop();
    for (const node of nodes) if (node.isAlive) await node.kill();
  }
}
