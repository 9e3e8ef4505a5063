import { IsString } from 'class-validator';
import { defineJob } from '#queue';

export class EchoPayload {
  @IsString() text!: string;
}

class EchoResult {}

/** A job without work of its own, for tests of what happens around jobs. */
export const echoJob = defineJob({
  modality: 'echo',
  payload: EchoPayload,
  result: EchoResult,
  policy: { attempts: 1, lockMs: 5_000, deadlineMs: 60_000, stalledMax: 0, concurrency: 4 },
});
