import { constants } from 'node:zlib';
import compress from '@fastify/compress';
import type { FastifyInstance } from 'fastify';

/** JSON answers of a kilobyte and more, in what the caller accepts; never streams or binary (contract 0). */
export async function addCompression(server: FastifyInstance): Promise<void> {
  // The plugin also packs whatever its table of types calls compressible; this header is how a request declines.
  server.addHook('onSend', (request, reply, _payload, done) => {
    const type = String(reply.getHeader('content-type') ?? '');
    if (!type.startsWith('application/json')) request.headers['x-no-compression'] = 'true';
    done();
  });
  await server.register(compress, {
    global: true,
    globalDecompression: false,
    threshold: 1024,
    encodings: ['br', 'gzip'],
    customTypes: /^application\/json/,
    // The default level is made for files: it costs tens of milliseconds on an answer.
    brotliOptions: { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } },
  });
}
