import type { FastifyInstance } from 'fastify';

/**
 * Disconnects clients that read nothing of their response, or send nothing of their request, for `stalledMs`. Slow
 * clients that make progress stay, as do clients that wait for a response. Partial writes count, so 1 kB/s is progress.
 */
export function addSlowClientGuard(server: FastifyInstance, stalledMs: number): void {
  server.addHook('onRequest', (request, reply, done) => {
    const { raw } = request;
    const { socket } = raw;
    const wind = (): void => void socket.setTimeout(stalledMs);
    reply.raw.on('timeout', () => {
      if (socket.writableLength > 0 || !raw.complete) socket.destroy();
      else wind();
    });
    wind();
    done();
  });
}
