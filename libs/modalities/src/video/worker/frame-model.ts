import { PlatformError } from '#common';
import type { TaskRunner } from '#inference/host';
import type {
  AnimateInput,
  AnimateOutput,
  FrameLatents,
  InterpolateInput,
  ImageOutput,
  RgbPixels,
  UpscaleInput,
} from '#inference/tasks';

/** Runs the model frame by frame, so that a job can stop between two frames. */
export class FrameModel {
  private asked = 0;

  constructor(
    private readonly runner: TaskRunner,
    private readonly requestId: string,
    private readonly signal: AbortSignal,
  ) {}

  between(first: RgbPixels, last: RgbPixels, moment: number): Promise<Uint8Array> {
    return this.askImage('interpolate', { first, last, moment } satisfies InterpolateInput);
  }

  upscaled(image: RgbPixels, scale: 2 | 4): Promise<Uint8Array> {
    return this.askImage('upscale', { image, scale } satisfies UpscaleInput);
  }

  /** Returns the frames of a video as latents; `onProgress` receives a fraction. */
  async animated(input: AnimateInput, onProgress: (fraction: number) => void): Promise<FrameLatents[]> {
    return ((await this.ask('animate', input, onProgress)) as AnimateOutput).frames;
  }

  developed(latents: FrameLatents): Promise<Uint8Array> {
    return this.askImage('develop', latents);
  }

  private async askImage(task: string, input: object): Promise<Uint8Array> {
    return ((await this.ask(task, input)) as ImageOutput).image.data;
  }

  /** Rejects with the signal's reason when the job was stopped. */
  private async ask(task: string, input: object, onProgress?: (fraction: number) => void): Promise<object> {
    this.signal.throwIfAborted();
    const id = `${this.requestId}.${this.asked++}`;
    const options = { signal: this.signal, ...(onProgress && { onProgress }) };
    const { cancelled, output } = await this.runner.runTask({ id, task, input }, options);
    if (cancelled || output === null) {
      this.signal.throwIfAborted();
      throw new PlatformError('INFERENCE_FAILED', 'A frame of the video could not be generated.');
    }
    return output;
  }
}
