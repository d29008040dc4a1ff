import { useMemo } from 'react';
import { readExchange } from '../../conversation/read.ts';
import { Turns } from '../../conversation/turns.tsx';
import { Badge } from '../../design/badge.tsx';
import { JsonText } from '../../design/json-view.tsx';
import { KeyValue, Stack } from '../../design/layout.tsx';
import { EmptyState, Note } from '../../design/states.tsx';
import type { LogDetail } from './entries.ts';

/** Messages, tools and the answer, in whichever format the call spoke. */
export function Conversation({ entry }: { readonly entry: LogDetail }) {
  const { request, response } = entry;
  const exchange = useMemo(
    () =>
      readExchange(
        request?.encoding === 'utf8' ? request.body : null,
        response?.encoding === 'utf8' ? response.body : null,
      ),
    [request, response],
  );
  if (!request && !response)
    return (
      <EmptyState icon="lock" title="What was said was not kept">
        Bodies are not stored for this call: the gateway is set so, the call asked for it, or it is no call of a model.
      </EmptyState>
    );
  if (!exchange)
    return (
      <Note>
        {request?.truncated || response?.truncated
          ? 'The body is longer than what is kept of it, so it cannot be read as a conversation. What is there stands under Raw.'
          : 'This is no conversation. What was sent and answered stands under Raw.'}
      </Note>
    );
  const { turns, answer, tools, settings, finish, error } = exchange;
  return (
    <Stack gap={3}>
      {tools.length > 0 && (
        <details className="entry-fold">
          <summary>
            {tools.length} {tools.length === 1 ? 'tool' : 'tools'} offered:{' '}
            <span className="soft">{tools.map(({ name }) => name).join(', ')}</span>
          </summary>
          <Stack gap={3}>
            {tools.map((tool, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: tools of a call keep their order, and names may repeat
              <div key={index} className="stack gap-1">
                <code>{tool.name}</code>
                {tool.about && <p className="soft small">{tool.about}</p>}
                {tool.schema && <JsonText text={tool.schema} label={`What ${tool.name} takes`} />}
              </div>
            ))}
          </Stack>
        </details>
      )}
      {settings.length > 0 && (
        <details className="entry-fold">
          <summary>
            Settings: <span className="soft">{settings.map(([name]) => name).join(', ')}</span>
          </summary>
          <KeyValue rows={settings.map(([name, value]) => [<code key={name}>{name}</code>, value] as const)} />
        </details>
      )}
      <Turns turns={[...turns, ...answer]} />
      {error && <Note tone="bad">{error}</Note>}
      {(finish || response?.truncated) && (
        <div className="line gap-2">
          {finish && <Badge>ended: {finish}</Badge>}
          {response?.truncated && <Badge tone="warn">longer than what is kept of it</Badge>}
        </div>
      )}
    </Stack>
  );
}
