import { hostname } from 'node:os';
import type { IncomingMessage } from 'node:http';
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type ErrorCode, PlatformError } from '#common';
import { Logger } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { bodyLimitBytes } from '../request/body-limits.js';
import { PaymentAnswers } from '../wallets/payment-answers.js';
import { type ErrorResponse, errorResponse } from './error-envelope.js';
import { RouteTable } from './route-table.js';

const frameworkMessages: Partial<Record<number, { code: ErrorCode; message: string }>> = {
  400: { code: 'INVALID_REQUEST', message: 'The request could not be read.' },
  408: { code: 'INVALID_REQUEST', message: 'The request took too long to arrive.' },
  414: { code: 'INVALID_REQUEST', message: 'The address is too long.' },
  415: { code: 'INVALID_CONTENT_TYPE', message: 'The body must be sent as application/json.' },
};

/** The single place where errors become responses. Call sites only choose a code. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  private readonly responses: ReturnType<Metrics['counter']>;

  constructor(
    private readonly routes: RouteTable,
    private readonly payments: PaymentAnswers,
    private readonly logger: Logger,
    metrics: Metrics,
  ) {
    this.responses = metrics.counter('sluice_http_errors_total', 'Error responses, by code.', ['code']);
  }

  catch(exception: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    const error = this.translate(exception, request, reply);
    this.responses.inc({ code: error.code });
    if (request.accessRecord) request.accessRecord.errorCode = error.code;
    // Uses the matched route, since `/%61pi/v1/…` and `http://host/api/v1/…` match it too. Without a match it uses the
    // path.
    const url = request.routeOptions.url ?? request.url;
    const isUnknown = request.is404 && this.routes.methodsOf(request.url).length === 0;
    const { id: requestId } = request;
    const response = errorResponse(error, url, { isUnknown, requestId });
    const { status, headers, body } = this.withPayment(response, error, request);
    this.note(error, { requestId, status });
    if (reply.raw.headersSent) {
      // Part of the response is already sent; only closing the connection can signal the error.
      reply.raw.destroy();
      return;
    }
    void reply.status(status).headers({ ...headers, 'x-service-host-name': hostname() });
    if (lingers(error.code, request.raw, reply)) void readToEnd(request.raw).then(() => reply.send(body));
    else void reply.send(body);
  }

  /** Every 402 says how to pay. */
  private withPayment(response: ErrorResponse, error: PlatformError, request: FastifyRequest): ErrorResponse {
    const payment = response.status === 402 ? this.payments.answer(error, request) : null;
    if (payment === null) return response;
    const { status, headers, body } = response;
    return { status, headers: { ...headers, ...payment.headers }, body: payment.body ?? body };
  }

  /** Logs the cause, which the response leaves out, and logs it as a warning when the client cannot fix it. */
  private note(error: PlatformError, { requestId, status }: { requestId: string; status: number }): void {
    if (error.code === 'UNKNOWN_ERROR') {
      this.logger.error({ requestId, error: error.cause ?? error }, 'request failed unexpectedly');
    } else if (error.cause !== undefined) {
      const level = status < 500 ? 'debug' : 'warn';
      this.logger[level]({ requestId, code: error.code, error: error.cause }, 'request failed');
    }
  }

  private translate(exception: unknown, request: FastifyRequest, reply: FastifyReply): PlatformError {
    if (exception instanceof PlatformError) {
      const isNoRoute = exception.code === 'NOT_FOUND' && request.is404;
      return isNoRoute ? this.notFound(request, reply) : exception;
    }
    // The client disconnected while sending: nobody reads the response, and the server did not fail.
    if (request.raw.readableAborted) {
      return new PlatformError('INVALID_REQUEST', 'The connection ended in the middle of the request.');
    }
    if (!(exception instanceof HttpException)) return PlatformError.from(exception);
    const status = exception.getStatus();
    if (status === 404) return this.notFound(request, reply);
    if (status === 413)
      return new PlatformError('PAYLOAD_TOO_LARGE', `The body is larger than ${megabytesOf(request)} MB.`);
    const known = frameworkMessages[status];
    return known === undefined ? PlatformError.from(exception) : new PlatformError(known.code, known.message);
  }

  private notFound(request: FastifyRequest, reply: FastifyReply): PlatformError {
    const methods = this.routes.methodsOf(request.url);
    if (methods.length === 0) return new PlatformError('NOT_FOUND', 'There is nothing at this address.');
    void reply.header('allow', methods.join(', '));
    return new PlatformError('METHOD_NOT_ALLOWED', `This address answers ${methods.join(', ')} only.`);
  }
}

function megabytesOf({ routeOptions }: FastifyRequest): number {
  return Math.floor((routeOptions.bodyLimit ?? bodyLimitBytes) / (1024 * 1024));
}

/**
 * Whether the rest of a body must be read before the response: if it is too large, and if the connection ends with the
 * response, because the client or a stopping process says so. A connection that stays open is read on by Node.
 */
function lingers(code: ErrorCode, { complete }: IncomingMessage, reply: FastifyReply): boolean {
  if (complete) return false;
  if (code === 'PAYLOAD_TOO_LARGE') return true;
  // Set for a request whose end is unknown, and while the process stops.
  if (reply.getHeader('connection') === 'close') return code === 'SERVICE_UNAVAILABLE';
  return !reply.raw.shouldKeepAlive;
}

/** Bytes and time a client gets to finish sending a rejected body. */
const lingeringBytes = 128 * 1024 * 1024;
const lingeringMs = 10_000;

/**
 * Reads and discards the rest of a rejected body. Closing at once would reset the connection before the client reads
 * the error.
 */
async function readToEnd(body: IncomingMessage): Promise<void> {
  if (body.readableEnded || body.destroyed) return;
  await new Promise<void>((resolve) => {
    const { socket } = body;
    const lastByte = socket.bytesRead + lingeringBytes;
    const timer = setTimeout(resolve, lingeringMs);
    // Bytes are counted at the socket, because discarded parts of the body are freed and then have no length.
    body.on('data', () => {
      if (socket.bytesRead > lastByte) resolve();
    });
    for (const end of ['end', 'close', 'error']) body.once(end, () => resolve());
    body.once('close', () => clearTimeout(timer));
    body.resume();
  });
}
