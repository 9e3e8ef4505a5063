import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { getJson } from '../../api/client.js';
import { CopyButton } from '../../components/copy-button.js';
import { FileField, TextField } from '../../components/fields.js';
import { Table } from '../../components/table.js';
import { formatRate } from '../../format/numbers.js';
import { ModelField } from '../model-field.js';
import { isListed, useChosenModel, useModels } from '../models.js';
import { TaskStatus } from '../../components/task-status.js';
import { useObjectUrl } from '../use-object-url.js';
import { useTask } from '../../api/use-task.js';
import { useRecorder } from './use-recorder.js';

interface Transcript {
  text: string;
  timestamps?: { segment?: { text: string; start: number; end: number }[] };
}

/** Writes down what a file or the microphone says. */
export function Transcription(): JSX.Element {
  const models = useModels('asr');
  const [model, chooseModel] = useChosenModel(models.data);
  const [file, setFile] = useState<File | null>(null);
  const [language, setLanguage] = useState('');
  const recorder = useRecorder(setFile);
  const task = useTask<Transcript>();
  const address = useObjectUrl(file);
  const submit = (event: Event): void => {
    event.preventDefault();
    if (file === null) return;
    const form = new FormData();
    form.set('file', file);
    if (model !== '') form.set('model', model);
    if (language.trim() !== '') form.set('language', language.trim());
    form.set('timestamps', 'true');
    task.run((signal) => getJson<Transcript>('api/v1/audio/transcriptions', { method: 'POST', form, signal }));
  };
  return (
    <form class="composer" onSubmit={submit}>
      <div class="form-row">
        <ModelField models={models.data} value={model} onChange={chooseModel} />
        <TextField label="Language" value={language} onChange={setLanguage} placeholder="Detect" hint="Such as en" />
      </div>
      <FileField label="Recording" accept="audio/*,video/*" onChange={([first]) => setFile(first ?? null)} />
      <div class="buttons">
        <button type="button" onClick={recorder.isRecording ? recorder.stop : recorder.start}>
          {recorder.isRecording ? 'Stop recording' : 'Record the microphone'}
        </button>
        <span role="status">{recorder.problem ?? (recorder.isRecording ? 'Recording' : '')}</span>
      </div>
      {address !== null && <audio controls src={address} aria-label="The recording" />}
      <TaskStatus task={task} action="Transcribe" canRun={isListed(models) && file !== null && !recorder.isRecording} />
      {task.result !== null && <TranscriptView transcript={task.result} />}
    </form>
  );
}

function TranscriptView({ transcript: { text, timestamps } }: { transcript: Transcript }): JSX.Element {
  const segments = timestamps?.segment ?? [];
  return (
    <section aria-label="Transcript">
      <p class="plain">{text === '' ? 'No speech was found.' : text}</p>
      <CopyButton text={text} />
      {segments.length > 0 && (
        <Table
          caption="Segments"
          rows={segments}
          rowKey={({ start }) => String(start)}
          empty="None."
          columns={[
            { title: 'From, s', cell: ({ start }) => formatRate(start), isNumber: true },
            { title: 'To, s', cell: ({ end }) => formatRate(end), isNumber: true },
            { title: 'Text', cell: ({ text: spoken }) => spoken },
          ]}
        />
      )}
    </section>
  );
}
