import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { json, jsonParseLinter } from '@codemirror/lang-json';
import { bracketMatching, codeFolding, foldGutter, foldKeymap, indentOnInput } from '@codemirror/language';
import { type Diagnostic, lintGutter, setDiagnostics } from '@codemirror/lint';
import { Compartment, EditorState } from '@codemirror/state';
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import { useEffect, useRef } from 'react';
import { completeFrom } from './complete.ts';
import type { EditorProps } from './editor.tsx';
import { look } from './look.ts';
import { placeOf, readPath } from './places.ts';

const parseFaults = jsonParseLinter();

/**
 * CodeMirror in a shadow root: there its styles are sheets that scripts may make, which the policy of the page refuses
 * anywhere else.
 */
export default function EditorCore(props: EditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const access = useRef(new Compartment());
  /** Texts that were typed here and have not come back as the value yet. */
  const told = useRef<string[]>([]);

  useEffect(() => {
    const element = host.current!;
    const root = element.shadowRoot ?? element.attachShadow({ mode: 'open' });
    const made = new EditorView({
      parent: root,
      root,
      state: EditorState.create({
        doc: latest.current.value,
        extensions: extensionsFor(latest, access.current, told.current),
      }),
    });
    view.current = made;
    // Keys that are typed here are no keys of the page; the palette and what leaves the field are.
    const keep = (event: KeyboardEvent) => {
      if (!event.ctrlKey && !event.metaKey) event.stopPropagation();
    };
    element.addEventListener('keydown', keep);
    return () => {
      element.removeEventListener('keydown', keep);
      made.destroy();
      view.current = null;
    };
  }, []);

  const { value, faults, isReadOnly = false, reveal } = props;
  useEffect(() => {
    const current = view.current;
    // A page that is slow hands back what was typed a moment ago: to take that over would undo what was typed since.
    const own = told.current.lastIndexOf(value);
    told.current.splice(0, own < 0 ? told.current.length : own + 1);
    if (!current || own >= 0 || current.state.doc.toString() === value) return;
    current.dispatch({ changes: { from: 0, to: current.state.doc.length, insert: value } });
  }, [value]);
  useEffect(() => {
    view.current?.dispatch({ effects: access.current.reconfigure(EditorState.readOnly.of(isReadOnly)) });
  }, [isReadOnly]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: faults of the form are looked for whenever the text changes
  useEffect(() => {
    const current = view.current;
    if (current) current.dispatch(setDiagnostics(current.state, diagnosticsOf(current, faults)));
  }, [value, faults]);
  useEffect(() => {
    const current = view.current;
    if (!current || !reveal) return;
    const { from, to } = placeOf(current.state, readPath(reveal.path));
    current.dispatch({
      selection: { anchor: from, head: to },
      effects: EditorView.scrollIntoView(from, { y: 'center' }),
    });
    current.focus();
  }, [reveal]);

  return <div ref={host} className="editor-host" />;
}

function diagnosticsOf(view: EditorView, faults: EditorProps['faults'] = []): Diagnostic[] {
  const broken = view.state.doc.toString().trim() === '' ? [] : parseFaults(view);
  if (broken.length > 0) return broken.map((each) => ({ ...each, message: `This is not JSON yet: ${each.message}` }));
  return faults.map(({ path, message }) => {
    const { from, to } = placeOf(view.state, readPath(path));
    return { from, to, severity: 'error', message };
  });
}

function extensionsFor(latest: { current: EditorProps }, access: Compartment, told: string[]) {
  const { label, describedBy } = latest.current;
  return [
    lintGutter(),
    lineNumbers(),
    foldGutter(),
    codeFolding(),
    history(),
    drawSelection(),
    indentOnInput(),
    bracketMatching(),
    closeBrackets(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    EditorState.tabSize.of(2),
    EditorView.lineWrapping,
    json(),
    autocompletion({
      override: [
        completeFrom(
          () => latest.current.schema ?? null,
          () => latest.current.values ?? {},
        ),
      ],
      icons: false,
    }),
    keymap.of([
      {
        key: 'Mod-s',
        preventDefault: true,
        run: (view) => {
          latest.current.onSave?.(view.state.doc.toString());
          return true;
        },
      },
      ...closeBracketsKeymap,
      ...completionKeymap,
      ...historyKeymap,
      ...foldKeymap,
      ...defaultKeymap,
    ]),
    EditorView.contentAttributes.of({
      'aria-label': label,
      tabindex: '0',
      ...(describedBy && { 'aria-describedby': describedBy }),
    }),
    EditorView.updateListener.of((update) => {
      if (!update.docChanged) return;
      const text = update.state.doc.toString();
      told.push(text);
      latest.current.onChange?.(text);
    }),
    access.of(EditorState.readOnly.of(latest.current.isReadOnly ?? false)),
    look,
  ];
}
