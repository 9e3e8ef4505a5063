import { constants } from 'node:zlib';
import compress from '@fastify/compress';
import type { FastifyInstance } from 'fastify';

const compressible = /^(application\/json|text\/csv)\b/;

/**
 * Compresses JSON and CSV responses of 1 KiB and more with an encoding that the client accepts. Streams and binary bodies are
 * never compressed.
 */
export async function addCompression(server: FastifyInstance): Promise<void> {
  // The plugin also compresses other types that its table calls compressible; this header opts a request out.
  server.addHook('onSend', (request, reply, _payload, done) => {
    const type = String(reply.getHeader('content-type') ?? '');
    if (!compressible.test(type)) request.headers['x-no-compression'] = 'true';
    done();
  });
  await server.register(compress, {
    global: true,
    globalDecompression: false,
    threshold: 1024,
    encodings: ['br', 'gzip'],
    customTypes: compressible,
    // The default level suits files: it costs tens of milliseconds per response.
    brotliOptions: { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } },
  });
}
