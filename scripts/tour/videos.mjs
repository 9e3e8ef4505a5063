import { strict as assert } from 'node:assert';
import { runQueued } from './queued.mjs';
import { StepSkipped } from './run-step.mjs';
import { dataUrl, drawing } from './samples.mjs';

async function betweenImages({ client, model, spec }) {
  const { durations = [], resolutions = [] } = spec.constraints ?? {};
  const [first, last] = [await drawing(), await drawing({ shift: 60 })];
  const { bytes, contentType } = await runQueued(client, 'video', {
    model,
    image_url: dataUrl(first, 'image/png'),
    end_image_url: dataUrl(last, 'image/png'),
    ...(durations[0] && { duration: durations[0] }),
    ...(resolutions[0] && { resolution: resolutions[0] }),
  });
  assert.equal(contentType, 'video/mp4');
  const note = `${contentType}${durations[0] ? `, ${durations[0]}` : ''}`;
  return { bytes: bytes.length, note, result: bytes };
}

/** Of the video that was made before. */
async function upscale({ client, model, results }) {
  const source = results.get('video from images');
  if (source === undefined) throw new StepSkipped('there is no video to upscale');
  const { bytes, contentType } = await runQueued(client, 'video', {
    model,
    video_url: dataUrl(source, 'video/mp4'),
    // Required by the route; the result is as long as its source.
    duration: '5s',
    upscale_factor: 2,
  });
  assert.equal(contentType, 'video/mp4');
  return { bytes: bytes.length, note: `${contentType}, twice as large` };
}

const upscales = ({ traits }) => traits.includes('upscale');

export const videoSteps = [
  {
    name: 'video from images',
    model: { type: 'video', trait: 'interpolate', accepts: (spec) => !upscales(spec) },
    pull: 'npx sluice models pull rife-4.6',
    run: betweenImages,
  },
  {
    name: 'video upscale',
    model: { type: 'video', accepts: upscales },
    pull: 'npx sluice models pull esrgan-video',
    run: upscale,
  },
];
