import { readFile } from 'node:fs/promises';
import sharp from 'sharp';
import { decodeImage, encodeImage, ImageDecoder, readImageHeader } from '#media';
import { patterned } from './media/patterned.js';
import {
  type BenchSubject,
  type BenchSubjectResult,
  type Figures,
  median,
  medianOf,
  type Ratio,
  runBench,
} from './report.js';
import { benchOptions, jsonOption, roundsOption } from './settings.js';

const { rounds, images, side, json } = benchOptions(
  `npm run bench -- decoding [options]

Decoding a PNG and a JPEG in the decoder, a process with limits that stays for the next image, and in this process.`,
  {
    rounds: roundsOption,
    images: { value: 'N', about: 'images of each kind per round, one after another', default: 20 },
    side: { value: 'N', about: 'width and height, in pixels', default: 1_024 },
    json: jsonOption,
  },
);

const msPerTick = 10;

type Decode = (bytes: Buffer) => Promise<unknown>;

const pixels = { width: side, height: side, channels: 3, data: patterned(side, side) } as const;
const png = await encodeImage(pixels, { format: 'png' });
const jpeg = await encodeImage(pixels, { format: 'jpeg' });

/** Processor time of this process and the decoders, in ms. */
async function processorMs(): Promise<number> {
  const { user, system } = process.cpuUsage();
  let sum = (user + system) / 1_000;
  for (const id of ImageDecoder.shared.processIds) {
    const text = await readFile(`/proc/${id}/stat`, 'latin1');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    sum += (Number(fields[11]) + Number(fields[12])) * msPerTick;
  }
  return sum;
}

async function measure(name: string, bytes: Buffer, decode: Decode): Promise<Figures> {
  const took: number[] = [];
  // Starts a decoder, if none is left.
  await decode(bytes);
  const before = await processorMs();
  for (let index = 0; index < images; index += 1) {
    const startedAt = performance.now();
    await decode(bytes);
    took.push(performance.now() - startedAt);
  }
  const usedMs = (await processorMs()) - before;
  return { [`${name}Ms`]: median(took), [`${name}ProcessorMs`]: usedMs / images };
}

function subject(name: string, decode: Decode, readHeader: Decode): BenchSubject {
  return {
    name,
    run: async (): Promise<Figures> => ({
      ...(await measure('png', png, decode)),
      ...(await measure('jpeg', jpeg, decode)),
      ...(await measure('header', jpeg, readHeader)),
    }),
  };
}

// The libraries of this project block it in every process but the decoder.
sharp.unblock({ operation: ['VipsForeignLoadPng', 'VipsForeignLoadJpeg'] });
const inProcess: Decode = async (bytes) => {
  await sharp(bytes).metadata();
  return await sharp(bytes, { failOn: 'truncated' })
    .autoOrient()
    .flatten({ background: '#ffffff' })
    .toColourspace('srgb')
    .raw()
    .toBuffer({ resolveWithObject: true });
};
const subjects = [
  subject(
    'decoder',
    (bytes) => decodeImage(bytes, { channels: 3 }),
    (bytes) => readImageHeader(bytes),
  ),
  subject('in process', inProcess, (bytes) => sharp(bytes).metadata()),
];
const ratiosOf = (results: readonly BenchSubjectResult[]): Ratio[] =>
  ['pngMs', 'pngProcessorMs', 'jpegMs', 'jpegProcessorMs', 'headerMs', 'headerProcessorMs'].map((figure) => ({
    name: `decoder / in process, ${figure}`,
    value: medianOf(results, 'decoder', figure) / medianOf(results, 'in process', figure),
    aim: null,
  }));
await runBench({ name: 'decoding', settings: { images, side }, subjects, rounds, ratiosOf, json });
ImageDecoder.shared.close();
