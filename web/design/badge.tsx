import type { ReactNode } from 'react';

export type Tone = 'plain' | 'good' | 'warn' | 'bad' | 'info' | 'accent';

/** A word about the state of something. The dot tells the tone a second time, beside the colour of the text. */
export const Badge = ({
  tone = 'plain',
  dot = false,
  children,
}: {
  readonly tone?: Tone;
  readonly dot?: boolean;
  readonly children: ReactNode;
}) => (
  <span className={`badge badge-${tone}`}>
    {dot && <span className="badge-dot" aria-hidden="true" />}
    {children}
  </span>
);
