import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { send } from '../../api/client.ts';
import { paidBy } from '../../shell/paying.tsx';

interface Told {
  readonly event: string;
  readonly data: string;
}

/** Events of a stream, as they come. */
async function* eventsOf(address: string, slug: string, signal: AbortSignal): AsyncGenerator<Told> {
  const answer = await send(address, { signal, headers: paidBy(slug) });
  if (!answer.ok || !answer.body) return;
  let rest = '';
  for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + piece).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, 'm').exec(block)?.[1] ?? '';
      yield { event: field('event'), data: field('data') };
    }
  }
}

interface Delta {
  readonly delta?: { readonly content?: readonly { readonly text?: { readonly value?: string } }[] };
}

const textIn = (data: string): string => {
  try {
    const { delta } = JSON.parse(data) as Delta;
    return (delta?.content ?? []).map(({ text }) => text?.value ?? '').join('');
  } catch {
    return '';
  }
};

/** What the model of a run says while it says it; the lists of the thread are read anew with each thing that happens. */
export function useLiveRun(threadId: string, runId: string | null, slug: string): string {
  const client = useQueryClient();
  const [text, setText] = useState('');
  useEffect(() => {
    if (runId === null) return;
    const ending = new AbortController();
    const renew = () =>
      client.invalidateQueries({
        predicate: ({ queryKey }) => String(queryKey[0]).startsWith('/v1/threads/{thread_id}/'),
      });
    const follow = async () => {
      const address = `/v1/threads/${encodeURIComponent(threadId)}/runs/${encodeURIComponent(runId)}/events`;
      for await (const { event, data } of eventsOf(address, slug, ending.signal)) {
        if (event === 'thread.message.delta') setText((before) => before + textIn(data));
        else if (event !== 'thread.run.step.delta') void renew();
        if (event === 'thread.message.completed') setText('');
      }
      await renew();
      setText('');
    };
    // When the stream is cut, what is read every few seconds still tells.
    follow().catch(() => {});
    return () => {
      ending.abort();
      setText('');
    };
  }, [client, threadId, runId, slug]);
  return text;
}
