import { type FormEvent, useEffect, useRef, useState } from 'react';
import { api } from '../../api/client.ts';
import { useAction, useApi } from '../../api/hooks.ts';
import type { Message, Run } from '../../api/types.d.ts';
import { Button } from '../../design/button.tsx';
import { Select, Textarea } from '../../design/field.tsx';
import { Card, Stack } from '../../design/layout.tsx';
import { EmptyState, ErrorNote, Skeleton } from '../../design/states.tsx';
import { Ago } from '../../design/time.tsx';
import { paidBy, usePaying } from '../../shell/paying.tsx';
import { useMay } from '../../shell/session.tsx';
import { nameOfAssistant } from './assistant-list.tsx';
import { useLiveRun } from './live-run.ts';
import { Timeline } from './timeline.tsx';

const ACTIVE: readonly Run['status'][] = ['queued', 'in_progress', 'requires_action', 'cancelling'];
export const isActive = ({ status }: Run): boolean => ACTIVE.includes(status);
const LOOK_MS = 3_000;

/** A thread as a conversation, with its runs and their steps beside it, while they happen. */
export function Conversation({ threadId }: { readonly threadId: string }) {
  const may = useMay();
  const params = { thread_id: threadId };
  const [isBusy, setBusy] = useState(true);

  const { headers, slug } = usePaying();
  const isKnown = slug !== '';
  const live = { enabled: isKnown, refetchInterval: isBusy ? LOOK_MS : (false as const) };
  const thread = useApi('/v1/threads/{thread_id}', { params, headers }, { enabled: isKnown });
  const messages = useApi(
    '/v1/threads/{thread_id}/messages',
    { params, query: { limit: 100, order: 'desc' }, headers },
    live,
  );
  const runs = useApi('/v1/threads/{thread_id}/runs', { params, query: { limit: 20, order: 'desc' }, headers }, live);
  const active = runs.data?.data.find(isActive) ?? null;
  if (isBusy !== (active !== null)) setBusy(active !== null);
  const saying = useLiveRun(threadId, active && active.status !== 'requires_action' ? active.id : null, slug);
  const end = useRef<HTMLDivElement>(null);
  const count = messages.data?.data.length ?? 0;
  useEffect(() => {
    if (count > 0 || saying) end.current?.scrollIntoView({ block: 'nearest' });
  }, [count, saying]);
  const fault = thread.error ?? messages.error ?? runs.error;
  const note = fault && <ErrorNote error={fault} onRetry={() => void messages.refetch()} />;
  if (!messages.data || !runs.data) return note ?? <Skeleton lines={6} />;
  const shown = [...messages.data.data].reverse();
  return (
    <div className="assistants-thread">
      <Card>
        <Stack gap={4}>
          <ol className="assistants-messages" aria-live="polite">
            {shown.map((message) => (
              <Said key={message.id} message={message} />
            ))}
            {saying && (
              <li className="assistants-said assistants-assistant">
                <span className="soft small">assistant</span>
                <div className="assistants-text">
                  {saying}
                  <span className="assistants-caret" aria-hidden="true" />
                </div>
              </li>
            )}
          </ol>
          {shown.length === 0 && !saying && (
            <EmptyState icon="chat" title="Nothing is said yet">
              Write something below: the message is added to the thread, and the assistant answers.
            </EmptyState>
          )}
          <div ref={end} />
          {note}
          {may('assistants.write') && (
            <Composer
              threadId={threadId}
              start={thread.data?.metadata.assistant ?? runs.data.data[0]?.assistant_id ?? ''}
              isBusy={active !== null}
            />
          )}
        </Stack>
      </Card>
      <Card title="Runs" about="What each answer took.">
        <Timeline threadId={threadId} runs={runs.data.data} />
      </Card>
    </div>
  );
}

const Said = ({ message }: { readonly message: Message }) => (
  <li className={`assistants-said assistants-${message.role}`}>
    <span className="soft small">
      {message.role} · <Ago at={message.created_at * 1_000} />
    </span>
    <div className="assistants-text">
      {message.content.map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a message keep their order
        <div key={index}>
          {part.type === 'text'
            ? part.text.value
            : part.type === 'refusal'
              ? part.refusal
              : part.type === 'image_file'
                ? `picture ${part.image_file.file_id}`
                : `picture ${part.image_url.url.slice(0, 120)}`}
        </div>
      ))}
    </div>
    {message.attachments.length > 0 && (
      <span className="soft small">with {message.attachments.map(({ file_id }) => file_id).join(', ')}</span>
    )}
    {message.status === 'incomplete' && <span className="small">cut off: {message.incomplete_details?.reason}</span>}
  </li>
);

function Composer({
  threadId,
  start,
  isBusy,
}: {
  readonly threadId: string;
  readonly start: string;
  readonly isBusy: boolean;
}) {
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState('');
  const [paying, setPaying] = useState('');
  const assistants = useApi('/v1/assistants', { query: { limit: 100 } });
  const { choices: keys, slug } = usePaying();
  const all = assistants.data?.data ?? [];
  const assistant = chosen || (all.some(({ id }) => id === start) ? start : (all[0]?.id ?? ''));
  const virtualKey = paying || slug;
  const params = { thread_id: threadId };
  const headers = paidBy(virtualKey);
  const say = useAction(
    async () => {
      await api.post('/v1/threads/{thread_id}/messages', { params, headers, body: { role: 'user', content: text } });
      setText((now) => (now === text ? '' : now));
      return api.post('/v1/threads/{thread_id}/runs', { params, headers, body: { assistant_id: assistant } });
    },
    { changes: ['/v1/threads'], onFault: () => {} },
  );
  if (assistants.data && all.length === 0)
    return <p className="soft">Make an assistant first; then it can answer here.</p>;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() && assistant && !isBusy) say.mutate();
  };
  return (
    <form className="stack gap-2" onSubmit={submit}>
      <Textarea
        aria-label="Message"
        rows={3}
        placeholder="Say something …"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) submit(event);
        }}
      />
      {say.error && <ErrorNote error={say.error} />}
      <div className="assistants-send">
        <Select
          aria-label="Who answers"
          value={assistant}
          onChange={setChosen}
          choices={all.map((each) => ({ value: each.id, label: nameOfAssistant(each) }))}
        />
        <Select aria-label="Which provider" value={virtualKey} onChange={setPaying} choices={keys} />
        <Button type="submit" look="primary" icon="send" disabled={!text.trim() || isBusy} isBusy={say.isPending}>
          Send
        </Button>
      </div>
    </form>
  );
}
