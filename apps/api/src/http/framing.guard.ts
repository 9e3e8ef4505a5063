import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { PlatformError } from '#common';

/**
 * Refuses what Node's parser takes and a proxy in front of it may read otherwise: where two disagree on where a request
 * ends, one caller's bytes become another's request. The connection is closed, and what was sent behind such a request
 * is refused as well. Node's own check for a host has to be off (`requireHostHeader`): it refuses the one request and runs
 * the next.
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

/** Null for a request whose end everybody finds at the same place. */
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
  for (let place = 0; place < rawHeaders.length; place += 2) {
    if (rawHeaders[place]?.toLowerCase() === name) count++;
  }
  return count;
}
