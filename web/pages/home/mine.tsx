import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { ResponseOf } from '../../api/client.ts';
import { useApi } from '../../api/hooks.ts';
import type { ApiKey } from '../../api/types.d.ts';
import { Badge } from '../../design/badge.tsx';
import { Button, IconButton } from '../../design/button.tsx';
import { formatDate } from '../../design/format.ts';
import { Card, Grid, Row, Stack } from '../../design/layout.tsx';
import { Menu } from '../../design/menu.tsx';
import { EmptyState, ErrorNote } from '../../design/states.tsx';
import { useMay, useWorkspace } from '../../shell/session.tsx';
import { TONES } from '../api-keys/api-keys.tsx';
import { DeleteKey } from '../api-keys/delete-key.tsx';
import { Usage } from '../api-keys/key-panel.tsx';
import { RotateKey } from '../api-keys/rotate-key.tsx';
import { MakeOwnKey } from './make-own-key.tsx';

type Own = ResponseOf<'/v1/own-keys'>;
type Doing = { readonly what: 'rotate' | 'delete'; readonly key: ApiKey } | { readonly what: 'make' } | null;

/** The user's own keys, with what is spent of their budgets, as far as the workspace lets people have some. */
export function Mine({ onSecret }: { readonly onSecret: (secret: string) => void }) {
  const { slug } = useWorkspace();
  const may = useMay();
  const [doing, setDoing] = useState<Doing>(null);
  const own = useApi('/v1/own-keys');
  if (!own.data) return own.error && <ErrorNote error={own.error} onRetry={() => void own.refetch()} />;
  const { allowed, data } = own.data;
  const made = data.filter(({ is_own }) => is_own).length;
  // Who makes keys for others has a page for that.
  if (!allowed && data.length === 0)
    return may('api_keys.create') ? null : (
      <Card title="Your keys">
        <EmptyState icon="key" title="You have no key yet">
          In the workspace {slug} administrators make keys for people. Ask one of them, or ask that members may make
          their own.
        </EmptyState>
      </Card>
    );
  const make = allowed && made < allowed.most && (
    <Button look={data.length === 0 ? 'primary' : 'plain'} icon="plus" onClick={() => setDoing({ what: 'make' })}>
      Make a key
    </Button>
  );
  return (
    <Card
      title="Your keys"
      about={boundsOf(own.data)}
      actions={
        <Row>
          {may('logs.list') && <Link to="/logs">Your calls</Link>}
          {data.length > 0 && make}
        </Row>
      }
    >
      <Stack>
        {own.data.usage.length > 0 && data.length > 0 && (
          <Stack gap={1}>
            <span className="field-label">Spent by all of them together</span>
            <Usage usage={own.data.usage} />
          </Stack>
        )}
        {data.length === 0 ? (
          <EmptyState icon="key" title="You have no key yet" action={make}>
            It is yours alone: its calls count as yours, and it ends when you leave.
          </EmptyState>
        ) : (
          <Grid>
            {data.map((key) => (
              <OwnKey
                key={key.id}
                apiKey={key}
                onRotate={allowed ? () => setDoing({ what: 'rotate', key }) : null}
                onDelete={key.is_own ? () => setDoing({ what: 'delete', key }) : null}
              />
            ))}
          </Grid>
        )}
      </Stack>
      {doing?.what === 'make' && allowed && (
        <MakeOwnKey allowed={allowed} onMade={onSecret} onClose={() => setDoing(null)} />
      )}
      {doing?.what === 'rotate' && <RotateKey apiKey={doing.key} isMine onClose={() => setDoing(null)} />}
      {doing?.what === 'delete' && (
        <DeleteKey apiKey={doing.key} isMine onClose={() => setDoing(null)} onDeleted={() => setDoing(null)} />
      )}
    </Card>
  );
}

/** What is allowed, in a sentence. */
function boundsOf({ allowed }: Own): string {
  if (!allowed) return 'Members may not make keys here any more; those that administrators made for you go on.';
  const { most, max_days, models } = allowed;
  return [
    most === 1 ? 'You may have one of your own' : `You may have ${most} of your own`,
    ...(max_days ? [`each for ${max_days} days`] : []),
    ...(models ? [`for ${models.join(', ')}`] : []),
  ]
    .join(', ')
    .concat('.');
}

function OwnKey({
  apiKey: key,
  onRotate,
  onDelete,
}: {
  readonly apiKey: ApiKey;
  /** Null: not allowed. */
  readonly onRotate: (() => void) | null;
  readonly onDelete: (() => void) | null;
}) {
  const items = [
    ...(onRotate ? [{ label: 'Give it a new secret', icon: 'refresh' as const, onSelect: onRotate }] : []),
    ...(onDelete ? [{ label: 'Delete', icon: 'trash' as const, isDanger: true, onSelect: onDelete }] : []),
  ];
  return (
    <div className="home-key">
      <Row>
        <strong className="truncate">{key.name}</strong>
        <Badge tone={TONES[key.status]} dot>
          {key.status}
        </Badge>
        {items.length > 0 && (
          <Menu items={items} trigger={<IconButton size="small" icon="more" label={`Actions for ${key.name}`} />} />
        )}
      </Row>
      <code className="soft">{key.masked_key}</code>
      {key.usage.length > 0 && <Usage usage={key.usage} />}
      <span className="soft small">
        {key.is_own ? 'Made by you' : 'Made for you'}
        {key.expires_at && `, ends ${formatDate(key.expires_at)}`}
      </span>
    </div>
  );
}
