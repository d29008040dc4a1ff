import { formatAgo, formatTime } from './format.ts';

/** How long ago; the exact time shows when the pointer rests on it. */
export const Ago = ({ at }: { readonly at: string | number }) => (
  <time dateTime={new Date(at).toISOString()} title={formatTime(at)}>
    {formatAgo(at)}
  </time>
);
