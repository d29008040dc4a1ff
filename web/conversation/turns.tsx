import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { pictureOf } from '../api/files.ts';
import { Badge } from '../design/badge.tsx';
import { Button } from '../design/button.tsx';
import { CopyButton } from '../design/copy.tsx';
import { Icon, type IconName } from '../design/icon.tsx';
import { JsonText, prettyJson } from '../design/json-view.tsx';
import { Markdown } from '../design/markdown.tsx';
import type { Part, Source, Turn } from './parts.ts';

const ROLES: Readonly<Record<string, { readonly name: string; readonly icon: IconName }>> = {
  system: { name: 'System', icon: 'settings' },
  user: { name: 'User', icon: 'user' },
  assistant: { name: 'Assistant', icon: 'spark' },
  tool: { name: 'Tool', icon: 'tools' },
  document: { name: 'Document', icon: 'file' },
};

/** Longer texts begin folded: a prompt may be as long as a book. */
const FOLD_FROM = 3_000;
const SAFE_IMAGE = /^data:image\/(png|jpe?g|gif|webp|avif);base64,[\w+/=-]+$/;
const SAFE_AUDIO = /^data:audio\/[\w.+-]{1,30};base64,[\w+/=-]+$/;

/** What code drew is a file of the workspace: it is asked for here, whatever host the address names. */
const STORED_FILE = /\/v1\/files\/(file-[0-9A-Za-z]{1,60})\/content$/;

export const textOf = (turn: Turn): string =>
  turn.parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('\n\n');

/** Who said what, one below the other. */
export const Turns = ({ turns }: { readonly turns: readonly Turn[] }) => (
  <ol className="turns">
    {turns.map((turn, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: a conversation keeps its order
      <li key={index} className={`turn turn-${ROLES[turn.role] ? turn.role : 'other'}`}>
        <TurnHead turn={turn} />
        <div className="turn-body">
          {turn.parts.length === 0 && <span className="soft">Nothing was said.</span>}
          <Parts parts={turn.parts} />
        </div>
      </li>
    ))}
  </ol>
);

function TurnHead({ turn }: { readonly turn: Turn }) {
  const role = ROLES[turn.role] ?? { name: turn.role, icon: 'chat' as const };
  const text = textOf(turn);
  return (
    <div className="turn-head">
      <Icon name={role.icon} size={14} />
      <strong>{role.name}</strong>
      <span className="turn-space" />
      {text && <CopyButton text={text} label={`Copy what ${role.name.toLowerCase()} said`} />}
    </div>
  );
}

export const Parts = ({ parts }: { readonly parts: readonly Part[] }) =>
  // biome-ignore lint/suspicious/noArrayIndexKey: a message keeps its order
  parts.map((part, index) => <PartView key={index} part={part} />);

function PartView({ part }: { readonly part: Part }) {
  switch (part.kind) {
    case 'text':
      return <Folded text={part.text} />;
    case 'reasoning':
      return (
        <details className="turn-reasoning">
          <summary>
            <Icon name="right" size={12} /> Reasoning
          </summary>
          <Folded text={part.text} />
        </details>
      );
    case 'refusal':
      return (
        <div>
          <Badge tone="warn">refused</Badge> {part.text}
        </div>
      );
    case 'image':
      return SAFE_IMAGE.test(part.source) ? (
        <img className="turn-image" src={part.source} alt="" loading="lazy" />
      ) : STORED_FILE.test(part.source) ? (
        <StoredPicture id={STORED_FILE.exec(part.source)![1]!} />
      ) : (
        <Elsewhere icon="file" what="A picture" source={part.source} />
      );
    case 'audio':
      return (
        <div>
          {SAFE_AUDIO.test(part.source) ? (
            // biome-ignore lint/a11y/useMediaCaption: what was said stands below, where it is known
            <audio controls src={part.source} />
          ) : (
            <Elsewhere icon="play" what="A recording" source={part.source} />
          )}
          {part.transcript && <p className="soft">{part.transcript}</p>}
        </div>
      );
    case 'file':
      return <Elsewhere icon="file" what={part.name} source="" />;
    case 'call':
      return (
        <div className="turn-use">
          <div className="turn-use-head">
            <Icon name="tools" size={13} />
            <span>calls</span> <code>{part.name}</code>
            {part.id && <span className="soft small truncate">{part.id}</span>}
          </div>
          <JsonText text={prettyJson(part.args)} label={`What ${part.name} is called with`} />
        </div>
      );
    case 'ran':
      return (
        <div className="turn-use">
          <div className="turn-use-head">
            <Icon name="tools" size={13} />
            <code>{part.name}</code>
            {part.status && (
              <Badge tone={part.status === 'failed' ? 'bad' : 'plain'}>{part.status.replaceAll('_', ' ')}</Badge>
            )}
          </div>
          {part.given && <JsonText text={prettyJson(part.given)} label={`What ${part.name} was given`} />}
          <Parts parts={part.parts} />
        </div>
      );
    case 'log':
      return part.text ? <JsonText text={part.text} label="What came of it" /> : null;
    case 'sources':
      return part.sources.length > 0 ? <Sources sources={part.sources} /> : null;
    case 'result':
      return <Result parts={part.parts} id={part.id} />;
    default:
      return <JsonText text={part.json} label="A part that the console does not know" />;
  }
}

function StoredPicture({ id }: { readonly id: string }) {
  const picture = useQuery({
    queryKey: ['/v1/files/{file_id}/content', id, 'picture'],
    queryFn: ({ signal }) => pictureOf(id, signal),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  return picture.data ? (
    <img className="turn-image" src={picture.data} alt="" />
  ) : (
    <Elsewhere icon="file" what={picture.error ? 'A picture that is not there any more' : 'A picture'} source={id} />
  );
}

function Result({ parts, id }: { readonly parts: readonly Part[]; readonly id: string | null }) {
  const [only] = parts;
  const isJson = parts.length === 1 && only?.kind === 'text' && /^\s*[[{]/.test(only.text);
  return (
    <div className="turn-use">
      <div className="turn-use-head">
        <Icon name="check" size={13} />
        <span>answers</span>
        {id && <span className="soft small truncate">{id}</span>}
      </div>
      {isJson ? <JsonText text={prettyJson(only.text)} label="What the tool answered" /> : <Parts parts={parts} />}
    </div>
  );
}

const LINK = /^https?:\/\//i;

/** What was found, or what an answer names as its ground. Only http and https are links, and they open elsewhere. */
const Sources = ({ sources }: { readonly sources: readonly Source[] }) => (
  <ul className="turn-sources" aria-label="Sources">
    {sources.map(({ title, url }, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: what is found may have equal names
      <li key={index}>
        <Icon name={url ? 'external' : 'file'} size={12} />
        {LINK.test(url) ? (
          <a href={url} target="_blank" rel="noopener noreferrer">
            {title || url}
          </a>
        ) : (
          <span>
            {title} {url}
          </span>
        )}
      </li>
    ))}
  </ul>
);

/** The page loads nothing from elsewhere: it says where it would be. */
const Elsewhere = ({
  icon,
  what,
  source,
}: {
  readonly icon: IconName;
  readonly what: string;
  readonly source: string;
}) => (
  <span className="turn-elsewhere">
    <Icon name={icon} size={14} />
    <span className="truncate">
      {what}
      {source && <span className="soft"> {source.slice(0, 200)}</span>}
    </span>
  </span>
);

function Folded({ text }: { readonly text: string }) {
  const [isWhole, setWhole] = useState(text.length <= FOLD_FROM);
  return (
    <>
      <Markdown text={isWhole ? text : `${text.slice(0, FOLD_FROM)}…`} />
      {!isWhole && (
        <Button size="small" look="quiet" icon="down" onClick={() => setWhole(true)}>
          Show all {text.length.toLocaleString('en-US')} characters
        </Button>
      )}
    </>
  );
}
