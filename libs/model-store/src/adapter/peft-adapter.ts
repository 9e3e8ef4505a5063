import type { ByteSource } from '../convert/byte-source.js';
import { halfSplitRows } from '../convert/decoder/half-split-rows.js';
import { invalidFile } from '../convert/invalid-file.js';
import { type ModelFiles, readJsonObject } from '../convert/safetensors/model-files.js';
import { readSafetensorsHeader } from '../convert/safetensors/safetensors-header.js';
import { readFloats } from '../convert/safetensors/safetensors-values.js';
import { bytesOf } from '../onnx/index.js';
import type { InstalledBase } from './adapted-base.js';
import { type AdapterIndex, adapterIndex } from './adapter-file.js';
import { assignTensors, type ModuleMatrices } from './adapter-tensors.js';
import type { Projection } from './base-graph.js';
import { configFile, type PeftConfig, readPeftConfig } from './peft-config.js';

export const adapterWeightsFile = 'adapter_model.safetensors';
export const adapterFiles: readonly string[] = [configFile, adapterWeightsFile];

/** A LoRA as PEFT saves it, whose settings, names and sizes fit its base. */
export class PeftAdapter {
  private constructor(
    private readonly file: ByteSource & { close?(): Promise<void> },
    private readonly base: InstalledBase,
    private readonly config: PeftConfig,
    private readonly modules: readonly ModuleMatrices[],
  ) {}

  /** Reads the settings and the header. The caller closes it. */
  static async open(files: ModelFiles, base: InstalledBase): Promise<PeftAdapter> {
    const config = readPeftConfig(await readJsonObject(files, configFile));
    if (!files.names.has(adapterWeightsFile)) {
      const [other] = [...files.names].filter((name) => name.startsWith('adapter_model.'));
      const ways = other === undefined ? '' : `; save ${other} again as safetensors`;
      throw invalidFile(adapterWeightsFile, `it is missing${ways}`);
    }
    const file = await files.open(adapterWeightsFile);
    try {
      const modules = assignTensors(file.name, await readSafetensorsHeader(file), base);
      for (const { module, a, rank } of modules) {
        const { rank: expected } = config.scaleOf(module);
        if (expected === rank) continue;
        throw invalidFile(file.name, `its tensor ${a.name} has rank ${rank}, and ${configFile} says ${expected}`);
      }
      return new PeftAdapter(file, base, config, modules);
    } catch (error) {
      await file.close?.();
      throw error;
    }
  }

  index(): AdapterIndex {
    return adapterIndex(
      this.modules.flatMap(({ targets, rank }) =>
        targets.map(({ name, inputs, outputs }) => ({ name, inputs, outputs, rank })),
      ),
    );
  }

  /** Size of all matrices as they are installed. */
  get bytes(): number {
    const sizes = this.index().projections.map(({ inputs, outputs, rank }) => (inputs + outputs) * rank);
    return sizes.reduce((sum, size) => sum + size, 0) * Float32Array.BYTES_PER_ELEMENT;
  }

  /** The matrices in the order of the index. Fails with `INVALID_MODEL` for values that are no numbers. */
  async *matrices(): AsyncGenerator<Uint8Array> {
    for (const { module, a, b, rank, targets } of this.modules) {
      const { scale } = this.config.scaleOf(module);
      const inputs = targets[0]?.inputs ?? 0;
      const first = transposed(await readFloats(this.file, a, 0, rank * inputs), { columns: inputs });
      let before = 0;
      for (const target of targets) {
        const start = before;
        const read = (from: number, to: number) => readFloats(this.file, b, (start + from) * rank, (to - from) * rank);
        const rows = await this.rowsOf(target, { columns: rank, read });
        yield bytesOf(first);
        yield bytesOf(
          transposed(
            rows.map((value) => value * scale),
            { columns: rank },
          ),
        );
        before += target.outputs;
      }
    }
  }

  async close(): Promise<void> {
    await this.file.close?.();
  }

  /** The rows of the second matrix in the order of the graph's outputs. */
  private rowsOf({ name, outputs }: Projection, rows: RowReader): Promise<Float32Array> {
    const { hub, headSize, rotated } = this.base;
    const isPaired = hub.adjacentPairs === true && /\.(?:query|key)$/.test(name);
    return isPaired ? halfSplitRows({ ...rows, headSize, rotated }, 0, outputs) : rows.read(0, outputs);
  }
}

interface RowReader {
  columns: number;
  read: (from: number, to: number) => Promise<Float32Array>;
}

/** `[rows, columns]` → `[columns, rows]`. */
function transposed(values: Float32Array, { columns }: { columns: number }): Float32Array {
  const rows = values.length / columns;
  const result = new Float32Array(values.length);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      result[column * rows + row] = values[row * columns + column] as number;
    }
  }
  return result;
}
