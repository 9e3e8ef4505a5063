import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errorText } from '#common/values';
import { openGraph, registerProviderLibraries } from '#inference';
import type { ProviderLibrarySetting } from '#platform/config';
import { bytesOf, GraphBuilder, writeOnnxModel } from '#model-store';
import type { ProbeResult, WeightRows } from './provider-probe.js';
import { multipliesRowsAlike } from './row-kernels.js';

/* Runs as a separate process: a broken driver may crash it, and its memory is freed with it. */

const side = 256;

/** Multiplies a square matrix by a matrix of ones: each element of the product is a row sum. */
async function writeProbe(folder: string): Promise<string> {
  const graph = new GraphBuilder('probe');
  const rows = graph.input('rows', 'float32', [side, side]);
  const ones = graph.weight('ones', 'float32', [side, side], () => bytesOf(new Float32Array(side * side).fill(1)));
  graph.output(graph.node('MatMul', [rows, ones], {}, 'sums'), 'float32', [side, side]);
  await writeOnnxModel(graph.build(), { folder });
  return join(folder, 'model.onnx');
}

async function probe(provider: string): Promise<ProbeResult> {
  registerProviderLibraries(JSON.parse(process.argv[3] ?? '[]') as ProviderLibrarySetting[]);
  const folder = await mkdtemp(join(tmpdir(), 'sluice-doctor-'));
  try {
    const modelPath = await writeProbe(folder);
    // The fallback's note gives the reason alone.
    const session = await openGraph({ modelPath, providers: [provider, 'cpu'], intraOpThreads: 1 });
    if (session.provider !== provider) return { usable: false, note: session.providerNote };
    const rows = Float32Array.from({ length: side * side }, (_, index) => index % 7);
    const { sums } = await session.run({ rows: session.tensor('float32', rows, [side, side]) }, ['sums']);
    const wanted = rows.subarray(0, side).reduce((sum, element) => sum + element, 0);
    const sum = Number((sums?.data as Float32Array | undefined)?.[0]);
    if (Math.abs(sum - wanted) >= 1) return { usable: false, note: `${provider} computes ${sum}, not ${wanted}` };
    return { usable: true, note: session.providerNote, ...(provider === 'cpu' && { sameRows: await compareRows() }) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The kinds of weights that the converters write. */
async function compareRows(): Promise<WeightRows[]> {
  const compared: WeightRows[] = [];
  for (const bits of [4, 8] as const) {
    for (const blockSize of [32, 128] as const) {
      compared.push({ bits, blockSize, same: await multipliesRowsAlike({ bits, blockSize }) });
    }
  }
  return compared;
}

probe(process.argv[2] ?? 'cpu').then(
  (answer) => process.send?.(answer, () => process.exit(0)),
  (error: unknown) => {
    const note = errorText(error);
    process.send?.({ usable: false, note } satisfies ProbeResult, () => process.exit(0));
  },
);
