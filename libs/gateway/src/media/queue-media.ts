import { randomUUID } from 'node:crypto';
import type { MediaDelivery, OpenRequest } from '#jobs';
import type { InferenceServices } from '../pipeline/inference-services.js';

/** A request whose caller does not wait. */
export interface MediaOrder extends Omit<OpenRequest, 'replyTo' | 'stream' | 'media'> {
  delivery: MediaDelivery;
  /** Deleted when the job has ended. */
  inputArtifacts: readonly string[];
}

/** Lets a job in that nobody waits for; resolves to the id its caller knows it by. Rejects as `InferenceServices.admit` does. */
export async function queueMedia(services: InferenceServices, order: MediaOrder): Promise<string> {
  const { delivery, inputArtifacts, ...request } = order;
  const queueId = randomUUID();
  await services.admit({ ...request, replyTo: null, stream: false, media: { queueId, delivery, inputArtifacts } });
  return queueId;
}
