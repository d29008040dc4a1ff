import { useMemo, useState } from 'react';
import { Badge } from '../../design/badge.tsx';
import { CopyButton } from '../../design/copy.tsx';
import { DiffView } from '../../design/diff-view.tsx';
import { Segmented, Select } from '../../design/field.tsx';
import { formatBytes } from '../../design/format.ts';
import { JsonText, prettyJson } from '../../design/json-view.tsx';
import { Stack } from '../../design/layout.tsx';
import { EmptyState, Note } from '../../design/states.tsx';
import type { LogDetail } from './entries.ts';

interface Side {
  readonly label: string;
  readonly about: string;
  readonly text: string | null;
  readonly isBase64: boolean;
  readonly isCut: boolean;
}

type Way = 'request' | 'response';
type Shown = 'client' | 'upstream' | 'diff';

const WAYS = [
  { value: 'request', label: 'Request' },
  { value: 'response', label: 'Answer' },
] as const;

/** As it travelled: between client and gateway, and between gateway and provider, and what differs. */
export function RawBodies({ entry }: { readonly entry: LogDetail }) {
  const [way, setWay] = useState<Way>('request');
  const [wanted, setWanted] = useState<Shown>('client');
  const [chosen, setChosen] = useState<number | null>(null);
  const client = sideOf('Client', clientAbout(way), entry[way]);
  const kept = entry.attempts.flatMap((each, index) => (each[way] === null ? [] : [{ each, index }]));
  const attempt = (kept.find(({ index }) => index === chosen) ?? kept.at(-1))?.each;
  const upstream = attempt ? sideOf(attempt.provider ?? 'Provider', upstreamAbout(way), attempt[way]) : null;
  const shown = upstream ? wanted : 'client';
  const side = shown === 'upstream' && upstream ? upstream : client;
  const pretty = useMemo(() => prettyJson(side.text ?? ''), [side.text]);
  if (!entry.request && !entry.response)
    return (
      <EmptyState icon="lock" title="Bodies were not kept">
        The gateway is set so, the call asked for it, or it is no call of a model.
      </EmptyState>
    );
  return (
    <Stack gap={3}>
      <div className="line gap-2 entry-raw-bar">
        <Segmented label="Which way" value={way} choices={WAYS} onChange={setWay} />
        {upstream && (
          <Segmented
            label="Whose words"
            value={shown}
            choices={[
              { value: 'client', label: 'Client' },
              { value: 'upstream', label: upstream.label },
              { value: 'diff', label: 'What differs' },
            ]}
            onChange={setWanted}
          />
        )}
        {kept.length > 1 && shown !== 'client' && (
          <Select
            aria-label="Which attempt"
            value={String(kept.find(({ each }) => each === attempt)?.index ?? '')}
            choices={kept.map(({ each, index }) => ({
              value: String(index),
              label: `${index + 1}: ${each.model ?? each.provider ?? each.target}`,
            }))}
            onChange={(index) => setChosen(Number(index))}
          />
        )}
        <span className="turn-space" />
        <span className="soft small">
          {formatBytes(way === 'request' ? entry.request_bytes : entry.response_bytes)}
        </span>
        {side.isCut && <Badge tone="warn">cut</Badge>}
        {side.text && <CopyButton text={side.text} label="Copy the body" />}
      </div>
      {shown === 'diff' && upstream ? (
        <DiffView
          label="What differs between client and provider"
          before={prettyJson(client.text ?? '')}
          after={prettyJson(upstream.text ?? '')}
        />
      ) : (
        <>
          <p className="soft small">{side.about}</p>
          {side.text === null ? (
            <Note>There is no body.</Note>
          ) : (
            <JsonText text={side.isBase64 ? side.text : pretty} label={`${side.label}: ${way}`} />
          )}
        </>
      )}
      {!upstream && entry.attempts.length > 0 && (
        <p className="soft small">The provider speaks the format of the client: what went on is what came.</p>
      )}
    </Stack>
  );
}

const clientAbout = (way: Way) => (way === 'request' ? 'What the client sent.' : 'What the client was answered.');
const upstreamAbout = (way: Way) =>
  way === 'request' ? 'What the gateway sent to the provider.' : 'What the provider answered.';

function sideOf(label: string, about: string, body: LogDetail['attempts'][number]['request']): Side {
  return {
    label,
    about: body?.encoding === 'base64' ? `${about} It is no text: shown as base64.` : about,
    text: body?.body ?? null,
    isBase64: body?.encoding === 'base64',
    isCut: body?.truncated ?? false,
  };
}
