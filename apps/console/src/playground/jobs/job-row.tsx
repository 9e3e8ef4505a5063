import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { getJson } from '../../api/client.js';
import type { RequestError } from '../../api/request-error.js';
import { toRequestError } from '../../api/use-query.js';
import { Failure } from '../../components/states.js';
import { formatDuration, formatTime } from '../../format/time.js';
import { useObjectUrl } from '../use-object-url.js';
import { jobFileName } from './job-file.js';
import { type JobProgress, retrieveJob } from './job-progress.js';
import type { StoredJob } from './job-store.js';

const pollMs = 5000;

/** A job and how far it is, as the service says: it survives a reload and a closed page. */
export function JobRow({ job, remove }: { job: StoredJob; remove: () => void }): JSX.Element {
  const { progress, error } = useJob(job);
  const media = progress?.state === 'done' ? progress.media : null;
  const address = useObjectUrl(media);
  const forget = (): void => {
    const body = { model: job.model, queue_id: job.queueId };
    // The result expires after a day, whether or not it could be deleted now.
    getJson(`api/v1/${job.route}/complete`, { method: 'POST', body }).then(remove, remove);
  };
  return (
    <article class="panel" aria-label={`Job of ${job.model}`}>
      <h3>
        {job.model} <span class="weak small">{formatTime(job.queuedAt)}</span>
      </h3>
      {job.prompt !== '' && <p class="plain">{job.prompt}</p>}
      {error !== null && <Failure error={error} />}
      {progress?.state === 'processing' && <Progress progress={progress} />}
      {progress?.state === 'delivered' && <p>The result is at the link that was shown when the job was queued.</p>}
      {address !== null && <Media route={job.route} address={address} />}
      <p class="buttons">
        {address !== null && (
          <a href={address} download={jobFileName(job.route, media?.type ?? '')}>
            Download
          </a>
        )}
        <button type="button" onClick={forget} disabled={progress?.state === 'processing'}>
          Delete the result
        </button>
      </p>
    </article>
  );
}

function Progress({ progress }: { progress: JobProgress & { state: 'processing' } }): JSX.Element {
  const { percent, elapsedMs, typicalMs, reason } = progress;
  return (
    <p>
      <progress max={100} value={percent ?? undefined} aria-label="Progress" />{' '}
      <span role="status">{reason ?? `Running${percent === null ? '' : `, ${percent} %`}`}</span>{' '}
      <span class="weak">
        {formatDuration(elapsedMs)}
        {typicalMs > 0 && ` of usually ${formatDuration(typicalMs)}`}
      </span>
    </p>
  );
}

function Media({ route, address }: { route: StoredJob['route']; address: string }): JSX.Element {
  return route === 'video' ? (
    <video controls src={address} aria-label="The video" />
  ) : (
    <audio controls src={address} aria-label="The audio" />
  );
}

/** Asks until the job has ended. */
function useJob(job: StoredJob): { progress: JobProgress | null; error: RequestError | null } {
  const [progress, setProgress] = useState<JobProgress | null>(null);
  const [error, setError] = useState<RequestError | null>(null);
  useEffect(() => {
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const poll = (): void => {
      retrieveJob(job, controller.signal).then(
        (latest) => {
          setError(null);
          setProgress(latest);
          if (latest.state === 'processing') timer = setTimeout(poll, pollMs);
        },
        (failure: unknown) => {
          if (controller.signal.aborted) return;
          const problem = toRequestError(failure);
          setError(problem);
          // Only a service that does not answer, or is busy, is worth asking again.
          if (problem.status === 0 || problem.status === 429) timer = setTimeout(poll, pollMs);
        },
      );
    };
    poll();
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [job.queueId]);
  return { progress, error };
}
