import type { ByteSource } from '../byte-source.js';
import type { DecoderSource, SourceTensor } from '../decoder/decoder-source.js';
import { dequantize } from './gguf-dequantize.js';
import { invalidFile } from '../invalid-file.js';
import { GgufMetadata } from './gguf-metadata.js';
import { readOffsetRows } from './minimum-blocks.js';
import type { GgufHeader, GgufTensor } from './gguf-types.js';

/** A GGUF file as a checkpoint of a decoder; rows are dequantised when they are read. */
export function ggufSource(file: ByteSource, header: GgufHeader): DecoderSource {
  const metadata = new GgufMetadata(file.name, header.metadata);
  const architecture = metadata.text('general.architecture');
  const layers = metadata.optionalNumber(`${architecture}.block_count`) ?? 0;
  // Before anything is made for each of them.
  if (layers > header.tensors.size) {
    throw invalidFile(file.name, `it counts ${layers} layers and has ${header.tensors.size} tensors`);
  }
  const tensors = [...header.tensors].map(([name, tensor]) => [name, sourceTensor(file, tensor)] as const);
  return {
    fileName: file.name,
    architecture,
    parameters: metadata.under(`${architecture}.`),
    tensors: new Map(tensors),
  };
}

function sourceTensor(file: ByteSource, { name, dimensions, type, offset }: GgufTensor): SourceTensor {
  const columns = dimensions[0] ?? 1;
  const rowBytes = (columns / type.values) * type.bytes;
  const read = (from: number, to: number) => file.read(offset + from * rowBytes, (to - from) * rowBytes);
  const tensor: SourceTensor = {
    dimensions,
    async rows(from, to) {
      const start = offset + from * rowBytes;
      const values = dequantize(type, await read(from, to));
      const index = values.findIndex((value) => !Number.isFinite(value));
      if (index < 0) return values;
      const { name: fileName, position } = file.locate?.(start) ?? { name: file.name, position: start };
      const block = position + Math.floor(index / type.values) * type.bytes;
      throw invalidFile(fileName, `its tensor ${name} holds ${values[index]} at byte ${block}`);
    },
  };
  if (!type.kept?.hasOffset) return tensor;
  const size = type.kept.blockSize;
  const rows = async (from: number, to: number) => {
    const values = readOffsetRows(type, await read(from, to), columns);
    // The values say where it is.
    if (!values.every(Number.isFinite)) await tensor.rows(from, to);
    return values;
  };
  return { ...tensor, offsetBlocks: { size, rows } };
}
