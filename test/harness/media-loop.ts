import { encodeAudio, MediaTools } from '#media';

/*
 * Encodes silence until it is killed. Reports over its channel when the encoder runs; gets its folder as an argument.
 */

const tools = await MediaTools.find({ temporaryFolder: process.argv[2] ?? '' });
await tools.makeFolder();

async function* silence(): AsyncGenerator<Float32Array> {
  for (;;) {
    yield new Float32Array(48_000);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

let isReported = false;
for await (const part of encodeAudio(tools, silence(), { format: 'mp3', sampleRate: 48_000 })) {
  if (!isReported && part.length > 0) process.send?.('running');
  isReported = true;
}
