import type { TaskContext } from '../../engines/queued-task.engine.js';
import { emptyImage, planesOf, type RgbPixels, writePlanes } from '../../images/pixel-grid.js';
import { tilesOf } from '../../images/tiles.js';
import type { GraphSession } from '../../runtime/graph-session.js';

export interface UpscaleOptions {
  image: RgbPixels;
  scale: number;
  /** Distance in pixels up to which input affects an output pixel. */
  margin: number;
  context: TaskContext;
}

/** Side of a tile without its margin. Memory per run grows with its square; the share of the margin shrinks. */
const tileSize = 192;

/** Upscales tile by tile without seams. Memory use is that of both images and one tile. */
export async function upscaleTiles(session: GraphSession, options: UpscaleOptions): Promise<RgbPixels> {
  const { image, scale, margin, context } = options;
  const result = emptyImage(image.width * scale, image.height * scale);
  const tiles = [...tilesOf(image, { size: tileSize, margin })];
  const [input] = session.inputs;
  const [output] = session.outputs;
  for (const [index, { area, kept }] of tiles.entries()) {
    await context.yieldToEventLoop();
    const planes = planesOf(image, area, (sample) => sample / 255);
    const feeds = { [input?.name ?? '']: session.tensor('float32', planes, [1, 3, area.height, area.width]) };
    const outputs = await context.measure(() => session.run(feeds, [output?.name ?? '']));
    const [upscaled] = Object.values(outputs);
    writePlanes(
      { data: upscaled?.data as Float32Array, width: area.width * scale, height: area.height * scale },
      {
        left: (kept.left - area.left) * scale,
        top: (kept.top - area.top) * scale,
        width: kept.width * scale,
        height: kept.height * scale,
      },
      { pixels: result, left: kept.left * scale, top: kept.top * scale },
    );
    context.progress((index + 1) / tiles.length);
  }
  return result;
}
