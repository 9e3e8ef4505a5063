import { Readable } from 'node:stream';
import { callbackify } from 'node:util';
import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { from, mergeMap, NEVER, type Observable } from 'rxjs';
import { PlatformError } from '#common';
import { IdempotencyService, type KeyOpening } from '#jobs';
import type { RequestCaller, RouteSettings } from '#platform/http';
import { RequestFingerprint } from '#platform/idempotency';
import { ResponseRecorder, RecordingQuota } from './response-recorder.js';
import { errorEvent } from '../errors/error-envelope.js';
import { ReplayLimit } from '../limits/replay-limit.js';
import { StoreBudgets } from '../request/store-budgets.js';

/** Format of the `Idempotency-Key` header. */
const validKey = /^[A-Za-z0-9_-]{1,255}$/;

function settingsOf(request: FastifyRequest): RouteSettings {
  return request.routeOptions.config as RouteSettings;
}

/** Creates a fingerprint of the route; the body parser adds the body. Returns null for requests without a key. */
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

/** Builds the error frame that ends the replay of a stream whose first reader disconnected. */
function cutFrame({ id, routeOptions, url }: FastifyRequest): string {
  const message =
    'The client of the first request with this Idempotency-Key disconnected here, so the stored response ends.';
  return errorEvent(new PlatformError('IDEMPOTENT_ANSWER_LOST', message), routeOptions.url ?? url, id);
}

function replay(reply: FastifyReply, { answer, isCut }: Extract<KeyOpening, { isCut: boolean }>): void {
  const body = isCut ? Buffer.concat([answer.body, Buffer.from(cutFrame(reply.request))]) : answer.body;
  void reply.status(answer.status).headers(answer.headers).header('idempotent-replayed', 'true');
  // A retry would return the same charged error again.
  if (answer.status >= 400) void reply.header('x-should-retry', 'false');
  void reply.send(body);
}

/**
 * `Idempotency-Key` on every route that declares itself `@Billed`, whatever it answers: JSON, bytes or events. Decides
 * whether a handler runs or a stored response is replayed. Recording is a Fastify hook (`addResponseRecording`): an
 * interceptor sees what a handler returns, not the bytes of streams and of the error envelope.
 */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  private readonly quota = new RecordingQuota();

  constructor(
    private readonly idempotency: IdempotencyService,
    private readonly budgets: StoreBudgets,
    private readonly limit: ReplayLimit,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    if (request.fingerprint === null || request.caller === null) return next.handle();
    const first = this.open(request, request.fingerprint, request.caller, http.getResponse<FastifyReply>());
    // A replay has been sent: `NEVER` keeps Nest from sending a second response.
    return from(first).pipe(mergeMap((isFirst) => (isFirst ? next.handle() : NEVER)));
  }

  private async open(
    request: FastifyRequest,
    fingerprint: RequestFingerprint,
    { accountId }: RequestCaller,
    reply: FastifyReply,
  ): Promise<boolean> {
    const { id: requestId } = request;
    const keyed = { accountId, key: fingerprint.key, fingerprint: fingerprint.digest(), requestId };
    const opened = this.idempotency.open(keyed, settingsOf(request).responseOfJob);
    const opening = await this.budgets.of(requestId).within(opened, refund).catch(asUnavailable);
    if ('answer' in opening) {
      await this.limit.apply(request, reply);
      replay(reply, opening);
      return false;
    }
    const recorder = new ResponseRecorder(opening.claim, this.quota, new Set(Object.keys(reply.getHeaders())));
    request.responseRecording = recorder;
    reply.raw.once('close', () => recorder.cut());
    if (reply.raw.destroyed) recorder.cut();
    return true;
  }
}

/** Reads the key before the body, which is hashed while it is read, and records the bytes of first responses. */
export function addResponseRecording(server: FastifyInstance): void {
  server.decorateRequest('fingerprint', null);
  server.decorateRequest('responseRecording', null);
  server.addHook('onRequest', (request, _reply, done) => {
    try {
      request.fingerprint = fingerprintOf(request);
      done();
    } catch (error) {
      done(error as PlatformError);
    }
  });
  server.addHook('onSend', (request, reply, payload, done) => {
    const { responseRecording } = request;
    if (!(responseRecording instanceof ResponseRecorder)) return done(null, payload);
    recordThen(responseRecording, reply, payload, done);
  });
}

/** Releases a claim that arrives after the deadline: no response follows it. */
async function refund(opening: KeyOpening): Promise<void> {
  if ('claim' in opening) await opening.claim.end('cut', null);
}

function asUnavailable(error: unknown): never {
  if (error instanceof PlatformError) throw error;
  const message = 'The service cannot check idempotency keys right now.';
  throw new PlatformError('SERVICE_UNAVAILABLE', message, null, { cause: error });
}

const recordThen = callbackify(record);

/** Records the payload and passes it on. */
async function record(recorder: ResponseRecorder, reply: FastifyReply, payload: unknown): Promise<unknown> {
  recorder.begin(reply.statusCode, reply.getHeaders());
  if (payload instanceof Readable) return recorder.through(payload);
  if (typeof payload === 'string' || payload instanceof Uint8Array) recorder.add(payload);
  await recorder.end('whole');
  return payload;
}
