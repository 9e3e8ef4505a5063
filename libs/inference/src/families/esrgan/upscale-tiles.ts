import type { TaskContext } from '../../engines/queued-task.engine.js';
import { emptyImage, planesOf, type RgbPixels, writePlanes } from '../../images/pixel-grid.js';
import { tilesOf } from '../../images/tiles.js';
import type { GraphSession } from '../../runtime/graph-session.js';

export interface UpscaleOptions {
  image: RgbPixels;
  scale: number;
  /** Factor of the graph: `scale`, or twice that. */
  graphScale: number;
  /** Side of a tile without its margin. Memory per run grows with its square; the share of the margin shrinks. */
  tile: number;
  /** Distance in pixels up to which input affects an output pixel. */
  margin: number;
  context: TaskContext;
}

/** Upscales tile by tile without seams. Memory use is that of both images and one tile. */
export async function upscaleTiles(session: GraphSession, options: UpscaleOptions): Promise<RgbPixels> {
  const { image, scale, graphScale, tile, margin, context } = options;
  const result = emptyImage(image.width * scale, image.height * scale);
  const tiles = [...tilesOf(image, { size: tile, margin })];
  const [input] = session.inputs;
  const [output] = session.outputs;
  for (const [index, { area, kept }] of tiles.entries()) {
    await context.yieldToEventLoop();
    const planes = planesOf(image, area, (sample) => sample / 255);
    const feeds = { [input?.name ?? '']: session.tensor('float32', planes, [1, 3, area.height, area.width]) };
    const outputs = await context.measure(() => session.run(feeds, [output?.name ?? '']));
    const [upscaled] = Object.values(outputs);
    const size = { width: area.width * graphScale, height: area.height * graphScale };
    const drawn = { data: upscaled?.data as Float32Array, ...size };
    writePlanes(
      graphScale === scale ? drawn : halved(drawn),
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

interface Planes {
  data: Float32Array;
  width: number;
  height: number;
}

/** Halves both sides of three planes; each pixel is the mean of four. */
function halved({ data, width, height }: Planes): Planes {
  const [columns, rows] = [width / 2, height / 2];
  const result = new Float32Array(3 * columns * rows);
  for (let channel = 0, to = 0; channel < 3; channel++) {
    for (let row = 0; row < rows; row++) {
      let from = (channel * height + 2 * row) * width;
      for (let column = 0; column < columns; column++, from += 2, to++) {
        const above = (data[from] as number) + (data[from + 1] as number);
        const below = (data[from + width] as number) + (data[from + width + 1] as number);
        result[to] = (above + below) / 4;
      }
    }
  }
  return { data: result, width: columns, height: rows };
}
