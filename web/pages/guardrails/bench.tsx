import { useState } from 'react';
import { api, type ResponseOf } from '../../api/client.ts';
import { useAction } from '../../api/hooks.ts';
import { Badge } from '../../design/badge.tsx';
import { Button } from '../../design/button.tsx';
import { DiffView } from '../../design/diff-view.tsx';
import { Field, Input, Segmented, Textarea } from '../../design/field.tsx';
import { formatDuration } from '../../design/format.ts';
import { Icon } from '../../design/icon.tsx';
import { Card } from '../../design/layout.tsx';
import { ErrorNote, Note } from '../../design/states.tsx';
import { metadataOf } from '../routing/dry-run.tsx';
import { bodyOf, type Draft, titleOf } from './guardrail.ts';

type Tried = ResponseOf<'/v1/guardrails/try', 'post'>;

const SIDES = [
  { value: 'input', label: 'A request says' },
  { value: 'output', label: 'An answer says' },
] as const;
const EXAMPLE = 'Please write to mia.keller@example.com, her card is 4111 1111 1111 1111.';

/** Tries what is written, also before it is saved, on a text. */
export function Bench({ draft }: { readonly draft: Draft }) {
  const [on, setOn] = useState<'input' | 'output'>('input');
  const [text, setText] = useState(EXAMPLE);
  const [metadata, setMetadata] = useState('');
  const run = useAction(
    ({ text, on }: { text: string; on: 'input' | 'output' }) =>
      api.post('/v1/guardrails/try', { body: { guardrail: bodyOf(draft), on, text, metadata: metadataOf(metadata) } }),
    { onFault: () => {} },
  );
  const tryIt = () => run.mutate({ text, on });
  return (
    <Card title="Bench" about="Tries what stands here, saved or not. Only what a check itself calls is called.">
      <form
        className="stack gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          tryIt();
        }}
      >
        <Segmented label="What is tried" value={on} choices={SIDES} onChange={setOn} />
        <Field label="Text">
          {(control) => (
            <Textarea
              {...control}
              rows={5}
              value={text}
              onChange={(event) => setText(event.target.value)}
              onKeyDown={(event) => {
                if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) tryIt();
              }}
            />
          )}
        </Field>
        <Field label="Metadata" isOptional>
          {(control) => (
            <Input
              {...control}
              placeholder="tier=paid, user=42"
              value={metadata}
              onChange={(event) => setMetadata(event.target.value)}
            />
          )}
        </Field>
        <div className="line gap-2">
          <Button type="submit" icon="play" isBusy={run.isPending}>
            Try it
          </Button>
          <span className="soft small">
            <kbd>Ctrl</kbd> <kbd>Enter</kbd>
          </span>
        </div>
      </form>
      <div className="guardrails-tried" aria-live="polite">
        {run.error ? <ErrorNote error={run.error} /> : run.data && <Outcome tried={run.data} {...run.variables} />}
      </div>
    </Card>
  );
}

const HELD = {
  nothing: 'A streamed answer would not wait for it.',
  whole: 'A streamed answer would wait for its end.',
} as const;

function Outcome({
  tried,
  text,
  on,
}: {
  readonly tried: Tried;
  readonly text: string;
  readonly on: 'input' | 'output';
}) {
  const { verdict, denied, checks, stream } = tried;
  if (verdict === null)
    return <Note>None of these checks looks at {on === 'input' ? 'requests' : 'answers'}, or none is on.</Note>;
  const held =
    typeof stream === 'number' ? `A streamed answer would be held back by ${stream} characters.` : HELD[stream];
  return (
    <div className="stack gap-3">
      <div className={`routing-serves ${verdict ? '' : 'routing-serves-bad'}`}>
        <Icon name={verdict ? 'check' : 'warn'} />
        <div>
          <strong>{verdict ? 'It passes' : denied ? 'It is denied' : 'It fails, and would be marked'}</strong>
          {tried.transformed && ', changed'}.
          <span className="soft small routing-why">
            {formatDuration(tried.duration_ms)}
            {on === 'output' && ` · ${held}`}
          </span>
        </div>
      </div>
      <ul className="stack gap-2">
        {checks.map((check, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: checks keep their order
          <li key={index} className="guardrails-outcome">
            <span className="line gap-2">
              <Badge tone={check.verdict ? 'good' : 'bad'} dot>
                {check.verdict ? 'passes' : 'fails'}
              </Badge>
              <strong>{check.name ?? titleOf(check.id)}</strong>
              {check.transformed && <Badge tone="info">changed it</Badge>}
              <span className="soft small">{formatDuration(check.duration_ms)}</span>
            </span>
            {check.error && <span className="guardrails-error small">{check.error}</span>}
            {hasSomething(check.data) && <pre className="guardrails-data">{JSON.stringify(check.data, null, 2)}</pre>}
          </li>
        ))}
      </ul>
      {tried.transformed && (
        <div className="stack gap-1">
          <span className="field-label">What would go on</span>
          <DiffView label="What would go on" before={text} after={tried.text} />
        </div>
      )}
    </div>
  );
}

const hasSomething = (data: unknown): boolean =>
  data !== null && data !== undefined && (typeof data !== 'object' || Object.keys(data).length > 0);
