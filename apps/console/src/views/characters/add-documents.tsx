import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { getJson } from '../../api/client.js';
import { RequestError } from '../../api/request-error.js';
import { useTask } from '../../api/use-task.js';
import { AreaField, FileField, SelectField, TextField } from '../../components/fields.js';
import { TaskStatus } from '../../components/task-status.js';
import type { CharacterFiles } from './character-responses.js';
import { type DocumentForm, documentsOf, emptyDocumentForm, type NewDocument } from './document-form.js';

interface AddDocumentsProps {
  path: string;
  /** The model of the documents so far, which the new ones share; null: there are none. */
  model: string | null;
  onAdded: () => void;
}

/** Adds files or a text to the documents of a character, one after the other. */
export function AddDocuments({ path, model, onAdded }: AddDocumentsProps): JSX.Element {
  const [form, setForm] = useState(emptyDocumentForm);
  const [current, setCurrent] = useState(0);
  // A file field forgets its files only with its element.
  const [round, setRound] = useState(0);
  const task = useTask<unknown>();
  const documents = documentsOf(form);
  const change = (changes: Partial<DocumentForm>): void => setForm({ ...form, ...changes });
  const submit = (event: Event): void => {
    event.preventDefault();
    task.run(async (signal) => {
      for (const [index, document] of documents.entries()) {
        setCurrent(index);
        await addDocument(`${path}/documents`, { document, model: model === null ? form.model : '', signal });
        onAdded();
      }
      setForm({ ...emptyDocumentForm, kind: form.kind });
      setRound(round + 1);
      return documents.length;
    });
  };
  const name = documents[current]?.name ?? '';
  const place = documents.length > 1 ? `, ${current + 1} of ${documents.length}` : '';
  return (
    <details class="panel">
      <summary>Add documents</summary>
      <form class="composer" onSubmit={submit}>
        <SelectField
          label="Add"
          value={form.kind}
          onChange={(kind) => change({ kind: kind === 'text' ? 'text' : 'files' })}
          options={[
            ['files', 'Files'],
            ['text', 'A text'],
          ]}
        />
        {form.kind === 'files' ? (
          <FileField
            key={round}
            label="Files"
            onChange={(files) => change({ files })}
            isMultiple
            hint="PDF, EPUB, DOCX, PPTX, XLSX, XLS or any text, 25 MB each at most"
          />
        ) : (
          <AreaField label="Text" value={form.text} onChange={(text) => change({ text })} rows={8} />
        )}
        <div class="form-row">
          {(form.kind === 'text' || form.files.length === 1) && (
            <TextField
              label="Name"
              value={form.name}
              onChange={(value) => change({ name: value })}
              maxLength={200}
              isRequired={form.kind === 'text'}
              placeholder={form.kind === 'files' ? form.files[0]?.name : undefined}
              hint="Citations show it. A document of the same name is replaced"
            />
          )}
          {model === null && (
            <TextField
              label="Embedding model"
              value={form.model}
              onChange={(value) => change({ model: value })}
              placeholder="Default"
              hint="All documents of a character share it"
            />
          )}
        </div>
        {task.isBusy && (
          <progress max={documents.length} value={documents.length > 1 ? current : undefined} aria-label="Progress" />
        )}
        <TaskStatus task={task} action="Add" running={`Adding ${name}${place}`} canRun={documents.length > 0} />
      </form>
    </details>
  );
}

interface AddDocument {
  document: NewDocument;
  model: string;
  signal: AbortSignal;
}

/** Says which document failed: those before it were added. */
async function addDocument(path: string, { document, model, signal }: AddDocument): Promise<void> {
  const form = new FormData();
  form.set('name', document.name);
  if (model.trim() !== '') form.set('model', model.trim());
  form.set('file', document.content, document.name);
  try {
    await getJson<CharacterFiles>(path, { method: 'POST', form, signal });
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    throw new RequestError(error.status, `${document.name}: ${error.message}`, error.code, error.requestId);
  }
}
