// Makes a video between two frames and writes video.mp4: `node examples/video-job.mjs first.png last.png`. Without paths
// it draws both frames first.
import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import OpenAI from 'openai';

const { SLUICE_URL = 'http://127.0.0.1:3000', SLUICE_API_KEY } = process.env;
const client = new OpenAI({ baseURL: `${SLUICE_URL}/api/v1`, apiKey: SLUICE_API_KEY });

async function draw(prompt) {
  const { data } = await client.images.generate({ model: 'default', prompt, response_format: 'b64_json' });
  return Buffer.from(data[0].b64_json, 'base64');
}

const paths = process.argv.slice(2);
const frames = await Promise.all(
  paths.length === 2 ? paths.map((path) => readFile(path)) : ['a green apple', 'a red apple'].map(draw),
);
const [first, last] = frames.map((frame) => `data:image/png;base64,${frame.toString('base64')}`);

const { data: models } = await client.get('/models?type=video');
const { durations } = models.find(({ model_spec: spec }) => spec.traits.includes('interpolate')).model_spec.constraints;
const request = { model: 'interpolate', image_url: first, end_image_url: last, duration: durations[0] };
const { quote } = await client.post('/video/quote', { body: request });
console.log(`A video of ${durations[0]} costs $${quote}.`);

// A repeated request with this key returns the first job instead of queueing a second one.
const headers = { 'Idempotency-Key': crypto.randomUUID() };
const job = await client.post('/video/queue', { body: request, headers });
for (;;) {
  const body = { model: job.model, queue_id: job.queue_id };
  const response = await client.post('/video/retrieve', { body, __binaryResponse: true });
  if (response.headers.get('content-type') === 'video/mp4') {
    const video = Buffer.from(await response.arrayBuffer());
    await writeFile('video.mp4', video);
    console.log(`video.mp4: ${video.length} bytes`);
    // The service would keep the result for a day.
    const { success } = await client.post('/video/complete', { body });
    console.log(success ? 'The result is deleted from the service.' : 'The result stays until it expires.');
    break;
  }
  console.log(`${(await response.json()).status} ${response.headers.get('x-service-progress-percent') ?? 0} %`);
  await sleep(1_000);
}
