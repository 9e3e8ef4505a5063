import { createArtifactStore } from '#storage';

/*
 * Stores twenty megabytes in the given folder or, with `ping`, checks whether it is writable. Prints the error code or
 * `stored`.
 */

const store = createArtifactStore({ home: process.argv[2] ?? '' });

async function* content(): AsyncGenerator<Uint8Array> {
  for (let piece = 0; piece < 20; piece += 1) yield Buffer.alloc(1_000_000);
}

try {
  if (process.argv[3] === 'ping') await store.ping();
  else await store.put(content(), { kind: 'result', contentType: 'video/mp4' });
  process.stdout.write('stored');
} catch (error) {
  process.stdout.write(String((error as { code?: string }).code));
}
