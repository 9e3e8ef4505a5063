import { Inject, Injectable } from '@nestjs/common';
import { JobQuote } from '#billing';
import { nanosOf, type NanoUsd, noTokens } from '#common';
import { type Delivered, DirectJobs } from '#jobs';
import type { Price } from '#model-registry/manifest';
import { callerOf } from '#platform/http';
import { directModality } from '#queue';
import type { HttpExchange } from '../pipeline/http-exchange.js';
import { ClientDisconnectedError } from '../pipeline/job-stream.js';
import { balanceHeaders } from '../pipeline/request-headers.js';

/** A service that this replica provides itself. */
export interface DirectService {
  /** As charges name it. */
  id: string;
  /** USD per request, by what may answer it. The dearest is reserved. */
  prices: Readonly<Record<string, number>>;
}

/** Requests that run no model: reserved, run and settled by this replica. */
@Injectable()
export class DirectRequests {
  constructor(@Inject(DirectJobs) private readonly jobs: Pick<DirectJobs, 'run'>) {}

  /** Rejects as `DirectJobs.run` does. `work` says what answered, by a name of the prices. */
  async run<Result>(
    { request, reply, disconnected, record }: HttpExchange,
    { id: modelId, prices }: DirectService,
    work: (signal: AbortSignal) => Promise<{ result: Result; answeredBy: string }>,
  ): Promise<Result> {
    const perRequest = Object.fromEntries(Object.entries(prices).map(([name, usd]) => [name, priceOf(usd)]));
    const units = Object.fromEntries(Object.keys(prices).map((name) => [name, 1]));
    const bounds = { ...noTokens, units };
    const price = { id: null, modelId, pricing: { per_request: perRequest } };
    const quote = new JobQuote(dearest(prices), price, bounds);
    const order = { requestId: request.id, caller: callerOf(request), modelId, bounds, quote, disconnected };
    try {
      return await this.jobs.run(order, async (signal): Promise<Delivered<Result>> => {
        if (record) record.reservedNano = quote.amountNano;
        const { result, answeredBy } = await work(signal);
        const usage = { ...noTokens, units: { [answeredBy]: 1 } };
        if (record) record.finishedJob = { modality: directModality, modelId, usage, pricing: price.pricing };
        return { result, units: usage.units };
      });
    } catch (error) {
      throw disconnected.aborted ? new ClientDisconnectedError('the client disconnected') : error;
    } finally {
      void reply.headers(balanceHeaders(quote));
    }
  }
}

function priceOf(usd: number): Price {
  return { usd, diem: usd };
}

function dearest(prices: Readonly<Record<string, number>>): NanoUsd {
  return Object.values(prices)
    .map((usd) => nanosOf(usd))
    .reduce((most, each) => (each > most ? each : most), 0n);
}
