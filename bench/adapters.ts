import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDecoder, openGraph } from '#inference';
import { type DecoderShape, emitSplitDecoder, type LinearFormat, writeOnnxModel } from '#model-store';
import { addAdapters } from '#model-store/adapter';
import { benchOptions } from './settings.js';

interface Settings {
  layers: number;
  rank: number;
  rounds: number;
  steps: number;
  context: number;
  threads: number;
}

const adapterCounts = [1, 4, 16];
const rowCounts = [1, 8];
const formats: Record<string, LinearFormat> = {
  int8: { kind: 'blocks', bits: 8, blockSize: 32 },
  float32: { kind: 'float32' },
};

/** The shape of TinyLlama, with fewer layers and tokens. */
function shapeOf(layers: number): DecoderShape {
  return {
    layers,
    hiddenSize: 2048,
    heads: 32,
    keyValueHeads: 4,
    headSize: 64,
    // Small, because the output layer has no adapter.
    vocabularySize: 4_096,
    contextLength: 2048,
    norm: { kind: 'rms', epsilon: 1e-5 },
    rotary: { base: 10_000, dimensions: 64 },
    feedForward: { kind: 'gated-silu', size: 5632 },
    queryKeyNorm: 'none',
    bias: { queryKeyValue: false, attentionOutput: false, feedForward: false, head: false },
    parallelResidual: false,
    tiedHead: false,
  };
}

async function main(): Promise<void> {
  const settings: Settings = benchOptions(
    `npm run bench -- adapters

Processor time of a decode step of a base with LoRA adapters on all linear layers, over that of the same base without. Random
weights in the shape of TinyLlama; rows alternate between base and adapters; medians of rounds in turns.`,
    {
      layers: { value: 'N', about: 'layers of the model', default: 2 },
      rank: { value: 'N', about: 'rank of each adapter', default: 16 },
      rounds: { value: 'N', about: 'rounds', default: 7 },
      steps: { value: 'N', about: 'decode steps per round', default: 20 },
      context: { value: 'N', about: 'tokens of each row before', default: 128 },
      threads: { value: 'N', about: 'threads of the model', default: 1 },
    },
  );
  const folder = await mkdtemp(join(tmpdir(), 'bench-adapters-'));
  try {
    const adapters = await writeAdapters(folder, settings);
    for (const [name, linear] of Object.entries(formats)) {
      const directory = await writeBase(join(folder, name), linear, settings);
      await measure({ name, directory, adapters }, settings);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function writeBase(directory: string, linear: LinearFormat, { layers }: Settings): Promise<string> {
  await mkdir(directory);
  const rows = (name: string, from: number, to: number) => {
    const columns = name.endsWith('down') ? 5632 : 2048;
    return Promise.resolve(noise((to - from) * columns, 1 / Math.sqrt(columns)));
  };
  const weights = { rows, vector: () => Promise.resolve(new Float32Array(2048).fill(1)) };
  const graph = emitSplitDecoder({ shape: shapeOf(layers), weights, linear, embedding: 'float32' });
  await writeOnnxModel(graph, { folder: directory });
  return directory;
}

/** Adapters as they are installed. */
async function writeAdapters(folder: string, { layers, rank }: Settings) {
  const sizes = { query: 2048, key: 256, value: 256, attention_output: 2048, gate: 5632, up: 5632, down: 2048 };
  const projections = Array.from({ length: layers }, (_, layer) =>
    Object.entries(sizes).map(([part, outputs]) => {
      return { name: `layers.${layer}.${part}`, inputs: part === 'down' ? 5632 : 2048, outputs, rank };
    }),
  ).flat();
  const values = projections.reduce((sum, { inputs, outputs }) => sum + (inputs + outputs) * rank, 0);
  const count = Math.max(...adapterCounts);
  const adapters = Array.from({ length: count }, (_, index) => {
    return { modelId: `adapter-${index}`, directory: join(folder, `adapter-${index}`) };
  });
  for (const { directory } of adapters) {
    await mkdir(directory);
    await writeFile(join(directory, 'adapter.json'), JSON.stringify({ format: 'sluice-lora/1', projections }));
    await writeFile(join(directory, 'adapter.bin'), noise(values, 0.02));
  }
  return adapters;
}

interface Subject {
  name: string;
  directory: string;
  adapters: { modelId: string; directory: string }[];
}

async function measure({ name, directory, adapters }: Subject, settings: Settings): Promise<void> {
  const { threads: intraOpThreads, rounds } = settings;
  const modelPath = join(directory, 'model.onnx');
  const session = { modelPath, providers: ['cpu'], intraOpThreads, spinning: false };
  const base = openDecoder(await openGraph(session), { slots: 8 });
  for (const count of adapterCounts) {
    const { model } = await addAdapters({ directory, graphFile: 'model.onnx' }, adapters.slice(0, count));
    const adapted = openDecoder(await openGraph({ ...session, model }), { slots: 8 });
    for (const rows of rowCounts) {
      const ratios: number[] = [];
      for (let round = 0; round < rounds; round++) {
        const plain = await stepMs(base, { rows, adapters: 0 }, settings);
        ratios.push((await stepMs(adapted, { rows, adapters: count }, settings)) / plain);
      }
      ratios.sort((left, right) => left - right);
      const [low, middle, high] = [ratios[0], ratios[Math.floor(rounds / 2)], ratios.at(-1)];
      const spread = `${low?.toFixed(2)} to ${high?.toFixed(2)}`;
      process.stdout.write(`${name} ${count} adapters, ${rows} rows: ${middle?.toFixed(2)} (${spread})\n`);
    }
    await adapted.close();
  }
  await base.close();
}

/** Processor time of a decode step, which says the same on a busy machine. Threads do not spin. */
async function stepMs(
  decoder: ReturnType<typeof openDecoder>,
  { rows: count, adapters }: { rows: number; adapters: number },
  { steps, context }: Settings,
): Promise<number> {
  const rows = Array.from({ length: count }, (_, index) => decoder.openRow((index + 1) % (adapters + 1)));
  const tokenIds = Int32Array.from({ length: context }, (_, index) => (index * 7) % 4_096);
  for (const row of rows) await decoder.prefill([{ row, tokenIds, final: true }], 'none');
  const before = process.cpuUsage();
  for (let step = 0; step < steps; step++) {
    await decoder.decode(
      rows.map((row) => ({ row, tokenId: step + 5 })),
      'top',
    );
  }
  const { user, system } = process.cpuUsage(before);
  const ms = (user + system) / 1_000 / steps;
  for (const row of rows) decoder.release(row);
  return ms;
}

let state = 1;
function noise(count: number, scale: number): Float32Array {
  return Float32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state / 2 ** 31 - 1) * scale;
  });
}

await main();
