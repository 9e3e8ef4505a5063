import type { VideoJobPayload, TextToVideoOptions } from '../contract/index.js';
import type { VideoClip, ClipFrame } from './video-clip.js';
import type { FrameModel } from './frame-model.js';

/** Share of the work that is done before the first frame, in percent. */
const denoisingPercent = 80;

/**
 * Text to video. All frames are generated together, but as latents, a twelfth of their bytes; each is decoded to pixels
 * on demand.
 */
export async function videoFromText(
  { width, height, fps, frames }: VideoJobPayload,
  { prompt, negativePrompt, seed }: TextToVideoOptions,
  { model, progress }: { model: FrameModel; progress: (percent: number) => void },
): Promise<VideoClip> {
  const latents = await model.animated({ prompt, negativePrompt, width, height, frames, seed }, (fraction) =>
    progress(fraction * denoisingPercent),
  );
  const developed = async function* (): AsyncGenerator<ClipFrame> {
    for (const frame of latents) yield { pixels: model.developed(frame) };
  };
  return {
    width,
    height,
    fps: { numerator: fps, denominator: 1 },
    expectedFrames: latents.length,
    donePercent: denoisingPercent,
    frames: developed(),
  };
}
