import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { productOf } from '#common/values';
import type { ModelManifest } from '#model-registry/manifest';
import { installTinyReranker, tinyRerankerFolder } from '#test/tiny-reranker';

/*
 * A reranker of random weights in the shape of the small ones that are most used: a BERT of six layers with 12 heads and
 * 384 numbers a token. It is the tiny one of the tests with other sizes.
 */

const source = 'tiny-bert-reranker';
const layers = 6;
/** Sides of the tensors. */
const sides = { hidden_size: 384, intermediate_size: 1_536, max_position_embeddings: 512, vocab_size: 30_522 };
const shape = { ...sides, num_attention_heads: 12, num_hidden_layers: layers };

interface TensorEntry {
  dtype: string;
  shape: number[];
  data_offsets: [number, number];
}

type Sides = Record<keyof typeof sides, number>;

export async function installWideReranker(home: string): Promise<ModelManifest> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-reranker-'));
  try {
    await cp(tinyRerankerFolder(source), folder, { recursive: true });
    const config = JSON.parse(await readFile(join(folder, 'config.json'), 'utf8')) as Sides;
    const weights = join(folder, 'model.safetensors');
    await writeFile(weights, widened(await readFile(weights), config));
    await writeFile(join(folder, 'config.json'), JSON.stringify({ ...config, ...shape }));
    const kindMembers = { maxInputTokens: sides.max_position_embeddings };
    return await installTinyReranker(home, source, { id: 'wide-reranker', kindMembers }, pathToFileURL(`${folder}/`));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The tensors of a file in half precision with other sizes and more layers. */
function widened(file: Buffer, before: Sides): Buffer {
  const sizes = new Map(Object.entries(sides).map(([name, size]) => [before[name as keyof Sides], size]));
  const entries = layered(readEntries(file)).map(([name, { dtype, shape: small }]) => {
    const dims = small.map((size) => sizes.get(size) ?? size);
    return { name, dtype, dims, bytes: 2 * productOf(dims) };
  });
  const header: Record<string, TensorEntry> = {};
  let end = 0;
  for (const { name, dtype, dims, bytes } of entries) {
    header[name] = { dtype, shape: dims, data_offsets: [end, end + bytes] };
    end += bytes;
  }
  const json = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  return Buffer.concat([length, json, randomHalves(end)]);
}

function readEntries(file: Buffer): [string, TensorEntry][] {
  const length = Number(file.readBigUInt64LE(0));
  const header = JSON.parse(file.toString('utf8', 8, 8 + length)) as Record<string, TensorEntry>;
  return Object.entries(header).filter(([name]) => name !== '__metadata__');
}

/** The first layer in place of all. */
function layered(entries: [string, TensorEntry][]): [string, TensorEntry][] {
  const others = entries.filter(([name]) => !/\.layer\.\d+\./.test(name));
  const first = entries.filter(([name]) => name.includes('.layer.0.'));
  const all = Array.from({ length: layers }, (_, layer) =>
    first.map(([name, entry]): [string, TensorEntry] => [name.replace('.layer.0.', `.layer.${layer}.`), entry]),
  );
  return [...others, ...all.flat()];
}

/** Half floats of 0.03 to 0.06, of either sign. */
function randomHalves(bytes: number): Buffer {
  const halves = new Uint16Array(bytes / 2);
  let state = 1;
  for (let index = 0; index < halves.length; index++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    halves[index] = 0x28_00 | (state >>> 22) | ((state & 0x20_00) << 2);
  }
  return Buffer.from(halves.buffer);
}
