/** A queued job of this browser. The service has its state; this only remembers which jobs to ask for. */
export interface StoredJob {
  route: 'video' | 'audio';
  model: string;
  queueId: string;
  prompt: string;
  /** ISO 8601. */
  queuedAt: string;
}

const maxJobs = 20;

type Storage = Pick<globalThis.Storage, 'getItem' | 'setItem'>;

/** Jobs of one account in this browser, newest first. */
export class JobStore {
  private readonly key: string;

  constructor(
    accountId: string,
    private readonly storage: Storage,
  ) {
    this.key = `sluice-console-jobs-${accountId}`;
  }

  read(): StoredJob[] {
    try {
      const jobs: unknown = JSON.parse(this.storage.getItem(this.key) ?? '[]');
      return Array.isArray(jobs) ? jobs.filter(isJob) : [];
    } catch {
      return [];
    }
  }

  add(job: StoredJob): StoredJob[] {
    return this.write([job, ...this.read()].slice(0, maxJobs));
  }

  remove(queueId: string): StoredJob[] {
    return this.write(this.read().filter((job) => job.queueId !== queueId));
  }

  private write(jobs: StoredJob[]): StoredJob[] {
    try {
      this.storage.setItem(this.key, JSON.stringify(jobs));
    } catch {
      // A browser without storage forgets the jobs when the page closes; the service keeps them.
    }
    return jobs;
  }
}

function isJob(value: unknown): value is StoredJob {
  if (typeof value !== 'object' || value === null) return false;
  const { route, model, queueId, prompt, queuedAt } = value as Record<string, unknown>;
  const texts = [model, queueId, prompt, queuedAt];
  return (route === 'video' || route === 'audio') && texts.every((text) => typeof text === 'string');
}
