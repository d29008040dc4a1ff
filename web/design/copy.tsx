import { type ReactNode, useEffect, useState } from 'react';
import { Button, IconButton } from './button.tsx';
import { Note } from './states.tsx';

/** Pages that came over plain http from another machine have no clipboard: then the text is chosen in a field. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement('textarea');
    field.value = text;
    document.body.append(field);
    field.select();
    const isDone = document.execCommand('copy');
    field.remove();
    return isDone;
  }
}

export function CopyButton({
  text,
  label = 'Copy',
  isSmall = true,
}: {
  readonly text: string;
  readonly label?: string;
  readonly isSmall?: boolean;
}) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), 1_600);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = async () => setCopied(await copyText(text));
  return (
    <>
      {isSmall ? (
        <IconButton size="small" icon={isCopied ? 'check' : 'copy'} label={label} onClick={copy} />
      ) : (
        <Button icon={isCopied ? 'check' : 'copy'} onClick={copy}>
          {isCopied ? 'Copied' : label}
        </Button>
      )}
      <span className="hidden-visually" aria-live="polite">
        {isCopied ? 'Copied' : ''}
      </span>
    </>
  );
}

/** Text to be copied as it stands. */
export const CodeBlock = ({ code, title }: { readonly code: string; readonly title?: ReactNode }) => (
  <figure className="code-block">
    <figcaption>
      <span>{title}</span>
      <CopyButton text={code} />
    </figcaption>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what can be scrolled must be reachable by keyboard */}
    <pre tabIndex={0}>{code}</pre>
  </figure>
);

/** A secret that is shown this once. */
export const SecretOnce = ({ secret, name }: { readonly secret: string; readonly name: string }) => (
  <div className="secret-once">
    <Note tone="warn">Copy {name} now: it is shown this once.</Note>
    <div className="secret-line">
      <code>{secret}</code>
      <CopyButton text={secret} label={`Copy ${name}`} isSmall={false} />
    </div>
  </div>
);
