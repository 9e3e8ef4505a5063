import { SafetensorsFile } from '../bert/safetensors-file.js';
import type { DecoderSource } from '../decoder/decoder-source.js';
import type { WeightSource } from '../decoder/weight-source.js';
import { invalidFile } from '../invalid-file.js';
import { filesIn, type ModelFiles } from '../safetensors/model-files.js';
import type { DenseLayer, SentenceHead, SentencePooling } from './sentence-head.js';
import type { StoredDense } from './sentence-layout.js';

/** A head and the files that it reads, to be closed by the caller. */
export interface OpenSentenceHead {
  head: SentenceHead;
  close(): Promise<void>;
}

/** Opens the layers behind the pooling, in folders of their own. Throws `INVALID_MODEL` for sizes that do not fit. */
export async function openSentenceHead(
  files: ModelFiles,
  { pooling, dense, size }: { pooling: SentencePooling; dense: readonly StoredDense[]; size: number },
): Promise<OpenSentenceHead> {
  const opened: SafetensorsFile[] = [];
  const close = async (): Promise<void> => {
    for (const file of opened) await file.close();
  };
  try {
    let width = size;
    for (const { folder, inputs, outputs, hasBias } of dense) {
      const file = await SafetensorsFile.open(filesIn(files, folder));
      opened.push(file);
      const found = file.shapeOf('linear.weight').join();
      if (inputs !== width || found !== `${outputs},${inputs}` || file.has('linear.bias') !== hasBias) {
        throw invalidFile(`${folder}/model.safetensors`, `its layer of ${found} does not follow ${width} values`);
      }
      width = outputs;
    }
    const layers = dense.map((layer, index) => ({ ...layer, name: `dense.${index}` }));
    return { head: { pooling, dense: layers, source: new FolderWeights(opened) }, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Weights `dense.<n>.weight` and `.bias` of the n-th folder. */
class FolderWeights implements WeightSource {
  constructor(private readonly files: readonly SafetensorsFile[]) {}

  rows(name: string, from: number, to: number): Promise<Float32Array> {
    const [file, part] = this.find(name);
    return file.rows(part, from, to);
  }

  vector(name: string): Promise<Float32Array> {
    const [file, part] = this.find(name);
    return file.vector(part);
  }

  private find(name: string): [file: SafetensorsFile, part: string] {
    const [, index = '', part = ''] = name.split('.');
    const file = this.files[Number(index)];
    if (file === undefined) throw new Error(`There is no layer ${name}.`);
    return [file, `linear.${part}`];
  }
}

const ggufLayers = ['dense_2', 'dense_3'];

/** The head of a GGUF file, whose layers behind the pooling have neither a bias nor an activation. */
export function ggufSentenceHead(
  { tensors, fileName }: DecoderSource,
  pooling: SentencePooling,
  size: number,
): SentenceHead {
  const dense: DenseLayer[] = [];
  let width = size;
  for (const name of ggufLayers) {
    const found = tensors.get(`${name}.weight`);
    if (found === undefined) continue;
    const [inputs = 0, outputs = 0] = found.dimensions;
    if (inputs !== width || tensors.has(`${name}.bias`)) {
      throw invalidFile(fileName, `its layer ${name} takes ${inputs} values, not ${width}, or has a bias`);
    }
    dense.push({ name, inputs, outputs, hasBias: false, activation: 'identity' });
    width = outputs;
  }
  const rows = (name: string, from: number, to: number): Promise<Float32Array> => {
    const tensor = tensors.get(name);
    if (tensor === undefined) throw new Error(`There is no tensor ${name}.`);
    return tensor.rows(from, to);
  };
  return { pooling, dense, source: { rows, vector: (name) => rows(name, 0, 1) } };
}
