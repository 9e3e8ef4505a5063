import { PlatformError } from '#common';
import type { RgbPixels } from '#inference/tasks';
import { decodeImage, resizePixels } from '#media';
import type { ArtifactStore } from '#storage';
import type { VideoJobPayload } from '../contract/index.js';
import type { VideoClip, ClipFrame } from './video-clip.js';
import type { FrameModel } from './frame-model.js';

const maxImageBytes = 26_214_400;

/** Interpolates frames between given images. Before the first and after the last image the video is a still. */
export function videoBetween(
  payload: VideoJobPayload,
  { artifacts, model }: { artifacts: ArtifactStore; model: FrameModel },
): VideoClip {
  const { width, height, fps, frames } = payload;
  return {
    width,
    height,
    fps: { numerator: fps, denominator: 1 },
    expectedFrames: frames,
    frames: framesBetween(payload, { artifacts, model }),
  };
}

/** Holds at most two images, however many there are. */
async function* framesBetween(
  { inputs, places, width, height, frames }: VideoJobPayload,
  { artifacts, model }: { artifacts: ArtifactStore; model: FrameModel },
): AsyncGenerator<ClipFrame> {
  const imageAt = async (index: number): Promise<RgbPixels> => {
    const { bytes } = await artifacts.read(inputs[index] ?? '', maxImageBytes);
    const pixels = await decodeImage(bytes, { channels: 3, param: 'image_url' });
    return await resizePixels(pixels, { width, height, fit: 'cover' });
  };
  let from = await imageAt(0);
  let fromPlace = places[0] ?? 0;
  for (let frame = 0; frame < Math.min(fromPlace, frames); frame++) yield { pixels: from.data };
  for (let next = 1; next < inputs.length; next++) {
    const to = await imageAt(next);
    const toPlace = places[next];
    if (toPlace === undefined || toPlace <= fromPlace) throw disordered();
    yield { pixels: from.data };
    for (let frame = fromPlace + 1; frame < toPlace; frame++) {
      yield { pixels: model.between(from, to, (frame - fromPlace) / (toPlace - fromPlace)) };
    }
    [from, fromPlace] = [to, toPlace];
  }
  for (let frame = fromPlace; frame < frames; frame++) yield { pixels: from.data };
}

function disordered(): PlatformError {
  return new PlatformError('INVALID_REQUEST', 'The images of the job are not in the order of their frames.');
}
