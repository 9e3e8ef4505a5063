import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { getJson, send } from '../../api/client.js';
import { RequestError } from '../../api/request-error.js';
import { AreaField, FileField, SelectField } from '../../components/fields.js';
import { ModelField } from '../model-field.js';
import { isListed, useChosenModel, useModels } from '../models.js';
import { TaskStatus } from '../../components/task-status.js';
import { useObjectUrl } from '../use-object-url.js';
import { useTask } from '../../api/use-task.js';
import { BeforeAfter } from './before-after.js';
import { MaskEditor } from './mask-editor.js';

type Change = 'edit' | 'upscale-2' | 'upscale-4' | 'background';

const changes: [Change, string][] = [
  ['edit', 'Edit or repair'],
  ['upscale-2', 'Upscale twice'],
  ['upscale-4', 'Upscale four times'],
  ['background', 'Remove the background'],
];

/** Changes an image: repairs or edits a painted part, upscales it or cuts it out. */
export function EditImage(): JSX.Element {
  const models = useModels('inpaint');
  const [model, chooseModel] = useChosenModel(models.data);
  const [change, setChange] = useState<Change>('edit');
  const [file, setFile] = useState<File | null>(null);
  const [mask, setMask] = useState<Blob | null>(null);
  const [prompt, setPrompt] = useState('');
  const image = useBitmap(file);
  const before = useObjectUrl(file);
  const task = useTask<Blob>();
  const after = useObjectUrl(task.result);

  const submit = (event: Event): void => {
    event.preventDefault();
    if (file === null) return;
    task.run((signal) => changeImage({ change, file, mask, prompt, model }, signal));
  };
  return (
    <form class="composer" onSubmit={submit}>
      <SelectField
        label="Change"
        value={change}
        onChange={(value) => setChange(changes.find(([name]) => name === value)?.[0] ?? 'edit')}
        options={changes}
      />
      <FileField
        label="Image"
        accept="image/png,image/jpeg,image/webp"
        onChange={([first]) => setFile(first ?? null)}
      />
      {change === 'edit' && (
        <>
          <ModelField models={models.data} value={model} onChange={chooseModel} />
          <AreaField
            label="Prompt"
            value={prompt}
            onChange={setPrompt}
            rows={2}
            hint="Models that fill from the surroundings ignore it."
          />
          {image !== null && <MaskEditor image={image} onMask={setMask} />}
        </>
      )}
      <TaskStatus task={task} action="Change the image" canRun={isListed(models) && file !== null} />
      {before !== null && after !== null && <BeforeAfter before={before} after={after} />}
    </form>
  );
}

interface ImageChange {
  change: Change;
  file: File;
  mask: Blob | null;
  prompt: string;
  model: string;
}

async function changeImage({ change, file, mask, prompt, model }: ImageChange, signal: AbortSignal): Promise<Blob> {
  const form = new FormData();
  form.set('image', file);
  if (change === 'background') {
    return (await send('api/v1/image/background-remove', { method: 'POST', form, signal })).blob();
  }
  if (change !== 'edit') {
    form.set('scale', change === 'upscale-4' ? '4' : '2');
    return (await send('api/v1/image/upscale', { method: 'POST', form, signal })).blob();
  }
  form.set('prompt', prompt.trim() === '' ? 'Repair the image' : prompt);
  if (model !== '') form.set('model', model);
  if (mask !== null) form.set('mask', mask, 'mask.png');
  form.set('output_format', 'png');
  const { data } = await getJson<{ data: { b64_json: string }[] }>('api/v1/images/edits', {
    method: 'POST',
    form,
    signal,
  });
  const [first] = data;
  if (first === undefined) throw new RequestError(0, 'The response has no image.');
  const bytes = Uint8Array.from(atob(first.b64_json), (character) => character.charCodeAt(0));
  return new Blob([bytes], { type: 'image/png' });
}

function useBitmap(file: File | null): ImageBitmap | null {
  const [bitmap, setBitmap] = useState<ImageBitmap | null>(null);
  useEffect(() => {
    let isCurrent = true;
    setBitmap(null);
    if (file === null) return undefined;
    // A file that is no image is refused by the service, with a reason.
    createImageBitmap(file).then(
      (created) => isCurrent && setBitmap(created),
      () => undefined,
    );
    return () => {
      isCurrent = false;
    };
  }, [file]);
  return bitmap;
}
