import { chatJob } from '#modalities/chat/contract';
import { createTransport, type MailboxSlot } from '#queue';
import { benchPayload, workerConcurrency } from './bench-job.js';
import type { BenchQueue } from './load.js';

const modelId = 'bench';
const usage = { promptTokens: 20, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 };

/**
 * Our queue as api and worker use it: a slot per request, the payload validated again, presence and cancels running, the
 * outcome written before the job is completed, `job-started` and `job-finished` through the mailbox. The engine is the
 * shortest there is: it ends at once. Outcomes are not processed here, as `ops` is a process of its own.
 */
export async function openSluiceQueue(url: string, namespace: string): Promise<BenchQueue> {
  const warn = () => undefined;
  const api = await createTransport({ url, namespace, clientName: 'bench-api', warn });
  const worker = await createTransport({ url, namespace, clientName: 'bench-worker', warn });
  await api.mailbox.start();
  await worker.consume({
    definition: chatJob,
    modelId,
    concurrency: workerConcurrency,
    handler: async ({ envelope }) => {
      opened.onPickup(envelope.requestId);
      return { usage, cancelled: false, executionMs: 0 };
    },
  });
  const opened: BenchQueue = {
    onPickup: () => undefined,
    onDone: () => undefined,
    add: async (requestId) => {
      void untilDone(api.mailbox.open(requestId)).then(() => opened.onDone(requestId));
      await api.producer.enqueue(chatJob, {
        requestId,
        modality: chatJob.modality,
        modelId,
        attempt: 1,
        deadlineAtMs: Date.now() + chatJob.policy.deadlineMs,
        replyTo: api.mailbox.address,
        payload: benchPayload(),
      });
    },
    close: async () => {
      await worker.close();
      await api.close();
    },
  };
  return opened;
}

async function untilDone(slot: MailboxSlot): Promise<void> {
  for await (const event of slot) {
    if (event.type === 'job-failed') throw new Error('a bench job failed');
  }
  slot.close();
}
