import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { send } from '../../api/client.js';
import { AreaField, SelectField, TextField } from '../../components/fields.js';
import { CopyAsPanel } from '../chat/copy-as-panel.js';
import { ModelField } from '../model-field.js';
import { isListed, useChosenModel, useModels } from '../models.js';
import { TaskStatus } from '../../components/task-status.js';
import { useObjectUrl } from '../use-object-url.js';
import { useTask } from '../../api/use-task.js';

/** Reads a text aloud. */
export function Speech(): JSX.Element {
  const models = useModels('tts');
  const [model, chooseModel] = useChosenModel(models.data);
  const [input, setInput] = useState('The birch canoe slid on the smooth planks.');
  const [voice, setVoice] = useState('');
  const [speed, setSpeed] = useState('');
  const task = useTask<Blob>();
  const address = useObjectUrl(task.result);
  const voices = models.data?.find(({ id }) => id === model)?.model_spec.voices ?? [];
  const body = {
    ...(model === '' ? {} : { model }),
    input,
    ...(voices.includes(voice) ? { voice } : {}),
    ...(speed.trim() === '' ? {} : { speed: Number(speed) }),
    response_format: 'mp3',
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    task.run(async (signal) => (await send('api/v1/audio/speech', { method: 'POST', body, signal })).blob());
  };
  return (
    <form class="composer" onSubmit={submit}>
      <div class="form-row">
        <ModelField models={models.data} value={model} onChange={chooseModel} />
        <SelectField
          label="Voice"
          value={voice}
          onChange={setVoice}
          options={[['', 'Default'], ...voices.map((name): [string, string] => [name, name])]}
        />
        <TextField
          label="Speed"
          type="number"
          min={0.25}
          max={4}
          step="any"
          placeholder="1"
          value={speed}
          onChange={setSpeed}
        />
      </div>
      <AreaField label="Text" value={input} onChange={setInput} rows={4} />
      <TaskStatus task={task} action="Speak" canRun={isListed(models) && input.trim() !== ''} />
      {address !== null && (
        <p class="buttons">
          <audio controls src={address} aria-label="The spoken text" />
          <a href={address} download="speech.mp3">
            Download
          </a>
        </p>
      )}
      <CopyAsPanel route="audio/speech" body={body} />
    </form>
  );
}
