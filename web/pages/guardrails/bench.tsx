import { useState } from 'react';
import { api, type ResponseOf } from '../../api/client.ts';
import { useAction } from '../../api/hooks.ts';
import { Badge } from '../../design/badge.tsx';
import { Button } from '../../design/button.tsx';
import { DiffView } from '../../design/diff-view.tsx';
import { Field, Input, Segmented, Select, Textarea } from '../../design/field.tsx';
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
  { value: 'stream', label: 'A stream says' },
] as const;
type Side = (typeof SIDES)[number]['value'];

/** How a text becomes the pieces of a stream. */
const CUTS = [
  { value: 'words', label: 'word by word' },
  { value: '4', label: '4 characters each' },
  { value: '16', label: '16 characters each' },
  { value: '64', label: '64 characters each' },
  { value: 'marks', label: 'where a | stands' },
] as const;
type Cut = (typeof CUTS)[number]['value'];

export function piecesOf(text: string, cut: Cut): string[] {
  if (cut === 'words') return text.match(/\S*\s+|\S+$/g) ?? [];
  if (cut === 'marks') return text.split('|').filter((piece) => piece !== '');
  return text.match(new RegExp(`[^]{1,${cut}}`, 'gu')) ?? [];
}

const EXAMPLE = 'Please write to mia.keller@example.com, her card is 4111 1111 1111 1111.';

/** Tries what is written, also before it is saved, on a text. */
export function Bench({ draft }: { readonly draft: Draft }) {
  const [on, setOn] = useState<Side>('input');
  const [text, setText] = useState(EXAMPLE);
  const [cut, setCut] = useState<Cut>('words');
  const [metadata, setMetadata] = useState('');
  const run = useAction(
    ({ text, on, cut }: { text: string; on: Side; cut: Cut }) => {
      const said = on === 'stream' ? { on: 'output' as const, pieces: piecesOf(text, cut) } : { on, text };
      return api.post('/v1/guardrails/try', {
        body: { guardrail: bodyOf(draft), ...said, metadata: metadataOf(metadata) },
      });
    },
    { onFault: () => {} },
  );
  const tryIt = () => run.mutate({ text, on, cut });
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
        {on === 'stream' && (
          <Field label="Comes in pieces">
            {(control) => <Select {...control} value={cut} choices={CUTS} onChange={setCut} />}
          </Field>
        )}
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

function Outcome({ tried, text, on }: { readonly tried: Tried; readonly text: string; readonly on: Side }) {
  const { verdict, checks, stream, steps, ends } = tried;
  if (verdict === null)
    return <Note>None of these checks looks at {on === 'input' ? 'requests' : 'answers'}, or none is on.</Note>;
  const held =
    typeof stream === 'number' ? `A streamed answer would be held back by ${stream} characters.` : HELD[stream];
  return (
    <div className="stack gap-3">
      <div className={`routing-serves ${verdict ? '' : 'routing-serves-bad'}`}>
        <Icon name={verdict ? 'check' : 'warn'} />
        <div>
          <strong>{saidOf(tried)}</strong>
          {tried.transformed && ', changed'}.
          <span className="soft small routing-why">
            {formatDuration(tried.duration_ms)}
            {on !== 'input' && ` · ${held}`}
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
      {steps && <Steps steps={steps} ends={ends} />}
      {tried.transformed && (
        <div className="stack gap-1">
          <span className="field-label">What would go on</span>
          <DiffView
            label="What would go on"
            before={steps ? steps.map(({ said }) => said).join('') : text}
            after={tried.text}
          />
        </div>
      )}
    </div>
  );
}

const saidOf = ({ verdict, denied, ends }: Tried): string => {
  if (ends === 'refused') return 'It is denied: the client gets 446 and nothing of the stream';
  if (ends === 'cut') return 'It is denied: the stream breaks off with an error';
  return verdict ? 'It passes' : denied ? 'It is denied' : 'It fails, and would be marked';
};

/** What became of each piece of a stream. */
function Steps({ steps, ends }: { readonly steps: NonNullable<Tried['steps']>; readonly ends: Tried['ends'] }) {
  return (
    <div className="stack gap-1">
      <span className="field-label">What would have been let through</span>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard */}
      <section className="guardrails-steps" tabIndex={0} aria-label="What would have been let through">
        <table>
          <thead>
            <tr>
              <th scope="col">The provider says</th>
              <th scope="col">The client gets</th>
              <th scope="col">Held back</th>
            </tr>
          </thead>
          <tbody>
            {steps.map(({ said, given, held }, index) => {
              const isLast = index === steps.length - 1;
              return (
                // biome-ignore lint/suspicious/noArrayIndexKey: pieces keep their order
                <tr key={index}>
                  <td>{said === '' ? <span className="soft">its end</span> : said}</td>
                  <td className={given === '' ? 'soft' : 'guardrails-given'}>
                    {given !== '' ? given : isLast && ends !== 'whole' ? <Badge tone="bad">denied</Badge> : 'nothing'}
                  </td>
                  <td>{held}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </section>
    </div>
  );
}

const hasSomething = (data: unknown): boolean =>
  data !== null && data !== undefined && (typeof data !== 'object' || Object.keys(data).length > 0);
