import { IsInt } from 'class-validator';
import { defineJob } from '#queue';

export class SimPayload {
  @IsInt() tokens!: number;
}

export class SimResult {}

/** As a chat, with a deadline that a story can wait for. */
export const simChatJob = defineJob({
  modality: 'chat',
  payload: SimPayload,
  result: SimResult,
  policy: { attempts: 2, lockMs: 10_000, deadlineMs: 60_000, stalledMax: 1, concurrency: 4 },
});
