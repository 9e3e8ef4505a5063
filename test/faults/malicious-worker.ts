import { randomBytes } from 'node:crypto';
import { noTokens } from '#common';
import { chatJob, type ChatJobPayload } from '#modalities/chat/contract';
import type { Heartbeat, JobReport, JobResult, QueueTransport, ReplyEvent, RunningJob } from '#queue';
import { signResult } from '#queue/signing';
import type { Platform, PlatformProcess } from '#test/platform';
import type { AttackedNames, AttackedStore } from './attacked-store.js';

export const forgedText = 'forged words';
const billion = 1_000_000_000;
const impossible = { ...noTokens, completionTokens: billion };

/** Attacks with the credentials of a pool that serves one model; `victim` is a model of another pool. */
export class MaliciousWorker {
  /** What was tried and what came of it. */
  readonly transcript: string[] = [];

  constructor(
    private readonly transport: QueueTransport,
    private readonly store: AttackedStore,
    private readonly names: AttackedNames,
  ) {}

  /** Returns the commands of the store that showed or changed anything of others. */
  async read(requestId: string, replyAddress: string): Promise<string[]> {
    const successful: string[] = [];
    for (const command of this.store.commands(requestId, replyAddress)) {
      const answer = await this.store.attack(command).then(
        (hasEffect) => (hasEffect ? 'allowed' : 'nothing'),
        (error: Error) => error.message.slice(0, 60),
      );
      if (answer === 'allowed') successful.push(command);
      this.note('read', `${command} → ${answer}`);
    }
    return successful;
  }

  /** Reports a billion tokens for a job of another pool, without a ticket and with a guessed one. */
  async forge(requestId: string): Promise<void> {
    const result = this.result({ requestId, modelId: this.names.victim, usage: impossible });
    const guessed = { keyId: 'deadbeef', bounds: impossible, secret: randomBytes(32).toString('base64') };
    await this.transport.results.report(result);
    await this.transport.results.report(signResult(result, guessed));
    this.note('forge', `${billion} tokens for ${requestId}, unsigned and with a guessed ticket`);
  }

  /** Writes into the response of a job of another pool, and ends it. */
  async answer(requestId: string, replyTo: string): Promise<void> {
    const { own, victim } = this.names;
    for (const modelId of [own, victim]) {
      const writer = this.transport.replies.writer(replyTo, { requestId, modelId });
      writer.send({ type: 'text-delta', text: forgedText } as ReplyEvent, { type: 'job-finished' });
    }
    this.note('answer', `"${forgedText}" for ${requestId}, and its end`);
  }

  /** Sends on every channel of the bus what no process sends. */
  async disturb(requestId: string): Promise<void> {
    const texts = ['no json', 'null', '{}', JSON.stringify({ processId: 'x', alive: true, models: null })];
    for (const channel of ['heartbeat', 'placement', 'progress', 'reply_resend', 'cancel']) {
      for (const text of texts) await this.store.publish(channel, text);
    }
    const done = { requestId, attempt: 1, percent: 100 };
    this.transport.progress.report({ ...done, modelId: this.names.victim });
    await this.store.publish('progress', JSON.stringify(done));
    this.note('disturb', `${texts.length} malformed messages on each channel of the bus, and progress of ${requestId}`);
  }

  /** Says on the bus what api, ops and workers of other pools say: that they leave, that models move, that jobs are cancelled. */
  async impersonate(requestId: string): Promise<void> {
    const { own, victim } = this.names;
    const heard = await this.store.capture('heartbeat', 4);
    const beats = heard.map(({ text }) => {
      const start = text.indexOf('{"');
      return { header: text.slice(0, start), body: JSON.parse(text.slice(start)) as Heartbeat };
    });
    const processes = new Map(beats.map((beat) => [beat.body.processId, beat]));
    for (const { header, body } of processes.values()) {
      const goodbye = JSON.stringify({ ...body, alive: false });
      await this.store.publish('heartbeat', goodbye);
      await this.store.publish('heartbeat', `${header}${goodbye}`);
    }
    const desired = {
      revision: 1_000_000,
      placements: [{ modelId: victim, pool: 'local', pinned: true, replicas: 1 }],
    };
    await this.store.publish('placement', JSON.stringify({ type: 'desired', desired }));
    await this.store.publish('cancel', requestId);
    for (const message of heard) await this.store.republish('heartbeat', message);
    this.note(
      'pretend',
      `goodbyes of ${processes.size} processes, forged and under their headers; placements; a cancel`,
    );
    this.note('replay', `${heard.length} heartbeats of others`);
    await this.transport.placements.announce(desired);
    await this.transport.cancelBus.cancel(requestId);
    this.note('pretend', `placements and a cancel, signed with the keys of ${own}`);
  }

  /** Locks what all queues need, until it is stopped. */
  async holdUp(): Promise<void> {
    await this.store.holdUp?.();
    this.note(
      'hold up',
      this.store.holdUp === null ? 'no locks here' : 'locked the table of jobs → its session was ended',
    );
  }

  /** Serves its own model; `handle` gets each job. */
  async serve(handle: (job: RunningJob<ChatJobPayload>) => Promise<JobReport>): Promise<{ close(): Promise<void> }> {
    const { own } = this.names;
    const served = {
      modelId: own,
      modalities: ['chat'],
      state: 'ready',
      slots: 1,
      running: 0,
      provider: 'cpu',
    } as const;
    const heartbeat = { processId: 'malicious', role: 'worker', replyAddress: null, models: [served] } as const;
    await this.transport.membership.join(() => ({ ...heartbeat, models: [served] }));
    const consumer = await this.transport.consume({ definition: chatJob, modelId: own, handler: handle });
    return { close: () => consumer.close(0) };
  }

  /** Ends its own job with more than its payload allows, and the victim's job with the ticket of its own. */
  async claimTooMuch({ envelope }: RunningJob<ChatJobPayload>, victimId: string): Promise<JobReport> {
    const stolen = this.result({ requestId: victimId, modelId: this.names.victim, usage: impossible });
    await this.transport.results.report(signResult(stolen, envelope.ticket));
    this.note('forge', `${billion} tokens for ${victimId}, with the ticket of ${envelope.requestId}`);
    this.note('overcharge', `${billion} tokens for its own job ${envelope.requestId}, with its ticket`);
    return { usage: impossible, cancelled: false, executionMs: 1 };
  }

  /** Reports an honest result many times, and with other usage. */
  async replay({ envelope }: RunningJob<ChatJobPayload>, times: number): Promise<void> {
    const { requestId, attempt, modelId, ticket } = envelope;
    const honest = signResult(
      this.result({ requestId, attempt, modelId, usage: { ...noTokens, promptTokens: 1, completionTokens: 1 } }),
      ticket,
    );
    for (let time = 0; time < times; time += 1) await this.transport.results.report(honest);
    await this.transport.results.report({ ...honest, usage: { ...noTokens, promptTokens: 1, completionTokens: 2 } });
    this.note('replay', `the result of ${requestId} ${times} times, and once with changed usage`);
  }

  /** Fills the queue of results with what no worker reports. */
  async flood(count: number): Promise<void> {
    const junk = Array.from({ length: count }, (_value, index) =>
      index % 2 === 0 ? this.result({ requestId: `flood-${index}` }) : (`junk ${index}` as unknown as JobResult),
    );
    await Promise.all(junk.map((result) => this.transport.results.report(result)));
    this.note('flood', `${count} results without a ticket, half of them malformed`);
  }

  note(attack: string, line: string): void {
    this.transcript.push(`${attack.padEnd(10)} ${line}`);
  }

  private result(changes: Partial<JobResult>): JobResult {
    const base = { requestId: 'r', attempt: 1, modality: 'chat', modelId: this.names.own, retries: 0, error: null };
    return { ...base, status: 'succeeded', usage: noTokens, executionMs: 1, finishedAtMs: 0, ...changes };
  }
}

/** What ops has refused, by reason. */
export async function countRefusals(
  platform: Platform,
  of: 'job_results' | 'bus_messages' = 'job_results',
  name: PlatformProcess = 'ops',
): Promise<Record<string, number>> {
  const text = await (await fetch(`${platform.operationsUrl(name)}/metrics`)).text();
  const metric = new RegExp(`^sluice_${of}_refused_total\\{[^}]*reason="([\\w-]+)"[^}]*\\} (\\d+)`, 'gm');
  const lines = text.matchAll(metric);
  return Object.fromEntries([...lines].map(([, reason = '', count]) => [reason, Number(count)]));
}
