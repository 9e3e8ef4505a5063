import type { OnnxNode } from '../onnx/onnx-types.js';
import type { EditedGraph } from './edited-graph.js';

/**
 * Turns products with keys, `query × keyᵀ`, into `(key × queryᵀ)ᵀ`. Devices lack the operator that transposes its second
 * operand, so the whole cache would cross the bus. Only the query and the scores are transposed, which are far smaller.
 */
export function multiplyOnDevice(graph: EditedGraph): void {
  for (const node of [...graph.nodes]) {
    const { operator, integers, inputs, outputs } = node;
    if (operator !== 'FusedMatMul' || integers['transB'] !== 1 || integers['transA'] === 1) continue;
    const [query = '', key = ''] = inputs;
    const [product = ''] = outputs;
    // Attention has heads; a table of tokens has none.
    const perm = graph.weight(key)?.dimensions.length === 2 ? [1, 0] : [0, 1, 3, 2];
    const transpose = (from: string, to: string): OnnxNode => {
      return { operator: 'Transpose', domain: '', inputs: [from], outputs: [to], attributes: { perm } };
    };
    const [columns, turned] = [`${product}.columns`, `${product}.turned`];
    graph.replaceNode(
      node,
      transpose(query, columns),
      { operator: 'MatMul', domain: '', inputs: [key, columns], outputs: [turned], attributes: {} },
      transpose(turned, product),
    );
  }
}
