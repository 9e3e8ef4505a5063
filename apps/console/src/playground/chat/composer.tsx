import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { AreaField, FileField } from '../../components/fields.js';
import { readDataUrl } from '../read-file.js';
import type { Attachment } from './chat-request.js';

interface ComposerProps {
  /** Returns false if nothing was sent, so that the text stays. */
  send: (text: string, attachments: readonly Attachment[]) => boolean;
  stop: () => void;
  clear: () => void;
  isRunning: boolean;
  isEmpty: boolean;
  canSend: boolean;
}

/** A first question, so that a new user needs only to press the button. */
const firstPrompt = 'Tell me a short story about a small boat.';

export function Composer({ send, stop, clear, isRunning, isEmpty, canSend }: ComposerProps): JSX.Element {
  const [text, setText] = useState(isEmpty ? firstPrompt : '');
  const [attachments, setAttachments] = useState<Attachment[]>([]);
  const [problem, setProblem] = useState<string | null>(null);
  // A new key gives an empty file field, which shows no earlier choice.
  const [fieldKey, setFieldKey] = useState(0);

  const submit = (): void => {
    if (text.trim() === '' || isRunning || !canSend) return;
    if (!send(text, attachments)) return;
    setText('');
    setAttachments([]);
    setFieldKey((key) => key + 1);
  };
  const attach = (files: File[]): void => {
    setProblem(null);
    Promise.all(files.map(toAttachment)).then(setAttachments, (error: unknown) =>
      setProblem(error instanceof Error ? error.message : 'The file could not be read.'),
    );
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <AreaField
        label="Message"
        value={text}
        onChange={setText}
        hint="Ctrl+Enter sends"
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit();
        }}
      />
      <FileField
        key={fieldKey}
        label="Images, audio and files"
        accept="image/*,audio/*,.pdf,.docx,.xlsx,.pptx,.txt,.md,.csv,.json,.html"
        onChange={attach}
        isMultiple
        hint={attachments.length === 0 ? undefined : attachments.map(({ name }) => name).join(', ')}
      />
      {problem !== null && <p role="alert">{problem}</p>}
      <div class="buttons">
        <button type="submit" class="primary" disabled={isRunning || !canSend || text.trim() === ''}>
          Send
        </button>
        <button type="button" disabled={!isRunning} onClick={stop}>
          Stop
        </button>
        <button type="button" disabled={isEmpty} onClick={clear}>
          Clear
        </button>
      </div>
    </form>
  );
}

async function toAttachment(file: File): Promise<Attachment> {
  const kind = file.type.startsWith('image/') ? 'image' : file.type.startsWith('audio/') ? 'audio' : 'file';
  return { name: file.name, kind, dataUrl: await readDataUrl(file) };
}
