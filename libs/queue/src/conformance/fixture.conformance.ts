import { randomBytes } from 'node:crypto';
import { TcpProxy } from '#test/tcp-proxy';
import { createTransport } from '../transport/create-transport.js';
import type { JobEnvelope, JobPolicy } from '../contract/job-definition.js';
import type { AnsweredRequest, JobResult, QueueTransport, TransportOptions } from '../contract/transport.js';
import {
  heartbeat,
  type EchoHandler,
  echoJob,
  type EchoPayload,
  membership,
  sleep,
  until,
} from './echo-job.conformance.js';

/** A store that the suite may stop and start; each `open` is one process. */
export interface ConformanceStore {
  readonly url: string;
  /** URL of a user who may read everything; default: `url`. */
  readonly adminUrl?: string;
  /** Returns the URL with which the processes of a namespace connect. Default: `url`. */
  user?(namespace: string): Promise<{ username: string; password: string }>;
  /** Returns the URL of its workers, where it differs. */
  workerUser?(namespace: string): Promise<{ username: string; password: string }>;
  stop(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** Every suite runs with keys. A separate test shows what processes without a key do. */
export const sealKey = '5e'.repeat(32);

/** Maximum delay after which a lost connection is retried, in ms. */
const longestRetryMs = 600;

/** The processes of one test, on the store of the suite. */
export class World {
  private namespace = '';
  private readonly opened: QueueTransport[] = [];
  private readonly wires: TcpProxy[] = [];

  constructor(readonly store: ConformanceStore) {}

  readonly open = async (clientName = 'test', options: Partial<TransportOptions> = {}): Promise<QueueTransport> => {
    const { store, namespace } = this;
    const common = { url: store.url, namespace, sealKeys: [sealKey], membership, warn: () => undefined };
    const url = await this.urlFor(clientName, options.url ?? store.url);
    const transport = await createTransport({ ...common, clientName, ...options, url });
    this.opened.push(transport);
    return transport;
  };

  private async urlFor(clientName: string, store: string): Promise<string> {
    const { workerUser, user: installationUser } = this.store;
    const userOf = clientName.startsWith('worker') ? (workerUser ?? installationUser) : installationUser;
    const user = await userOf?.(this.namespace);
    return user === undefined ? store : Object.assign(new URL(store), user).href;
  }

  /**
   * A process that can die: while its link is broken, it is dead to the others. It does not know that, so it is a
   * zombie once the link is restored.
   */
  readonly openMortal = async (
    clientName: string,
    options: Partial<TransportOptions> = {},
  ): Promise<{ transport: QueueTransport; wire: TcpProxy }> => {
    const wire = await TcpProxy.to(this.store.url);
    this.wires.push(wire);
    return { transport: await this.open(clientName, { ...options, url: wire.url }), wire };
  };

  /** An api and a worker of a fresh installation. */
  readonly openPair = async (
    apiOptions: Partial<TransportOptions> = {},
  ): Promise<{ api: QueueTransport; worker: QueueTransport }> => {
    this.namespace = `t${randomBytes(5).toString('hex')}`;
    const api = await this.open('api', apiOptions);
    const worker = await this.open('worker');
    await api.replies.start();
    return { api, worker };
  };

  /**
   * Restores broken links and lets clients reconnect: a worker closed before waits 5 s in vain for the end of a
   * connection that it does not have.
   */
  async restore(): Promise<void> {
    const broken = this.wires.filter(({ isWhole }) => !isWhole);
    for (const wire of broken) wire.restore();
    if (broken.length > 0) await sleep(longestRetryMs);
  }

  async closeProcesses(): Promise<void> {
    await this.restore();
    await Promise.all(this.opened.splice(0).map((transport) => transport.close()));
    await Promise.all(this.wires.splice(0).map((wire) => wire.close()));
  }
}

/** Lets a worker receive the heartbeat of an api: later attempts run only for a reader that is known to be alive. */
export async function introduce({ api, worker }: { api: QueueTransport; worker: QueueTransport }): Promise<void> {
  await api.membership.join(() => heartbeat('api', api.replies.address));
  await until(() => worker.membership.list().length > 0);
}

export function envelopeFor(
  api: QueueTransport,
  parts: Partial<JobEnvelope<EchoPayload>> = {},
): JobEnvelope<EchoPayload> {
  return {
    requestId: `${randomBytes(8).toString('hex')}-TST`,
    modality: 'echo',
    modelId: 'tiny-1.5',
    attempt: 1,
    deadlineAtMs: Date.now() + 60_000,
    replyTo: api.replies.address,
    stream: false,
    payload: { text: 'a', count: 1 },
    ...parts,
  };
}

/** A request of the model that the suite's workers serve, without a job. */
export function request(requestId: string): AnsweredRequest {
  return { requestId, modelId: 'tiny-1.5' };
}

export function consume(worker: QueueTransport, handler: EchoHandler, policy: Partial<JobPolicy> = {}) {
  return worker.consume({ definition: echoJob(policy), modelId: 'tiny-1.5', handler });
}

/** Results in the order they were processed. */
export async function collectResults(transport: QueueTransport): Promise<JobResult[]> {
  const results: JobResult[] = [];
  await transport.results.process(async (result) => {
    results.push(result);
  });
  return results;
}
