import type { FastifyInstance } from 'fastify';

/**
 * Cuts off callers who take nothing of their answer, or send nothing of their request, for `stalledMs`. Whoever is slow
 * but moves may go on, and so may who waits for an answer that is not there yet. The system counts parts of a write
 * too, so a kilobyte a second is movement.
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
