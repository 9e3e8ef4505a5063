import { IsInt, IsString } from 'class-validator';
import { defineJob, type JobEnvelope, type JobPolicy } from '../contract/job-definition.js';
import type { Heartbeat } from '../contract/heartbeat.js';
import type { ConsumerOptions, JobReport, ReplyEvent, ReplyStream, QueueTransport } from '../contract/transport.js';

export class EchoPayload {
  @IsString() text!: string;
  @IsInt() count!: number;
}

export class EchoResult {}

export interface DeltaEvent extends ReplyEvent {
  type: 'text-delta';
  text: string;
}

export type EchoHandler = ConsumerOptions<EchoPayload, EchoResult>['handler'];

export const usage = { promptTokens: 3, cachedTokens: 0, completionTokens: 5, reasoningTokens: 0 };
export const done: JobReport = { usage, cancelled: false, executionMs: 1 };
export const membership = { heartbeatMs: 100, lostAfterMs: 1_500 };

export function echoJob(policy: Partial<JobPolicy> = {}) {
  return defineJob({
    modality: 'echo',
    payload: EchoPayload,
    result: EchoResult,
    policy: { attempts: 1, lockMs: 5_000, deadlineMs: 60_000, stalledMax: 0, concurrency: 8, ...policy },
  });
}

export function delta(text: string): DeltaEvent {
  return { type: 'text-delta', text };
}

export function numbered(count: number): DeltaEvent[] {
  return Array.from({ length: count }, (_value, index) => delta(`${index}`));
}

export function heartbeat(processId: string, replyAddress: string | null): Omit<Heartbeat, 'alive'> {
  return { processId, role: replyAddress === null ? 'worker' : 'api', replyAddress, models: [] };
}

export function codeOfLast(events: ReplyEvent[]): string | undefined {
  const last = events.at(-1) as { error?: { code: string } } | undefined;
  return last?.error?.code;
}

export async function readAll(replyStream: ReplyStream | undefined): Promise<ReplyEvent[]> {
  const events: ReplyEvent[] = [];
  for await (const event of replyStream ?? []) events.push(event);
  return events;
}

export function holds(transport: QueueTransport, { modality, modelId, requestId }: JobEnvelope): Promise<boolean> {
  return transport.producer.holds(modality, modelId, requestId);
}

export function settled(operation: Promise<unknown>): Promise<boolean> {
  return operation.then(
    () => true,
    () => false,
  );
}

export function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

export async function until(condition: () => boolean | Promise<boolean>, timeoutMs = 15_000): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error('the awaited state did not come');
    await sleep(10);
  }
}
