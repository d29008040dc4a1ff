import { useState } from 'react';
import { send } from '../../api/client.ts';
import { faultOf } from '../../api/fault.ts';
import { useAction } from '../../api/hooks.ts';
import type { VirtualKey } from '../../api/types.d.ts';
import { Button } from '../../design/button.tsx';
import { Field, Input, Select } from '../../design/field.tsx';
import { formatDuration } from '../../design/format.ts';
import { Stack } from '../../design/layout.tsx';
import { ErrorNote, Note } from '../../design/states.tsx';

interface Answer {
  readonly text: string;
  readonly ms: number;
}

async function ask(virtualKey: string, model: string, content: string): Promise<Answer> {
  const began = performance.now();
  const response = await send('/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-gateway-virtual-key': virtualKey },
    body: JSON.stringify({ model, messages: [{ role: 'user', content }] }),
  });
  if (!response.ok) throw await faultOf(response);
  const body: { choices?: readonly { message?: { content?: string } }[] } = await response.json();
  return { text: body.choices?.[0]?.message?.content ?? '', ms: performance.now() - began };
}

/** One call to a model, as the signed-in user. */
export function TryCall({ virtualKeys }: { readonly virtualKeys: readonly VirtualKey[] }) {
  const [chosen, setChosen] = useState(
    virtualKeys.find(({ provider }) => provider !== 'simulator')?.slug ?? virtualKeys[0]?.slug ?? '',
  );
  const isDemo = virtualKeys.find(({ slug }) => slug === chosen)?.provider === 'simulator';
  const [model, setModel] = useState('');
  const [words, setWords] = useState('Say hello in one sentence.');
  const call = useAction(() => ask(chosen, model || (isDemo ? 'demo' : ''), words), {
    changes: ['/v1/logs', '/v1/analytics'],
    onFault: () => {},
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        call.mutate();
      }}
    >
      <Stack gap={3}>
        <div className="columns home-call">
          <Field label="Provider">
            {(control) => (
              <Select
                {...control}
                value={chosen}
                onChange={setChosen}
                choices={virtualKeys.map(({ slug, name }) => ({ value: slug, label: name }))}
              />
            )}
          </Field>
          <Field label="Model">
            {(control) => (
              <Input
                {...control}
                required={!isDemo}
                placeholder={isDemo ? 'demo' : 'gpt-4o-mini'}
                value={model}
                onChange={(event) => setModel(event.target.value)}
              />
            )}
          </Field>
        </div>
        <Field label="Message">
          {(control) => (
            <Input {...control} required value={words} onChange={(event) => setWords(event.target.value)} />
          )}
        </Field>
        <div>
          <Button look="primary" icon="send" type="submit" isBusy={call.isPending}>
            Send
          </Button>
        </div>
        {call.error && <ErrorNote error={call.error} />}
        {call.data && (
          <Note tone="good">
            {call.data.text} <span className="small">({formatDuration(call.data.ms)})</span>
          </Note>
        )}
      </Stack>
    </form>
  );
}
