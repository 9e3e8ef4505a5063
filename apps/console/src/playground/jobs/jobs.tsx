import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { getJson } from '../../api/client.js';
import { sessionState } from '../../api/session.js';
import { AreaField, FileField, SelectField, TextField } from '../../components/fields.js';
import { Empty } from '../../components/states.js';
import { ModelField } from '../model-field.js';
import { useChosenModel, useModels } from '../models.js';
import { readDataUrl } from '../read-file.js';
import { TaskStatus } from '../../components/task-status.js';
import { useTask } from '../../api/use-task.js';
import { JobRow } from './job-row.js';
import { JobStore, type StoredJob } from './job-store.js';

type Kind = 'video' | 'music' | 'tts';

const kinds: [Kind, string][] = [
  ['video', 'Video'],
  ['tts', 'Long speech'],
  ['music', 'Music'],
];

/** Videos, long texts and music: queued, and fetched when they are ready. */
export function Jobs(): JSX.Element {
  const store = useMemo(() => new JobStore(accountId(), localStorage), []);
  const [jobs, setJobs] = useState(() => store.read());
  const [kind, setKind] = useState<Kind>('video');
  return (
    <>
      <SelectField
        label="Kind"
        value={kind}
        onChange={(value) => setKind(kinds.find(([name]) => name === value)?.[0] ?? 'video')}
        options={kinds}
      />
      <QueueForm key={kind} kind={kind} onQueued={(job) => setJobs(store.add(job))} />
      <h2>Jobs of this browser</h2>
      {jobs.length === 0 && <Empty>No job yet.</Empty>}
      {jobs.map((job) => (
        <JobRow key={job.queueId} job={job} remove={() => setJobs(store.remove(job.queueId))} />
      ))}
    </>
  );
}

function accountId(): string {
  const state = sessionState();
  return state.state === 'signed-in' ? state.session.account.id : '';
}

function QueueForm({ kind, onQueued }: { kind: Kind; onQueued: (job: StoredJob) => void }): JSX.Element {
  const models = useModels(kind);
  const [model, chooseModel] = useChosenModel(models.data);
  const [prompt, setPrompt] = useState('');
  const [duration, setDuration] = useState('');
  const [files, setFiles] = useState<File[]>([]);
  const task = useTask<{ queue_id: string }>();
  const route = kind === 'video' ? 'video' : 'audio';
  const submit = (event: Event): void => {
    event.preventDefault();
    task.run(async (signal) => {
      const body = await jobRequestOf({ kind, model, prompt, duration, files });
      const queued = await getJson<{ queue_id: string; model: string }>(`api/v1/${route}/queue`, {
        method: 'POST',
        body,
        signal,
      });
      onQueued({ route, model: queued.model, queueId: queued.queue_id, prompt, queuedAt: new Date().toISOString() });
      return queued;
    });
  };
  return (
    <form class="composer" onSubmit={submit}>
      <ModelField models={models.data} value={model} onChange={chooseModel} />
      <AreaField label={kind === 'tts' ? 'Text' : 'Prompt'} value={prompt} onChange={setPrompt} />
      {kind !== 'tts' && (
        <TextField
          label="Duration"
          value={duration}
          onChange={setDuration}
          placeholder="Default"
          hint={kind === 'video' ? 'Such as 3s' : 'Seconds'}
        />
      )}
      {kind === 'video' && (
        <FileField
          label="First and last image, or a video"
          accept="image/*,video/*"
          onChange={setFiles}
          isMultiple
          hint="For models that work from images or videos"
        />
      )}
      <TaskStatus task={task} action="Queue" canRun={model !== '' && (prompt.trim() !== '' || files.length > 0)} />
    </form>
  );
}

interface JobForm {
  kind: Kind;
  model: string;
  prompt: string;
  duration: string;
  files: readonly File[];
}

async function jobRequestOf({ kind, model, prompt, duration, files }: JobForm): Promise<Record<string, unknown>> {
  const body: Record<string, unknown> = { model };
  if (prompt.trim() !== '') body['prompt'] = prompt;
  if (kind === 'music' && duration.trim() !== '') body['duration_seconds'] = Number(duration);
  if (kind !== 'video') return body;
  if (duration.trim() !== '') body['duration'] = duration.trim();
  const images = files.filter(({ type }) => type.startsWith('image/'));
  const video = files.find(({ type }) => type.startsWith('video/'));
  const [first, last] = images;
  if (first !== undefined) body['image_url'] = await readDataUrl(first);
  if (last !== undefined) body['end_image_url'] = await readDataUrl(last);
  if (video !== undefined) body['video_url'] = await readDataUrl(video);
  return body;
}
