import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { getJson } from '../../api/client.js';
import { AreaField, TextField } from '../../components/fields.js';
import { Table } from '../../components/table.js';
import { CopyAsPanel } from '../chat/copy-as-panel.js';
import { ModelField } from '../model-field.js';
import { isListed, useChosenModel, useModels } from '../models.js';
import { TaskStatus } from '../../components/task-status.js';
import { useTask } from '../../api/use-task.js';
import { linesOf } from './similarity.js';

interface Ranked {
  index: number;
  relevance_score: number;
  text: string;
}

const firstDocuments = [
  'The ferry takes ten minutes.',
  'Tickets are sold on board.',
  'The museum is closed on Mondays.',
];

/** Sorts documents by how well they answer a question. */
export function Rerank(): JSX.Element {
  const models = useModels('rerank');
  const [model, chooseModel] = useChosenModel(models.data);
  const [query, setQuery] = useState('How long is the crossing?');
  const [text, setText] = useState(firstDocuments.join('\n'));
  const task = useTask<Ranked[]>();
  const documents = linesOf(text);
  const body = { model: model === '' ? 'default' : model, query, documents };
  const submit = (event: Event): void => {
    event.preventDefault();
    task.run(async (signal) => {
      const { results } = await getJson<{ results: Omit<Ranked, 'text'>[] }>('api/v1/rerank', {
        method: 'POST',
        body,
        signal,
      });
      return results.map((result) => ({ ...result, text: body.documents[result.index] ?? '' }));
    });
  };
  return (
    <form class="composer" onSubmit={submit}>
      <ModelField models={models.data} value={model} onChange={chooseModel} />
      <TextField label="Question" value={query} onChange={setQuery} />
      <AreaField label="Documents" value={text} onChange={setText} rows={5} hint="One per line" />
      <TaskStatus task={task} action="Rank" canRun={isListed(models) && query.trim() !== '' && documents.length > 0} />
      {task.result !== null && (
        <Table
          caption="Documents, most relevant first"
          rows={task.result}
          rowKey={({ index }) => String(index)}
          empty="None."
          columns={[
            { title: 'Score', cell: ({ relevance_score: score }) => score.toFixed(4), isNumber: true },
            { title: 'Line', cell: ({ index }) => String(index + 1), isNumber: true },
            { title: 'Document', cell: ({ text: document }) => document },
          ]}
        />
      )}
      <CopyAsPanel route="rerank" body={body} />
    </form>
  );
}
