import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { RpcResult } from '#chains';
import { noTokens, PlatformError } from '#common';
import { directJob } from '#jobs';
import { type HttpExchange, StreamedResponse } from '#platform/http';
import { directModality } from '#queue';
import { advanceMs } from '#rate-limit';
import { ClientDisconnectedError } from '../pipeline/job-stream.js';
import type { BlockTicket } from './credit-block.js';

/** Longest time of a call, in ms: a block is charged before its row expires, which direct jobs do. */
const maxCallMs = directJob.policy.deadlineMs - 5 * advanceMs;

/** A call that a part of a block pays for, from its start to the last byte of its answer, within one deadline. */
export class BlockCall {
  // A composed signal would take longer than the rest of a short call.
  private readonly ending = new AbortController();
  private readonly timer = setTimeout(() => ((this.isLate = true), this.ending.abort()), maxCallMs);
  private readonly leave = (): void => this.ending.abort(this.http.disconnected.reason);
  private isLate = false;

  constructor(
    private readonly http: HttpExchange,
    private readonly ticket: BlockTicket,
  ) {
    http.disconnected.addEventListener('abort', this.leave, { once: true });
  }

  /**
   * Does a part of the call. Rejects with `REQUEST_TIMEOUT` at the deadline, or as the work does; the call then ends and
   * costs nothing.
   */
  async run<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const { disconnected } = this.http;
    try {
      disconnected.throwIfAborted();
      const result = await work(this.ending.signal);
      disconnected.throwIfAborted();
      return result;
    } catch (error) {
      const failure = this.isLate && !disconnected.aborted ? tooLate(error) : error;
      this.end();
      this.ticket.settle(0, disconnected.aborted ? 'JOB_CANCELLED' : PlatformError.from(failure).code);
      throw failure;
    }
  }

  /** Ends the call and charges what it has cost. */
  charge(credits: number): void {
    this.end();
    this.ticket.settle(credits);
    const { accessRecord: record } = this.http.request;
    if (!record) return;
    const { modelId, pricing } = this.ticket.quote.price;
    record.finishedJob = {
      modality: directModality,
      modelId,
      usage: { ...noTokens, units: { credit: credits } },
      pricing,
    };
  }

  private end(): void {
    clearTimeout(this.timer);
    this.http.disconnected.removeEventListener('abort', this.leave);
  }
}

/** A long answer, sent while it arrives. The call is charged if all of it was sent. */
export class LongAnswer extends StreamedResponse {
  constructor(
    private readonly call: BlockCall,
    private readonly credits: number,
    private readonly rest: NonNullable<RpcResult['rest']>,
  ) {
    super();
  }

  /** Rejects if the answer does not arrive whole: its status line is gone by then. */
  async send({ request, reply, disconnected }: HttpExchange): Promise<void> {
    // A compressor would hold back what is here.
    request.headers['x-no-compression'] = 'true';
    try {
      await this.call.run(async () => {
        void reply.send(Readable.from(this.rest.parts, { objectMode: false }));
        await finished(reply.raw);
      });
      this.call.charge(this.credits);
    } catch (error) {
      throw disconnected.aborted ? new ClientDisconnectedError('the client disconnected') : error;
    } finally {
      this.rest.cancel();
    }
  }
}

function tooLate(cause: unknown): PlatformError {
  return new PlatformError('REQUEST_TIMEOUT', 'No node answered in time.', null, { cause });
}
