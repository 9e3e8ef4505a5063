import { setTimeout as sleep } from 'node:timers/promises';
import { childEnvironment, type LocalConfig } from '#platform/config';
import { ChildService } from './child-service.js';
import type { MergedLog } from './merged-log.js';

export interface ServicesOptions {
  config: LocalConfig;
  log: MergedLog;
  databaseUrl: string;
  /** Null: Redis or the queue's own variable says where the queue is. */
  queueUrl: string | null;
  secretKey: string;
  port: number;
}

const graceMs = 10_000;

/** api, worker and ops as children. They stop in this order: nobody asks any more, then nobody works, then the books. */
export class Services {
  private readonly children: ChildService[];

  constructor(options: ServicesOptions) {
    const { log } = options;
    this.children = Object.entries(environments(options)).map(
      ([name, environment]) => new ChildService({ name, environment, log, stopWithinMs: graceMs + 5_000 }),
    );
  }

  start(): void {
    for (const child of this.children) child.start();
  }

  async stop(): Promise<void> {
    for (const child of this.children) await child.stop();
  }

  kill(): void {
    for (const child of this.children) child.kill();
  }
}

/** Workers hold no database password and no secret key, and only this process makes accounts. */
function environments(options: ServicesOptions): Record<'api' | 'worker' | 'ops', NodeJS.ProcessEnv> {
  const { config, databaseUrl, queueUrl, secretKey, port } = options;
  const everybody: Record<string, string | null> = {
    SLUICE_HOME: config.home,
    SLUICE_BOOTSTRAP_ADMIN_KEY: null,
    SLUICE_BOOTSTRAP_INFERENCE_KEY: null,
    ...(queueUrl === null ? {} : { SLUICE_QUEUE_URL: queueUrl }),
  };
  const trusted = { ...everybody, DATABASE_URL: databaseUrl, SLUICE_SECRET_KEY: secretKey };
  const grace = { SLUICE_SHUTDOWN_GRACE_MS: String(graceMs), SLUICE_DRAIN_MS: String(graceMs) };
  return {
    api: childEnvironment(
      { ...trusted, HOST: config.host, PORT: String(port) },
      { ...grace, SLUICE_BETA_MODELS: 'true' },
    ),
    worker: childEnvironment(
      {
        ...everybody,
        DATABASE_URL: null,
        SLUICE_SECRET_KEY: null,
        // What was pulled is served, whatever the pools.
        SLUICE_MODELS: config.models.join(',') || 'none',
      },
      { ...grace, SLUICE_WORKER_PORT: '0', SLUICE_POOL: 'local' },
    ),
    ops: childEnvironment(trusted, { SLUICE_OPS_PORT: '0' }),
  };
}

/** Resolves when the api says that it is ready; rejects only when `signal` aborts. */
export async function untilReady(origin: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const ready = await fetch(`${origin}/health/ready`, { signal }).then(
      async (response) => (await response.text(), response.ok),
      () => false,
    );
    if (ready) return;
    await sleep(100, undefined, { signal });
  }
}
