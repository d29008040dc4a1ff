import { useEffect, useRef, useState } from 'react';
import { useAction } from '../../api/hooks.ts';
import type { Config } from '../../api/types.d.ts';
import type { Part, Turn } from '../../conversation/parts.ts';
import { Turns } from '../../conversation/turns.tsx';
import { Badge } from '../../design/badge.tsx';
import { Button, IconButton } from '../../design/button.tsx';
import { Field, Input, Select, Textarea } from '../../design/field.tsx';
import { formatDuration, formatMoney, formatNumber } from '../../design/format.ts';
import { Progress } from '../../design/states.tsx';
import type { Answer } from './answer.ts';
import type { Column, Message, ToolCall } from './draft.ts';
import type { Item, Thread } from './threads.ts';

const partsOf = ({ text, images = [], calls = [] }: Message): readonly Part[] => [
  ...(text ? [{ kind: 'text', text } as const] : []),
  ...images.map((source): Part => ({ kind: 'image', source })),
  ...calls.map((call): Part => ({ kind: 'call', ...call })),
];

const turnOf = (message: Message): Turn =>
  message.role === 'tool'
    ? { role: 'tool', parts: [{ kind: 'result', id: message.callId ?? null, parts: partsOf(message) }] }
    : { role: message.role, parts: partsOf(message) };

export interface ConversationColumnProps {
  readonly name: string;
  readonly column: Column;
  /** The model that is asked while none is named. */
  readonly usual: string;
  readonly thread: Thread;
  readonly configs: readonly Pick<Config, 'slug' | 'name'>[];
  readonly onChange: (part: Partial<Column>) => void;
  readonly onRemove: (() => void) | null;
  readonly onRewind: (place: number) => void;
  readonly onRun: (items: readonly Item[]) => void;
  readonly onSimulate: (call: ToolCall) => Promise<string>;
  readonly onOpenLog: ((id: string) => void) | null;
}

/** One model, and what it says. */
export function ConversationColumn(props: ConversationColumnProps) {
  const { name, column, usual, thread, configs, onChange, onRemove, onRewind, onOpenLog } = props;
  const end = useRef<HTMLDivElement>(null);
  const { items, coming } = thread;
  // biome-ignore lint/correctness/useExhaustiveDependencies: follows what comes, and not what is learnt of it later
  useEffect(() => {
    const place = end.current?.parentElement;
    if (place) place.scrollTop = place.scrollHeight;
  }, [items.length, coming]);
  const last = items.at(-1)?.message;
  return (
    <section className="card play-column">
      <div className="play-column-head">
        <Input
          aria-label={name}
          list="playground-models"
          placeholder={column.config ? 'as the config says' : usual || 'model, such as @openai/gpt-5'}
          spellCheck={false}
          value={column.model}
          onChange={(event) => onChange({ model: event.target.value })}
        />
        {configs.length > 0 && (
          <Select
            aria-label={`Config of ${name.toLowerCase()}`}
            value={column.config}
            choices={[
              { value: '', label: 'No config' },
              ...configs.map((config) => ({ value: config.slug, label: config.name })),
            ]}
            onChange={(config) => onChange({ config })}
          />
        )}
        {onRemove && <IconButton size="small" icon="close" label={`Remove ${name.toLowerCase()}`} onClick={onRemove} />}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what can be scrolled must be reachable by keyboard */}
      <section className="play-column-body" tabIndex={0} aria-label={`Conversation with ${name.toLowerCase()}`}>
        {items.length === 0 && !coming && (
          <p className="soft play-hint">
            Ask something below. Answers come with the rights and limits of your account.
          </p>
        )}
        {items.map((item, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a conversation keeps its order
          <div key={place} className="play-item">
            <Turns
              turns={item.answer?.turns.length ? item.answer.turns : item.answer?.error ? [] : [turnOf(item.message)]}
            />
            {item.answer && <AnswerFoot answer={item.answer} onOpenLog={onOpenLog} />}
            {item.message.role === 'user' && !coming && (
              <span className="play-rewind">
                <IconButton
                  size="small"
                  icon="edit"
                  label="Change this and ask again"
                  onClick={() => onRewind(place)}
                />
              </span>
            )}
          </div>
        ))}
        {coming && (
          <div className="play-item" aria-live="polite" aria-busy="true">
            {coming.turns.length > 0 ? <Turns turns={coming.turns} /> : <Progress label="Waiting for the answer" />}
          </div>
        )}
        {!coming && last?.calls && last.calls.length > 0 && (
          <ToolResults key={items.length} {...props} calls={last.calls} />
        )}
        <div ref={end} />
      </section>
    </section>
  );
}

function AnswerFoot({
  answer,
  onOpenLog,
}: {
  readonly answer: Answer;
  readonly onOpenLog: ((id: string) => void) | null;
}) {
  const { requestId } = answer;
  return (
    <div className="play-foot">
      {answer.error && (
        <p className="play-error" role="alert">
          {answer.status !== null && answer.status >= 400 && <Badge tone="bad">{answer.status}</Badge>} {answer.error}
        </p>
      )}
      <div className="play-figures">
        <dl>
          {answer.totalMs !== null && <Figure name="took" value={formatDuration(answer.totalMs)} />}
          {answer.firstMs !== null && <Figure name="first byte" value={formatDuration(answer.firstMs)} />}
          {answer.inputTokens !== null && (
            <Figure
              name="tokens"
              value={`${formatNumber(answer.inputTokens)} → ${formatNumber(answer.outputTokens ?? 0)}`}
            />
          )}
          {answer.cost !== null && <Figure name="cost" value={formatMoney(answer.cost)} />}
          {answer.cache && answer.cache !== 'DISABLED' && <Figure name="cache" value={answer.cache.toLowerCase()} />}
        </dl>
        {answer.isStopped && <Badge tone="warn">stopped</Badge>}
        {answer.finish && answer.finish !== 'stop' && <Badge>{answer.finish}</Badge>}
        {requestId && onOpenLog && (
          <IconButton size="small" icon="list" label="Open in the log" onClick={() => onOpenLog(requestId)} />
        )}
      </div>
    </div>
  );
}

const Figure = ({ name, value }: { readonly name: string; readonly value: string }) => (
  <div>
    <dt>{name}</dt>
    <dd>{value}</dd>
  </div>
);

/** The model waits for what its tools say: people write it, then the conversation goes on. */
function ToolResults({
  calls,
  thread,
  onRun,
  onSimulate,
}: ConversationColumnProps & { readonly calls: NonNullable<Message['calls']> }) {
  const [results, setResults] = useState<readonly string[]>(() => calls.map(() => ''));
  const set = (index: number, text: string) =>
    setResults((before) => before.map((each, at) => (at === index ? text : each)));
  const simulate = useAction(async () => {
    for (const [index, call] of calls.entries()) {
      const made = await onSimulate(call);
      // What people wrote meanwhile stays.
      setResults((now) => now.map((each, at) => (at === index && each === results[index] ? made : each)));
    }
  });
  const send = () =>
    onRun([
      ...thread.items,
      ...calls.map((call, index): Item => ({ message: { role: 'tool', callId: call.id, text: results[index] ?? '' } })),
    ]);
  return (
    <form
      className="play-results"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      {calls.map((call, index) => (
        <Field key={call.id} label={<>What {call.name} answers</>}>
          {(control) => (
            <Textarea
              {...control}
              className="mono"
              rows={2}
              placeholder='{"ok": true}'
              value={results[index]}
              onChange={(event) => set(index, event.target.value)}
            />
          )}
        </Field>
      ))}
      <div className="line gap-2">
        <Button type="submit" size="small" icon="send" disabled={results.some((each) => each.trim() === '')}>
          Send {calls.length === 1 ? 'the result' : 'the results'}
        </Button>
        <Button size="small" look="quiet" icon="spark" isBusy={simulate.isPending} onClick={() => simulate.mutate()}>
          Let the model make it up
        </Button>
      </div>
    </form>
  );
}
