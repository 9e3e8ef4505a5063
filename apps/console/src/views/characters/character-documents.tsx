import type { JSX } from 'preact';
import { getJson } from '../../api/client.js';
import type { Task } from '../../api/use-task.js';
import { ConfirmButton } from '../../components/confirm-button.js';
import { Table } from '../../components/table.js';
import { formatCount } from '../../format/numbers.js';
import { AddDocuments } from './add-documents.js';
import type { CharacterFiles } from './character-responses.js';

interface CharacterDocumentsProps {
  path: string;
  documents: CharacterFiles;
  /** Runs what removes documents. */
  task: Task<unknown>;
  onChanged: () => void;
}

/** The files that a character answers from. */
export function CharacterDocuments({ path, documents, task, onChanged }: CharacterDocumentsProps): JSX.Element {
  const { model, data } = documents;
  const remove = (entry: string): void => {
    task.run(async (signal) => {
      await getJson(`${path}/documents${entry}`, { method: 'DELETE', signal });
      onChanged();
    });
  };
  return (
    <>
      <Table
        caption="Documents that it answers from"
        rows={data}
        rowKey={({ id }) => id}
        empty="It has none."
        columns={[
          { title: 'File', cell: ({ name }) => name, sort: ({ name }) => name },
          {
            title: 'Passages',
            cell: ({ passages }) => formatCount(passages),
            sort: ({ passages }) => passages,
            isNumber: true,
          },
          {
            title: 'Remove',
            cell: ({ id, name }) => (
              <ConfirmButton
                label="Remove"
                description={`Remove ${name}`}
                warning="Chats no longer cite it."
                isBusy={task.isBusy}
                onConfirm={() => remove(`/${id}`)}
              />
            ),
          },
        ]}
      />
      {data.length > 0 && (
        <p class="buttons">
          <ConfirmButton
            label="Remove the documents"
            description="Remove the documents"
            warning="Chats no longer cite them."
            isBusy={task.isBusy}
            onConfirm={() => remove('')}
          />
          <span class="hint">Embedded by {model}</span>
        </p>
      )}
      <AddDocuments path={path} model={model} onAdded={onChanged} />
    </>
  );
}
