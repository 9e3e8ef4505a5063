import type { VideoJobPayload, WordsWish } from '../contract/index.js';
import type { Film, FilmFrame } from './film.js';
import type { FrameModel } from './frame-model.js';

/** Share of the work that is done before there is a frame, in percent. */
const denoisingPercent = 80;

/**
 * A film of words. All of its frames are made together, but as latents, a twelfth of their bytes; each becomes pixels when it
 * is asked for.
 */
export async function filmFromWords(
  { width, height, fps, frames }: VideoJobPayload,
  { prompt, negativePrompt, seed }: WordsWish,
  { model, progress }: { model: FrameModel; progress: (percent: number) => void },
): Promise<Film> {
  const latents = await model.animated({ prompt, negativePrompt, width, height, frames, seed }, (fraction) =>
    progress(fraction * denoisingPercent),
  );
  const developed = async function* (): AsyncGenerator<FilmFrame> {
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
