import { hostname } from 'node:os';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { newRequestId, PlatformError } from '#common';
import { errorResponse, securityHeaders } from '#gateway';
import type { AccessLog } from '#gateway/access-log';

interface ParserError extends Error {
  code?: string;
}

const problems: Record<string, { status: number; message: string }> = {
  HPE_HEADER_OVERFLOW: { status: 431, message: 'The headers are too large.' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'The request took too long to arrive.' },
  HPE_INVALID_EOF_STATE: { status: 400, message: 'The connection ended in the middle of the request.' },
};

/** How long a client may take to read the error before its connection is destroyed, in ms. */
const lingerMs = 1_000;

const answered = new WeakSet<Socket>();

export interface ClientErrorOptions {
  site: string;
  version: string;
  accessLog: AccessLog;
}

/**
 * Responds to invalid or incomplete HTTP and closes the connection. The response is flushed first; a peer that keeps
 * its half open is disconnected shortly after. No route is known, so the response uses the plain envelope.
 */
export function sendClientError(error: ParserError, socket: Socket, options: ClientErrorOptions): void {
  // Ignores later errors: closing now could discard the response before it is read.
  if (answered.has(socket)) return;
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { status, message } = problems[error.code ?? ''] ?? { status: 400, message: 'The request is not valid HTTP.' };
  const { body } = errorResponse(new PlatformError('INVALID_REQUEST', message), '/');
  const text = JSON.stringify(body);
  const requestId = newRequestId(options.site);
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(text)}`,
    ...Object.entries(securityHeaders).map(([name, value]) => `${name}: ${value}`),
    `cf-ray: ${requestId}`,
    `x-request-id: ${requestId}`,
    `x-service-timestamp: ${new Date().toISOString()}`,
    `x-service-host-name: ${hostname()}`,
    `x-service-version: ${options.version}`,
    `date: ${new Date().toUTCString()}`,
    'connection: close',
  ];
  answered.add(socket);
  socket.end(`${lines.join('\r\n')}\r\n\r\n${text}`);
  options.accessLog.write({ requestId, status, code: 'INVALID_REQUEST', client: socket.remoteAddress });
  const timer = setTimeout(() => socket.destroy(), lingerMs).unref();
  socket.once('close', () => clearTimeout(timer));
}

/** Responds to a path that cannot be decoded. No route, hook or filter sees such a request. */
export function sendFrameworkError(
  request: FastifyRequest,
  reply: FastifyReply,
  { version, accessLog }: { version: string; accessLog: AccessLog },
): void {
  const error = new PlatformError('INVALID_REQUEST', 'The address is not valid.');
  const { status, headers, body } = errorResponse(error, request.url, { requestId: request.id });
  const named = {
    ...securityHeaders,
    'cf-ray': request.id,
    'x-request-id': request.id,
    'x-service-timestamp': new Date().toISOString(),
    'x-service-host-name': hostname(),
    'x-service-version': version,
  };
  const { id: requestId, method, ip: client, headers: requestHeaders } = request;
  accessLog.write({ requestId, method, status, code: error.code, client, headers: requestHeaders });
  void reply
    .status(status)
    .headers({ ...headers, ...named })
    .send(body);
}
