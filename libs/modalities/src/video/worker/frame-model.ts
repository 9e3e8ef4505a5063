import { PlatformError } from '#common';
import type { InterpolateInput, PictureOutput, RgbPixels, TaskRunner, UpscaleInput } from '#inference/host';

/** Asks the model for one frame at a time, so that a job is stopped between two frames. */
export class FrameModel {
  private asked = 0;

  constructor(
    private readonly runner: TaskRunner,
    private readonly requestId: string,
    private readonly signal: AbortSignal,
  ) {}

  between(first: RgbPixels, last: RgbPixels, moment: number): Promise<RgbPixels> {
    return this.ask('interpolate', { first, last, moment } satisfies InterpolateInput);
  }

  upscaled(picture: RgbPixels, scale: 2 | 4): Promise<RgbPixels> {
    return this.ask('upscale', { picture, scale } satisfies UpscaleInput);
  }

  /** Rejects with the signal's reason when the job was stopped. */
  private async ask(task: string, input: object): Promise<RgbPixels> {
    this.signal.throwIfAborted();
    const id = `${this.requestId}.${this.asked++}`;
    const { cancelled, output } = await this.runner.runTask({ id, task, input }, { signal: this.signal });
    if (cancelled || output === null) {
      this.signal.throwIfAborted();
      throw new PlatformError('INFERENCE_FAILED', 'A frame of the video was not made.');
    }
    return (output as PictureOutput).picture;
  }
}
