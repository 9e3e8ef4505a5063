import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { getJson } from '../../api/client.js';
import { AreaField, SelectField, TextField } from '../../components/fields.js';
import { CopyAsPanel } from '../chat/copy-as-panel.js';
import { ModelField } from '../model-field.js';
import { isListed, useChosenModel, useModels } from '../models.js';
import { TaskStatus } from '../../components/task-status.js';
import { useTask } from '../../api/use-task.js';
import { emptyImageForm, imageRequestOf } from './image-form.js';

interface Generated {
  images: string[];
  request?: { seed?: number } | null;
}

/** Draws images from words. */
export function GenerateImage(): JSX.Element {
  const models = useModels('image');
  const [model, chooseModel] = useChosenModel(models.data);
  const [form, setForm] = useState(emptyImageForm);
  const task = useTask<Generated>();
  const body = imageRequestOf(model, form);
  const change = (name: keyof typeof form) => (value: string) => setForm({ ...form, [name]: value });
  const submit = (event: Event): void => {
    event.preventDefault();
    task.run((signal) => getJson<Generated>('api/v1/image/generate', { method: 'POST', body, signal }));
  };
  return (
    <form class="composer" onSubmit={submit}>
      <ModelField models={models.data} value={model} onChange={chooseModel} />
      <AreaField label="Prompt" value={form.prompt} onChange={change('prompt')} rows={2} />
      <AreaField label="Must not show" value={form.negative} onChange={change('negative')} rows={1} />
      <div class="form-row">
        <TextField label="Steps" type="number" placeholder="Default" value={form.steps} onChange={change('steps')} />
        <TextField label="Seed" type="number" placeholder="Random" value={form.seed} onChange={change('seed')} />
        <TextField label="Width" type="number" placeholder="Default" value={form.width} onChange={change('width')} />
        <TextField label="Height" type="number" placeholder="Default" value={form.height} onChange={change('height')} />
        <SelectField
          label="Images"
          value={form.variants}
          onChange={change('variants')}
          options={['1', '2', '3', '4'].map((count): [string, string] => [count, count])}
        />
      </div>
      <TaskStatus task={task} action="Generate" canRun={isListed(models) && form.prompt.trim() !== ''} />
      {task.result !== null && <GeneratedImages generated={task.result} prompt={form.prompt} />}
      <CopyAsPanel route="image/generate" body={body} />
    </form>
  );
}

function GeneratedImages({ generated, prompt }: { generated: Generated; prompt: string }): JSX.Element {
  const seed = generated.request?.seed;
  return (
    <section class="result" aria-label="Images">
      {generated.images.map((image, index) => {
        const address = `data:image/webp;base64,${image}`;
        return (
          <figure key={index}>
            <img src={address} alt={prompt} />
            <figcaption>
              {seed !== undefined && `Seed ${seed + index} `}
              <a href={address} download={`image-${index + 1}.webp`}>
                Download
              </a>
            </figcaption>
          </figure>
        );
      })}
    </section>
  );
}
