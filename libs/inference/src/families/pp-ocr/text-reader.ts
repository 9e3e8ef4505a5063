import type { TaskContext } from '../../engines/queued-task.engine.js';
import { planesOf, type RgbPixels, wholeArea } from '../../images/pixel-grid.js';
import type { ReadTextInput, ReadTextOutput, TextLine } from '../../images/reading-tasks.js';
import { resizePlanes, samplePlanes } from '../../images/resize.js';
import { floatsOf } from '../../runtime/float-tensor.js';
import type { GraphSession } from '../../runtime/graph-session.js';
import { cutLine, sizeOfLine, upsideDown } from './cut-line.js';
import { inReadingOrder } from './reading-order.js';
import { findTextBoxes, type TextBox } from './text-boxes.js';
import { readCharacters } from './text-characters.js';

export interface TextReaderSessions {
  detector: GraphSession;
  recognizer: GraphSession;
  /** Null: lines are not turned. */
  direction: GraphSession | null;
}

/** Sides of the detector's input are multiples of this. */
const sideStep = 32;
/** Longest side that the detector sees. */
const maxSide = 1_280;
/** The detector finds larger text than this more reliably, so small images are enlarged to it. */
const minSide = 736;
const maxEnlargement = 4;
const means = [0.485, 0.456, 0.406];
const deviations = [0.229, 0.224, 0.225];

const lineHeight = 48;
const minLineWidth = 320;
/** Longer lines are squeezed. */
const maxLineWidth = 3_200;
const directionSize = { width: 192, height: 48 };
const turnFrom = 0.9;
/** Less certain lines are noise. */
const lineFrom = 0.5;

/** Reads the lines of text in images. */
export class TextReader {
  constructor(
    private readonly sessions: TextReaderSessions,
    private readonly characters: readonly string[],
  ) {}

  readonly read = async ({ image }: ReadTextInput, context: TaskContext): Promise<ReadTextOutput> => {
    const rows = inReadingOrder(await this.detect(image, context));
    const boxes = rows.flat();
    const lines: TextLine[] = [];
    for (const [index, { corners }] of boxes.entries()) {
      await context.yieldToEventLoop();
      const line = await this.readLine(image, corners, context);
      if (line !== null) lines.push({ ...line, corners });
      context.progress((index + 1) / boxes.length);
    }
    return { lines };
  };

  async close(): Promise<void> {
    const { detector, recognizer, direction } = this.sessions;
    for (const session of [detector, recognizer, direction]) await session?.release();
  }

  private async detect(image: RgbPixels, context: TaskContext): Promise<TextBox[]> {
    const { width, height } = detectorSize(image);
    const { data } = resizePlanes(samplePlanes(image), width, height);
    const plane = width * height;
    const values = new Float32Array(data.length);
    for (let channel = 0; channel < 3; channel++) {
      // The networks were trained on images in the order blue, green, red.
      const from = (2 - channel) * plane;
      const [mean = 0, deviation = 1] = [means[channel], deviations[channel]];
      for (let at = 0; at < plane; at++) {
        values[channel * plane + at] = ((data[from + at] as number) / 255 - mean) / deviation;
      }
    }
    await context.yieldToEventLoop();
    const map = await this.run('detector', values, { width, height }, context);
    const [scaleX, scaleY] = [image.width / width, image.height / height];
    return findTextBoxes({ width, height, data: map }).map(({ corners, score }) => ({
      score,
      corners: corners.map(({ x, y }) => ({ x: (x + 0.5) * scaleX, y: (y + 0.5) * scaleY })) as TextBox['corners'],
    }));
  }

  private async readLine(
    image: RgbPixels,
    corners: TextLine['corners'],
    context: TaskContext,
  ): Promise<Pick<TextLine, 'text' | 'score'> | null> {
    const size = sizeOfLine(corners);
    const width = Math.max(1, Math.min(maxLineWidth, Math.ceil((lineHeight * size.width) / size.height)));
    const cut = cutLine(image, corners, { width, height: lineHeight });
    const line = (await this.standsOnItsHead(cut, context)) ? upsideDown(cut) : cut;
    const padded = Math.max(width, minLineWidth);
    const probabilities = await this.run(
      'recognizer',
      halfNormals(line, padded),
      { width: padded, height: lineHeight },
      context,
    );
    const { text, score } = readCharacters(probabilities, this.characters);
    return score < lineFrom || text.trim() === '' ? null : { text: text.trim(), score };
  }

  private async standsOnItsHead(line: RgbPixels, context: TaskContext): Promise<boolean> {
    if (this.sessions.direction === null) return false;
    const { width, height } = directionSize;
    const fitted = Math.min(line.width, width);
    const corners: TextLine['corners'] = [
      { x: 0, y: 0 },
      { x: line.width, y: 0 },
      { x: line.width, y: line.height },
      { x: 0, y: line.height },
    ];
    const small = fitted === line.width ? line : cutLine(line, corners, { width: fitted, height });
    const [, turned = 0] = await this.run('direction', halfNormals(small, width), directionSize, context);
    return turned > turnFrom;
  }

  private async run(
    name: keyof TextReaderSessions,
    values: Float32Array,
    { width, height }: { width: number; height: number },
    context: TaskContext,
  ): Promise<Float32Array> {
    const session = this.sessions[name] as GraphSession;
    const [input] = session.inputs;
    const [output] = session.outputs;
    const feeds = { [input?.name ?? '']: session.tensor('float32', values, [1, 3, height, width]) };
    const outputs = await context.measure(() => session.run(feeds, [output?.name ?? '']));
    return floatsOf(Object.values(outputs)[0]);
  }
}

/** Returns planes from -1 to 1, blue first, filled with zeros up to a width. */
function halfNormals(line: RgbPixels, width: number): Float32Array {
  const planes = planesOf(line, wholeArea(line), (sample) => sample / 127.5 - 1);
  const filled = new Float32Array(3 * line.height * width);
  for (let channel = 0; channel < 3; channel++) {
    for (let row = 0; row < line.height; row++) {
      const from = ((2 - channel) * line.height + row) * line.width;
      filled.set(planes.subarray(from, from + line.width), (channel * line.height + row) * width);
    }
  }
  return filled;
}

/** Enlarges small images and shrinks large ones. */
function detectorSize({ width, height }: { width: number; height: number }): { width: number; height: number } {
  const [short, long] = [Math.min(width, height), Math.max(width, height)];
  const enlarged = Math.max(1, Math.min(maxEnlargement, minSide / short));
  const scale = Math.min(enlarged, maxSide / long);
  const fit = (side: number): number => Math.max(sideStep, Math.round((side * scale) / sideStep) * sideStep);
  return { width: fit(width), height: fit(height) };
}
