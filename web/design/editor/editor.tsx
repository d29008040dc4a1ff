import { lazy, Suspense } from 'react';
import { Skeleton } from '../states.tsx';
import type { KnownValues } from './complete.ts';
import type { Schema } from './schema.ts';

export interface EditorFault {
  /** `targets[1].weight`; empty: the whole text. */
  readonly path: string;
  readonly message: string;
}

export interface EditorProps {
  /** Names the field for people who do not see it. */
  readonly label: string;
  readonly describedBy?: string;
  /** JSON. */
  readonly value: string;
  readonly onChange?: (value: string) => void;
  /** Control or command with `s`; with what is written now, which may not have been drawn yet. */
  readonly onSave?: (value: string) => void;
  readonly isReadOnly?: boolean;
  /** What completion knows. */
  readonly schema?: Schema | null;
  readonly values?: KnownValues;
  /** What is wrong, shown where it is. */
  readonly faults?: readonly EditorFault[];
  /** Leads to a place; a new object leads there again. */
  readonly reveal?: { readonly path: string } | null;
  /** Any CSS height; null: a sheet of the page says it. */
  readonly height?: string | null;
}

const Core = lazy(() => import('./core.tsx'));

/** JSON, with completion and faults in place. It is large, so it is loaded when it is shown. */
export const Editor = ({ height = '420px', ...props }: EditorProps) => (
  <div className="editor" style={height === null ? undefined : { height }}>
    <Suspense fallback={<Skeleton lines={8} />}>
      <Core {...props} />
    </Suspense>
  </div>
);
