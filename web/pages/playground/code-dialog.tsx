import { useEffect, useState } from 'react';
import { CodeBlock } from '../../design/copy.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { Tabs } from '../../design/menu.tsx';
import { bodyOf } from './call-body.ts';
import { codeOf, LANGUAGES } from './code.ts';
import type { Column, Draft } from './draft.ts';

/** The call of the first column as code. */
export function CodeDialog({
  draft,
  headersOf,
  onClose,
}: {
  readonly draft: Draft;
  readonly headersOf: (column: Column) => Promise<Record<string, string>>;
  readonly onClose: () => void;
}) {
  const column = draft.columns[0]!;
  const [headers, setHeaders] = useState<Record<string, string>>({});
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is shown is as it was when the dialog was opened
  useEffect(() => {
    headersOf(column)
      .then(setHeaders)
      .catch(() => {});
  }, []);
  const body = bodyOf(draft, column.model, draft.messages);
  return (
    <Dialog
      title="The call as code"
      about="With a key of your own in GATEWAY_KEY."
      width="wide"
      isOpen
      onClose={onClose}
    >
      <Tabs
        label="Language"
        tabs={LANGUAGES.map((language) => ({
          value: language,
          label: language,
          content: <CodeBlock title={language} code={codeOf(language, body, headers)} />,
        }))}
      />
    </Dialog>
  );
}
