import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { callbackify } from 'node:util';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ExchangeSigning, SignedRun } from '#platform/exchange';
import type { RouteSettings } from '#platform/http';
import type { ExchangeSigner } from './exchange-signer.js';
import type { TeeHost, TeeHosts } from './tee-hosts.js';

/** How long the end of a response waits for its signature, in ms. Storing continues after that. */
const waitMs = 2_000;

interface SigningServices {
  hosts: Pick<TeeHosts, 'isInUse' | 'find'>;
  signer: Pick<ExchangeSigner, 'sign'>;
}

/** Hashes the bytes of one exchange. Only what a host with a key answered, to a JSON body, is signed. */
export class HashedExchange implements ExchangeSigning {
  private requestHash: string | null = null;
  private readonly response = createHash('sha256');
  private run: { host: TeeHost; responseId: string } | null = null;
  private isComplete = false;

  constructor(
    private readonly request: Pick<FastifyRequest, 'id' | 'caller' | 'routeOptions'>,
    private readonly services: SigningServices,
  ) {}

  takeBody(bytes: Uint8Array): void {
    this.requestHash = createHash('sha256').update(bytes).digest('hex');
  }

  ranOn({ modelId, servedBy, responseId }: SignedRun): void {
    // Pools come before the process id, and have no slash.
    const processId = servedBy?.slice(servedBy.lastIndexOf('/') + 1) ?? '';
    const host = this.services.hosts.find({ processId, modelId });
    this.run = host === null ? null : { host, responseId };
  }

  add(bytes: string | Uint8Array): void {
    if (!this.isComplete) this.response.update(bytes);
  }

  async complete(last: string | Uint8Array): Promise<void> {
    this.add(last);
    this.isComplete = true;
    const { run, requestHash, request } = this;
    if (run === null || requestHash === null || request.caller === null) return;
    const { host, responseId } = run;
    const text = `${requestHash}:${this.response.digest('hex')}`;
    const { accountId } = request.caller;
    const endpoint = request.routeOptions.url ?? '';
    const signed = this.services.signer.sign({ accountId, host, endpoint, requestId: request.id, responseId, text });
    await Promise.race([signed, sleep(waitMs, undefined, { ref: false })]);
  }
}

/**
 * Gives requests to billed routes their `exchangeSigning` while any host has a key, and signs responses that Fastify sends.
 * Runs before compression: the bytes are those that a client sees after it has undone that.
 */
export function addExchangeSigning(server: FastifyInstance, services: SigningServices): void {
  server.decorateRequest('exchangeSigning', null);
  server.addHook('onRequest', (request, _reply, done) => {
    const { billed } = request.routeOptions.config as RouteSettings;
    if (billed === true && services.hosts.isInUse) request.exchangeSigning = new HashedExchange(request, services);
    done();
  });
  const completeThen = callbackify(async (signing: ExchangeSigning, payload: string | Uint8Array) => {
    await signing.complete(payload);
    return payload;
  });
  server.addHook('onSend', (request, reply, payload, done) => {
    const { exchangeSigning: signing } = request;
    const isWhole = typeof payload === 'string' || payload instanceof Uint8Array;
    if (signing === null || reply.statusCode !== 200 || !isWhole) return done(null, payload);
    completeThen(signing, payload, done);
  });
}
