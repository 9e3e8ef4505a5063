import { readFile } from 'node:fs/promises';
import { decodeNode, type GraphNode, memoryAccess, readOnnxModel } from '../onnx/index.js';

/** Returns the nodes of a stored graph. */
export async function readGraphNodes(path: string): Promise<GraphNode[]> {
  const { nodes } = await readOnnxModel(memoryAccess(await readFile(path)), { allowsExternal: true });
  return await Promise.all(nodes.map(decodeNode));
}
