import { type ReactNode, useEffect } from 'react';

/** The head of a page: its name, a sentence about it, and what can be done. Also names the browser's tab. */
export function PageHeader({
  title,
  about,
  children,
}: {
  readonly title: string;
  readonly about?: ReactNode;
  readonly children?: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · Gateway`;
  }, [title]);
  return (
    <header className="page-header">
      <div>
        <h1>{title}</h1>
        {about && <p className="soft">{about}</p>}
      </div>
      {children && <div className="page-actions">{children}</div>}
    </header>
  );
}

export function Card({
  title,
  about,
  actions,
  isFlush = false,
  children,
}: {
  readonly title?: ReactNode;
  readonly about?: ReactNode;
  readonly actions?: ReactNode;
  /** Without space around its content, for tables. */
  readonly isFlush?: boolean;
  readonly children?: ReactNode;
}) {
  return (
    <section className="card">
      {(title || actions) && (
        <div className="card-head">
          <div>
            {title && <h2>{title}</h2>}
            {about && <p className="soft small">{about}</p>}
          </div>
          {actions}
        </div>
      )}
      <div className={isFlush ? 'card-flush' : 'card-body'}>{children}</div>
    </section>
  );
}

type Gap = 1 | 2 | 3 | 4 | 6 | 8;

export const Stack = ({ gap = 4, children }: { readonly gap?: Gap; readonly children: ReactNode }) => (
  <div className={`stack gap-${gap}`}>{children}</div>
);

export const Row = ({ gap = 2, children }: { readonly gap?: Gap; readonly children: ReactNode }) => (
  <div className={`line gap-${gap}`}>{children}</div>
);

/** Columns that become fewer as there is less room. */
export const Grid = ({ least = 260, children }: { readonly least?: number; readonly children: ReactNode }) => (
  <div className="columns" style={{ '--least': `${least}px` } as React.CSSProperties}>
    {children}
  </div>
);

/** Names and values, as of one thing. */
export const KeyValue = ({ rows }: { readonly rows: readonly (readonly [ReactNode, ReactNode])[] }) => (
  <dl className="key-value">
    {rows.map(([name, value], index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: the rows of one thing keep their order
      <div key={index}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);
