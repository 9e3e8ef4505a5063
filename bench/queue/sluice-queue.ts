import { chatJob } from '#modalities/chat/contract';
import { createTransport, type ReplyStream } from '#queue';
import { benchPayload, workerConcurrency, sealKeys } from './bench-job.js';
import type { BenchQueue } from './load.js';
import type { WorkerEvents } from './raw-bull.js';
import { WorkerLink } from './worker-link.js';

const modelId = 'bench';
const accounts = 64;
const usage = { promptTokens: 20, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 };

const warn = () => undefined;

/**
 * The project's queue as api and worker use it: a reply stream per request, payload validation, cluster membership and
 * cancellation, a job result written before completion, and start and finish events. The engine ends at once. Job
 * results are not processed here, because `ops` is a separate process. A job counts as done when its caller has the
 * reply. The jobs are those of 64 accounts that take turns; with `byArrival`, they run in the order of their arrival.
 */
export async function openSluiceQueue(
  url: string,
  namespace: string,
  { byArrival = false }: { byArrival?: boolean } = {},
): Promise<BenchQueue> {
  const api = await createTransport({ url, namespace, sealKeys, clientName: 'bench-api', warn });
  await api.replies.start();
  const worker = await WorkerLink.start('sluice', url, namespace);
  let added = 0;
  let left = 0;
  let onDone = (): void => undefined;
  const finish = () => {
    left -= 1;
    if (left === 0) onDone();
  };
  return {
    expect: async (jobs) => {
      const { pickedUp } = await worker.expect(jobs);
      const done = new Promise<void>((resolve) => {
        left = jobs;
        onDone = resolve;
      });
      return { pickedUp, done };
    },
    add: async (requestId) => {
      void untilDone(api.replies.open({ requestId, modelId })).then(finish);
      added += 1;
      const turn = byArrival ? undefined : { account: `account ${added % accounts}` };
      const envelope = {
        requestId,
        modality: chatJob.modality,
        modelId,
        attempt: 1,
        deadlineAtMs: Date.now() + chatJob.policy.deadlineMs,
        replyTo: api.replies.address,
        payload: benchPayload(),
      };
      await api.producer.enqueue(chatJob, envelope, { turn });
    },
    close: async () => {
      await worker.close();
      await api.close();
    },
  };
}

/** The worker process. */
export async function openSluiceWorker(
  url: string,
  namespace: string,
  events: WorkerEvents,
): Promise<{ close(): Promise<void> }> {
  const worker = await createTransport({ url, namespace, sealKeys, clientName: 'bench-worker', warn });
  await worker.consume({
    definition: chatJob,
    modelId,
    concurrency: workerConcurrency,
    handler: async () => {
      events.onPickup();
      return { usage, cancelled: false, executionMs: 0 };
    },
  });
  return worker;
}

async function untilDone(slot: ReplyStream): Promise<void> {
  for await (const event of slot) {
    if (event.type === 'job-failed') throw new Error('a bench job failed');
  }
  slot.close();
}
