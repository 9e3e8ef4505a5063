import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { getJson } from '../../api/client.js';
import { AreaField } from '../../components/fields.js';
import { CopyAsPanel } from '../chat/copy-as-panel.js';
import { formatCount } from '../../format/numbers.js';
import { ModelField } from '../model-field.js';
import { isListed, useChosenModel, useModels } from '../models.js';
import { TaskStatus } from '../../components/task-status.js';
import { useTask } from '../../api/use-task.js';
import { cosine, linesOf } from './similarity.js';

interface Embedded {
  texts: string[];
  vectors: number[][];
  tokens: number;
}

const firstTexts = ['A cat sleeps on the sofa.', 'A kitten naps on the couch.', 'The stock market fell.'].join('\n');

/** Compares texts by the angle between their vectors. */
export function Embeddings(): JSX.Element {
  const models = useModels('embedding');
  const [model, chooseModel] = useChosenModel(models.data);
  const [text, setText] = useState(firstTexts);
  const task = useTask<Embedded>();
  const input = linesOf(text);
  const body = { model: model === '' ? 'default' : model, input };
  const submit = (event: Event): void => {
    event.preventDefault();
    task.run((signal) => embed(body, signal));
  };
  return (
    <form class="composer" onSubmit={submit}>
      <ModelField models={models.data} value={model} onChange={chooseModel} />
      <AreaField label="Texts" value={text} onChange={setText} rows={5} hint="One per line" />
      <TaskStatus task={task} action="Compare" canRun={isListed(models) && input.length > 0} />
      {task.result !== null && <SimilarityTable embedded={task.result} />}
      <CopyAsPanel route="embeddings" body={body} />
    </form>
  );
}

async function embed(body: { model: string; input: string[] }, signal: AbortSignal): Promise<Embedded> {
  const { data, usage } = await getJson<{ data: { embedding: number[] }[]; usage: { prompt_tokens: number } }>(
    'api/v1/embeddings',
    { method: 'POST', body, signal },
  );
  return { texts: body.input, vectors: data.map(({ embedding }) => embedding), tokens: usage.prompt_tokens };
}

function SimilarityTable({ embedded: { texts, vectors, tokens } }: { embedded: Embedded }): JSX.Element {
  return (
    <>
      <p class="weak">
        {formatCount(vectors[0]?.length)} dimensions, {formatCount(tokens)} tokens
      </p>
      <div class="table-scroll" role="region" aria-label="Similarity of the texts" tabIndex={0}>
        <table>
          <caption>Similarity of the texts: 1 is the same direction, 0 is none in common</caption>
          <thead>
            <tr>
              <th scope="col">Text</th>
              {texts.map((_, index) => (
                <th key={index} scope="col" class="number">
                  {index + 1}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {texts.map((row, rowIndex) => (
              <tr key={rowIndex}>
                <th scope="row" class="long">
                  {rowIndex + 1}. {row}
                </th>
                {texts.map((_, index) => (
                  <td key={index} class="number">
                    {cosine(vectors[rowIndex] ?? [], vectors[index] ?? []).toFixed(3)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
