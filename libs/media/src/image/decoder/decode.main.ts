import { readSync, writeSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type DecodeTask,
  type DecodeReport,
  type FaultKind,
  framed,
  type ImageFacts,
  outputDescriptor,
  prefixBytes,
  readPrefix,
  startMarkBytes,
} from './decoder-protocol.js';
import { sharp, type Sharp } from './sharp-loaders.js';

/*
 * Entry point of the image decoder: decodes one image after another until its input ends. It blocks on its input and
 * output, because it has nothing else to do meanwhile.
 */

const inputDescriptor = 0;
/** Files and pixels that may lie about before they are freed: a blocked process collects no garbage. */
const maxGarbageBytes = 64 * 2 ** 20;

interface Result {
  report: ImageFacts | { fault: FaultKind };
  body: Uint8Array;
}

const empty = new Uint8Array(0);

/** Reads exactly that many bytes; null at the end of the input. */
function read(length: number): Buffer | null {
  const bytes = Buffer.allocUnsafe(length);
  for (let offset = 0; offset < length;) {
    const count = readSync(inputDescriptor, bytes, offset, length - offset, null);
    if (count === 0) return null;
    offset += count;
  }
  return bytes;
}

function write(bytes: Uint8Array): void {
  for (let offset = 0; offset < bytes.length;) offset += writeSync(outputDescriptor, bytes, offset);
}

function nextTask(): { task: DecodeTask; file: Buffer } | null {
  const prefix = read(prefixBytes);
  if (prefix === null) return null;
  const { headBytes, bodyBytes } = readPrefix(prefix);
  const [head, file] = [read(headBytes), read(bodyBytes)];
  return head === null || file === null ? null : { task: JSON.parse(head.toString()) as DecodeTask, file };
}

async function readFacts(file: Buffer): Promise<ImageFacts> {
  const { width, height, autoOrient, hasAlpha } = await sharp(file, { limitInputPixels: false }).metadata();
  return {
    storedWidth: width,
    storedHeight: height,
    width: autoOrient.width,
    height: autoOrient.height,
    hasAlpha,
  };
}

async function decode(file: Buffer, { channels, maxPixels, findsTransparency }: DecodeTask): Promise<Result> {
  let kind: FaultKind = 'header';
  try {
    const facts = await readFacts(file);
    const isHeader = channels === null && !(findsTransparency === true && facts.hasAlpha);
    if (isHeader) return { report: facts, body: empty };
    kind = 'pixels';
    // `failOn`: a truncated image must not be decoded to a half gray one.
    const upright = sharp(file, { limitInputPixels: maxPixels, failOn: 'truncated' }).autoOrient();
    const { data, info } = await inChannels(upright, channels ?? 4)
      .raw()
      .toBuffer({ resolveWithObject: true });
    if (channels === null) return { report: { ...facts, hasAlpha: isTransparent(data) }, body: empty };
    if (info.channels !== channels) return { report: { fault: kind }, body: empty };
    return { report: { ...facts, width: info.width, height: info.height }, body: data };
  } catch (error) {
    const isMemory = error instanceof Error && /memory|allocat/i.test(error.message);
    return { report: { fault: isMemory ? 'memory' : kind }, body: empty };
  }
}

/** Whether any of four-channel pixels is not opaque. */
function isTransparent(pixels: Buffer): boolean {
  for (let at = 3; at < pixels.length; at += 4) if (pixels[at] !== 255) return true;
  return false;
}

function inChannels(image: Sharp, channels: 1 | 3 | 4): Sharp {
  if (channels === 4) return image.toColourspace('srgb').ensureAlpha();
  const opaque = image.flatten({ background: '#ffffff' });
  return channels === 1 ? opaque.toColourspace('b-w') : opaque.toColourspace('srgb');
}

function usedSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Carries out the next task; null when there is none. */
async function carryOut(): Promise<{ movedBytes: number } | null> {
  const next = nextTask();
  if (next === null) return null;
  const { report, body } = await decode(next.file, next.task);
  const head: DecodeReport = { ...report, cpuSeconds: usedSeconds() };
  write(framed(head, body.length));
  write(body);
  return { movedBytes: next.file.length + body.length };
}

write(Buffer.alloc(startMarkBytes));
let garbageBytes = 0;
for (let done = await carryOut(); done !== null; done = await carryOut()) {
  garbageBytes += done.movedBytes;
  if (garbageBytes < maxGarbageBytes) continue;
  garbageBytes = 0;
  globalThis.gc?.();
  // Memory of libraries is freed in the next turn.
  await nextTurn();
}
