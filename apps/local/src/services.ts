import { get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { deriveKey } from '#common';
import { childEnvironment, type LocalConfig } from '#platform/config';
import { ChildService } from './child-service.js';
import type { MergedLog } from './merged-log.js';

export interface ServicesOptions {
  config: LocalConfig;
  log: MergedLog;
  databaseUrl: string;
  /** Null: a Redis or queue variable says where the queue is. */
  queueUrl: string | null;
  secretKey: string;
  port: number;
  /** Port of the api's health and metrics, on this machine alone. */
  healthPort: number;
}

const graceMs = 10_000;

/**
 * Runs api, worker and ops as children. They stop in this order: first no new requests, then no running jobs, then no
 * pending job results.
 */
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

  /** Restarts some of `api`, `worker` and `ops`; other names are ignored. */
  async restart(names: readonly string[]): Promise<void> {
    await Promise.all(this.children.filter(({ name }) => names.includes(name)).map((child) => child.startAnew()));
  }

  async stop(): Promise<void> {
    for (const child of this.children) await child.stop();
  }

  kill(): void {
    for (const child of this.children) child.kill();
  }
}

/**
 * Settings of glibc's allocator, as in the image: buffers of bodies and media are mapped one by one, so that their memory
 * returns to the system when they are freed. Others ignore them.
 */
const returningMemory = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '65536',
  MALLOC_TRIM_THRESHOLD_: '65536',
};

/** So that clients which continue responses by their id work at once: an hour. */
const storedResponsesMs = 3_600_000;

/** Only the api searches the web. */
const withoutSearchKeys = { SLUICE_BRAVE_SEARCH_KEY: null, SLUICE_TAVILY_KEY: null, SLUICE_SERPER_KEY: null };

/** Only ops settles payments. */
const withoutPaymentKeys = {
  SLUICE_PAYMENT_EVM_FEE_PAYER_KEY: null,
  SLUICE_PAYMENT_SOLANA_FEE_PAYER_KEY: null,
  SLUICE_PAYMENT_FACILITATOR_TOKEN: null,
  SLUICE_PAYMENT_EVM_RPC_URL: null,
  SLUICE_PAYMENT_SOLANA_RPC_URL: null,
};

/** Returns the key that seals and signs what is in the queue. */
export function queueKeyOf(secretKey: string): string {
  return deriveKey(secretKey, 'queue payloads').toString('hex');
}

/** Workers get no database password and no secret key, and only this process creates accounts. */
function environments(options: ServicesOptions): Record<'api' | 'worker' | 'ops', NodeJS.ProcessEnv> {
  const { config, databaseUrl, queueUrl, secretKey, port, healthPort } = options;
  const sharedEnvironment: Record<string, string | null> = {
    SLUICE_HOME: config.home,
    SLUICE_BOOTSTRAP_ADMIN_KEY: null,
    SLUICE_BOOTSTRAP_INFERENCE_KEY: null,
    ...(queueUrl === null ? {} : { SLUICE_QUEUE_URL: queueUrl }),
    SLUICE_QUEUE_KEY: queueKeyOf(secretKey),
  };
  const trustedEnvironment = { ...sharedEnvironment, DATABASE_URL: databaseUrl, SLUICE_SECRET_KEY: secretKey };
  const grace = { SLUICE_SHUTDOWN_GRACE_MS: String(graceMs), SLUICE_DRAIN_MS: String(graceMs) };
  return {
    api: childEnvironment(
      {
        ...trustedEnvironment,
        ...withoutPaymentKeys,
        HOST: config.host,
        PORT: String(port),
        SLUICE_API_HEALTH_HOST: '127.0.0.1',
        SLUICE_API_HEALTH_PORT: String(healthPort),
      },
      {
        ...grace,
        ...returningMemory,
        SLUICE_BETA_MODELS: 'true',
        SLUICE_STORED_RESPONSES_MS: String(storedResponsesMs),
      },
    ),
    worker: childEnvironment(
      {
        ...sharedEnvironment,
        ...withoutSearchKeys,
        ...withoutPaymentKeys,
        DATABASE_URL: null,
        SLUICE_SECRET_KEY: null,
        // Pulled models are served whatever the pools.
        SLUICE_MODELS: config.models.join(',') || 'none',
      },
      { ...grace, ...returningMemory, SLUICE_WORKER_PORT: '0', SLUICE_POOL: 'local' },
    ),
    ops: childEnvironment(
      { ...trustedEnvironment, ...withoutSearchKeys },
      { SLUICE_OPS_PORT: '0', SLUICE_MODEL_INSTALLS: 'true' },
    ),
  };
}

/** Resolves when the API reports that it is ready; rejects only when `signal` aborts. */
export async function untilReady(origin: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    if (await isReady(`${origin}/health/ready`, signal)) return;
    await sleep(100, undefined, { signal });
  }
}

/** Asks without the proxy of the environment, which `fetch` may be told to use for every address. */
function isReady(url: string, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get(url, { signal, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.on('error', () => resolve(false));
  });
}
