import { Readable } from 'node:stream';
import { callbackify } from 'node:util';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { PlatformError } from '#common';
import type { IdempotencyService, KeyOpening } from '#jobs';
import { RequestFingerprint, type RouteSettings, sseData } from '#platform/http';
import { ResponseRecorder, RecordingQuota } from './response-recorder.js';
import { openaiError } from '../errors/error-envelope.js';
import type { StoreBudgets } from '../pipeline/store-budgets.js';

/** The key format that OpenAI's routes document. */
const validKey = /^[A-Za-z0-9_-]{1,255}$/;

function settingsOf(request: FastifyRequest): RouteSettings {
  return request.routeOptions.config as RouteSettings;
}

/** A fingerprint that covers the route; the body reader adds the body. Null for requests without a key. */
function fingerprintOf(request: FastifyRequest): RequestFingerprint | null {
  const key = request.headers['idempotency-key'];
  if (key === undefined || settingsOf(request).billed !== true) return null;
  if (typeof key !== 'string' || !validKey.test(key)) {
    const message = 'An Idempotency-Key has 1 to 255 letters, digits, - or _.';
    throw new PlatformError('INVALID_REQUEST', message, 'Idempotency-Key');
  }
  const fingerprint = new RequestFingerprint(key);
  const { method, params, query } = request;
  for (const part of [method, request.routeOptions.url ?? '', JSON.stringify(params), JSON.stringify(query)]) {
    fingerprint.add(part);
  }
  return fingerprint;
}

/** Ends a replayed stream whose first client disconnected with an error frame. */
function cutFrame(): string {
  const message = 'The client of the first request with this Idempotency-Key disconnected here, so the response ends.';
  return sseData(JSON.stringify({ error: openaiError(new PlatformError('IDEMPOTENT_ANSWER_LOST', message)) }));
}

async function replay(reply: FastifyReply, { answer, isCut }: Extract<KeyOpening, { isCut: boolean }>): Promise<void> {
  const body = isCut ? Buffer.concat([answer.body, Buffer.from(cutFrame())]) : answer.body;
  void reply.status(answer.status).headers(answer.headers).header('idempotent-replayed', 'true');
  // It was charged, so a retry would only replay it again.
  if (answer.status >= 400) void reply.header('x-should-retry', 'false');
  await reply.send(body);
}

export interface IdempotencyDependencies {
  idempotency: IdempotencyService;
  budgets: StoreBudgets;
  /** Rejects if a stored response may not be sent; a replay passes no model limit that would count it. */
  limitReplay: (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
}

/**
 * Handles `Idempotency-Key` on every `@Billed` route for JSON, binary and event responses. Runs after the body was read
 * and before any handler; a request without the header costs one header lookup.
 */
export function addIdempotency(
  server: FastifyInstance,
  { idempotency, budgets, limitReplay }: IdempotencyDependencies,
): void {
  const room = new RecordingQuota();
  server.decorateRequest('fingerprint', null);
  server.decorateRequest('responseTape', null);
  server.addHook('onRequest', (request, _reply, done) => {
    try {
      request.fingerprint = fingerprintOf(request);
      done();
    } catch (error) {
      done(error as PlatformError);
    }
  });
  server.addHook('preHandler', (request, reply, done) => {
    if (request.fingerprint === null || request.caller === null) return done();
    openThen(request, reply, (error, isFirst) => (error !== null || isFirst ? done(error ?? undefined) : undefined));
  });
  server.addHook('onSend', (request, reply, payload, done) => {
    const { responseTape } = request;
    if (!(responseTape instanceof ResponseRecorder)) return done(null, payload);
    recordThen(responseTape, reply, payload, done);
  });

  // Hooks with a callback, which save requests without a key a promise each.
  const openThen = callbackify(open);

  async function open(request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
    const { fingerprint, caller, id: requestId } = request;
    if (fingerprint === null || caller === null) return true;
    const keyed = { accountId: caller.accountId, key: fingerprint.key, fingerprint: fingerprint.digest(), requestId };
    const asked = idempotency.open(keyed, settingsOf(request).responseOfJob);
    const opening = await budgets.of(requestId).within(asked, refund).catch(asUnavailable);
    if ('answer' in opening) {
      await limitReplay(request, reply);
      await replay(reply, opening);
      return false;
    }
    const recorder = new ResponseRecorder(opening.claim, room, new Set(Object.keys(reply.getHeaders())));
    request.responseTape = recorder;
    reply.raw.once('close', () => recorder.cut());
    if (reply.raw.destroyed) recorder.cut();
    return true;
  }
}

/** A claim that arrives after the request ended; nothing will be stored under it. */
async function refund(opening: KeyOpening): Promise<void> {
  if ('claim' in opening) await opening.claim.end('cut', null);
}

function asUnavailable(error: unknown): never {
  if (error instanceof PlatformError) throw error;
  const message = 'The service cannot look idempotency keys up at the moment.';
  throw new PlatformError('SERVICE_UNAVAILABLE', message, null, { cause: error });
}

const recordThen = callbackify(record);

/** Passes the payload on and records it. */
async function record(recorder: ResponseRecorder, reply: FastifyReply, payload: unknown): Promise<unknown> {
  recorder.begin(reply.statusCode, reply.getHeaders());
  if (payload instanceof Readable) return recorder.through(payload);
  if (typeof payload === 'string' || payload instanceof Uint8Array) recorder.add(payload);
  await recorder.end('whole');
  return payload;
}
