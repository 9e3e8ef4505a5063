import { Injectable } from '@nestjs/common';
import { JobQuote } from '#billing';
import { nanosOf, type NanoUsd, noTokens } from '#common';
import { type Delivered, DirectJobs } from '#jobs';
import type { Price } from '#model-registry/manifest';
import type { HttpExchange } from '#platform/http';
import { directModality } from '#queue';
import { ClientDisconnectedError } from './job-stream.js';
import { balanceHeaders } from '../request/request-headers.js';

/** A service that this replica provides itself. */
export interface DirectService {
  /** The name that charges use. */
  id: string;
  /** USD per unit, by what may answer a request. The most expensive is reserved. */
  prices: Readonly<Record<string, number>>;
  /** The most units that a request is charged for; default: one. */
  maxUnits?: number;
}

/** What the work of a request amounted to. */
export interface DirectAnswer<Result> {
  result: Result;
  /** A name of the prices. */
  answeredBy: string;
  /** Default: one. */
  units?: number;
}

/** Requests that run no model: reserved, run and settled by this replica. */
@Injectable()
export class DirectRequests {
  constructor(private readonly jobs: DirectJobs) {}

  /** Rejects as `DirectJobs.run` does. */
  async run<Result>(
    http: HttpExchange,
    { id: modelId, prices, maxUnits }: DirectService,
    work: (signal: AbortSignal) => Promise<DirectAnswer<Result>>,
  ): Promise<Result> {
    const quote = quoteOf({ id: modelId, prices, maxUnits });
    const { bounds, price } = quote;
    const { request, caller, disconnected } = http;
    const { accessRecord: record } = request;
    const jobSpec = { requestId: request.id, caller, modelId, bounds, quote, disconnected };
    try {
      return await this.jobs.run(jobSpec, async (signal): Promise<Delivered<Result>> => {
        if (record) record.reservedNano = quote.amountNano;
        const { result, answeredBy, units: count = 1 } = await work(signal);
        const usage = { ...noTokens, units: { [answeredBy]: count } };
        if (record) record.finishedJob = { modality: directModality, modelId, usage, pricing: price.pricing };
        return { result, units: usage.units };
      });
    } catch (error) {
      throw disconnected.aborted ? new ClientDisconnectedError('the client disconnected') : error;
    } finally {
      http.setHeaders(balanceHeaders(quote, request.caller));
    }
  }
}

/** Returns the most that a request of a service may cost, and the prices of its units. */
export function quoteOf({ id: modelId, prices, maxUnits = 1 }: DirectService): JobQuote {
  const perRequest = Object.fromEntries(Object.entries(prices).map(([name, usd]) => [name, priceOf(usd)]));
  const units = Object.fromEntries(Object.keys(prices).map((name) => [name, maxUnits]));
  const price = { id: null, modelId, pricing: { per_request: perRequest } };
  return new JobQuote(dearest(prices) * BigInt(maxUnits), price, { ...noTokens, units });
}

function priceOf(usd: number): Price {
  return { usd, diem: usd };
}

function dearest(prices: Readonly<Record<string, number>>): NanoUsd {
  return Object.values(prices)
    .map((usd) => nanosOf(usd))
    .reduce((most, amount) => (amount > most ? amount : most), 0n);
}
