import { useNavigate } from '@tanstack/react-router';
import { useEffect, useMemo, useState } from 'react';
import { api, send } from '../../api/client.ts';
import { useApi } from '../../api/hooks.ts';
import { Button, IconButton } from '../../design/button.tsx';
import { copyText } from '../../design/copy.tsx';
import { PageHeader } from '../../design/layout.tsx';
import { Skeleton } from '../../design/states.tsx';
import { toast } from '../../design/toast.tsx';
import { useCommands } from '../../shell/palette.tsx';
import { useMay, useWorkspace } from '../../shell/session.tsx';
import { useShortcut } from '../../shell/shortcuts.tsx';
import { ask, textOfAnswer } from './answer.ts';
import { bodyOf, configOf, jsonFault } from './call-body.ts';
import { CodeDialog } from './code-dialog.tsx';
import { Composer } from './composer.tsx';
import { ConversationColumn } from './conversation-column.tsx';
import { type Column, type Draft, EMPTY, type Message, type ToolCall } from './draft.ts';
import { Settings } from './settings.tsx';
import { draftIn, fragmentOf } from './share.ts';
import { type Item, newThread, useThreads } from './threads.ts';

const MOST_COLUMNS = 4;
const LAST_MODEL = 'gateway.playground.model';

/** The names that `model` takes here. */
function useModels(): readonly string[] {
  const [models, setModels] = useState<readonly string[]>([]);
  useEffect(() => {
    const controller = new AbortController();
    send('/v1/models', { signal: controller.signal })
      .then((response) => (response.ok ? response.json() : { data: [] }))
      .then(({ data }: { data: readonly { id: string }[] }) => setModels(data.map(({ id }) => id)))
      .catch(() => {});
    return () => controller.abort();
  }, []);
  return models;
}

/** Models side by side, asked with the rights of the signed-in user. */
export default function Playground() {
  const { id: workspace_id } = useWorkspace();
  const may = useMay();
  const navigate = useNavigate();
  const models = useModels();
  const [draft, setDraft] = useState<Draft>(EMPTY);
  const [text, setText] = useState('');
  const [images, setImages] = useState<readonly string[]>([]);
  const [isCodeShown, setCodeShown] = useState(false);
  const [areSettingsShown, setSettingsShown] = useState(() => matchMedia('(min-width: 901px)').matches);
  const [session] = useState(() => `playground-${crypto.randomUUID().slice(0, 8)}`);
  const { threads, setThreads, run, stop, isRunning } = useThreads();
  const configs = useApi('/v1/configs', { query: { workspace_id, page_size: 200 } }, { enabled: may('configs.list') })
    .data?.data;

  const take = useMemo(
    () => (given: Draft) => {
      const last = given.messages.at(-1);
      const isAsking = last?.role === 'user';
      const before = (isAsking ? given.messages.slice(0, -1) : given.messages).map((message): Item => ({ message }));
      setDraft(given);
      setText(isAsking ? last.text : '');
      setImages(isAsking ? (last.images ?? []) : []);
      setThreads(given.columns.map(() => newThread(before)));
    },
    [setThreads],
  );
  // Until the link is read there is no field: what it holds would take the place of what is typed by then.
  const [isRead, setRead] = useState(location.hash === '');
  useEffect(() => {
    const open = async () => {
      const shared = await draftIn(location.hash);
      if (shared) take(shared);
      setRead(true);
    };
    void open();
    addEventListener('hashchange', open);
    return () => removeEventListener('hashchange', open);
  }, [take]);
  // A column without a model asks the one that was used last, or the first that there is. Its name is never written
  // into the field: it would mix with what the user types there while the list of models is on its way.
  const usual = useMemo(() => {
    const last = localStorage.getItem(LAST_MODEL);
    return (last && models.includes(last) ? last : models[0]) ?? '';
  }, [models]);
  const asking: Draft = {
    ...draft,
    columns: draft.columns.map((column) => (column.model || column.config ? column : { ...column, model: usual })),
  };

  const change = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }));
  const changeColumns = (to: (columns: readonly Column[]) => readonly Column[]) =>
    setDraft((before) => ({ ...before, columns: to(before.columns) }));
  const setColumn = (index: number, part: Partial<Column>) =>
    changeColumns((before) => before.map((column, at) => (at === index ? { ...column, ...part } : column)));
  const faults = { tools: jsonFault(draft.tools, 'list'), schema: jsonFault(draft.schema, 'object') };
  const isReady = !faults.tools && !faults.schema && asking.columns.every(({ model, config }) => model || config);

  const headersOf = async (column: Column): Promise<Record<string, string>> => {
    const isMixed = column.config && (draft.inputGuardrails.length > 0 || draft.outputGuardrails.length > 0);
    const stored = isMixed
      ? (await api.get('/v1/configs/{slug}', { params: { slug: column.config }, query: { workspace_id } })).config
      : null;
    const config = configOf(draft, column, stored);
    return { ...(config && { 'x-gateway-config': config }) };
  };
  const start = async (index: number, items: readonly Item[]) => {
    const column = asking.columns[index]!;
    const thread = threads[index]!;
    if (column.model) localStorage.setItem(LAST_MODEL, column.model);
    try {
      const headers = {
        ...(await headersOf(column)),
        'x-gateway-session-id': draft.columns.length > 1 ? `${session}-${index + 1}` : session,
        'x-gateway-metadata': '{"source":"playground"}',
      };
      const messages = items.map(({ message }) => message);
      await run(thread.key, { items, headers, body: bodyOf(draft, column.model, messages) });
    } catch (error) {
      toast({ title: error instanceof Error ? error.message : String(error), tone: 'bad' });
    }
  };
  const asked: readonly Message[] =
    text.trim() || images.length > 0 ? [{ role: 'user', text, ...(images.length > 0 && { images }) }] : [];
  const askAll = () => {
    if (!isReady || isRunning) return;
    for (const [index, { items }] of threads.entries()) {
      const isAgain = asked.length === 0 && items.at(-1)?.message.role === 'assistant';
      const before = isAgain ? items.slice(0, -1) : items;
      void start(index, [...before, ...asked.map((message): Item => ({ message }))]);
    }
    setText('');
    setImages([]);
  };
  const clear = () => {
    stop();
    setThreads(draft.columns.map(() => newThread()));
    history.replaceState(history.state, '', location.pathname + location.search);
  };
  const whole = (): Draft => ({
    ...asking,
    messages: [...(threads[0]?.items.map(({ message }) => message) ?? []), ...asked],
  });
  const share = async () => {
    const address = new URL(location.href);
    address.hash = await fragmentOf(whole());
    history.replaceState(history.state, '', address);
    toast(
      (await copyText(address.href))
        ? { title: 'The link is copied.', about: 'It holds all that stands here.', tone: 'good' }
        : { title: 'The link stands in the address now.' },
    );
  };
  const add = () => {
    changeColumns((before) => [...before, { model: '', config: '' }]);
    setThreads((before) => [...before, newThread(before[0]?.items ?? [])]);
  };
  const remove = (index: number) => {
    changeColumns((before) => before.filter((_, at) => at !== index));
    setThreads((before) => before.filter((_, at) => at !== index));
  };
  /** What a tool could answer, by the model of the column: for trying things out without the tool. */
  const simulate = async (index: number, call: ToolCall): Promise<string> => {
    const column = asking.columns[index]!;
    const answer = await ask({
      headers: { ...(await headersOf(column)), 'x-gateway-metadata': '{"source":"playground"}' },
      body: {
        model: column.model,
        messages: [
          {
            role: 'system',
            content: `You stand in for the tool ${call.name}. Answer with what it would return, as JSON.`,
          },
          { role: 'user', content: call.args },
        ],
      },
      signal: new AbortController().signal,
      onPart: () => {},
    });
    if (answer.error) throw new Error(answer.error);
    return textOfAnswer(answer);
  };
  /** Back to before a message: it stands in the field again. */
  const rewind = (index: number, place: number) => {
    const { message } = threads[index]!.items[place]!;
    setText(message.text);
    setImages(message.images ?? []);
    setThreads((before) => before.map((thread) => ({ ...thread, items: thread.items.slice(0, place) })));
  };
  useShortcut('n', 'Begin anew', clear);
  useCommands(
    useMemo(
      () => [
        { label: 'Show the code of the call', icon: 'code' as const, run: () => setCodeShown(true) },
        {
          label: 'Settings of the call on or off',
          icon: 'settings' as const,
          run: () => setSettingsShown((is) => !is),
        },
      ],
      [],
    ),
  );
  if (!isRead) return <Skeleton lines={8} />;
  const isBegun = threads.some(({ items }) => items.length > 0);
  const canAdd = draft.columns.length < MOST_COLUMNS;
  return (
    <div className="fill play">
      <PageHeader title="Playground">
        {isBegun && (
          <Button look="quiet" icon="refresh" onClick={clear}>
            Begin anew
          </Button>
        )}
        <Button look="quiet" icon="share" onClick={() => void share()}>
          Share
        </Button>
        <Button look="quiet" icon="code" disabled={!isReady} onClick={() => setCodeShown(true)}>
          Code
        </Button>
        {canAdd && (
          <Button icon="columns" onClick={add}>
            Compare
          </Button>
        )}
        <IconButton
          icon="settings"
          label="Settings of the call"
          aria-pressed={areSettingsShown}
          onClick={() => setSettingsShown(!areSettingsShown)}
        />
      </PageHeader>
      <datalist id="playground-models">
        {models.slice(0, 500).map((model) => (
          <option key={model} value={model} />
        ))}
      </datalist>
      <div className={`play-split ${areSettingsShown ? 'play-split-open' : ''}`}>
        <div className="play-main">
          <div className="play-columns" style={{ '--columns': draft.columns.length } as React.CSSProperties}>
            {threads.map((thread, index) => {
              const column = draft.columns[index];
              return (
                column && (
                  <ConversationColumn
                    key={thread.key}
                    name={`Model ${index + 1}`}
                    column={column}
                    usual={usual}
                    thread={thread}
                    configs={configs ?? []}
                    onChange={(part) => setColumn(index, part)}
                    onRemove={draft.columns.length > 1 ? () => remove(index) : null}
                    onRewind={(place) => rewind(index, place)}
                    onRun={(items) => void start(index, items)}
                    onSimulate={(call) => simulate(index, call)}
                    onOpenLog={
                      may('logs.read')
                        ? (id) => void navigate({ to: '/logs', search: { open: id, calls: 'all' } as never })
                        : null
                    }
                  />
                )
              );
            })}
          </div>
          <Composer
            text={text}
            images={images}
            isRunning={isRunning}
            isReady={isReady && (asked.length > 0 || isBegun)}
            isBegun={isBegun}
            onText={setText}
            onImages={setImages}
            onAsk={askAll}
            onStop={stop}
          />
        </div>
        {areSettingsShown && <Settings draft={draft} faults={faults} onChange={change} />}
      </div>
      {isCodeShown && <CodeDialog draft={whole()} headersOf={headersOf} onClose={() => setCodeShown(false)} />}
    </div>
  );
}
