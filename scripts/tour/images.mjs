import { strict as assert } from 'node:assert';
import sharp from 'sharp';
import { drawing, mask } from './samples.mjs';

async function send(client, path, fields) {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    for (const each of [value].flat()) {
      if (Buffer.isBuffer(each)) body.append(name, new Blob([each], { type: 'image/png' }), `${name}.png`);
      else body.append(name, String(each));
    }
  }
  const response = await client.post(path, { body, __binaryResponse: true });
  const bytes = Buffer.from(await response.arrayBuffer());
  const { width, height, channels } = await sharp(bytes).metadata();
  return { response, bytes, width, height, channels };
}

async function fromWords({ client, model }) {
  const { data } = await client.images.generate({ model, prompt: 'a red apple' });
  const bytes = Buffer.from(data[0].b64_json, 'base64');
  const { width, height } = await sharp(bytes).metadata();
  return { bytes: bytes.length, note: `a red apple, ${width} × ${height}` };
}

async function upscale({ client, model }) {
  const { bytes, width, height } = await send(client, '/image/upscale', { model, image: await drawing(), scale: 2 });
  assert.deepEqual([width, height], [576, 512]);
  return { bytes: bytes.length, note: `288 × 256 → ${width} × ${height}` };
}

/** The route chooses its model. */
async function removeBackground({ client }) {
  const { bytes, width, height, channels } = await send(client, '/image/background-remove', { image: await drawing() });
  assert.equal(channels, 4);
  return { bytes: bytes.length, note: `${width} × ${height} with transparency` };
}

async function maskedEdit({ client, model }) {
  const images = [await drawing(), await mask()];
  const fields = { model, prompt: 'fill the white part', images };
  const { bytes, width, height } = await send(client, '/image/multi-edit', fields);
  return { bytes: bytes.length, note: `${width} × ${height}, the masked part filled` };
}

/** The classifier is internal: it answers for the result of another image model. */
async function imageSafety({ client, model }) {
  const images = [await drawing(), await mask()];
  const fields = { model, prompt: 'fill the white part', images, safe_mode: true };
  const { response, bytes } = await send(client, '/image/multi-edit', fields);
  const blurred = response.headers.get('x-service-is-blurred');
  assert.notEqual(blurred, null, 'no header says whether the image was checked');
  return { bytes: bytes.length, note: `checked; x-service-is-blurred: ${blurred}` };
}

const cutsOut = ({ traits }) => traits.includes('background_removal');

export const imageSteps = [
  {
    name: 'image from words',
    model: { type: 'image', trait: 'default' },
    pull: 'npx sluice models pull pictogram esrgan-slim nsfw-mobilenet',
    run: fromWords,
  },
  {
    name: 'image upscale',
    model: { type: 'upscale', trait: 'default' },
    pull: 'npx sluice models pull esrgan-slim',
    run: upscale,
  },
  {
    name: 'background removal',
    model: { type: 'inpaint', accepts: cutsOut },
    pull: 'npx sluice models pull u2netp',
    run: removeBackground,
  },
  {
    name: 'masked edit',
    model: { type: 'inpaint', trait: 'default', accepts: ({ traits }) => traits.includes('default') },
    pull: 'npx sluice models pull migan',
    run: maskedEdit,
  },
  {
    name: 'image safety',
    model: { type: 'inpaint', trait: 'default', accepts: ({ traits }) => traits.includes('default') },
    pull: 'npx sluice models pull nsfw-mobilenet migan',
    run: imageSafety,
  },
];
