import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { PlatformError } from '#common';

/**
 * Rejects requests that Node's parser accepts but a proxy in front of it may frame differently, which allows request
 * smuggling. Closes the connection and rejects everything pipelined behind the request. Requires `requireHostHeader:
 * false`: Node's own host check rejects one request and runs the next.
 */
export function addFramingGuard(server: FastifyInstance): void {
  const distrusted = new WeakSet<Socket>();
  server.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw;
    const problem = distrusted.has(socket) ? 'The request before this one was not clear.' : framingProblem(request.raw);
    if (problem === null) return done();
    distrusted.add(socket);
    void reply.header('connection', 'close');
    done(new PlatformError('INVALID_REQUEST', problem));
  });
}

/** Returns null when the end of the request is unambiguous. */
export function framingProblem({ httpVersion, headers, rawHeaders }: IncomingMessage): string | null {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return 'Only HTTP/1.1 is spoken here.';
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && httpVersion === '1.0') return 'HTTP/1.0 knows no transfer-encoding.';
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') return 'The only transfer-encoding is chunked.';
  const hosts = countOf('host', rawHeaders);
  if (hosts > 1) return 'The request names more than one host.';
  return hosts === 0 && httpVersion === '1.1' ? 'The request names no host.' : null;
}

function countOf(name: string, rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() === name) count++;
  }
  return count;
}
