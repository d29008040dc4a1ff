import { type ClipboardEvent, type DragEvent, type KeyboardEvent, useRef } from 'react';
import { Button, IconButton } from '../../design/button.tsx';
import { toast } from '../../design/toast.tsx';

const MOST_BYTES = 8_000_000;
const KINDS = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

const dataUrlOf = (file: File): Promise<string> =>
  new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(String(reader.result));
    reader.onerror = () => failed(reader.error);
    reader.readAsDataURL(file);
  });

export interface ComposerProps {
  readonly text: string;
  readonly images: readonly string[];
  readonly isRunning: boolean;
  readonly isReady: boolean;
  /** Something was said before: without a message, the last answer is asked for again. */
  readonly isBegun: boolean;
  readonly onText: (text: string) => void;
  readonly onImages: (change: (images: readonly string[]) => readonly string[]) => void;
  readonly onAsk: () => void;
  readonly onStop: () => void;
}

/** Where the next message is written: pictures are chosen, pasted or dropped. */
export function Composer({
  text,
  images,
  isRunning,
  isReady,
  isBegun,
  onText,
  onImages,
  onAsk,
  onStop,
}: ComposerProps) {
  const files = useRef<HTMLInputElement>(null);
  const add = async (given: Iterable<File>) => {
    const all = [...given];
    const taken = all.filter(({ type, size }) => KINDS.includes(type) && size <= MOST_BYTES);
    if (taken.length < all.length)
      toast({ title: 'Pictures are PNG, JPEG, GIF or WebP of at most 8 MB.', tone: 'bad' });
    const read = await Promise.all(taken.map(dataUrlOf));
    if (read.length > 0) onImages((before) => [...before, ...read]);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    if (!isRunning && isReady) onAsk();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: files can be chosen with the button as well
    <div
      className="play-composer"
      onDragOver={(event: DragEvent) => event.preventDefault()}
      onDrop={(event: DragEvent) => {
        event.preventDefault();
        void add(event.dataTransfer.files);
      }}
    >
      {images.length > 0 && (
        <ul className="play-images">
          {images.map((source, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the same picture may be there twice
            <li key={index}>
              <img src={source} alt={`Attachment ${index + 1}`} />
              <IconButton
                size="small"
                icon="close"
                label={`Remove picture ${index + 1}`}
                onClick={() => onImages((before) => before.filter((_, at) => at !== index))}
              />
            </li>
          ))}
        </ul>
      )}
      <textarea
        data-filter=""
        aria-label="Message"
        placeholder="Ask something. Enter sends, Shift and Enter begin a new line."
        rows={Math.min(8, Math.max(2, text.split('\n').length))}
        value={text}
        onChange={(event) => onText(event.target.value)}
        onKeyDown={onKey}
        onPaste={(event: ClipboardEvent) => {
          if (event.clipboardData.files.length === 0) return;
          event.preventDefault();
          void add(event.clipboardData.files);
        }}
      />
      <div className="play-composer-foot">
        <input
          ref={files}
          type="file"
          hidden
          multiple
          accept={KINDS.join(',')}
          onChange={(event) => {
            void add(event.target.files ?? []);
            event.target.value = '';
          }}
        />
        <IconButton icon="image" label="Add pictures" onClick={() => files.current?.click()} />
        <span className="turn-space" />
        {isRunning ? (
          <Button icon="stop" onClick={onStop}>
            Stop
          </Button>
        ) : (
          <Button look="primary" icon="send" disabled={!isReady} onClick={onAsk}>
            {isBegun && !text.trim() && images.length === 0 ? 'Ask again' : 'Ask'}
          </Button>
        )}
      </div>
    </div>
  );
}
