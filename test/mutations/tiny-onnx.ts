import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bytesOf, GraphBuilder, writeOnnxModel } from '#model-store';

/** Writes a small graph with weights of half precision, which the converter of graphs widens. */
export async function writeTinyOnnx(folder: string): Promise<Buffer> {
  const graph = new GraphBuilder('half');
  const input = graph.input('x', 'float32', [1, 'length']);
  const halves = graph.weight('w', 'float16', [4], () => bytesOf(Uint16Array.of(0x3c00, 0xc100, 0x7bff, 0x0400)));
  const half = graph.node('Cast', [input], { to: 10 });
  graph.node('LeakyRelu', [graph.node('Cast', [half], { to: 1 })], { alpha: { float: 0.25 } }, 'y');
  graph.node('Add', [half, halves], {}, 'z');
  graph.output('y', 'float32', [1, 'length']);
  graph.output('z', 'float16', [1, 'length']);
  await writeOnnxModel(graph.build(), { folder, fileName: 'half.onnx' });
  return await readFile(join(folder, 'half.onnx'));
}
