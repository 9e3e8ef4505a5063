import { MediaTools, needsFfmpeg } from '#media';
import type { OutputFormats } from '#model-registry';
import { Injectable } from '#platform/injection';

/** The formats of audio that the media tools of this installation can make. */
@Injectable()
export class MediaFormats implements OutputFormats {
  constructor(private readonly tools: MediaTools) {}

  canMake(format: string): boolean {
    if (!needsFfmpeg(format)) return true;
    // What is installed meanwhile counts from the next request on.
    if (!this.tools.available) void this.tools.refresh();
    return this.tools.available;
  }
}
