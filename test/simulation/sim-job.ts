import { IsInt } from 'class-validator';
import { defineJob } from '#queue';

export class SimPayload {
  @IsInt() tokens!: number;
}

export class SimResult {}

/** Like a chat, with a short deadline. */
export const simChatJob = defineJob({
  modality: 'chat',
  payload: SimPayload,
  result: SimResult,
  policy: { attempts: 2, lockMs: 10_000, deadlineMs: 60_000, stalledMax: 1, concurrency: 4 },
});
