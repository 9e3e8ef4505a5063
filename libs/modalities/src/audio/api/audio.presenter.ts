import type { AudioQueueResponse } from '../contract/audio.response.js';

export function presentQueued({ modelId, queueId }: { modelId: string; queueId: string }): AudioQueueResponse {
  return { model: modelId, queue_id: queueId, status: 'QUEUED' };
}
