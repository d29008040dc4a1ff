import { useState } from 'react';
import { useApi } from '../../api/hooks.ts';
import { PageHeader, Stack } from '../../design/layout.tsx';
import { nameOf, useMay, useSession } from '../../shell/session.tsx';
import { Mine } from './mine.tsx';
import { Setup } from './setup.tsx';
import { Snippets } from './snippets.tsx';

/** What to begin with: who sets the gateway up gets steps that do the thing, everyone gets what they need to call it. */
export default function Home() {
  const { user, workspace } = useSession();
  const may = useMay();
  // Of a key that was made here a moment ago: it stands in the snippets until the page is left.
  const [secret, setSecret] = useState('');
  const isAdmin = may('virtual_keys.create', 'api_keys.create');
  const health = useApi('/health', {}, { enabled: isAdmin });
  const degraded = health.data?.degraded ?? [];
  return (
    <>
      <PageHeader
        title={`Hello, ${nameOf(user)}`}
        about={
          degraded.length > 0
            ? degraded.map(({ effect }) => effect).join(' ')
            : `You are in the workspace ${workspace.slug}. One address in front of every model.`
        }
      />
      <Stack gap={6}>
        {isAdmin && <Setup />}
        <Mine onSecret={setSecret} />
        <Snippets secret={secret} onSecret={setSecret} />
      </Stack>
    </>
  );
}
