import { send } from '../../api/client.js';
import type { StoredJob } from './job-store.js';

export type JobProgress =
  | { state: 'processing'; percent: number | null; elapsedMs: number; typicalMs: number; reason: string | null }
  | { state: 'done'; media: Blob }
  /** The result waits at a link that was shown when the job was queued. */
  | { state: 'delivered' };

const reasons: Record<string, string> = {
  'no-worker': 'No worker serves the model yet',
  'model-loading': 'The model is loading',
  'waiting-for-turn': 'Other jobs come first',
};

/** Asks the service how a job is, or for its result. */
export async function retrieveJob({ route, model, queueId }: StoredJob, signal: AbortSignal): Promise<JobProgress> {
  const body = { model, queue_id: queueId };
  const response = await send(`api/v1/${route}/retrieve`, { method: 'POST', body, signal });
  return readProgress(response);
}

export async function readProgress(response: Response): Promise<JobProgress> {
  const type = response.headers.get('content-type') ?? '';
  if (!type.startsWith('application/json')) return { state: 'done', media: await response.blob() };
  const status = (await response.json()) as {
    status: string;
    average_execution_time?: number;
    execution_duration?: number;
  };
  if (status.status === 'COMPLETED') return { state: 'delivered' };
  const percent = response.headers.get('x-service-progress-percent');
  const reason = response.headers.get('x-service-queued-reason');
  return {
    state: 'processing',
    percent: percent === null ? null : Number(percent),
    elapsedMs: status.execution_duration ?? 0,
    typicalMs: status.average_execution_time ?? 0,
    reason: reason === null ? null : (reasons[reason] ?? reason),
  };
}
